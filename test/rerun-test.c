/* SPDX-License-Identifier: MIT */
/* rerun-test.c - runs of a few threads, with some code faster: each by arithmetic.
 *
 * A letter is what a thread did for a ms: `b` the block that becomes faster, `o` other work;
 * waits: `j` for the end of a thread, `B` at a barrier, `m` for a mutex, `s` for a semaphore,
 * `r` for a file or a pipe, `z` asleep; `.` it had not begun. */
#include <math.h>

#include "builder.h"
#include "failing.h"
#include "finish.h"
#include "samples.h"
#include "speedup.h"
#include "tap.h"

enum { MS = 1000000, THREADS_MAX = 2000 };

static const struct {
    char letter;
    const char *call, *wait;
} letters[] = {
    {'b', "block", NULL},
    {'o', "others", NULL},
    {'j', "pthread_join", "[waits: futex]"},
    {'B', "pthread_barrier_wait", "[waits: futex]"},
    {'m', "pthread_mutex_lock", "[waits: futex]"},
    {'s', "sem_wait", "[waits: futex]"},
    {'r', "read", "[waits: read]"},
    {'z', "nanosleep", "[waits: sleep]"},
};

static struct {
    struct tt_profile p;
    void *image;
    struct tt_lanes lanes;
    struct tt_speedup v;
    unsigned char is_block[64];
} run;

/* ── A run ────────────────────────────────────────────────────────────────────────── */

static uint32_t named(struct tt_builder *b, uint32_t parent, const char *name)
{
    return tt_builder_context(b, parent,
                              tt_builder_block(b, &(struct tt_block_info){.name = name}));
}

static uint32_t context_of(struct tt_builder *b, char letter)
{
    const uint32_t main = named(b, TT_BUILDER_ROOT, "main");

    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == letter) {
            const uint32_t c = named(b, main, letters[i].call);
            return letters[i].wait ? named(b, c, letters[i].wait) : c;
        }
    abort();
}

static void add_thread(struct tt_builder *b, uint64_t number, const char *did)
{
    const uint32_t time = tt_builder_metric(b, "time", "ns",
                                            TT_METRIC_TIME | TT_METRIC_SAMPLED);

    (void)tt_builder_strand(b, &(struct tt_strand_info){.host = "",
                                                        .process = "",
                                                        .node = "",
                                                        .name = "",
                                                        .pid = 1,
                                                        .thread = number + 1,
                                                        .rank = TT_NONE,
                                                        .members = 1});
    for (uint64_t i = 0; did[i]; i++) {
        uint32_t c;
        if (did[i] == '.')
            continue;
        c = context_of(b, did[i]);
        tt_builder_add(b, TT_ROLE_SELF, c, time, MS);
        tt_builder_sample(b, time, c, (i + 100) * MS, MS, 0);
    }
}

/* `cpu`: ms that the threads had; 0: not known. */
static int begin_run(const char *const *thread, uint64_t cpu, const struct tt_memory *m)
{
    struct tt_builder *b = tt_builder_new(NULL);
    size_t size;
    int error;

    for (uint64_t i = 0; thread[i]; i++)
        add_thread(b, i, thread[i]);
    if (cpu)
        tt_builder_fact(b, "cpu", TT_FACT_SUM, cpu * MS, "");
    if (!CHECK_INT(tt_builder_finish(b, &run.image, &size), 0) ||
        !CHECK_INT(tt_profile_open(&run.p, run.image, size, NULL), 0))
        exit(1);
    tt_builder_free(b);
    memset(run.is_block, 0, sizeof run.is_block);
    for (uint32_t i = 0; i < run.p.blocks; i++)
        run.is_block[i] = strcmp(tt_block_name(&run.p, i), "block") == 0;
    memset(&run.v, 0, sizeof run.v);
    error = tt_lanes_init(&run.lanes, &run.p, 1, NULL, m);
    return error ? error : tt_speedup_init(&run.v, &run.p, &run.lanes, run.is_block);
}

static void end_run(void)
{
    tt_speedup_fini(&run.v);
    tt_lanes_fini(&run.lanes);
    tt_profile_close(&run.p);
    tt_memory_put(NULL, run.image);
}

#define BEGIN(cpu, ...)                                                                  \
    CHECK_INT(begin_run((const char *const[]){__VA_ARGS__, NULL}, cpu, NULL), 0)

/* When the threads end, as "8 5": rounded to a ms. */
static const char *ends(double share, enum tt_rerun_model model)
{
    static char text[200];
    size_t length = 0;

    tt_rerun_go(&run.v.run, share, model);
    text[0] = '\0';
    for (uint32_t i = 0; i < run.lanes.lanes && length < sizeof text - 20; i++)
        if (run.lanes.lane[i].first < run.lanes.lane[i].end)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%.0f",
                                       length ? " " : "", run.v.run.ended[i] / MS);
    return text;
}

/* ── Tests ────────────────────────────────────────────────────────────────────────── */

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

TEST(with_nothing_faster_each_thread_ends_as_it_did)
{
    enum { LENGTH = 60, THREADS = 5 };

    for (int round = 0; round < 50; round++) {
        char text[THREADS][LENGTH + 1];
        const char *thread[THREADS + 1] = {0};
        for (int t = 0; t < THREADS; t++) {
            const uint32_t first = t ? draw(20) : 0, end = 30 + draw(LENGTH - 30);
            memset(text[t], '.', LENGTH);
            for (uint32_t i = first; i < end; i++)
                text[t][i] = "bojBmsrz"[draw(8)];
            text[t][end] = '\0';
            thread[t] = text[t];
        }
        CHECK_INT(begin_run(thread, 0, NULL), 0);
        for (int m = 0; m < TT_RERUN_MODELS; m++) {
            tt_rerun_go(&run.v.run, 0, (enum tt_rerun_model)m);
            for (uint32_t i = 0; i < run.lanes.lanes; i++) {
                const struct tt_lane *l = &run.lanes.lane[i];
                if (l->first == l->end)
                    continue;
                CHECK(fabs(run.v.run.ended[i] -
                           (double)(tt_stretch_at(&run.lanes, l->end - 1)->to -
                                    run.v.begin)) < 1);
            }
        }
        end_run();
    }
}

