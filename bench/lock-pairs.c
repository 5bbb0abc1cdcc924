/* SPDX-License-Identifier: MIT */
/* lock-pairs.c - the cost of a pair of lock and unlock, or of write and read.
 *
 *      lock-pairs free PAIRS       one thread, without contention: ns of CPU time
 *      lock-pairs queue PAIRS      eight threads, with some work while they have it: ns of
 *                                  elapsed time, and of CPU time
 *      lock-pairs pipe PAIRS       one thread writes a byte to a pipe and reads it: ns of
 *                                  CPU time
 *      lock-pairs null PAIRS       the same with /dev/null
 *      lock-pairs turns PAIRS      two threads that wait for each other's byte: ns of elapsed
 *                                  time, and of CPU time
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static int from[2], to[2]; /* ends to read, and to write */

static void lock_and_unlock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void write_and_read(void)
{
    char c = 0;

    if (write(to[0], &c, 1) < 0 || read(from[0], &c, 1) < 0)
        abort();
}

/* The least of some parts: nothing of what else runs is in it. */
static double measure_free(void (*pair)(void))
{
    double least = 1e18;

    for (int part = 0; part < PARTS; part++) {
        double start = now(CLOCK_THREAD_CPUTIME_ID), took;
        for (long i = 0; i < pairs / PARTS; i++)
            pair();
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

static void open_pipes(void)
{
    int fd[2];

    for (int i = 0; i < 2; i++) {
        if (pipe(fd) != 0)
            abort();
        from[i] = fd[0];
        to[i] = fd[1];
    }
}

static void *in_turns(void *arg)
{
    char c = 0;

    for (long i = 0; i < pairs; i++) {
        if (arg && write(to[0], &c, 1) != 1)
            abort();
        if (read(from[arg ? 1 : 0], &c, 1) != 1)
            abort();
        if (!arg && write(to[1], &c, 1) != 1)
            abort();
    }
    return arg;
}

/* Each as often as there are pairs. */
static void measure_threads(int count, void *(*run)(void *))
{
    const double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    pthread_t thread[THREADS];

    for (long i = 0; i < count; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    printf("%.1f %.1f\n", (now(CLOCK_MONOTONIC) - start) / (double)pairs,
           (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)pairs);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 3 || (pairs = atol(argv[2])) < THREADS * PARTS)
        return 2;
    pthread_create(&thread, NULL, do_nothing,
                   NULL); /* locks are real ones from here on */
    pthread_join(thread, NULL);
    open_pipes();
    if (strcmp(argv[1], "queue") == 0) {
        measure_threads(THREADS, in_queue);
        return 0;
    }
    if (strcmp(argv[1], "turns") == 0) {
        measure_threads(2, in_turns);
        return 0;
    }
    if (strcmp(argv[1], "null") == 0)
        from[0] = to[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
    printf("%.2f\n",
           measure_free(strcmp(argv[1], "free") == 0 ? lock_and_unlock : write_and_read));
    return 0;
}
