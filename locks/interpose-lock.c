/* SPDX-License-Identifier: MIT */
/* interpose-lock.c - mutexes and locks of readers and writers.
 *
 * Each function first tries: a free lock is taken as the C library would take it, and
 * only the place is stored.  If the lock is not free, the waiting function is called.
 * Where trying would do something else than that function, it alone is called. */
#include <errno.h>
#include <sys/syscall.h>

#include "interposing.h"
#include "system-call.h"

enum { TAKEN = 0, UNTRIED = -1 /* no error has this number */ };

/* Has the lock been taken?  From a thread that died holding it, too. */
static inline int is_taken(int error) { return error == TAKEN || error == EOWNERDEAD; }

/* Tries, and waits by `call` if the lock is held.  `call` reports other errors. */
#define LOCK(lock, kind, try, busy, call)                                                \
    do {                                                                                 \
        int error_;                                                                      \
        if (!tt_locks_are_on())                                                          \
            return call;                                                                 \
        error_ = try;                                                                    \
        if (__builtin_expect(!is_taken(error_), 0)) {                                    \
            if (error_ == (busy))                                                        \
                TT_WAIT(error_, lock, kind, call);                                       \
            else                                                                         \
                error_ = call;                                                           \
        }                                                                                \
        if (is_taken(error_))                                                            \
            tt_lock_taken(lock, TT_RETURN());                                            \
        return error_;                                                                   \
    } while (0)

#define TRY(lock, call)                                                                  \
    do {                                                                                 \
        int error_ = call;                                                               \
        if (is_taken(error_) && tt_locks_are_on())                                       \
            tt_lock_taken(lock, TT_RETURN());                                            \
        return error_;                                                                   \
    } while (0)

#define UNLOCK(lock, call)                                                               \
    do {                                                                                 \
        int error_;                                                                      \
        if (tt_locks_are_on())                                                           \
            TT_NOTE_RELEASE(lock);                                                       \
        error_ = call;                                                                   \
        tt_lock_released();                                                              \
        return error_;                                                                   \
    } while (0)

/* The address is now a different lock, initialised here. */
#define MADE(lock, call)                                                                 \
    do {                                                                                 \
        if (tt_locks_are_on())                                                           \
            tt_lock_made(lock, TT_RETURN());                                             \
        return call;                                                                     \
    } while (0)

#define GONE(lock, call)                                                                 \
    do {                                                                                 \
        if (tt_locks_are_on())                                                           \
            tt_lock_gone(lock);                                                          \
        return call;                                                                     \
    } while (0)

#define NEXT tt_next_locks

/* With a time that is not valid, some functions refuse a lock that is free. */
static int is_valid(clockid_t clock, const struct timespec *t)
{
    return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && t &&
           t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

#define TRY_UNTIL(clock, t, try) (is_valid(clock, t) ? (try) : UNTRIED)

/* ── Mutexes ──────────────────────────────────────────────────────────────────────── */

extern int __pthread_mutex_lock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_trylock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_unlock(pthread_mutex_t *) __attribute__((weak));

/* The C library's bits of a mutex that a dying thread leaves, and of one that changes
 * priorities. */
enum { ROBUST = 16, INHERITS = 32, PROTECTS = 64 };

/* Of such a mutex, trying refuses what locking does not, and may leave it locked when it
 * fails.  Only its owner is read; the kind of a destroyed mutex has all bits. */
static int try_mutex(pthread_mutex_t *m)
{
    int owner;

    if (__builtin_expect(!(m->__data.__kind & (ROBUST | INHERITS | PROTECTS)), 1))
        return NEXT.pthread_mutex_trylock(m);
    owner = __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED);
    return owner && owner != (int)tt_call_system(SYS_gettid, (long[6]){0}) ? EBUSY
                                                                           : UNTRIED;
}

TT_INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
    if (!tt_has_next_locks())
        return __pthread_mutex_lock(m);
    LOCK(m, TT_LOCK_MUTEX, try_mutex(m), EBUSY, NEXT.pthread_mutex_lock(m));
}

TT_INTERPOSE int pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (!tt_has_next_locks())
        return __pthread_mutex_trylock(m);
    TRY(m, NEXT.pthread_mutex_trylock(m));
}

TT_INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
    (void)tt_has_next_locks();
    LOCK(m, TT_LOCK_MUTEX, try_mutex(m), EBUSY, NEXT.pthread_mutex_timedlock(m, t));
}

TT_INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                                         const struct timespec *t)
{
    (void)tt_has_next_locks();
    if (!NEXT.pthread_mutex_clocklock)
        return ENOSYS;
    LOCK(m, TT_LOCK_MUTEX, TRY_UNTIL(clock, t, try_mutex(m)), EBUSY,
         NEXT.pthread_mutex_clocklock(m, clock, t));
}