TEST(a_join_waits_for_all_threads_that_end_meanwhile)
{
    BEGIN(0, "oojjjjjjjjoo", "..bbbbbbbb", "..ooooo");
    for (int m = 0; m < TT_RERUN_MODELS; m++) {
        CHECK_STR(ends(.25, (enum tt_rerun_model)m), "10 8 7"); /* 2 + 6 + 2 */
        CHECK_STR(ends(1, (enum tt_rerun_model)m), "9 2 7");    /* 2 + 5 + 2 */
    }
    end_run();
}

TEST(at_a_barrier_the_last_one_waits_if_it_is_faster)
{
    BEGIN(0, "bbbbbbbbooo", "oooooBBBoo");
    for (int m = 0; m < TT_RERUN_MODELS; m++) {
        CHECK_STR(ends(.25, (enum tt_rerun_model)m), "9 8"); /* after 6 */
        CHECK_STR(ends(1, (enum tt_rerun_model)m), "8 7");   /* after 5 */
    }
    end_run();
}

TEST(a_lock_is_free_when_its_holder_has_run)
{
    BEGIN(0, "bbbboooo", "mmmmoo");
    for (int m = 0; m < TT_RERUN_MODELS; m++)
        CHECK_STR(ends(.5, (enum tt_rerun_model)m), "6 4");
    end_run();
}

TEST(a_wait_that_several_may_have_ended_depends_on_the_model)
{
    BEGIN(0, "bbbbbbbb", "oooooooo", "ssssooo");
    CHECK_STR(ends(.5, TT_RERUN_LOOSE), "4 8 5"); /* after 2: the first has run */
    CHECK_STR(ends(.5, TT_RERUN_TIGHT), "4 8 7"); /* after 4: both have */
    end_run();
}

TEST(sleep_keeps_its_length)
{
    BEGIN(0, "bbzzzzoo", "mooooooo");
    CHECK_STR(ends(.5, TT_RERUN_LIKELY), "7 8");
    end_run();
}

/* A wait for a file ends when it did, or when another thread has come so far, or between. */
TEST(a_wait_for_a_file_may_be_for_a_thread_or_a_device)
{
    BEGIN(0, "rrrroooo", "bbbbbbbb");
    CHECK_STR(ends(0, TT_RERUN_TIGHT), "8 8");
    CHECK_STR(ends(.5, TT_RERUN_TIGHT), "8 4");
    CHECK_STR(ends(.5, TT_RERUN_LIKELY), "7 4");
    CHECK_STR(ends(.5, TT_RERUN_LOOSE), "6 4");
    end_run();
}

TEST(a_thread_that_begins_asleep_is_made_earlier)
{
    BEGIN(0, "bbbbbbbb", "........zzoooo", "zzzzzzzzz");
    for (int m = 0; m < TT_RERUN_MODELS; m++)
        CHECK_STR(ends(.5, (enum tt_rerun_model)m), "4 10 9"); /* 4 + 2 + 4 */
    end_run();
}

TEST(a_first_wait_that_no_thread_ends_keeps_its_length)
{
    BEGIN(0, "oozzzzzzoo", "..BBBBoooo");
    for (int m = 0; m < TT_RERUN_MODELS; m++)
        CHECK_STR(ends(0, (enum tt_rerun_model)m), "10 10");
    end_run();
}

/* With one processor, each of two threads gets half of it: after 4 ms of 8 the first has its
 * 2 ms, and the second 2 of 4. */
TEST(threads_share_the_processors_that_there_were)
{
    BEGIN(8, "bbbbbbbb", "oooooooo", "zzzzzzzz");
    CHECK(fabs(run.v.run.processors - 1) < 1e-6);
    CHECK_STR(ends(.5, TT_RERUN_LIKELY), "4 6 8");
    end_run();
    BEGIN(16, "bbbbbbbb", "oooooooo", "zzzzzzzz");
    CHECK(isinf(run.v.run.processors));
    CHECK_STR(ends(.5, TT_RERUN_LIKELY), "4 8 8");
    end_run();
}

/* All wait for the end of a thread while many end. */
TEST(the_number_of_feeds_is_in_proportion_to_that_of_stretches)
{
    static const char *thread[THREADS_MAX + 1];

    for (int i = 0; i < THREADS_MAX; i++)
        thread[i] = i % 2 ? "ojojojojosososo" : "bBbBbBbo";
    CHECK_INT(begin_run(thread, 0, NULL), 0);
    CHECK(run.lanes.stretch.count >= (size_t)THREADS_MAX * 8);
    CHECK(run.v.feeds.feed.count <= 17 * run.lanes.stretch.count);
    (void)ends(.5, TT_RERUN_TIGHT);
    end_run();
}

TEST(without_memory_there_is_an_error_and_none_is_lost)
{
    static const char *const thread[] = {"oojjjjjjoo", "..bbbbbb", "..msoBo", NULL};
    int error = -TT_ERR_MEMORY;
    long n = 0;

    for (; error && n < 200; n++) {
        failing_after = n;
        error = begin_run(thread, 5, &failing);
        CHECK(!error || error == -TT_ERR_MEMORY);
        end_run();
        CHECK_INT(failing_pieces, 0);
    }
    CHECK(n > 20 && n < 200);
}
