/* SPDX-License-Identifier: MIT */
/* profile-test.c - the profile: what a builder makes is what was added, in whatever order;
 * merging is exact; no damage does more than give an error. */
#include "add-profile.h"
#include "failing.h"
#include "finish.h"
#include "random-profile.h"
#include "statistics.h"
#include "summary.h"
#include "tap.h"

enum { ROUNDS = TAP_CASES(300) };

/* ── What was added is there ──────────────────────────────────────────────────────── */

static uint64_t model_own(const struct model_path *p, int metric)
{
    uint64_t own = model_sum(&p->own, metric), self = model_sum(&p->self, metric);

    return own < self ? own : self;
}

static void check_context(const struct model *m, const struct tt_profile *p, uint32_t c)
{
    const struct model_path *path = model_path_of(m, p, c);

    if (!CHECK(path != NULL))
        return;
    for (int k = 0; k < m->metrics; k++) {
        const struct tt_metric_columns
            *column = &p->metric[tt_metric_find(p, m->metric[k].name)];
        CHECK_INT(tt_self_of(column, c), model_sum(&path->self, k));
        CHECK_INT(tt_elsewhere_of(column, c), model_sum(&path->elsewhere, k));
        CHECK_INT(tt_total_of(p, column, c), model_total(m, path, k));
        CHECK_INT(tt_self_of(column, c) - tt_self_low_of(column, c), model_own(path, k));
    }
}

static void check_blocks(const struct model *m, const struct tt_profile *p)
{
    for (int i = 0; i < m->blocks; i++) {
        uint32_t block = model_block_in(m, p, i);
        if (!CHECK(block != TT_NONE))
            continue;
        for (int k = 0; k < m->metrics; k++) {
            const struct tt_metric_columns
                *column = &p->metric[tt_metric_find(p, m->metric[k].name)];
            CHECK_INT(column->block ? column->block[block].hidden : 0,
                      model_sum(&m->block[i].hidden, k));
            CHECK_INT(column->block ? column->block[block].beside : 0,
                      model_sum(&m->block[i].beside, k));
        }
    }
}

TEST(a_profile_holds_what_was_added_whatever_the_order)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct model *m = model_random(seed);
        struct tt_profile p, q;
        if (!CHECK(model_open(m, 0, &p)) || !CHECK(model_open(m, seed, &q)))
            return;
        CHECK(p.checked);
        CHECK_INT(p.contexts, m->paths);
        CHECK(p.size == q.size && memcmp(p.image, q.image, p.size) == 0);
        for (uint32_t c = 0; c < p.contexts; c++)
            check_context(m, &p, c);
        check_blocks(m, &p);
        for (int k = 0; k < m->metrics; k++)
            CHECK_INT(
                tt_grand_total(&p, &p.metric[tt_metric_find(&p, m->metric[k].name)]),
                model_grand_total(m, k));
        model_close(&p);
        model_close(&q);
        model_free(m);
    }
}

TEST(the_figures_of_the_strands_add_up_to_the_columns)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct model *m = model_random(seed);
        struct tt_profile p;
        if (!CHECK(model_open(m, 0, &p)))
            return;
        for (uint32_t k = 0; p.entries && k < p.metrics; k++)
            for (uint32_t c = 0; c < p.contexts; c++) {
                uint64_t sum = 0;
                for (size_t i = 0; i < p.entries; i++)
                    if (p.entry[i].metric == k && p.entry[i].row == c)
                        sum += p.entry[i].amount;
                CHECK_INT(sum, tt_self_of(&p.metric[k], c));
            }
        model_close(&p);
        model_free(m);
    }
}

TEST(a_walk_has_the_path_of_every_context)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct model *m = model_random(seed);
        struct tt_profile p;
        struct tt_walk w;
        uint32_t seen = 0;
        if (!CHECK(model_open(m, 0, &p)) || !CHECK_INT(tt_walk_init(&w, &p, 0), 0))
            return;
        while (tt_walk_next(&w)) {
            CHECK_INT(w.context, seen++);
            CHECK_INT(w.path[w.depth], w.context);
            for (uint32_t i = 0; i < w.depth; i++)
                CHECK(w.path[i] < w.context && tt_end_of(&p, w.path[i]) > w.context);
            CHECK_INT(model_path_of(m, &p, w.context)->depth, w.depth);
        }
        CHECK_INT(seen, p.contexts);
        tt_walk_fini(&w);
        model_close(&p);
        model_free(m);
    }
}

/* ── Merging ──────────────────────────────────────────────────────────────────────── */

