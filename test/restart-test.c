/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* restart-test.c - one recording after the other, under threads that live through them. */
#include <pthread.h>
#include <unistd.h>

#include "recorded.h"
#include "tap.h"
#include "visit.h"

enum { ROUNDS = 1000 };
enum { WORKERS = 4, RESTARTS = 12 };
static struct {
    pthread_barrier_t barrier;
    int over;
} work;

static void meet(void) { pthread_barrier_wait(&work.barrier); }

static void work_once(void) { TT_FUNCTION(); }

static void *work_in_step(void *arg)
{
    TT_SCOPE("before the start");
    meet();
    meet();
    TT_SCOPE("held");
    for (int i = 0; i < RESTARTS; i++) {
        for (int j = 0; j < ROUNDS; j++)
            work_once();
        meet(); /* done */
        meet(); /* started again */
    }
    return arg;
}

TEST(threads_go_on_in_the_next_recording_with_the_scopes_they_hold)
{
    static const char *const options[] = {"calls", "exact", "every=64",
                                          "exact,budget=1M"};
    pthread_t thread[WORKERS];

    pthread_barrier_init(&work.barrier, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, work_in_step, NULL);
    meet();
    CHECK_INT(tt_start("calls"), 0);
    meet();
    for (int i = 0; i < RESTARTS; i++) {
        meet();
        CHECK_INT(visit_path("held;work_once").calls, WORKERS * ROUNDS);
        CHECK_INT(visit_path("held").calls, i ? 0 : WORKERS);
        CHECK_INT(tt_stop(), 0);
        CHECK_INT(visit_path("held;work_once").calls, WORKERS * ROUNDS);
        CHECK_INT(tt_start(options[i % 4]), 0);
        meet();
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(tt_stop(), 0);
    pthread_barrier_destroy(&work.barrier);
}

static void *work_freely(void *count)
{
    while (!__atomic_load_n(&work.over, __ATOMIC_RELAXED)) {
        TT_SCOPE("loop");
        work_once();
        (*(unsigned long *)count)++;
    }
    return NULL;
}

TEST(recordings_come_and_go_under_running_threads)
{
    static const char *const options[] = {"calls", "exact", "every=4", "sampled=1000",
                                          "exact"};
    static unsigned long count[WORKERS];
    unsigned long done = 0;
    pthread_t thread[WORKERS];

    work.over = 0;
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, work_freely, &count[i]);
    for (int i = 0; i < tap_times(100); i++) {
        CHECK_INT(tt_start(options[i % 5]), 0);
        CHECK(visit_block("loop").contexts >= 0);
        usleep(1000);
        CHECK_INT(tt_stop(), 0);
        CHECK(visit_block("loop").contexts <= WORKERS);
    }
    CHECK_INT(tt_start("calls"), 0);
    __atomic_store_n(&work.over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < WORKERS; i++)
        done += count[i];
    CHECK(visit_block("work_once").calls <= done);
    CHECK_INT(tt_stop(), 0);
}

static void scopes_over_a_start(const char *options)
{
    CHECK_INT(tt_start("calls"), 0);
    {
        TT_SCOPE("outer");
        {
            TT_SCOPE("held");
            CHECK_INT(tt_stop(), 0);
            CHECK_INT(tt_start(options), 0);
            {
                TT_SCOPE("inner");
                tt_tick(1);
            }
            tt_tick(2);
        }
        {
            TT_SCOPE("next");
            tt_tick(10);
        }
        tt_tick(100);
    }
    for (int i = 0; i < 3; i++) {
        TT_SCOPE("after");
        {
            TT_SCOPE("inner");
            tt_tick(1000);
        }
        tt_tick(10000);
    }
}

TEST(scopes_that_are_held_over_a_start_are_timed_until_they_end)
{
    static const char *const options[] = {"exact,clock=caller",
                                          "exact,clock=caller,recursion=block"};

    for (int i = 0; i < 2; i++) {
        scopes_over_a_start(options[i]);
        CHECK_INT(visit_path("outer;held;inner").self, 1);
        CHECK_INT(visit_path("outer;held").self, 2);
        CHECK_INT(visit_path("outer;next").self, 10);
        CHECK_INT(visit_path("outer").self, 100);
        CHECK_INT(visit_path("after;inner").self, 3000);
        CHECK_INT(visit_path("after").self, 30000);
        CHECK_INT(visit_path("after").calls, 3);
        CHECK_INT(tt_stop(), 0);
    }
}

