/* SPDX-License-Identifier: MIT */
/* view-edge-test.c - views at their edges: worked examples, a million contexts in one
 * path or below one parent, no memory, missing items; and the notes. */
#include <math.h>
#include <pthread.h>

#include "by-hand.h"
#include "view-oracle.h"
#include "view.h"

/* ── By hand ──────────────────────────────────────────────────────────────────────── */

/* The row of a name and role; SIZE_MAX: there is none. */
static size_t row_of(const struct answer *a, const char *name, enum tt_row_role role)
{
    for (size_t i = 0; i < tt_table_rows(&a->t); i++)
        if (role_of(a, i) == (int)role && strcmp(text_at(a, i, "name"), name) == 0)
            return i;
    return SIZE_MAX;
}

static uint64_t figure(const struct answer *a, const char *name, enum tt_row_role role,
                       const char *key)
{
    size_t row = row_of(a, name, role);

    return row == SIZE_MAX ? UINT64_MAX : amount(a, row, key);
}

static int has_note(const struct answer *a, const char *text)
{
    for (size_t i = 0; i < a->t.note.count; i++)
        if (strstr(tt_table_note_at(&a->t, i)->text, text))
            return 1;
    return 0;
}

/* 1 → 2 → {3, 4}, 1 → 3 with 10, 20, 30, 40, 31. */
static int make_five(struct made *m)
{
    begin(m);
    add(m, "1", 1, 10);
    add(m, "1;2", 1, 20);
    add(m, "1;2;3", 1, 30);
    add(m, "1;2;4", 1, 40);
    add(m, "1;3", 1, 31);
    return finish(m);
}

TEST(six_sequences_have_exactly_what_was_charged_to_them)
{
    struct made m;
    struct answer a;

    if (!make_five(&m))
        return;
    CHECK(ask(&a, &m.p, "view=tree&threshold=0"));
    CHECK_INT(tt_table_rows(&a.t), 6);
    CHECK_STR(text_at(&a, 0, "name"), "[root]");
    CHECK_INT(amount(&a, 0, "inclusive"), 131);
    CHECK_STR(text_at(&a, 1, "name"), "1");
    CHECK_INT(amount(&a, 1, "self"), 10);
    CHECK_STR(text_at(&a, 2, "name"), "2");
    CHECK_INT(amount(&a, 2, "inclusive"), 90);
    CHECK_STR(text_at(&a, 3, "name"), "4");
    CHECK_STR(text_at(&a, 4, "name"), "3");
    CHECK_INT(amount(&a, 4, "self"), 30);
    CHECK_INT(amount(&a, 5, "self"), 31);
    CHECK_INT(tt_table_row_at(&a.t, 5)->depth, 2);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=block&block=3"));
    CHECK_INT(figure(&a, "3", TT_ROW_ENTRY, "self"), 61);
    CHECK_INT(figure(&a, "2", TT_ROW_CALLER, "inclusive"), 30);
    CHECK_INT(figure(&a, "1", TT_ROW_CALLER, "inclusive"), 31);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=block&sequence=1;2"));
    CHECK_INT(figure(&a, "1", TT_ROW_ENTRY, "inclusive"), 131);
    CHECK_INT(figure(&a, "1;2", TT_ROW_ENTRY, "inclusive"), 90);
    CHECK_INT(figure(&a, "[root]", TT_ROW_CALLER, "inclusive"), 90);
    CHECK_INT(figure(&a, "4", TT_ROW_CALLEE, "inclusive"), 40);
    answered(&a);
    end(&m);
}

