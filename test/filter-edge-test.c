/* SPDX-License-Identifier: MIT */
/* filter-edge-test.c - filters by hand, and at their edges: dropped pushes, reasons, a
 * million contexts in one path, no memory. */
#include "by-hand.h"
#include "failing.h"
#include "filter.h"
#include "summary.h"
#include "view-oracle.h"
#include "view.h"

/* ── By hand ──────────────────────────────────────────────────────────────────────── */

/* "path=calls/time …" of every context with a figure, in preorder. */
static void print_tree(const struct tt_profile *p, char *text, size_t size)
{
    const struct tt_metric_columns *calls = &p->metric[tt_metric_find(p, "calls")];
    const struct tt_metric_columns *time = &p->metric[tt_metric_find(p, "time")];
    struct tt_walk w;
    size_t at = 0;

    text[0] = '\0';
    if (!CHECK_INT(tt_walk_init(&w, p, 0), 0))
        return;
    while (tt_walk_next(&w)) {
        uint64_t self = tt_self_of(time, w.context), count = tt_self_of(calls, w.context);
        if (!self && !count)
            continue;
        for (uint32_t i = 1; i <= w.depth; i++)
            at += (size_t)snprintf(text + at, size - at, "%s%s", i > 1 ? ";" : "",
                                   tt_block_name(p, tt_block_of(p, w.path[i])));
        at += (size_t)snprintf(text + at, size - at, "=%d/%d ", (int)count, (int)self);
    }
    tt_walk_fini(&w);
}

static void check_query(const struct tt_profile *p, const char *query, const char *tree)
{
    struct tt_filtered f;
    struct tt_query q;
    char text[600];

    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_parse(&q, query), 0);
    if (CHECK_INT(tt_filter_apply(p, &q, &f), 0)) {
        print_tree(f.profile, text, sizeof text);
        if (!CHECK_STR(text, tree))
            fprintf(stderr, "# %s\n", query);
        tt_filter_close(&f, NULL);
    }
    tt_query_fini(&q);
}

/* main calls parse and gc; parse calls list, which calls gc. */
static int make_parser(struct made *m)
{
    begin(m);
    add(m, "main", 1, 10);
    add(m, "main;gc", 2, 3);
    add(m, "main;parse", 4, 20);
    add(m, "main;parse;list", 8, 40);
    add(m, "main;parse;list;gc", 16, 80);
    return finish(m);
}

TEST(each_filter_does_to_a_small_tree_what_it_says)
{
    static const struct {
        const char *query, *tree;
    } cases[] = {
        {"select=gc", "main;gc=2/3 main;parse;list;gc=16/80 "},
        {"select=gc&select=list", "main;parse;list;gc=16/80 "},
        {"exclude=gc", "main=1/10 main;parse=4/20 main;parse;list=8/40 "},
        {"fold=parse", "main=1/30 main;gc=2/3 main;list=8/40 main;list;gc=16/80 "},
        {"fold=parse&fold=list", "main=1/70 main;gc=18/83 "},
        {"fold=main", "=0/10 gc=2/3 parse=4/20 parse;list=8/40 parse;list;gc=16/80 "},
        {"fold=*", "=0/153 "},
        {"prune=parse", "main=1/10 main;[pruned]=28/140 main;gc=2/3 "},
        {"prune=4", "main=1/10 main;[pruned]=2/3 main;parse=4/20 main;parse;list=8/40 "
                    "main;parse;list;gc=16/80 "},
        {"prune=calls<25",
         "main=1/10 main;[pruned]=2/3 main;parse=4/20 main;parse;[pruned]=24/120 "},
        {"prune=100%25", "main=1/10 main;[pruned]=30/143 "},
        {"prune=200", "[pruned]=31/153 "},
        {"prune=time<80.5ns",
         "main=1/10 main;[pruned]=2/3 main;parse=4/20 main;parse;list=8/40 "
         "main;parse;list;[pruned]=16/80 "},
        {"nodefraction=0.02",
         "main=1/10 main;[pruned]=2/3 main;parse=4/20 main;parse;list=8/40 "
         "main;parse;list;gc=16/80 "},
        {"root=gc", "gc=18/83 "},
        {"root=parse", "parse=4/20 parse;list=8/40 parse;list;gc=16/80 "},
        {"root=/gc|list/", "gc=2/3 list=8/40 list;gc=16/80 "},
        {"root=list&exclude=gc", "list=8/40 "},
        {"exclude=gc&root=gc", ""},
        {"fold=list&select=parse&root=gc", "gc=16/80 "},
        {"select=gc&fold=gc", "main=0/3 main;parse;list=0/80 "},
        {"prune=list&fold=[pruned]", "main=1/10 main;gc=2/3 main;parse=4/140 "},
        {"prune=list&exclude=[pruned]", "main=1/10 main;gc=2/3 main;parse=4/20 "},
        {"prune=list&prune=/ru/", "main=1/10 main;gc=2/3 main;parse=4/20 "
                                  "main;parse;[pruned]=24/120 "},
        {"show_from=list&hide=gc", "list=8/120 "},
        {"focus=li&ignore=gc", "main;parse;list=8/40 "},
        {"collapse=*", "main=1/10 main;gc=2/3 main;parse=4/20 main;parse;list=8/40 "
                       "main;parse;list;gc=16/80 "},
        {"select=none", ""},
        {"fold=none&exclude=none", "main=1/10 main;gc=2/3 main;parse=4/20 "
                                   "main;parse;list=8/40 main;parse;list;gc=16/80 "},
        {"exclude=[root]", "main=1/10 main;gc=2/3 main;parse=4/20 main;parse;list=8/40 "
                           "main;parse;list;gc=16/80 "},
    };
    struct made m;

    if (!make_parser(&m))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_query(&m.p, cases[i].query, cases[i].tree);
    end(&m);
}