/* ── What is declared ─────────────────────────────────────────────────────────────── */

static int blocks_named(const char *name)
{
    struct recorded r = recorded_here();
    int found = 0;

    CHECK_INT(r.error, 0);
    for (uint32_t i = 0; !r.error && i < r.picture.blocks; i++)
        found += strcmp(r.picture.block[i].info.name, name) == 0;
    recorded_free(&r);
    return found;
}

TEST(declared_blocks_are_in_every_recording_and_scopes_where_they_ran)
{
    (void)tt_block_get("declared before", "", 0, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(tt_start("exact"), 0);
        CHECK_INT(blocks_named("declared before"), 1);
        CHECK_INT(blocks_named("declared meanwhile"), i);
        (void)tt_block_get("declared meanwhile", "", 0, 0);
        CHECK_INT(blocks_named("declared meanwhile"), 1);
        if (i == 0) {
            TT_SCOPE("ran once");
        }
        CHECK_INT(blocks_named("ran once"), i == 0);
        CHECK_INT(blocks_named("[calibration]"), 0);
        CHECK_INT(tt_stop(), 0);
    }
}

/* Each of the blocks with this beginning is there, and once. */
static void check_declared(const char *name, unsigned long blocks)
{
    struct recorded r = recorded_here();
    unsigned long found = 0;
    char *seen = calloc(1, TT_BLOCKS_MAX);

    CHECK_INT(r.error, 0);
    for (uint32_t i = 0; !r.error && i < r.picture.blocks; i++) {
        const struct tt_picture_block *b = &r.picture.block[i];
        CHECK_INT(seen[b->id]++, 0);
        found += strncmp(b->info.name, name, strlen(name)) == 0;
    }
    CHECK(found >= blocks);
    free(seen);
    recorded_free(&r);
}

enum { DECLARERS = 4, DECLARED = 250 };
static struct {
    unsigned long made;
    int over;
} declaring;

/* New blocks, and then the same again: those that a thread still enters in one recording may
 * be in the next already. */
static void *declare_freely(void *number)
{
    char name[32];

    for (int i = 0; !__atomic_load_n(&declaring.over, __ATOMIC_RELAXED); i++) {
        snprintf(name, sizeof name, "by %d: %d", *(int *)number, i % DECLARED);
        tt_pop(tt_push(tt_block_get(name, "", 0, 0)));
        if (i < DECLARED)
            __atomic_fetch_add(&declaring.made, 1, __ATOMIC_SEQ_CST);
        if (i < DECLARED && i % 2 == 0)
            usleep(500);
    }
    return NULL;
}

TEST(blocks_are_declared_while_recordings_come_and_go)
{
    static const char *const options[] = {"calls,budget=4M", "calls", "every=64"};
    int number[DECLARERS];
    pthread_t thread[DECLARERS];
    unsigned long made;

    for (int i = 0; i < DECLARERS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, declare_freely, &number[i]);
    }
    for (int i = 0; i < tap_times(500); i++) {
        CHECK_INT(tt_start(options[i % 3]), 0);
        made = __atomic_load_n(&declaring.made, __ATOMIC_SEQ_CST);
        if (i < 100 || i % 4 == 0)
            check_declared("by ", made);
        CHECK_INT(tt_stop(), 0);
    }
    CHECK_INT(tt_start("calls"), 0);
    __atomic_store_n(&declaring.over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < DECLARERS; i++)
        pthread_join(thread[i], NULL);
    check_declared("by ", declaring.made);
    CHECK_INT(tt_stop(), 0);
}

TEST(blocks_that_never_run_leave_room_for_those_that_do)
{
    char name[24];

    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "idle %d", i);
        (void)tt_block_get(name, "", 0, 0);
    }
    CHECK_INT(tt_start("calls,budget=1M"), 0);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "busy %d", i);
        tt_pop(tt_push(tt_block_get(name, "", 0, 0)));
    }
    CHECK_INT(blocks_named("idle 0"), 1);
    CHECK_INT(blocks_named("busy 499"), 1);
    CHECK_INT(blocks_named("[other blocks]"), 1);
    CHECK_INT(tt_stop(), 0);
}