/* The document's a → b → b → b → c, in its stored form: a 1, b 1, b 2 and c 1. */
TEST(a_block_counts_once_on_each_path_however_often_it_calls_itself)
{
    struct made m;
    struct answer a;

    begin(&m);
    add(&m, "a", 1, 1);
    add(&m, "a;b", 1, 1);
    add(&m, "a;b;b", 2, 2);
    add(&m, "a;b;b;c", 1, 1);
    add_arc(&m, "a;b;b", "a;b;b", "b", 1);
    if (!finish(&m))
        return;
    CHECK(ask(&a, &m.p, "view=flat"));
    CHECK_INT(figure(&a, "b", TT_ROW_ENTRY, "self"), 3);
    CHECK_INT(figure(&a, "b", TT_ROW_ENTRY, "inclusive"), 4);
    CHECK_INT(figure(&a, "b", TT_ROW_ENTRY, "calls"), 3);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=graph&block=b"));
    CHECK_INT(figure(&a, "a", TT_ROW_CALLER, "calls"), 1);
    CHECK_INT(figure(&a, "a", TT_ROW_CALLER, "inclusive"), 4);
    CHECK_INT(figure(&a, "b", TT_ROW_CALLER, "calls"), 2);
    CHECK_INT(figure(&a, "b", TT_ROW_CALLER, "by_arcs"), 1);
    CHECK_INT(figure(&a, "b", TT_ROW_CALLER, "inclusive"), 3);
    CHECK_INT(figure(&a, "c", TT_ROW_CALLEE, "inclusive"), 1);
    CHECK_INT(figure(&a, "[all else]", TT_ROW_REMAINDER, "self"), 2);
    CHECK_INT(sum_of(&a, "self"), 5);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=callers&metric=calls&threshold=0"));
    CHECK_INT(figure(&a, "b", TT_ROW_ENTRY, "self"), 3);
    CHECK_INT(tt_table_rows(&a.t), 12);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=flat&metric=calls"));
    CHECK_INT(sum_of(&a, "self"), 5);
    CHECK(tt_table_find(&a.t, "calls") == TT_NONE);
    answered(&a);
    end(&m);
}

/* a calls b and c; b and c call each other. */
TEST(a_set_of_blocks_that_call_each_other_is_one_group)
{
    struct made m;
    struct answer a;

    begin(&m);
    add(&m, "a", 1, 5);
    add(&m, "a;b", 1, 10);
    add(&m, "a;b;c", 2, 20);
    add(&m, "a;b;c;b", 3, 40);
    add(&m, "a;c", 1, 80);
    if (!finish(&m))
        return;
    CHECK(ask(&a, &m.p, "view=groups"));
    CHECK_STR(text_at(&a, 0, "name"), "a");
    CHECK_STR(text_at(&a, 1, "name"), "c, b");
    CHECK_INT(amount(&a, 1, "self"), 150);
    CHECK_INT(amount(&a, 1, "inclusive"), 150);
    CHECK_INT(amount(&a, 1, "calls"), 7);
    CHECK_INT(amount(&a, 1, "calls_inside"), 5);
    CHECK_STR(text_at(&a, 2, "name"), "c");
    CHECK_INT(amount(&a, 2, "self"), 100);
    CHECK_INT(amount(&a, 3, "inclusive"), 70);
    answered(&a);
    end(&m);
}

/* p is where the normal approximation is just at z: the roots of a square. */
TEST(the_error_of_a_share_is_half_of_wilsons_interval)
{
    const double z = 1.959964;

    for (uint64_t n = 1; n < 100000; n = n * 3 + 1)
        for (int i = 0; i <= 20; i++) {
            double share = i / 20.0, a = 1 + z * z / (double)n;
            double b = 2 * share + z * z / (double)n, c = share * share;
            double half = sqrt(b * b - 4 * a * c) / (2 * a);
            CHECK(fabs(tt_share_error(share, n) - half) < 1e-9);
        }
    CHECK(tt_share_error(0.5, 0) >= 1);
}

/* Scopes count; what samples found below them was called, however often. */
TEST(calls_that_nobody_counted_are_missing)
{
    for (uint64_t counted = 0; counted < 2; counted++) {
        struct made m;
        struct answer a;
        uint32_t samples, calls;

        begin(&m);
        samples = tt_builder_metric(m.b, "samples", "", 0);
        add(&m, "scope", counted, 0);
        add(&m, "scope;found", 0, 70);
        (void)context(&m, "scope;never");
        tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "scope;found"), samples, 7);
        if (!finish(&m))
            return;
        CHECK(ask(&a, &m.p, "view=tree&threshold=0&limit=0"));
        calls = tt_table_find(&a.t, "calls");
        CHECK_INT(calls == TT_NONE, !counted);
        for (size_t row = 0; counted && row < tt_table_rows(&a.t); row++) {
            const char *name = text_at(&a, row, "name");
            CHECK_INT(!tt_table_value(&a.t, row, calls),
                      strcmp(name, "found") == 0 || strcmp(name, "[root]") == 0);
        }
        answered(&a);
        end(&m);
    }
}

