/* SPDX-License-Identifier: MIT */
/* bursts-test.c - bursts: false ones in runs in which nothing changes, and planted ones.
 *
 * The oracle is the program that makes the runs.  A minute has 15000 samples of 4 ms.  A burst
 * of half a second has 125 of them, of which 25 more are of `a`; the others keep their
 * proportions. */
#include <math.h>

#include "builder.h"
#include "bursts.h"
#include "finish.h"
#include "samples.h"
#include "tap.h"

enum { SAMPLES = 15000, PERIOD = 4000000, BURST = 125, NEAR = 50, FUNCTIONS = 12 };
#define STARTED 1700000000000000000u

static uint64_t state;

static double chance(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* ── Runs ─────────────────────────────────────────────────────────────────────────── */

struct run {
    uint8_t function[SAMPLES];
    int from, to; /* of what was planted */
};

static int draw_function(double share_of_a)
{
    static const double others[] = {.4, .3, .2, .1};
    double x = chance();
    int i = 0;

    if (x < share_of_a)
        return 0;
    x = (x - share_of_a) / (1 - share_of_a);
    while (i < 3 && x >= others[i])
        x -= others[i++];
    return i + 1;
}

static struct run independent(double share, double more)
{
    struct run r = {.from = 0};

    r.from = more > 0 ? 1000 + (int)(chance() * (SAMPLES - 2000 - BURST)) : SAMPLES;
    r.to = r.from + BURST;
    for (int i = 0; i < SAMPLES; i++)
        r.function[i] = (uint8_t)draw_function(i >= r.from && i < r.to ? share + more
                                                                       : share);
    return r;
}

/* A loop of 1 to 50 ms, then another one. */
static double loop_lasts(int long_ones_are_rare)
{
    return long_ones_are_rare ? exp(chance() * log(50)) : 1 + 49 * chance();
}

/* Two loops take turns; of several, any is next. */
static struct run loops(int functions, int long_ones_are_rare)
{
    struct run r = {.from = SAMPLES};
    double end = 0;
    int now = 0;

    for (int i = 0; i < SAMPLES; i++) {
        for (; end <= i * 4.0; end += loop_lasts(long_ones_are_rare))
            now = functions == 2 ? !now : (int)(chance() * functions);
        r.function[i] = (uint8_t)now;
    }
    return r;
}

/* Of a share of the time in all, for a mean time that ends at any moment. */
static struct run comes_and_goes(double share, double mean)
{
    struct run r = {.from = SAMPLES};
    int on = 0;

    for (int i = 0; i < SAMPLES; i++) {
        on = on ? chance() >= 1 / mean : chance() < share / (1 - share) / mean;
        r.function[i] = on ? 0 : chance() < .3 ? 1 : 2;
    }
    return r;
}

/* Two loops in turns of fixed times, in ms. */
static struct run fixed_turns(int a, int b)
{
    struct run r = {.from = SAMPLES};

    for (int i = 0; i < SAMPLES; i++)
        r.function[i] = (i * 4 + (int)(4 * chance())) % (a + b) >= a;
    return r;
}

/* Two loops take turns, and a third one runs alone, once. */
static struct run once(void)
{
    struct run r = loops(2, 0);

    r.from = 1000 + (int)(chance() * (SAMPLES - 2000 - BURST));
    r.to = r.from + BURST;
    for (int i = r.from; i < r.to; i++)
        r.function[i] = 2;
    return r;
}

/* ── Profiles of them ─────────────────────────────────────────────────────────────── */

static uint32_t named(struct tt_builder *b, uint32_t parent, const char *name)
{
    return tt_builder_context(b, parent,
                              tt_builder_block(b, &(struct tt_block_info){.name = name}));
}

static void build(struct tt_builder *b, const struct run *r)
{
    const uint32_t time = tt_builder_metric(b, "time", "ns",
                                            TT_METRIC_TIME | TT_METRIC_SAMPLED),
                   work = named(b, named(b, TT_BUILDER_ROOT, "main"), "work");
    uint32_t function[FUNCTIONS];

    for (int i = 0; i < FUNCTIONS; i++)
        function[i] = named(b, work, (char[2]){(char)('a' + i), '\0'});
    for (int i = 0; i < SAMPLES; i++) {
        const uint32_t c = function[r->function[i]];
        tt_builder_add(b, TT_ROLE_SELF, c, time, PERIOD);
        tt_builder_sample(b, time, c, STARTED + (uint64_t)(i + 1) * PERIOD, PERIOD, 0);
    }
}

struct found {
    int bursts;             /* up to two */
    int is_named, is_right; /* the first one: its block; its edges too */
};

static struct found look(const struct run *r, const char *name)
{
    struct tt_builder *b = tt_builder_new(NULL);
    struct found f = {0, 0, 0};
    struct tt_profile p = {0};
    struct tt_bursts *v;
    const struct tt_burst *one;
    size_t size, bursts;
    void *image;

    build(b, r);
    if (!CHECK_INT(tt_builder_finish(b, &image, &size), 0) ||
        !CHECK_INT(tt_profile_open(&p, image, size, NULL), 0))
        exit(1);
    tt_builder_free(b);
    v = tt_bursts_new(&p, 2, NULL);
    while (tt_bursts_work(v) > 0)
        ;
    one = tt_bursts_found(v, &bursts);
    f.bursts = (int)bursts;
    if (bursts) {
        f.is_named = strcmp(tt_block_name(&p, one->more.block), name) == 0;
        f.is_right = f.is_named && abs((int)one->from - r->from) <= NEAR &&
                     abs((int)one->to - r->to) <= NEAR;
    }
    tt_bursts_free(v);
    tt_profile_close(&p);
    tt_memory_put(NULL, image);
    return f;
}

/* ── Tests ────────────────────────────────────────────────────────────────────────── */

enum { LONG = 400, SHORT = 12 };

static int repetitions(void) { return tap_is_long() ? LONG : SHORT; }

/* At 4 in 100, three of twelve are as likely as 1 in 90, and 5 % of 400 are 20. */
static void check_false(const char *kind, int bursts)
{
    fprintf(stderr, "# %s: %d of %d have a burst\n", kind, bursts, repetitions());
    CHECK(bursts <= (tap_is_long() ? LONG / 20 : 2));
}

#define COUNT(a_run, count)                                                              \
    for (int i = 0; i < repetitions(); i++) {                                            \
        const struct run one = a_run;                                                    \
        count += look(&one, "a").bursts != 0;                                            \
    }

TEST(where_nothing_changes_one_run_in_twenty_has_a_burst_at_most)
{
    int bursts = 0;

    state = 1;
    COUNT(independent(.1, 0), bursts)
    check_false("independent samples", bursts);
}

TEST(where_loops_take_turns_one_run_in_twenty_has_a_burst_at_most)
{
    int two = 0, four = 0;

    state = 2;
    COUNT(loops(2, 0), two)
    check_false("two loops of 1 to 50 ms", two);
    if (!tap_is_long())
        return;
    COUNT(loops(4, 0), four)
    check_false("four loops of 1 to 50 ms", four);
}

TEST(where_many_loops_are_short_one_run_in_twenty_has_a_burst_at_most)
{
    int bursts = 0;

    if (!tap_is_long())
        SKIP("it takes a minute");
    state = 6;
    COUNT(loops(12, 1), bursts)
    check_false("twelve loops of 1 to 50 ms, most of them short", bursts);
}

TEST(where_loops_take_fixed_turns_one_run_in_twenty_has_a_burst_at_most)
{
    int bursts = 0;

    state = 7;
    COUNT(fixed_turns(30, 50), bursts)
    check_false("30 and 50 ms in turns", bursts);
}

TEST(where_a_function_comes_and_goes_one_run_in_twenty_has_a_burst_at_most)
{
    int bursts = 0;

    if (!tap_is_long())
        SKIP("it takes a minute");
    state = 8;
    COUNT(comes_and_goes(.02, 5), bursts)
    check_false("20 ms now and then, 2 % of the time", bursts);
}

struct count {
    int found, right;
};

static struct count count_planted(double share, double more, int times)
{
    struct count c = {0, 0};

    for (int i = 0; i < times; i++) {
        const struct run r = more > 0 ? independent(share, more) : once();
        const struct found f = look(&r, more > 0 ? "a" : "c");
        c.found += f.is_named;
        c.right += f.is_right;
    }
    fprintf(stderr,
            "# share %.2f, and %.2f more: %d of %d are found, %d with their edges\n",
            share, more, c.found, times, c.right);
    return c;
}

/* Of greater shares chance makes more.  Even a test that knows the length, all shares and the
 * change finds 97 % of bursts at a share of 10 %, and 77 % at 50 %. */
TEST(half_a_second_of_a_minute_with_20_percent_more_of_a_rare_function_is_found)
{
    const int times = tap_is_long() ? LONG / 2 : SHORT;

    state = 3;
    CHECK(count_planted(.02, .2, times).right >= times * 95 / 100);
    if (!tap_is_long())
        return;
    CHECK(count_planted(.03, .2, times).right >= times * 95 / 100);
    CHECK(count_planted(.05, .2, times).right >= times * 90 / 100);
    CHECK(count_planted(.1, .2, times).found >= times * 80 / 100);
    (void)count_planted(.2, .2, times);
    (void)count_planted(.3, .2, times);
    (void)count_planted(.5, .2, times);
    (void)count_planted(.7, .2, times);
}

TEST(of_a_common_function_30_or_40_percent_more_are_found)
{
    const int times = tap_is_long() ? LONG / 2 : SHORT;

    state = 4;
    CHECK(count_planted(.3, .4, times).right >= times * (tap_is_long() ? 95 : 75) / 100);
    if (tap_is_long())
        CHECK(count_planted(.1, .3, times).right >= times * 95 / 100);
}

TEST(what_runs_once_is_found_among_loops_that_take_turns)
{
    const int times = tap_is_long() ? LONG / 2 : SHORT;

    state = 5;
    CHECK_INT(count_planted(0, 0, times).right, times);
}