/* main calls eval, which calls apply, which calls eval, and so on. */
TEST(recursion_is_collapsed_onto_the_first_of_a_block)
{
    struct made m;

    begin(&m);
    add(&m, "main;eval", 1, 10);
    add(&m, "main;eval;apply", 2, 20);
    add(&m, "main;eval;apply;eval", 4, 40);
    add(&m, "main;eval;apply;eval;gc", 8, 80);
    add(&m, "main;eval;apply;eval;apply", 16, 160);
    add(&m, "main;eval;eval", 32, 320);
    if (!finish(&m))
        return;
    check_query(&m.p, "collapse=*",
                "main;eval=37/370 main;eval;apply=18/180 main;eval;gc=8/80 ");
    check_query(&m.p, "collapse=apply",
                "main;eval=1/10 main;eval;apply=18/180 main;eval;apply;eval=4/40 "
                "main;eval;apply;eval;gc=8/80 main;eval;eval=32/320 ");
    check_query(&m.p, "collapse=eval&fold=eval",
                "main=0/370 main;apply=18/180 main;gc=8/80 ");
    check_query(&m.p, "exclude=gc&fold=apply&collapse=*", "main;eval=37/550 ");
    end(&m);
}

/* After filters, only calls have figures. */
TEST(what_is_looked_at_stays_that_behind_filters)
{
    struct tt_filtered f;
    struct tt_query q;
    struct made m;

    begin(&m);
    add(&m, "main", 1, 10);
    add(&m, "main;idle", 3, 0);
    if (!finish(&m))
        return;
    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_parse(&q, "root=idle&select=idle&strand=*"), 0);
    if (CHECK_INT(tt_filter_apply(&m.p, &q, &f), 0)) {
        CHECK_STR(f.profile->metric[tt_metric_find(f.profile, NULL)].name, "time");
        tt_filter_close(&f, NULL);
    }
    tt_query_fini(&q);
    end(&m);
}

/* The calls of a push that was dropped are those of a leaf below where it came from. */
TEST(a_dropped_push_is_filtered_like_a_leaf)
{
    static const struct {
        const char *query, *calls; /* of a, b, c, [pruned], by the flat view */
    } cases[] = {
        {"select=a", "1 7 4 0 "},
        {"exclude=b", "1 0 0 0 "},
        {"exclude=c", "1 2 0 0 "},
        {"fold=b", "1 0 4 0 "},
        {"fold=c", "1 7 0 0 "},
        {"prune=c", "1 2 0 9 "},
        {"prune=b", "1 0 0 11 "},
        {"root=c", "0 5 4 0 "},
        {"prune=calls<10", "1 2 0 9 "},
        {"select=c&root=b", "0 5 4 0 "},
        {"fold=c&prune=calls<3", "1 7 0 0 "},
    };
    static const char *const names[] = {"a", "b", "c", "[pruned]"};
    struct made m;

    begin(&m);
    add(&m, "a", 1, 1);
    add(&m, "a;b", 2, 1);
    add(&m, "a;b;c", 4, 1);
    add_arc(&m, "a;b;c", "a;b;c", "b", 5);
    if (!finish(&m))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_filtered f;
        struct answer a;
        char text[64] = "";
        tt_query_init(&a.q, NULL);
        CHECK_INT(tt_query_parse(&a.q, "metric=calls&limit=0"), 0);
        CHECK_INT(tt_query_parse(&a.q, cases[i].query), 0);
        if (!CHECK_INT(tt_filter_apply(&m.p, &a.q, &f), 0))
            return;
        CHECK_INT(tt_view(f.profile, &a.q, &a.t), 0);
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            uint64_t calls = 0;
            for (size_t row = 0; row < tt_table_rows(&a.t); row++)
                if (strcmp(text_at(&a, row, "name"), names[j]) == 0)
                    calls += amount(&a, row, "self");
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d ",
                           (int)calls);
        }
        if (!CHECK_STR(text, cases[i].calls))
            fprintf(stderr, "# %s\n", cases[i].query);
        tt_filter_close(&f, NULL);
        answered(&a);
    }
    end(&m);
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