/* Time is exact, and the function that only samples found has none of it. */
TEST(what_only_samples_found_has_run)
{
    struct made m;
    struct answer a;
    uint32_t samples;
    size_t row;

    begin(&m);
    samples = tt_builder_metric(m.b, "samples", "", 0);
    add(&m, "scope", 2, 70);
    (void)context(&m, "scope;above;found");
    tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "scope;above;found"), samples, 7);
    if (!finish(&m))
        return;
    CHECK(ask(&a, &m.p, "view=flat"));
    CHECK(has_note(&a, "blocks executed: 100.00 % of 3"));
    row = row_of(&a, "scope", TT_ROW_ENTRY);
    CHECK(tt_table_value(&a.t, row, tt_table_find(&a.t, "calls")));
    row = row_of(&a, "found", TT_ROW_ENTRY);
    CHECK(!tt_table_value(&a.t, row, tt_table_find(&a.t, "calls")));
    row = row_of(&a, "above", TT_ROW_ENTRY);
    CHECK(!tt_table_value(&a.t, row, tt_table_find(&a.t, "calls")));
    answered(&a);
    end(&m);
}

TEST(calls_that_were_not_counted_have_no_column)
{
    struct made m;
    struct answer a;
    uint32_t objects;

    begin(&m);
    objects = tt_builder_metric(m.b, "objects", "", 0);
    tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "f"), objects, 9);
    if (!finish(&m))
        return;
    CHECK(ask(&a, &m.p, "view=flat&metric=objects"));
    CHECK_INT(tt_table_find(&a.t, "calls"), TT_NONE);
    answered(&a);
    end(&m);
}

TEST(rows_of_some_blocks_add_up_to_the_total)
{
    struct made m;
    struct answer a;

    if (!make_five(&m))
        return;
    CHECK(ask(&a, &m.p, "view=flat&block=3&metric=time,calls"));
    CHECK_INT(figure(&a, "3", TT_ROW_ENTRY, "self"), 61);
    CHECK_INT(figure(&a, "[all else]", TT_ROW_REMAINDER, "self"), 70);
    CHECK_INT(figure(&a, "[all else]", TT_ROW_REMAINDER, "calls.self"), 3);
    CHECK_INT(figure(&a, "total", TT_ROW_TOTAL, "self"), 131);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=flat"));
    CHECK_INT(row_of(&a, "[all else]", TT_ROW_REMAINDER), SIZE_MAX);
    answered(&a);
    end(&m);
}

/* Of 100 ns; of what a filter has left; and of more time than there is. */
TEST(preempted_time_is_a_share_only_of_time_that_it_may_be_in)
{
    static const struct {
        uint64_t preempted;
        int is_filtered;
        const char *note;
    } cases[] = {{50, 0, "preempted: for 0.000 ms at most (50.00 % of time)"},
                 {50, 1, "preempted: in the whole run, for 0.000 ms at most"},
                 {5000000, 0, "preempted: in the whole run, for 5.000 ms at most"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;
        struct answer a;
        begin(&m);
        add(&m, "a", 1, 40);
        add(&m, "b", 1, 60);
        tt_builder_add(m.b, TT_ROLE_OWN, context(&m, "b"), m.metric[1], 10);
        tt_builder_fact(m.b, "preempted", TT_FACT_SUM, cases[i].preempted, "");
        if (!finish(&m))
            return;
        m.p.whole = cases[i].is_filtered ? &m.p : NULL;
        CHECK(ask(&a, &m.p, "view=flat"));
        CHECK(has_note(&a, cases[i].note));
        answered(&a);
        end(&m);
    }
}

TEST(a_sum_of_peaks_says_so)
{
    for (uint64_t processes = 1; processes < 3; processes++) {
        struct made m;
        struct answer a;
        uint32_t peak, live;
        begin(&m);
        peak = tt_builder_metric(m.b, "peak", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK);
        live = tt_builder_metric(m.b, "live", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK);
        tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "a"), peak, 40);
        tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "a"), live, 20);
        tt_builder_fact(m.b, "recordings", TT_FACT_SUM, processes, "");
        if (!finish(&m))
            return;
        CHECK(ask(&a, &m.p, "view=flat&metric=peak"));
        CHECK_INT(has_note(&a, "peak: the sum of the peaks of 2 processes"),
                  processes > 1);
        answered(&a);
        CHECK(ask(&a, &m.p, "view=flat&metric=live"));
        CHECK(!has_note(&a, "peak:"));
        answered(&a);
        end(&m);
    }
}

