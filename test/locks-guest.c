/* SPDX-License-Identifier: MIT */
/* locks-guest.c - threads that wait for each other, and say themselves for how long.
 *
 *      hold LOCK FUNCTION FROM TO      FUNCTION had LOCK, by the monotonic clock, in ns
 *      wait LOCK FUNCTION FROM TO      FUNCTION waited for LOCK
 *
 * locks.t computes from these lines which function waited for which. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#define APART __attribute__((noinline))
#define END() __asm__ volatile("") /* what was called before is no tail call */

enum { THREADS = 6, LINES = 100000 };

static struct line {
    const char *what, *lock, *function;
    long long from, to;
} line[LINES];
static unsigned lines;

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void note(const char *what, const char *lock, const char *function, long long from,
                 long long to)
{
    line[__atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) % LINES] = (struct line){
        what, lock, function, from, to};
}

static void nap(double ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};

    nanosleep(&t, NULL);
}

static void run_threads(int count, void *(*run)(void *))
{
    pthread_t thread[THREADS];

    for (int i = 0; i < count; i++)
        pthread_create(&thread[i], NULL, run, (void *)(long)i);
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
}

/* ── One mutex, and many waiters ──────────────────────────────────────────────────── */

static pthread_mutex_t convoy_lock = PTHREAD_MUTEX_INITIALIZER;

static APART void take_turns(void)
{
    long long from = now(), has;

    pthread_mutex_lock(&convoy_lock);
    has = now();
    nap(2);
    note("hold", "convoy_lock", "take_turns", has, now());
    pthread_mutex_unlock(&convoy_lock);
    note("wait", "convoy_lock", "take_turns", from, has);
    END();
}

static void *in_convoy(void *arg)
{
    for (int i = 0; i < 15; i++)
        take_turns();
    return arg;
}

/* ── Readers that leave no gap for a writer ───────────────────────────────────────── */

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static int reading = 1, readers;

static APART void read_table(void)
{
    pthread_rwlock_rdlock(&table_lock);
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
    do
        nap(3);
    while (__atomic_load_n(&reading, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&readers, __ATOMIC_SEQ_CST) < 2);
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
    pthread_rwlock_unlock(&table_lock);
    END();
}

static APART void write_table(void)
{
    long long from = now();

    pthread_rwlock_wrlock(&table_lock);
    note("wait", "table_lock", "write_table", from, now());
    pthread_rwlock_unlock(&table_lock);
    END();
}

static void *as_reader(void *arg)
{
    while (__atomic_load_n(&reading, __ATOMIC_SEQ_CST))
        read_table();
    return arg;
}

static void *as_stopper(void *arg)
{
    nap(300);
    __atomic_store_n(&reading, 0, __ATOMIC_SEQ_CST);
    return arg;
}

static void *in_starvation(void *arg)
{
    if ((long)arg < 3)
        return as_reader(arg);
    nap(30);
    if ((long)arg == 3)
        return as_stopper(arg);
    write_table();
    return arg;
}

/* ── Ten ways to one lock, one of them slow ───────────────────────────────────────── */

static pthread_mutex_t *shared_lock;

static APART void with_lock(const char *who, double ms)
{
    long long from = now(), has;

    pthread_mutex_lock(shared_lock);
    has = now();
    nap(ms);
    note("hold", "make_shared_lock", who, has, now());
    pthread_mutex_unlock(shared_lock);
    note("wait", "make_shared_lock", who, from, has);
    END();
}

