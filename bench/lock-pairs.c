/* SPDX-License-Identifier: MIT */
/* lock-pairs.c - the cost of a pair of lock and unlock.
 *
 *      lock-pairs free PAIRS       one thread, without contention: ns of CPU time
 *      lock-pairs queue PAIRS      eight threads, with some work while they have it: ns of
 *                                  elapsed time, and of CPU time
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, PARTS = 10, WORK = 400 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long pairs;
static volatile unsigned work;

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *do_nothing(void *arg) { return arg; }

/* The least of some parts: nothing of what else runs is in it. */
static double measure_free(void)
{
    double least = 1e18;

    for (int part = 0; part < PARTS; part++) {
        double start = now(CLOCK_THREAD_CPUTIME_ID), took;
        for (long i = 0; i < pairs / PARTS; i++) {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        took = (now(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(pairs / PARTS);
        least = took < least ? took : least;
    }
    return least;
}

static void *in_queue(void *arg)
{
    for (long i = 0; i < pairs / THREADS; i++) {
        pthread_mutex_lock(&mutex);
        for (unsigned j = 0; j < WORK; j++)
            work += j;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    double start, cpu;

    if (argc < 3 || (pairs = atol(argv[2])) < THREADS * PARTS)
        return 2;
    pthread_create(&thread[0], NULL, do_nothing,
                   NULL); /* locks are real ones from here on */
    pthread_join(thread[0], NULL);
    if (strcmp(argv[1], "free") == 0) {
        printf("%.2f\n", measure_free());
        return 0;
    }
    start = now(CLOCK_MONOTONIC);
    cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, in_queue, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%.1f %.1f\n", (now(CLOCK_MONOTONIC) - start) / (double)pairs,
           (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)pairs);
    return 0;
}