/* What nothing was charged to is not looked at first, whatever it is. */
TEST(what_is_looked_at_first_has_figures)
{
    static const struct {
        uint64_t calls, time, samples, words;
        const char *first;
    } cases[] = {{1, 1, 1, 1, "time"},
                 {1, 0, 1, 1, "samples"},
                 {1, 0, 0, 1, "calls"},
                 {0, 0, 0, 1, "words"},
                 {0, 0, 0, 0, "time"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;
        struct answer a;
        char note[64];
        uint32_t samples, words, first;

        begin(&m);
        samples = tt_builder_metric(m.b, "samples", "", 0);
        words = tt_builder_metric(m.b, "words", "", 0);
        add(&m, "a", cases[i].calls, cases[i].time);
        tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "a"), samples, cases[i].samples);
        tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "a"), words, cases[i].words);
        if (!finish(&m))
            return;
        first = tt_metric_find(&m.p, NULL);
        if (CHECK(first != TT_NONE))
            CHECK_STR(m.p.metric[first].name, cases[i].first);
        CHECK(ask(&a, &m.p, "view=flat"));
        (void)snprintf(note, sizeof note, "figures: of %s, as no time was measured",
                       cases[i].first);
        CHECK_INT(has_note(&a, note), strcmp(cases[i].first, "time") != 0);
        answered(&a);
        end(&m);
    }
}

TEST(what_a_view_cannot_see_is_said_in_notes)
{
    struct made m;
    struct answer a;
    struct tt_strand_info pool = {
        .name = "pool", .rank = TT_NONE, .members = 12, .thread = 3};

    begin(&m);
    add(&m, "a", 1, 50);
    (void)tt_builder_strand(m.b, &pool);
    add(&m, "a;b", 1, 25);
    tt_builder_add(m.b, TT_ROLE_ELSEWHERE, context(&m, "a"), m.metric[1], 25);
    tt_builder_add(m.b, TT_ROLE_OWN, context(&m, "a;b"), m.metric[1], 10);
    tt_builder_add(m.b, TT_ROLE_HIDDEN,
                   tt_builder_block(m.b, &(struct tt_block_info){.name = "b"}),
                   m.metric[1], 20);
    (void)tt_builder_block(m.b, &(struct tt_block_info){.kind = TT_KIND_FUNCTION,
                                                        .name = "libm.so+0x1f",
                                                        .module = "/lib/libm.so",
                                                        .offset = 0x1f});
    (void)tt_builder_block(
        m.b, &(struct tt_block_info){.kind = TT_KIND_NATIVE, .module = "/lib/libm.so"});
    (void)tt_builder_block(m.b, &(struct tt_block_info){.name = "[other blocks]"});
    tt_builder_fact(m.b, "lost.strands", TT_FACT_SUM, 3, "");
    tt_builder_fact(m.b, "hidden.unseen", TT_FACT_EACH, 7, "time");
    tt_builder_fact(m.b, "program", TT_FACT_EACH, 1, "demo");
    if (!finish(&m))
        return;
    CHECK(ask(&a, &m.p, "view=flat"));
    CHECK(has_note(&a, "budget: 25.00 % of time is in evicted contexts, in rows called "
                       "[elsewhere below]"));
    CHECK(has_note(&a, "'b' is missing most, 20.00 % of time"));
    CHECK(has_note(&a, "filters do not apply to 7 ns of time"));
    CHECK(has_note(&a, "measuring itself may have added up to 10.00 % of time"));
    CHECK(has_note(&a, "12 threads that have ended are in 1 row"));
    CHECK(!has_note(&a, "unresolved:")); /* none of the blocks ran */
    CHECK(has_note(&a, "lost: 3 threads found no room"));
    CHECK(has_note(&a, "blocks executed: 50.00 % of 4"));
    CHECK_INT(figure(&a, "[elsewhere below]", TT_ROW_REMAINDER, "self"), 25);
    CHECK_INT(figure(&a, "b", TT_ROW_ENTRY, "self_low"), 15);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=lines&uncovered=1"));
    CHECK(has_note(&a, "covered: 50.00 % of 4 places"));
    CHECK_INT(row_of(&a, "[other blocks]", TT_ROW_ENTRY), SIZE_MAX);
    answered(&a);
    CHECK(ask(&a, &m.p, "view=header"));
    CHECK_STR(text_at(&a, row_of(&a, "program", TT_ROW_ENTRY), "text"), "demo");
    CHECK_INT(figure(&a, "contexts", TT_ROW_ENTRY, "number"), 3);
    CHECK_INT(figure(&a, "depth", TT_ROW_ENTRY, "number"), 2);
    CHECK_INT(figure(&a, "lost.strands", TT_ROW_ENTRY, "number"), 3);
    CHECK_STR(text_at(&a, row_of(&a, "metric", TT_ROW_ENTRY), "text"), "time, in ns");
    CHECK_INT(figure(&a, "metric", TT_ROW_ENTRY, "number"),
              100); /* not calls, the first of them */
    CHECK(has_note(&a, "budget: 25.00 %"));
    answered(&a);
    end(&m);
}

