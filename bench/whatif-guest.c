/* SPDX-License-Identifier: MIT */
/* whatif-guest.c - programs of threads that wait for each other; the function `block` takes a
 * share of its time.
 *
 *      whatif-guest PROGRAM SHARE [cpu]        prints the elapsed time of the run in ns
 *
 * Work lasts for a fixed elapsed time: as if each thread had a processor, however busy the
 * machine is.  With `cpu` it takes a fixed CPU time. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline))
#define END() __asm__ volatile("") /* what was called before is no tail call */

static double share;
static clockid_t worktime = CLOCK_MONOTONIC;

static double now_in(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void work(double ms)
{
    const double end = now_in(worktime) + ms;

    while (now_in(worktime) < end)
        ;
}

static APART void block(double ms)
{
    work(share * ms);
    END();
}

static APART void others(double ms)
{
    work(ms);
    END();
}

static void run_threads(int count, void *(*run)(void *))
{
    pthread_t thread[4];

    for (long i = 0; i < count; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
}

/* ── One thread ───────────────────────────────────────────────────────────────────── */

static void serial(void)
{
    for (int i = 0; i < 100; i++) {
        block(4);
        others(3);
    }
}

/* ── A queue between two threads, and a slow first one ────────────────────────────── */

static sem_t filled, emptied;

static void *in_pipeline(void *arg)
{
    for (int i = 0; i < 60; i++) {
        if (arg) {
            sem_wait(&filled);
            others(5);
            sem_post(&emptied);
        } else {
            block(10);
            sem_wait(&emptied);
            sem_post(&filled);
        }
    }
    return arg;
}

static void pipeline(void)
{
    sem_init(&filled, 0, 0);
    sem_init(&emptied, 0, 4);
    run_threads(2, in_pipeline);
}

/* ── Serial parts, and two unequal workers ────────────────────────────────────────── */

static void *in_fork(void *arg)
{
    if (arg)
        others(60);
    else
        block(90);
    return arg;
}

static void forks(void)
{
    for (int i = 0; i < 5; i++) {
        others(20);
        run_threads(2, in_fork);
    }
}

/* ── A convoy on one mutex ────────────────────────────────────────────────────────── */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;

/* In turns, so that no thread takes the lock again before the others. */
static void *in_convoy(void *arg)
{
    for (int i = 0; i < 15; i++) {
        pthread_mutex_lock(&lock);
        while (turn % 4 != (int)(long)arg)
            pthread_cond_wait(&turned, &lock);
        block(7);
        others(2);
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
        others(3);
    }
    return arg;
}

static void convoy(void) { run_threads(4, in_convoy); }

/* ── A producer, and two consumers that are too slow ──────────────────────────────── */

static void *in_market(void *arg)
{
    for (int i = 0; i < (arg ? 30 : 60); i++) {
        if (arg) {
            sem_wait(&filled);
            block(15);
            sem_post(&emptied);
        } else {
            sem_wait(&emptied);
            others(4);
            sem_post(&filled);
        }
    }
    return arg;
}

static void market(void)
{
    sem_init(&filled, 0, 0);
    sem_init(&emptied, 0, 6);
    run_threads(3, in_market);
}

/* ── Phases between barriers ──────────────────────────────────────────────────────── */

static pthread_barrier_t barrier;

static void *in_phases(void *arg)
{
    for (int i = 0; i < 20; i++) {
        if (arg)
            others(18);
        else
            block(28);
        pthread_barrier_wait(&barrier);
        if (!arg)
            others(4);
        pthread_barrier_wait(&barrier);
    }
    return arg;
}

static void phases(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    run_threads(2, in_phases);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"serial", serial}, {"pipeline", pipeline}, {"forks", forks},
                    {"convoy", convoy}, {"market", market},     {"phases", phases}};
    const double start = now_in(CLOCK_MONOTONIC);

    if (argc < 3)
        return 2;
    share = atof(argv[2]);
    if (argc > 3)
        worktime = CLOCK_THREAD_CPUTIME_ID;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i].name, argv[1]) == 0)
            programs[i].run();
    printf("%.0f\n", (now_in(CLOCK_MONOTONIC) - start) * 1e6);
    return 0;
}
