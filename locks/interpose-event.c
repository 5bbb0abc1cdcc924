/* SPDX-License-Identifier: MIT */
/* interpose-event.c - waits for events that another thread causes: conditions,
 * semaphores, barriers, and the ends of threads.
 *
 * The other thread holds nothing; it causes an event: a signal, a post, an arrival.  The
 * last event before the end of the wait counts as its cause.  A thread may be cancelled
 * in many of these functions: then the code after them does not run, and nothing depends
 * on it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "interpose-child.h"
#include "interposing.h"
#include "preload.h"

#define NEXT tt_next_locks

/* ── Conditions ───────────────────────────────────────────────────────────────────── */

/* The mutex is released meanwhile, and locked again. */
#define WAIT_CONDITION(condition, mutex, call)                                           \
    do {                                                                                 \
        int error_;                                                                      \
        (void)tt_has_next_locks();                                                       \
        if (!tt_locks_are_on())                                                          \
            return call;                                                                 \
        TT_NOTE_RELEASE(mutex);                                                          \
        TT_WAIT(error_, condition, TT_LOCK_CONDITION, call);                             \
        tt_lock_taken(mutex, TT_RETURN());                                               \
        return error_;                                                                   \
    } while (0)

#define HAPPENS(what, call)                                                              \
    do {                                                                                 \
        (void)tt_has_next_locks();                                                       \
        if (tt_locks_are_on())                                                           \
            TT_NOTE_RELEASE(what);                                                       \
        return call;                                                                     \
    } while (0)

#define MADE(what, call)                                                                 \
    do {                                                                                 \
        (void)tt_has_next_locks();                                                       \
        if (tt_locks_are_on())                                                           \
            tt_lock_made(what, TT_RETURN());                                             \
        return call;                                                                     \
    } while (0)

#define GONE(what, call)                                                                 \
    do {                                                                                 \
        (void)tt_has_next_locks();                                                       \
        if (tt_locks_are_on())                                                           \
            tt_lock_gone(what);                                                          \
        return call;                                                                     \
    } while (0)

TT_INTERPOSE int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    WAIT_CONDITION(c, m, NEXT.pthread_cond_wait(c, m));
}

TT_INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                        const struct timespec *t)
{
    WAIT_CONDITION(c, m, NEXT.pthread_cond_timedwait(c, m, t));
}

TT_INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m,
                                        clockid_t clock, const struct timespec *t)
{
    if (tt_has_next_locks() && !NEXT.pthread_cond_clockwait)
        return ENOSYS;
    WAIT_CONDITION(c, m, NEXT.pthread_cond_clockwait(c, m, clock, t));
}

TT_INTERPOSE int pthread_cond_signal(pthread_cond_t *c)
{
    HAPPENS(c, NEXT.pthread_cond_signal(c));
}

TT_INTERPOSE int pthread_cond_broadcast(pthread_cond_t *c)
{
    HAPPENS(c, NEXT.pthread_cond_broadcast(c));
}

/* An allocator may call it while the functions are looked for, as jemalloc does. */
TT_INTERPOSE int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *a)
{
    static const pthread_cond_t initial = PTHREAD_COND_INITIALIZER;

    if (!tt_has_next_locks()) {
        *c = initial;
        return 0;
    }
    MADE(c, NEXT.pthread_cond_init(c, a));
}

TT_INTERPOSE int pthread_cond_destroy(pthread_cond_t *c)
{
    GONE(c, NEXT.pthread_cond_destroy(c));
}

TT_INTERPOSE int cnd_wait(cnd_t *c, mtx_t *m)
{
    WAIT_CONDITION(c, m, NEXT.cnd_wait(c, m));
}

TT_INTERPOSE int cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *t)
{
    WAIT_CONDITION(c, m, NEXT.cnd_timedwait(c, m, t));
}

TT_INTERPOSE int cnd_signal(cnd_t *c) { HAPPENS(c, NEXT.cnd_signal(c)); }

TT_INTERPOSE int cnd_broadcast(cnd_t *c) { HAPPENS(c, NEXT.cnd_broadcast(c)); }

TT_INTERPOSE int cnd_init(cnd_t *c) { MADE(c, NEXT.cnd_init(c)); }

TT_INTERPOSE void cnd_destroy(cnd_t *c)
{
    (void)tt_has_next_locks();
    if (tt_locks_are_on())
        tt_lock_gone(c);
    NEXT.cnd_destroy(c);
}

/* ── Semaphores ───────────────────────────────────────────────────────────────────── */

/* Is it 0?  Then the thread waits; if that changes meanwhile, only briefly. */
static int is_empty(sem_t *s)
{
    int value = 1;

    return NEXT.sem_getvalue(s, &value) == 0 && value <= 0;
}

#define WAIT_SEMAPHORE(semaphore, call)                                                  \
    do {                                                                                 \
        int result_;                                                                     \
        (void)tt_has_next_locks();                                                       \
        if (!tt_locks_are_on() || !is_empty(semaphore))                                  \
            return call;                                                                 \
        TT_WAIT(result_, semaphore, TT_LOCK_SEMAPHORE, call);                            \
        tt_lock_released();                                                              \
        return result_;                                                                  \
    } while (0)