#define PATH(n, ms)                                                                      \
    static APART void path##n(void)                                                      \
    {                                                                                    \
        with_lock("path" #n, ms);                                                        \
        END();                                                                           \
    }
PATH(0, 0.5)
PATH(1, 0.5)
PATH(2, 0.5)
PATH(3, 0.5)
PATH(4, 0.5)
PATH(5, 0.5)
PATH(6, 0.5)
PATH(7, 40)
PATH(8, 0.5)
PATH(9, 0.5)

static void *on_paths(void *arg)
{
    static void (*const path[])(void) = {path0, path1, path2, path3, path4,
                                         path5, path6, path7, path8, path9};

    for (long i = 0; i < 20; i++) {
        path[(i * 3 + (long)arg * 7) % 10]();
        nap(1);
    }
    return arg;
}

static APART void make_shared_lock(void)
{
    shared_lock = malloc(sizeof *shared_lock);
    pthread_mutex_init(shared_lock, NULL);
    END();
}

/* ── Two counters in one line of the cache, and a lock each ───────────────────────── */

static struct {
    pthread_mutex_t lock;
    volatile long count;
} __attribute__((aligned(64))) apart[2];
static volatile long beside[2];

static void *in_one_line(void *arg)
{
    long i = (long)arg;

    for (long n = 0; n < 2000000; n++) {
        pthread_mutex_lock(&apart[i].lock);
        apart[i].count++;
        pthread_mutex_unlock(&apart[i].lock);
        beside[i]++;
    }
    return arg;
}

/* ── What somebody else lets happen ───────────────────────────────────────────────── */

static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t fill_lock = PTHREAD_MUTEX_INITIALIZER;
static int full;
static sem_t items;
static pthread_barrier_t meeting;
static mtx_t plain_lock;
static cnd_t plain_condition;
static int plain_full;

static APART void await_filled(void)
{
    long long from = now();

    pthread_mutex_lock(&fill_lock);
    while (!full)
        pthread_cond_wait(&filled, &fill_lock);
    pthread_mutex_unlock(&fill_lock);
    note("wait", "filled", "await_filled", from, now());
    END();
}

static APART void fill(void)
{
    pthread_mutex_lock(&fill_lock);
    full = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&fill_lock);
    END();
}

static APART void await_item(void)
{
    long long from = now();

    sem_wait(&items);
    note("wait", "items", "await_item", from, now());
    END();
}

static APART void post_item(void)
{
    sem_post(&items);
    END();
}

static APART void meet_early(void)
{
    long long from = now();

    pthread_barrier_wait(&meeting);
    note("wait", "meeting", "meet_early", from, now());
    END();
}

static APART void meet_late(void)
{
    pthread_barrier_wait(&meeting);
    END();
}

static APART void await_plain(void)
{
    long long from = now();

    mtx_lock(&plain_lock);
    while (!plain_full)
        cnd_wait(&plain_condition, &plain_lock);
    mtx_unlock(&plain_lock);
    note("wait", "plain_condition", "await_plain", from, now());
    END();
}

static APART void fill_plain(void)
{
    mtx_lock(&plain_lock);
    plain_full = 1;
    cnd_signal(&plain_condition);
    mtx_unlock(&plain_lock);
    END();
}

static void *on_events(void *arg)
{
    switch ((long)arg) {
    case 0:
        await_filled();
        break;
    case 1:
        await_item();
        break;
    case 2:
        meet_early();
        break;
    case 3:
        await_plain();
        break;
    default:
        nap(60);
        fill();
        post_item();
        meet_late();
        fill_plain();
    }
    return arg;
}

static void run_events(void)
{
    sem_init(&items, 0, 0);
    pthread_barrier_init(&meeting, NULL, 2);
    mtx_init(&plain_lock, mtx_plain);
    cnd_init(&plain_condition);
    run_threads(5, on_events);
}

/* ── Somebody never gives it back ─────────────────────────────────────────────────── */

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static int is_kept;

static APART void keep(void)
{
    pthread_mutex_lock(&kept_lock);
    __atomic_store_n(&is_kept, 1, __ATOMIC_SEQ_CST);
    END();
}

static APART void give_up(void)
{
    long long from = now();
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 80000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(&kept_lock, &t) == 0)
        abort();
    note("wait", "kept_lock", "give_up", from, now());
    END();
}

static void *as_keeper(void *arg)
{
    if (arg) {
        while (!__atomic_load_n(&is_kept, __ATOMIC_SEQ_CST))
            nap(1);
        give_up();
    } else {
        keep();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "convoy") == 0) {
        run_threads(THREADS, in_convoy);
    } else if (strcmp(what, "forever") == 0) {
        for (;;)
            run_threads(THREADS, in_convoy);
    } else if (strcmp(what, "starvation") == 0) {
        run_threads(5, in_starvation);
    } else if (strcmp(what, "paths") == 0) {
        make_shared_lock();
        run_threads(THREADS, on_paths);
    } else if (strcmp(what, "line") == 0) {
        run_threads(2, in_one_line);
    } else if (strcmp(what, "events") == 0) {
        run_events();
    } else if (strcmp(what, "kept") == 0) {
        run_threads(2, as_keeper);
    } else {
        return 2;
    }
    for (unsigned i = 0; i < lines; i++)
        printf("%s %s %s %lld %lld\n", line[i].what, line[i].lock, line[i].function,
               line[i].from, line[i].to);
    return lines > LINES;
}
