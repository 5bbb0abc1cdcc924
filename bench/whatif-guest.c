/* SPDX-License-Identifier: MIT */
/* whatif-guest.c - programs of threads that wait for each other; the function `block` takes a
 * share of its time.
 *
 *      whatif-guest PROGRAM SHARE [cpu]        prints the elapsed time of the run in ns
 *
 * Work lasts for a fixed elapsed time: as if each thread had a processor, however busy the
 * machine is.  With `cpu` it takes a fixed CPU time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    pthread_t thread[6];

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

/* ── Two stages of queues, with 2, 3 and 1 threads that share the work ────────────── */

enum { SHOP_ITEMS = 90, SHOP_ROOM = 5 };

static sem_t made, room_to_make, packed, room_to_pack;
static int items_left[3];

static int take_item(int stage)
{
    return __atomic_fetch_sub(&items_left[stage], 1, __ATOMIC_RELAXED) > 0;
}

static void make_item(void)
{
    sem_wait(&room_to_make);
    others(3);
    sem_post(&made);
}

static void pack_item(void)
{
    sem_wait(&made);
    sem_post(&room_to_make);
    block(8);
    sem_wait(&room_to_pack);
    sem_post(&packed);
}

static void send_item(void)
{
    sem_wait(&packed);
    sem_post(&room_to_pack);
    others(2);
}

static void *in_shop(void *arg)
{
    static void (*const run[])(void) = {make_item, pack_item, send_item};
    const int number = (int)(long)arg, stage = number < 2 ? 0 : number < 5 ? 1 : 2;

    while (take_item(stage))
        run[stage]();
    return arg;
}

static void shop(void)
{
    sem_init(&made, 0, 0);
    sem_init(&packed, 0, 0);
    sem_init(&room_to_make, 0, SHOP_ROOM);
    sem_init(&room_to_pack, 0, SHOP_ROOM);
    for (int i = 0; i < 3; i++)
        items_left[i] = SHOP_ITEMS;
    run_threads(6, in_shop);
}

/* ── A cache: three threads read, and one of them at times fills it again ──────────── */

static pthread_rwlock_t cached = PTHREAD_RWLOCK_INITIALIZER;

static void *in_cache(void *arg)
{
    for (int i = 0; i < 60; i++) {
        if (!arg && i % 5 == 0) {
            pthread_rwlock_wrlock(&cached);
            block(20);
            pthread_rwlock_unlock(&cached);
        }
        pthread_rwlock_rdlock(&cached);
        others(2);
        pthread_rwlock_unlock(&cached);
        others(arg ? 3 : 1);
    }
    return arg;
}

static void cache(void) { run_threads(3, in_cache); }

/* ── A pool of two threads, and one that waits for the results in their order ─────── */

enum { TASKS = 80, AHEAD = 4 };

static sem_t tasks, result[TASKS];
static int next_task;

static void *in_pool(void *arg)
{
    for (;;) {
        int i;
        sem_wait(&tasks);
        i = __atomic_fetch_add(&next_task, 1, __ATOMIC_RELAXED);
        if (i >= TASKS)
            return arg;
        if (i % 2)
            block(9);
        else
            others(6);
        sem_post(&result[i]);
    }
}

static void *in_futures(void *arg)
{
    if (arg)
        return in_pool(arg);
    for (int i = 0; i < TASKS; i++)
        sem_init(&result[i], 0, 0);
    for (int i = 0; i < AHEAD; i++)
        sem_post(&tasks);
    for (int i = 0; i < TASKS; i++) {
        sem_wait(&result[i]);
        others(2);
        sem_post(&tasks);
    }
    return arg;
}

static void futures(void)
{
    sem_init(&tasks, 0, 0);
    run_threads(3, in_futures);
}

/* ── Three processes, with pipes between them ─────────────────────────────────────── */

static void in_process(int stage, int in, int out)
{
    char item[4096] = {0};

    for (int i = 0; i < 70; i++) {
        if (in >= 0 && read(in, item, sizeof item) <= 0)
            break;
        if (stage == 1)
            block(9);
        else
            others(stage ? 3 : 5);
        if (out >= 0 && write(out, item, sizeof item) < 0)
            break;
    }
}

static void pipes(void)
{
    int pipe_of[2][2];

    for (int i = 0; i < 2; i++)
        if (pipe(pipe_of[i]) || fcntl(pipe_of[i][1], F_SETPIPE_SZ, 4 * 4096) < 0)
            exit(1);
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            in_process(i, i ? pipe_of[i - 1][0] : -1, i < 2 ? pipe_of[i][1] : -1);
            exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"serial", serial}, {"pipeline", pipeline}, {"forks", forks},
                    {"convoy", convoy}, {"market", market},     {"phases", phases},
                    {"shop", shop},     {"cache", cache},       {"futures", futures},
                    {"pipes", pipes}};
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