TT_INTERPOSE int sem_wait(sem_t *s) { WAIT_SEMAPHORE(s, NEXT.sem_wait(s)); }

TT_INTERPOSE int sem_timedwait(sem_t *s, const struct timespec *t)
{
    WAIT_SEMAPHORE(s, NEXT.sem_timedwait(s, t));
}

TT_INTERPOSE int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t)
{
    if (tt_has_next_locks() && !NEXT.sem_clockwait) {
        errno = ENOSYS;
        return -1;
    }
    WAIT_SEMAPHORE(s, NEXT.sem_clockwait(s, clock, t));
}

TT_INTERPOSE int sem_post(sem_t *s) { HAPPENS(s, NEXT.sem_post(s)); }

TT_INTERPOSE int sem_init(sem_t *s, int shared, unsigned value)
{
    MADE(s, NEXT.sem_init(s, shared, value));
}

TT_INTERPOSE int sem_destroy(sem_t *s) { GONE(s, NEXT.sem_destroy(s)); }

/* ── Barriers ─────────────────────────────────────────────────────────────────────── */

/* Earlier threads wait for each arrival. */
TT_INTERPOSE int pthread_barrier_wait(pthread_barrier_t *b)
{
    int result;

    (void)tt_has_next_locks();
    if (!tt_locks_are_on())
        return NEXT.pthread_barrier_wait(b);
    TT_NOTE_RELEASE(b);
    TT_WAIT(result, b, TT_LOCK_BARRIER, NEXT.pthread_barrier_wait(b));
    tt_lock_released();
    return result;
}

TT_INTERPOSE int pthread_barrier_init(pthread_barrier_t *b,
                                      const pthread_barrierattr_t *a, unsigned count)
{
    MADE(b, NEXT.pthread_barrier_init(b, a, count));
}

TT_INTERPOSE int pthread_barrier_destroy(pthread_barrier_t *b)
{
    GONE(b, NEXT.pthread_barrier_destroy(b));
}

/* ── The ends of threads ──────────────────────────────────────────────────────────── */

/* The name of a thread is the function that it began with. */
#define JOIN(thread, call)                                                               \
    do {                                                                                 \
        int error_;                                                                      \
        (void)tt_has_next_locks();                                                       \
        if (!tt_locks_are_on())                                                          \
            return call;                                                                 \
        TT_WAIT(error_, (const void *)(uintptr_t)(thread), TT_LOCK_THREAD, call);        \
        tt_lock_released();                                                              \
        return error_;                                                                   \
    } while (0)

/* A thread may wait for the end of this one before it begins: that wait is named at its
 * end. */
static void thread_began(uintptr_t function)
{
    const void *self = (const void *)(uintptr_t)pthread_self();
    struct tt_lock *l;

    if (!tt_locks_are_on())
        return;
    l = tt_lock_find(self);
    if (!l)
        l = tt_lock_add(self, function + 1);
    if (!l)
        return;
    __atomic_store_n(&l->made, function + 1, __ATOMIC_RELAXED);
    tt_lock_unname(l);
}

TT_INTERPOSE int pthread_join(pthread_t thread, void **result)
{
    int error;

    (void)tt_has_next_locks();
    error = NEXT.pthread_tryjoin_np(thread, result);
    if (error != EBUSY)
        return error;
    JOIN(thread, NEXT.pthread_join(thread, result));
}

TT_INTERPOSE int pthread_timedjoin_np(pthread_t thread, void **result,
                                      const struct timespec *t)
{
    JOIN(thread, NEXT.pthread_timedjoin_np(thread, result, t));
}

TT_INTERPOSE int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                                      const struct timespec *t)
{
    if (tt_has_next_locks() && !NEXT.pthread_clockjoin_np)
        return ENOSYS;
    JOIN(thread, NEXT.pthread_clockjoin_np(thread, result, clock, t));
}

TT_INTERPOSE int thrd_join(thrd_t thread, int *result)
{
    JOIN(thread, NEXT.thrd_join(thread, result));
}

/* ── The recording ────────────────────────────────────────────────────────────────── */

static void start(void)
{
    const char *when = secure_getenv("TALLYTREE_WHEN");
    uint64_t begin = 0, last = 0;
    char *end;

    if (when) {
        begin = strtoull(when, &end, 10);
        last = strtoull(end, NULL, 10);
    }
    tt_locks_start(secure_getenv("TALLYTREE_FOLDER"), begin, last);
}

const struct tt_preload_collector tt_preload_collector = {
    .start = start,
    .stop = tt_locks_stop,
    .forked = tt_locks_forked,
    .began = thread_began,
    .spawned = tt_locks_spawned,
    .exits = tt_locks_exits,
    .on = &tt_locks_on,
    .without = "; no waits for locks: a sanitizer intercepts them"};