/* Merges profiles in this order; 0: it could not be done. */
static int merge(const struct tt_profile *const *p, int count, struct tt_profile *merged)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image;
    size_t size;
    int error = 0;

    for (int i = 0; i < count; i++)
        error |= tt_builder_profile(b, p[i]);
    error |= tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    return !error && tt_profile_open(merged, image, size, NULL) == 0;
}

static int is_same(const struct tt_profile *p, const struct tt_profile *q)
{
    return p->size == q->size && memcmp(p->image, q->image, p->size) == 0;
}

/* Sums up all metrics: those with the same name may count different things. */
static uint64_t grand_totals(const struct tt_profile *p)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < p->metrics; k++)
        sum += tt_grand_total(p, &p->metric[k]);
    return sum;
}

TEST(a_profile_merged_with_nothing_stays_as_it_is)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct model *m = model_random(seed);
        struct tt_profile p, q;
        if (!CHECK(model_open(m, 0, &p)) ||
            !CHECK(merge((const struct tt_profile *[]){&p}, 1, &q)))
            return;
        CHECK(is_same(&p, &q));
        model_close(&p);
        model_close(&q);
        model_free(m);
    }
}

TEST(merging_is_associative_and_of_any_order)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct model *m[3];
        struct tt_profile p[3], ab, bc, left, right, back;
        int ok = 1;
        for (uint64_t i = 0; i < 3; i++) {
            m[i] = model_random(seed * 3 + i);
            ok &= model_open(m[i], 0, &p[i]);
        }
        ok = ok && merge((const struct tt_profile *[]){&p[0], &p[1]}, 2, &ab) &&
             merge((const struct tt_profile *[]){&p[1], &p[2]}, 2, &bc) &&
             merge((const struct tt_profile *[]){&ab, &p[2]}, 2, &left) &&
             merge((const struct tt_profile *[]){&p[0], &bc}, 2, &right) &&
             merge((const struct tt_profile *[]){&p[2], &p[1], &p[0]}, 3, &back);
        if (!CHECK(ok))
            return;
        CHECK(is_same(&left, &right));
        CHECK(is_same(&left, &back));
        for (int i = 0; i < 3; i++)
            CHECK(grand_totals(&p[i]) <= grand_totals(&left));
        CHECK_INT(grand_totals(&p[0]) + grand_totals(&p[1]) + grand_totals(&p[2]),
                  grand_totals(&left));
        model_close(&back);
        model_close(&right);
        model_close(&left);
        model_close(&bc);
        model_close(&ab);
        for (int i = 0; i < 3; i++) {
            model_close(&p[i]);
            model_free(m[i]);
        }
    }
}

/* Every strand of these is one strand more: the same ones would be taken twice. */
static int summarise(const struct tt_profile *const *p, int count, struct tt_profile *out)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image;
    size_t size;
    int error = 0;

    for (int i = 0; i < count; i++) {
        error |= tt_builder_profile(b, p[i]);
        error |= tt_builder_summarise(b);
    }
    error |= tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    return !error && tt_profile_open(out, image, size, NULL) == 0;
}

static void check_spread(const struct tt_profile *got, const struct tt_spread *g,
                         const struct tt_spread *want)
{
    for (uint32_t c = 0; c < got->contexts; c++) {
        if (!CHECK_INT(g ? g[c].count : 0, want[c].count) || !g || !want[c].count)
            continue;
        CHECK_INT(g[c].min, want[c].min);
        CHECK_INT(g[c].max, want[c].max);
        CHECK(g[c].square.low == want[c].square.low &&
              g[c].square.high == want[c].square.high);
    }
}

TEST(a_summary_says_how_figures_spread_over_the_strands_that_it_leaves_out)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct model *m[2] = {model_random(seed), model_random(seed + ROUNDS)};
        struct tt_profile p[2], whole, once, twice;
        for (int s = 0; s < m[1]->strands; s++)
            m[1]->strand[s].pid += 1000;
        if (!CHECK(model_open(m[0], 0, &p[0]) && model_open(m[1], 0, &p[1])) ||
            !CHECK(merge((const struct tt_profile *[]){&p[0], &p[1]}, 2, &whole)) ||
            !CHECK(summarise((const struct tt_profile *[]){&p[0], &p[1]}, 2, &once)) ||
            !CHECK(summarise((const struct tt_profile *[]){&once}, 1, &twice)))
            return;
        CHECK(is_same(&once, &twice));
        CHECK_INT(once.entries, 0);
        for (uint32_t k = 0; k < whole.metrics; k++) {
            struct tt_spread *total = tt_spread_of(&whole, k, 0, TT_OVER_STRANDS, NULL);
            struct tt_spread *self = tt_spread_of(&whole, k, 1, TT_OVER_STRANDS, NULL);
            check_spread(&once, once.metric[k].spread, total);
            check_spread(&once, once.metric[k].spread_self, self);
            for (uint32_t c = 0; c <= whole.contexts; c++)
                CHECK_INT(once.metric[k].self[c], whole.metric[k].self[c]);
            tt_memory_put(NULL, total);
            tt_memory_put(NULL, self);
        }
        model_close(&twice);
        model_close(&once);
        model_close(&whole);
        model_close(&p[0]);
        model_close(&p[1]);
        model_free(m[0]);
        model_free(m[1]);
    }
}