static void check_error(const struct tt_profile *p, const char *query, const char *error)
{
    struct tt_filtered f = {0};
    struct tt_query q;

    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_parse(&q, query), 0);
    CHECK_INT(tt_filter_apply(p, &q, &f), -TT_ERR_OPTION);
    CHECK_STR(q.error, error);
    CHECK(!f.image);
    tt_query_fini(&q);
}

TEST(a_filter_that_cannot_be_has_a_reason)
{
    struct made m;

    if (!make_parser(&m))
        return;
    check_error(&m.p, "strand=absent",
                "'absent': no thread, process or rank matches; by number: pid:12, "
                "thread:12 or rank:2");
    check_error(&m.p, "fold=gc&prune=1%25&strand=rank:7",
                "'rank:7': no thread, process or rank matches; by number: pid:12, "
                "thread:12 or rank:2");
    check_error(&m.p, "prune=heap<5",
                "there is no metric 'heap'; there are: calls, time");
    check_error(&m.p, "prune=1MB", "'1MB': the metric has another unit");
    end(&m);
}

/* Of many strands, only the spread is kept; filters leave that out as well. */
TEST(a_summary_has_no_strands_to_choose_from_before_or_after_filters)
{
    struct tt_filtered f;
    struct tt_query q;
    struct made m;

    begin(&m);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct tt_strand_info info = {.rank = rank, .members = 1};
        (void)tt_builder_strand(m.b, &info);
        add(&m, "a", 1, 10);
        add(&m, "a;b", 1, rank);
    }
    CHECK_INT(tt_builder_summarise(m.b), 0);
    if (!finish(&m))
        return;
    check_error(&m.p, "strand=rank:1", "'rank:1': the profile has no figures by strand");
    check_error(&m.p, "fold=b&prune=1&strand=rank:1",
                "'rank:1': the profile has no figures by strand");
    check_query(&m.p, "fold=b&prune=1", "a=3/33 ");
    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_parse(&q, "fold=b&prune=1&exclude=b"), 0);
    if (CHECK_INT(tt_filter_apply(&m.p, &q, &f), 0)) {
        CHECK_INT(f.profile->strands, 3);
        tt_filter_close(&f, NULL);
    }
    tt_query_fini(&q);
    end(&m);
}

TEST(a_very_long_chain_is_filtered_like_any_other)
{
    const uint64_t deep = (uint64_t)tap_times(1000000);
    const struct {
        const char *query;
        uint64_t total, contexts;
    } cases[] = {
        {"select=g", deep - 1, deep + 1},
        {"exclude=g", 1, 2},
        {"fold=g", deep, deep / 2 + 1},
        {"root=g", deep - 1, deep},
        {"prune=50%25", deep, deep / 2 + 3},
        {"select=g&fold=f&prune=10&root=g", deep - 1, deep / 2 - 3},
        {"collapse=*", deep, 3},
        {"collapse=g", deep, 4},
        {"collapse=g&exclude=g", 1, 2},
    };
    struct made m;
    uint32_t block[2], at = 0;

    begin(&m);
    block[0] = tt_builder_block(m.b, &(struct tt_block_info){.name = "f"});
    block[1] = tt_builder_block(m.b, &(struct tt_block_info){.name = "g"});
    for (uint64_t i = 0; i < deep; i++) {
        at = tt_builder_context(m.b, at, block[i % 2]);
        tt_builder_add(m.b, TT_ROLE_SELF, at, m.metric[1], 1);
    }
    if (!finish(&m))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_filtered f;
        struct tt_query q;
        tt_query_init(&q, NULL);
        CHECK_INT(tt_query_parse(&q, cases[i].query), 0);
        if (CHECK_INT(tt_filter_apply(&m.p, &q, &f), 0)) {
            const struct tt_profile *after = f.profile;
            uint32_t time = tt_metric_find(after, "time");
            CHECK_INT(tt_grand_total(after, &after->metric[time]), cases[i].total);
            CHECK_INT(after->contexts, cases[i].contexts);
            tt_filter_close(&f, NULL);
        }
        tt_query_fini(&q);
    }
    end(&m);
}