TEST(sampled_shares_carry_their_error)
{
    struct made m;
    struct answer a;
    uint32_t samples;

    begin(&m);
    m.metric[1] = tt_builder_metric(m.b, "cpu", "ns", TT_METRIC_TIME | TT_METRIC_SAMPLED);
    samples = tt_builder_metric(m.b, "samples", "", 0);
    add(&m, "a", 1, 3000);
    add(&m, "a;b", 1, 1000);
    tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "a"), samples, 30);
    tt_builder_add(m.b, TT_ROLE_SELF, context(&m, "a;b"), samples, 10);
    if (!finish(&m))
        return;
    CHECK(ask(&a, &m.p, "view=flat&metric=cpu"));
    CHECK(is_near(real_at(&a, row_of(&a, "b", TT_ROW_ENTRY), "self_error"),
                  tt_share_error(0.25, 40)));
    CHECK(is_near(real_at(&a, row_of(&a, "a", TT_ROW_ENTRY), "inclusive_error"),
                  tt_share_error(1, 40)));
    CHECK(has_note(&a, "sampled: 40 samples"));
    answered(&a);
    end(&m);
}

/* ── What is not there ────────────────────────────────────────────────────────────── */

TEST(a_question_that_has_no_answer_says_why)
{
    static const struct {
        const char *query, *error;
    } wrong[] = {
        {"view=block",
         "the view 'block' wants a block, as --block PATTERN, or --sequence 'A;B'"},
        {"view=block&block=nothing", "no block matches 'nothing'"},
        {"view=graph&block=nothing", "no block matches 'nothing'"},
        {"view=callers&block=nothing", "no block matches 'nothing'"},
        {"view=block&sequence=1;nothing", "no block matches 'nothing'"},
        {"view=lines&by=lime", "by has no 'lime'; did you mean 'line'?"},
        {"view=lines&uncovered=2",
         "uncovered has no '2'; it may be '0', '1', 'no', 'yes'"},
        {"view=space",
         "no objects were recorded, as by `tallytree record --heap` or tt_alloc"},
        {"view=series", "no series was kept: `tallytree record --heap` keeps one"},
        {"view=flame&context=6", "there is no context '6'; they are 0 to 5"},
        {"view=tree&context=-1", "there is no context '-1'; they are 0 to 5"},
        {"view=flame&sort=self", "the view 'flame' cannot be sorted"},
        {"view=tree&metric=heap", "there is no metric 'heap'; there are: calls, time"},
    };
    struct made m;

    if (!make_five(&m))
        return;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct answer a;
        tt_query_init(&a.q, NULL);
        CHECK_INT(tt_query_parse(&a.q, wrong[i].query), 0);
        CHECK_INT(tt_view(&m.p, &a.q, &a.t), -TT_ERR_OPTION);
        CHECK_STR(a.q.error, wrong[i].error);
        answered(&a);
    }
    end(&m);
}

TEST(a_profile_of_nothing_has_views_of_nothing)
{
    static const char *const views[] = {"flat",   "graph", "tree",  "callers",
                                        "groups", "flame", "lines", "strands"};
    struct made m;

    begin(&m);
    if (!finish(&m))
        return;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct answer a;
        CHECK(ask(&a, &m.p, "view=%s", views[i]));
        CHECK_INT(sum_of(&a, "self"), 0);
        answered(&a);
    }
    end(&m);
}

/* ── A million contexts ───────────────────────────────────────────────────────────── */

static int many(void) { return tap_times(TAP_CASES(1000000)); }