/* ── Damage ───────────────────────────────────────────────────────────────────────── */

/* Steps on all that a view may step on. */
static uint64_t look_at(const struct tt_profile *p)
{
    struct tt_walk w;
    uint64_t sum = 0;

    if (tt_walk_init(&w, p, 0) != 0)
        return 0;
    while (tt_walk_next(&w))
        for (uint32_t k = 0; k < p->metrics; k++)
            sum += tt_total_of(p, &p->metric[k], w.context) +
                   (unsigned char)*tt_block_name(p, tt_block_of(p, w.context));
    tt_walk_fini(&w);
    for (size_t i = 0; p->checked && i < p->many_times; i++)
        sum += p->times[i].sum;
    return sum;
}

TEST(a_damaged_profile_is_an_error_and_never_a_crash)
{
    uint64_t state = 1, errors = 0, sum = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct model *m = model_random(seed);
        struct tt_profile p, q;
        char *copy;
        if (!CHECK(model_open(m, 0, &p)))
            return;
        copy = malloc(p.size);
        for (int i = 0; i < 250; i++) {
            memcpy(copy, p.image, p.size);
            for (int j = 0; j < 1 + i % 3; j++) {
                size_t at = model_number(&state) % (i % 2 ? p.size : 1024);
                copy[at] = (char)(i % 5 ? model_number(&state) : 0xff);
            }
            if (tt_profile_open(&q, copy, p.size, NULL) != 0) {
                errors += q.error[0] != '\0';
                continue;
            }
            sum += look_at(&q);
            tt_profile_close(&q);
        }
        free(copy);
        model_close(&p);
        model_free(m);
    }
    CHECK(errors > 1000 && sum > 0);
}

TEST(a_profile_that_was_cut_off_says_so)
{
    struct model *m = model_random(7);
    struct tt_profile p, q;

    if (!CHECK(model_open(m, 0, &p)))
        return;
    for (size_t size = 0; size < p.size; size++) {
        char *copy = malloc(size + 1);
        memcpy(copy, p.image, size);
        if (!CHECK_INT(tt_profile_open(&q, copy, size, NULL), -TT_ERR_FORMAT))
            tt_profile_close(&q);
        CHECK(q.error[0] != '\0');
        free(copy);
    }
    model_close(&p);
    model_free(m);
}

/* ── Memory ───────────────────────────────────────────────────────────────────────── */

TEST(every_allocation_may_fail)
{
    struct model *m = model_random(11);
    struct tt_profile whole, p;
    long enough = 0;

    if (!CHECK(model_open(m, 0, &whole)))
        return;
    for (long n = 0; !enough; n++) {
        struct tt_builder *b;
        void *image = NULL;
        size_t size = 0;
        int error = 1;
        failing_after = n;
        b = tt_builder_new(&failing);
        if (b) {
            model_build(m, 0, b);
            (void)tt_builder_profile(b, &whole);
            error = tt_builder_finish(b, &image, &size);
            tt_builder_free(b);
        }
        if (!error && tt_profile_open(&p, image, size, &failing) == 0) {
            enough = n;
            tt_profile_close(&p);
        }
        tt_memory_put(&failing, image);
        CHECK_INT(failing_pieces, 0);
    }
    CHECK(enough > 50);
    model_close(&whole);
    model_free(m);
}

struct held {
    size_t now, most;
};

static void *get_held(void *arg, size_t size)
{
    struct held *h = arg;

    h->now += size;
    h->most = h->now > h->most ? h->now : h->most;
    return calloc(1, size);
}

static void put_held(void *arg, void *p, size_t size)
{
    ((struct held *)arg)->now -= size;
    free(p);
}

