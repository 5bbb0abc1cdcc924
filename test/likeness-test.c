/* SPDX-License-Identifier: MIT */
/* likeness-test.c - whether two profiles have one metric, and how many samples they are
 * worth. */
#include "likeness.h"

#include <stdio.h>
#include <string.h>

#include "builder.h"
#include "diff.h"
#include "finish.h"
#include "metric-view.h"
#include "tap.h"

struct made {
    struct tt_profile p;
    void *image;
};

struct plan {
    const char *mode;
    uint32_t flags;              /* of `time` */
    uint64_t time[2], sample[2]; /* of the functions f and g */
    uint64_t waits, recordings;
    uint64_t weights[3]; /* samples, their µs, and squares */
};

static void make(struct made *m, const struct plan *plan)
{
    static const char *const names[] = {"f", "g"}, *const facts[] = {"weights.samples",
                                                                     "weights.times",
                                                                     "weights.squares"};
    struct tt_builder *b = tt_builder_new(NULL);
    const uint32_t time = tt_builder_metric(b, "time", "ns", plan->flags),
                   samples = tt_builder_metric(b, "samples", "", 0);
    size_t size;

    for (int i = 0; i < 2; i++) {
        const uint32_t c = tt_builder_context(
            b, TT_BUILDER_ROOT,
            tt_builder_block(b, &(struct tt_block_info){.name = names[i]}));
        tt_builder_add(b, TT_ROLE_SELF, c, time, plan->time[i]);
        tt_builder_add(b, TT_ROLE_SELF, c, samples, plan->sample[i]);
    }
    for (int i = 0; i < 3; i++)
        if (plan->weights[0])
            tt_builder_fact(b, facts[i], TT_FACT_SUM, plan->weights[i], "");
    if (plan->mode)
        tt_builder_fact(b, "modes", TT_FACT_EACH, 1, plan->mode);
    if (plan->waits)
        tt_builder_fact(b, "wall", TT_FACT_EACH, plan->waits, "all time");
    tt_builder_fact(b, "recordings", TT_FACT_SUM, plan->recordings, "");
    CHECK_INT(tt_builder_finish(b, &m->image, &size), 0);
    tt_builder_free(b);
    CHECK_INT(tt_profile_open(&m->p, m->image, size, NULL), 0);
}

static void put_away(struct made *m)
{
    tt_profile_close(&m->p);
    tt_memory_put(NULL, m->image);
}

enum { SAMPLED = TT_METRIC_TIME | TT_METRIC_SAMPLED };

static const struct plan cpu = {.mode = "native sampled at 250 Hz",
                                .flags = SAMPLED,
                                .time = {400, 400},
                                .sample = {100, 100},
                                .recordings = 1};

static int has_note(const struct tt_table *t, const char *kind)
{
    for (size_t i = 0; i < t->note.count; i++)
        if (strcmp(tt_table_note_at(t, i)->kind, kind) == 0)
            return 1;
    return 0;
}

/* The verdict on a function's time; "": none, "-": refused. */
static const char *verdict(const struct plan *a, const struct plan *b, const char *name,
                           int *is_unlike)
{
    static char text[20];
    const struct tt_diff_options options = {0};
    struct tt_query q;
    struct tt_table t;
    struct made x, y;

    make(&x, a);
    make(&y, b);
    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_set(&q, "metric", "time"), 0);
    strcpy(text, "-");
    if (tt_diff(&x.p, &y.p, &q, &options, &t) == 0) {
        *is_unlike = has_note(&t, "unlike");
        for (size_t i = 0; i < tt_table_rows(&t); i++) {
            const union tt_value *v = tt_table_value(&t, i,
                                                     tt_table_find(&t, "self.verdict")),
                                 *n = tt_table_value(&t, i, tt_table_find(&t, "name"));
            if (n && strcmp(n->text, name) == 0)
                (void)snprintf(text, sizeof text, "%s", v && v->text ? v->text : "");
        }
    }
    tt_table_fini(&t);
    tt_query_fini(&q);
    put_away(&x);
    put_away(&y);
    return text;
}