static int make_chain(struct made *m)
{
    uint32_t block[3], at = TT_BUILDER_ROOT;

    begin(m);
    for (int i = 0; i < 3; i++)
        block[i] = tt_builder_block(m->b,
                                    &(struct tt_block_info){.name = i == 0   ? "a"
                                                                    : i == 1 ? "b"
                                                                             : "c"});
    for (int i = 0; i < many(); i++) {
        at = tt_builder_context(m->b, at, block[i % 3]);
        tt_builder_add(m->b, TT_ROLE_SELF, at, m->metric[1], 1);
        tt_builder_add(m->b, TT_ROLE_SELF, at, m->metric[0], 1);
    }
    return finish(m);
}

struct in_thread {
    struct made *m;
    const char *query;
    size_t rows;
    uint64_t sum;
};

static void *run_view(void *arg)
{
    struct in_thread *x = arg;
    struct answer a;

    if (ask(&a, &x->m->p, "%s", x->query)) {
        x->rows = tt_table_rows(&a.t);
        x->sum = sum_of(&a, "self");
    }
    answered(&a);
    return NULL;
}

/* On a stack that would hold no more than a few thousand calls. */
static struct in_thread view_in_little_room(struct made *m, const char *query)
{
    struct in_thread x = {.m = m, .query = query};
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    CHECK_INT(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
    if (CHECK_INT(pthread_create(&thread, &attributes, run_view, &x), 0))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return x;
}

TEST(a_path_of_very_many_contexts_takes_no_room_on_the_stack)
{
    static const char *const queries[] = {
        "view=flat",          "view=graph",
        "view=tree",          "view=groups",
        "view=lines",         "view=strands",
        "view=flame",         "view=flame&limit=all&threshold=0",
        "view=block&block=b", "view=strands&by=context",
    };
    struct made m;
    struct in_thread x;

    if (!make_chain(&m))
        return;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        x = view_in_little_room(&m, queries[i]);
        CHECK_INT(x.sum, many());
    }
    x = view_in_little_room(&m, "view=tree&limit=all&threshold=0");
    CHECK_INT(x.sum, many());
    CHECK_INT(x.rows, many() + 1);
    x = view_in_little_room(&m, "view=callers");
    CHECK_INT(x.rows, 200 + 3 + 1); /* and the caller of the last one of each; the
                                       total */
    x = view_in_little_room(&m, "view=header");
    CHECK(x.rows > 0);
    end(&m);
}

/* Memory that is counted, and fails on request. */
struct counting {
    long long left; /* until one fails; < 0: none does */
    long long held, most, pieces;
};

static void *get_counted(void *arg, size_t size)
{
    struct counting *c = arg;

    if (c->left == 0)
        return NULL;
    c->left -= c->left > 0;
    c->held += (long long)size;
    c->pieces++;
    if (c->held > c->most)
        c->most = c->held;
    return calloc(1, size);
}

static void put_counted(void *arg, void *p, size_t size)
{
    struct counting *c = arg;

    c->held -= (long long)size;
    c->pieces--;
    free(p);
}

TEST(very_many_children_are_passed_over_in_no_room)
{
    static const char *const queries[] = {"view=flame", "view=tree", "view=flat&limit=9"};
    struct counting counting = {.left = -1};
    const struct tt_memory memory = {
        .get = get_counted, .put = put_counted, .arg = &counting};
    struct made m;
    uint32_t block[1000];
    uint32_t child = 0;

    begin(&m);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        block[i] = tt_builder_block(m.b, &(struct tt_block_info){.name = name});
    }
    for (int i = 0; i < many() / 4; i++) {
        if (i % 1000 == 0)
            child = tt_builder_context(m.b, TT_BUILDER_ROOT, block[i / 1000]);
        tt_builder_add(m.b, TT_ROLE_SELF, tt_builder_context(m.b, child, block[i % 1000]),
                       m.metric[1], 1);
    }
    if (!finish(&m))
        return;
    m.p.memory = &memory;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        struct tt_query q;
        struct tt_table t;
        tt_query_init(&q, &memory);
        CHECK_INT(tt_query_parse(&q, queries[i]), 0);
        counting.most = 0;
        CHECK_INT(tt_view(&m.p, &q, &t), 0);
        CHECK(counting.most < 1 << 20);
        tt_table_fini(&t);
        tt_query_fini(&q);
        CHECK_INT(counting.held, 0);
    }
    m.p.memory = NULL;
    end(&m);
}