/* A context is 8 bytes of the builder and 8 of the file, beside its figures. */
TEST(a_builder_needs_twenty_bytes_a_context_to_finish)
{
    enum { CONTEXTS = 9 << 13, BLOCKS = 100 }; /* what the builder has room for */
    struct held held = {0};
    struct tt_memory memory = {.get = get_held, .put = put_held, .arg = &held};
    struct tt_builder *b = tt_builder_new(&memory);
    uint32_t block[BLOCKS];
    void *image;
    size_t size;

    for (int i = 0; i < BLOCKS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        block[i] = tt_builder_block(b, &(struct tt_block_info){.name = name});
    }
    for (uint32_t i = 1; i < CONTEXTS; i++)
        (void)tt_builder_context(b, (i - 1) / BLOCKS, block[(i - 1) % BLOCKS]);
    held.most = 0;
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    CHECK(held.most > CONTEXTS * (size_t)16 && held.most < CONTEXTS * (size_t)21);
    tt_memory_put(&memory, image);
    CHECK_INT(held.now, 0);
}

/* ── Statistics ───────────────────────────────────────────────────────────────────── */

TEST(a_deviation_is_exact_where_floating_figures_cancel)
{
    struct tt_sum128 square = {0};
    const uint64_t far = 1ull << 60;
    uint64_t sum = 0;

    for (int i = 0; i < 4; i++) {
        uint64_t x = far / 4 + (uint64_t)(i % 2) * 6;
        sum += x;
        tt_sum128_add_square(&square, x);
    }
    CHECK(tt_deviation(4, sum, &square) == 3);
    CHECK(tt_mean(4, sum) == (double)(far / 4 + 3));
    CHECK(tt_deviation(0, 0, &square) == 0);
}

TEST(a_chain_of_a_million_contexts_is_like_any_other)
{
    enum { DEEP = 1000000 };
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t block = tt_builder_block(b, &(struct tt_block_info){.name = "f"});
    uint32_t metric = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME), at = 0;
    struct tt_profile p, q;
    void *image;
    size_t size;

    for (int i = 0; i < DEEP; i++) {
        at = tt_builder_context(b, at, block);
        tt_builder_add(b, TT_ROLE_SELF, at, metric, 1);
    }
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    if (!CHECK_INT(tt_profile_open(&p, image, size, NULL), 0))
        return;
    CHECK_INT(p.depth, DEEP);
    CHECK_INT(tt_total_of(&p, &p.metric[0], 1), DEEP);
    CHECK_INT(tt_total_of(&p, &p.metric[0], DEEP), 1);
    if (CHECK(merge((const struct tt_profile *[]){&p, &p}, 2, &q))) {
        CHECK_INT(tt_total_of(&q, &q.metric[0], 2), 2 * (DEEP - 1));
        model_close(&q);
    }
    model_close(&p);
}

TEST(facts_of_many_files_end_at_the_largest_number)
{
    struct tt_builder *b = tt_builder_new(NULL);
    struct tt_profile p;
    void *image;
    size_t size;

    for (int i = 0; i < 3; i++) {
        tt_builder_fact(b, "torn", TT_FACT_SUM, UINT64_MAX / 2, "");
        tt_builder_fact(b, "evictions", TT_FACT_SUM, 7, "");
    }
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    if (!CHECK_INT(tt_profile_open(&p, image, size, NULL), 0))
        return;
    CHECK(tt_fact_number(&p, "torn") == UINT64_MAX);
    CHECK_INT(tt_fact_number(&p, "evictions"), 21);
    model_close(&p);
}

static void check_refused(uint32_t parent, uint32_t block)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image;
    size_t size;

    CHECK(tt_builder_block(b, &(struct tt_block_info){.name = "f"}) == 1);
    CHECK(tt_builder_context(b, TT_BUILDER_ROOT, 1) == 1);
    CHECK(tt_builder_context(b, parent, block) == TT_NONE);
    CHECK(tt_builder_context(b, TT_BUILDER_ROOT, 1) == TT_NONE);
    CHECK(tt_builder_finish(b, &image, &size) < 0);
    CHECK(!image);
    tt_builder_free(b);
}

TEST(a_builder_refuses_parents_and_blocks_that_it_has_not_given)
{
    check_refused(2, 1);
    check_refused(TT_NONE, 1);
    check_refused(TT_NONE, TT_BUILDER_ROOT);
    check_refused(UINT32_MAX - 1, 1);
    check_refused(7, TT_BUILDER_ROOT);
    check_refused(1, 2);
    check_refused(1, TT_NONE);
}