/* 100 and 150 of equal weight differ by √250 = 15.8, and 1.96 times that is 31: more.  If nine
 * in ten have no weight, and the others all of it, they are worth 10 and 15. */
TEST(unequal_samples_are_worth_fewer)
{
    struct plan a = cpu, b = cpu;
    int unlike;

    b.time[0] = 600;
    b.sample[0] = 150;
    CHECK_STR(verdict(&a, &b, "f", &unlike), "more");
    CHECK_STR(verdict(&a, &b, "g", &unlike), "noise");
    for (int i = 0; i < 2; i++) {
        struct plan *p = i ? &b : &a;
        const uint64_t n = p->sample[0] + p->sample[1], w = 40;
        memcpy(p->weights, (uint64_t[]){n, n / 10 * w, n / 10 * w * w},
               sizeof p->weights);
    }
    CHECK_STR(verdict(&a, &b, "f", &unlike), "noise");
    CHECK(!unlike);
}

/* 1000 samples of 1 ms and 10 of 100 ms: (1000 + 1000)² / (1000 + 100000) = 39.6. */
TEST(merged_rates_are_worth_what_their_weights_say)
{
    struct plan a = cpu;
    struct made m;

    memcpy(a.weights, (uint64_t[]){1010, 2000, 101000}, sizeof a.weights);
    make(&m, &a);
    CHECK_INT(tt_equal_samples(&m.p, 1010), 40);
    CHECK_INT(tt_equal_samples(&m.p, 101), 4);
    CHECK_INT(tt_equal_samples(&m.p, 900000), 40); /* others are of another file */
    put_away(&m);
    make(&m, &cpu);
    CHECK_INT(tt_equal_samples(&m.p, 200), 200);
    put_away(&m);
}

TEST(measured_and_sampled_times_are_unlike)
{
    struct plan exact = cpu, wall = cpu;
    int unlike = 0;

    exact.flags = TT_METRIC_TIME;
    exact.mode = "scope exact";
    wall.waits = 1;
    (void)verdict(&cpu, &exact, "f", &unlike);
    CHECK(unlike);
    (void)verdict(&cpu, &wall, "f", &unlike);
    CHECK(unlike);
    (void)verdict(&wall, &wall, "f", &unlike);
    CHECK(!unlike);
    wall.recordings = 2;
    (void)verdict(&wall, &cpu, "f", &unlike);
    CHECK(unlike);
    (void)verdict(&exact, &exact, "f", &unlike);
    CHECK(!unlike);
}

TEST(what_was_not_measured_is_not_0)
{
    struct plan calls = cpu;
    int unlike;

    calls.flags = TT_METRIC_TIME;
    calls.mode = "scope calls";
    calls.time[0] = calls.time[1] = 0;
    CHECK_STR(verdict(&cpu, &calls, "f", &unlike), "-");
    CHECK_STR(verdict(&calls, &cpu, "f", &unlike), "-");
    calls.mode = "scope exact"; /* it was measured, and is 0 */
    CHECK(strcmp(verdict(&cpu, &calls, "f", &unlike), "-") != 0);
    calls.mode = NULL; /* a file of another tool */
    CHECK(strcmp(verdict(&cpu, &calls, "f", &unlike), "-") != 0);
}

/* A merge of both kinds of time. */
TEST(a_mixture_has_a_note)
{
    struct plan some = cpu;
    struct tt_table t;
    struct made m;

    for (int i = 0; i < 3; i++) {
        some.waits = (uint64_t)i;
        some.recordings = 2;
        make(&m, &some);
        tt_table_init(&t, "flat", NULL);
        tt_note_mixture(&m.p, &m.p.metric[tt_metric_find(&m.p, "time")], &t);
        CHECK_INT(has_note(&t, "mixed"), i == 1);
        tt_table_fini(&t);
        put_away(&m);
    }
}