/* Wanted for so many questions. */
struct patience {
    long left, asked;
};

static int is_patient(void *arg)
{
    struct patience *p = arg;

    p->asked++;
    return p->left-- > 0;
}

/* Filters by `query`, and cancels it after `questions` questions.  Returns how often the filter asked. */
static long stop_after(const struct tt_profile *p, const char *query, long questions,
                       int *error)
{
    const long before = failing_pieces;
    struct patience patience = {questions, 0};
    struct tt_filtered f;
    struct tt_query q;

    failing_after = 1000000;
    tt_query_init(&q, &failing);
    CHECK_INT(tt_query_parse(&q, query), 0);
    q.is_wanted = is_patient;
    q.asker = &patience;
    *error = tt_filter_apply(p, &q, &f);
    CHECK((f.image != NULL) == (*error == 0));
    tt_filter_close(&f, &failing);
    tt_query_fini(&q);
    CHECK_INT(failing_pieces, before);
    return patience.asked;
}

TEST(a_filter_that_nobody_waits_for_stops_and_frees_what_it_has)
{
    /* One question is within a pass, or some are. */
    const int wide = tap_is_long() ? 200000 : 70000;
    static const char *const queries[] = {"exclude=b9", "fold=b9", "collapse=*",
                                          "exclude=b1&prune=5&exclude=b2"};
    struct made m;
    char name[20];
    int error;

    begin(&m);
    for (int i = 0; i < wide; i++) {
        (void)snprintf(name, sizeof name, "b%d", i);
        tt_builder_add(m.b, TT_ROLE_SELF,
                       tt_builder_context(
                           m.b, TT_BUILDER_ROOT,
                           tt_builder_block(m.b, &(struct tt_block_info){.name = name})),
                       m.metric[1], (uint64_t)i);
    }
    if (!finish(&m))
        return;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const long all = stop_after(&m.p, queries[i], 1000, &error);
        CHECK_INT(error, 0);
        CHECK(all > wide / 65536 + 1); /* each 65,536 contexts, and before the image */
        for (long n = 0; n < all; n++) {
            CHECK_INT(stop_after(&m.p, queries[i], n, &error), n + 1);
            CHECK_INT(error, -TT_ERR_STATE);
        }
    }
    end(&m);
}

/* A profile that has everything: strands, arcs, times. */
static uint64_t rich_seed(void)
{
    for (uint64_t seed = 1;; seed++) {
        struct model *m = model_random(seed);
        uint64_t count = 0;
        int rich = m->strands > 1 && m->arcs > 3 && m->calls == 0 && m->metrics > 1;
        for (int i = 0; i < m->paths; i++)
            count += m->path[i].times[0].count;
        model_free(m);
        if (rich && count)
            return seed;
    }
}

TEST(every_allocation_of_a_filter_may_fail)
{
    struct model *m = model_random(rich_seed());
    struct tt_profile p;
    long n = 0, before;

    if (!CHECK(model_open(m, 0, &p)))
        return;
    for (int error = 1; error; n++) {
        struct tt_filtered f = {0};
        struct tt_query q;
        failing_after = 1000000;
        tt_query_init(&q, &failing);
        CHECK_INT(tt_query_parse(&q, "strand=main&fold=p*&prune=calls<9&prune=/a/"), 0);
        before = failing_pieces;
        failing_after = n;
        error = tt_filter_apply(&p, &q, &f);
        CHECK(!error || error == -TT_ERR_MEMORY);
        CHECK(!error || failing_pieces == before);
        tt_filter_close(&f, &failing);
        CHECK_INT(failing_pieces, before);
        tt_query_fini(&q);
    }
    CHECK(n > 100);
    model_close(&p);
    model_free(m);
}