/* Sorts downwards, and counts how many are above a limit. */
static int compare_totals(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

TEST(of_many_contexts_the_largest_are_shown)
{
    struct made m;
    uint64_t state = 5, *total, shown = 0, sum = 0;
    uint32_t at[64], depth = 0;
    struct answer a;

    begin(&m);
    at[0] = TT_BUILDER_ROOT;
    for (int i = 0; i < 60000; i++) {
        char name[16];
        depth = (uint32_t)(model_number(&state) % (depth + 1));
        depth = depth > 30 ? 30 : depth;
        snprintf(name, sizeof name, "f%u", (unsigned)(model_number(&state) % 300));
        at[depth + 1] = tt_builder_context(
            m.b, at[depth], tt_builder_block(m.b, &(struct tt_block_info){.name = name}));
        tt_builder_add(m.b, TT_ROLE_SELF, at[depth + 1], m.metric[1],
                       model_number(&state) % 50);
        depth++;
    }
    if (!finish(&m))
        return;
    total = calloc(m.p.contexts, sizeof *total);
    for (uint32_t c = 0; c < m.p.contexts; c++)
        total[c] = tt_total_of(&m.p, &m.p.metric[1], c);
    qsort(total, m.p.contexts, sizeof *total, compare_totals);
    CHECK(ask(&a, &m.p, "view=tree&limit=700&threshold=0"));
    for (size_t i = 0; i < tt_table_rows(&a.t); i++)
        if (role_of(&a, i) == TT_ROW_ENTRY) {
            sum += amount(&a, i, "inclusive");
            shown++;
        }
    CHECK_INT(shown, 700);
    for (int i = 0; i < 700; i++)
        sum -= total[i];
    CHECK_INT(sum, 0);
    CHECK_INT(sum_of(&a, "self"), total[0]);
    answered(&a);
    free(total);
    end(&m);
}

/* ── No memory ────────────────────────────────────────────────────────────────────── */

/* Fails each request for memory in turn; returns how many there are. */
static int fail_each(struct tt_profile *p, const char *query)
{
    struct counting counting = {.left = -1};
    const struct tt_memory memory = {
        .get = get_counted, .put = put_counted, .arg = &counting};
    int n, error = -TT_ERR_MEMORY;

    p->memory = &memory;
    for (n = 0; error && n < 5000; n++) {
        struct tt_query q;
        struct tt_table t;
        counting.left = -1;
        tt_query_init(&q, &memory);
        CHECK_INT(tt_query_parse(&q, query), 0);
        counting.left = n;
        error = tt_view(p, &q, &t);
        CHECK(error == 0 || error == -TT_ERR_MEMORY);
        tt_table_fini(&t);
        tt_query_fini(&q);
        CHECK_INT(counting.pieces, 0);
        CHECK_INT(counting.held, 0);
    }
    p->memory = NULL;
    CHECK_INT(error, 0);
    return n;
}

TEST(a_view_that_finds_no_memory_says_so_and_leaves_nothing_behind)
{
    static const char *const queries[] = {
        "view=flat",
        "view=flat&metric=calls",
        "view=graph",
        "view=graph&block=*&metric=calls",
        "view=tree&threshold=0",
        "view=callers&threshold=0",
        "view=callers&block=*&metric=calls",
        "view=block&block=*",
        "view=block&sequence=*;*",
        "view=groups",
        "view=flame&threshold=0",
        "view=lines&uncovered=1",
        "view=strands",
        "view=strands&by=context",
        "view=strands&by=block",
        "view=series",
        "view=space",
        "view=space&by=both",
        "view=header",
    };
    struct tt_profile p;
    struct model *m = NULL;
    uint64_t seed = 0;

    do { /* one that has everything */
        model_free(m);
        m = model_random(++seed);
    } while (m->strands < 2 || m->arcs < 4 || !m->spaces || !m->points || m->calls < 0 ||
             m->metrics < 2 || m->paths < 20 || !m->path[1].times[0].count);
    if (!model_open(m, 0, &p))
        return (void)CHECK(0);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (!CHECK(fail_each(&p, queries[i]) > 3))
            fprintf(stderr, "# %s\n", queries[i]);
    model_close(&p);
    model_free(m);
}
