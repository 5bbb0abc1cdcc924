/* SPDX-License-Identifier: MIT */
/* restart-test.c - one recording after the other, under threads that live through them. */
#include <pthread.h>
#include <unistd.h>

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
        meet(); /* started anew */
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
    for (int i = 0; i < 100; i++) {
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