TT_INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m)
{
    if (!tt_has_next_locks())
        return __pthread_mutex_unlock(m);
    UNLOCK(m, NEXT.pthread_mutex_unlock(m));
}

TT_INTERPOSE int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
    static const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;

    if (!tt_has_next_locks()) {
        *m = initial;
        return 0;
    }
    MADE(m, NEXT.pthread_mutex_init(m, a));
}

TT_INTERPOSE int pthread_mutex_destroy(pthread_mutex_t *m)
{
    if (!tt_has_next_locks())
        return 0;
    GONE(m, NEXT.pthread_mutex_destroy(m));
}

/* ── Readers and writers ──────────────────────────────────────────────────────────── */

TT_INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    (void)tt_has_next_locks();
    LOCK(l, TT_LOCK_READ, NEXT.pthread_rwlock_tryrdlock(l), EBUSY,
         NEXT.pthread_rwlock_rdlock(l));
}

TT_INTERPOSE int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
    (void)tt_has_next_locks();
    TRY(l, NEXT.pthread_rwlock_tryrdlock(l));
}

TT_INTERPOSE int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *t)
{
    (void)tt_has_next_locks();
    LOCK(l, TT_LOCK_READ, TRY_UNTIL(CLOCK_REALTIME, t, NEXT.pthread_rwlock_tryrdlock(l)),
         EBUSY, NEXT.pthread_rwlock_timedrdlock(l, t));
}

TT_INTERPOSE int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
                                            const struct timespec *t)
{
    (void)tt_has_next_locks();
    if (!NEXT.pthread_rwlock_clockrdlock)
        return ENOSYS;
    LOCK(l, TT_LOCK_READ, TRY_UNTIL(clock, t, NEXT.pthread_rwlock_tryrdlock(l)), EBUSY,
         NEXT.pthread_rwlock_clockrdlock(l, clock, t));
}

TT_INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    (void)tt_has_next_locks();
    LOCK(l, TT_LOCK_WRITE, NEXT.pthread_rwlock_trywrlock(l), EBUSY,
         NEXT.pthread_rwlock_wrlock(l));
}

TT_INTERPOSE int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
    (void)tt_has_next_locks();
    TRY(l, NEXT.pthread_rwlock_trywrlock(l));
}

TT_INTERPOSE int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *t)
{
    (void)tt_has_next_locks();
    LOCK(l, TT_LOCK_WRITE, TRY_UNTIL(CLOCK_REALTIME, t, NEXT.pthread_rwlock_trywrlock(l)),
         EBUSY, NEXT.pthread_rwlock_timedwrlock(l, t));
}

TT_INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
                                            const struct timespec *t)
{
    (void)tt_has_next_locks();
    if (!NEXT.pthread_rwlock_clockwrlock)
        return ENOSYS;
    LOCK(l, TT_LOCK_WRITE, TRY_UNTIL(clock, t, NEXT.pthread_rwlock_trywrlock(l)), EBUSY,
         NEXT.pthread_rwlock_clockwrlock(l, clock, t));
}

TT_INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    (void)tt_has_next_locks();
    UNLOCK(l, NEXT.pthread_rwlock_unlock(l));
}

TT_INTERPOSE int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a)
{
    (void)tt_has_next_locks();
    MADE(l, NEXT.pthread_rwlock_init(l, a));
}

TT_INTERPOSE int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
    (void)tt_has_next_locks();
    GONE(l, NEXT.pthread_rwlock_destroy(l));
}

/* ── C11's functions, which the C library does not build on the others ────────────── */

TT_INTERPOSE int mtx_lock(mtx_t *m)
{
    (void)tt_has_next_locks();
    LOCK(m, TT_LOCK_MUTEX, NEXT.mtx_trylock(m), thrd_busy, NEXT.mtx_lock(m));
}

TT_INTERPOSE int mtx_trylock(mtx_t *m)
{
    (void)tt_has_next_locks();
    TRY(m, NEXT.mtx_trylock(m));
}

TT_INTERPOSE int mtx_timedlock(mtx_t *m, const struct timespec *t)
{
    (void)tt_has_next_locks();
    LOCK(m, TT_LOCK_MUTEX, NEXT.mtx_trylock(m), thrd_busy, NEXT.mtx_timedlock(m, t));
}

TT_INTERPOSE int mtx_unlock(mtx_t *m)
{
    (void)tt_has_next_locks();
    UNLOCK(m, NEXT.mtx_unlock(m));
}

TT_INTERPOSE int mtx_init(mtx_t *m, int type)
{
    (void)tt_has_next_locks();
    MADE(m, NEXT.mtx_init(m, type));
}

TT_INTERPOSE void mtx_destroy(mtx_t *m)
{
    (void)tt_has_next_locks();
    if (tt_locks_are_on())
        tt_lock_gone(m);
    NEXT.mtx_destroy(m);
}
