/* SPDX-License-Identifier: MIT */
/* harness.c - runs a workload and prints what one of its calls took.
 *
 *      harness CALLS THREADS [OPTIONS]       prints "value NS"
 *
 * NS is thread CPU time, added up over all threads.  With OPTIONS a recording is started
 * with them.  This file is never instrumented. */
#include "bench.h"
#include "tallytree.h"
#include "workload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64 };

static long calls_a_thread;

struct result {
    pthread_t thread;
    double time, calls;
};

/* A tenth first, unmeasured: pages are touched, contexts made, code translated. */
static void *run(void *argument)
{
    struct result *result = argument;
    double start;

    work(calls_a_thread / 10);
    start = bench_thread_time();
    result->calls = (double)work(calls_a_thread);
    result->time = bench_thread_time() - start;
    return NULL;
}

static void run_all(struct result *results, int threads)
{
    if (threads == 1) {
        bench_pin();
        run(results);
        return;
    }
    for (int i = 0; i < threads; i++)
        if (pthread_create(&results[i].thread, NULL, run, &results[i]))
            exit(2);
    for (int i = 0; i < threads; i++)
        pthread_join(results[i].thread, NULL);
}

int main(int argc, char **argv)
{
    static struct result results[THREADS_MAX];
    int threads = argc > 2 ? atoi(argv[2]) : 0, error;
    double time = 0, calls = 0;

    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    calls_a_thread = atol(argv[1]) / threads;
    if (argc > 3 && (error = tt_start(argv[3])) != 0) {
        fprintf(stderr, "tt_start(\"%s\"): %s\n", argv[3], tt_error_text(error));
        return 2;
    }
    run_all(results, threads);
    for (int i = 0; i < threads; i++) {
        time += results[i].time;
        calls += results[i].calls;
    }
    if (argc > 3)
        tt_stop();
    printf("value %.6f\n", time / calls);
    return 0;
}
