/* SPDX-License-Identifier: MIT */
/* next-locks.h - the C library's functions of locks, even if they are overridden.
 *
 * Each is called through this table.  Filling it calls the loader, which may allocate,
 * and an allocator may lock: such calls go to the C library by its internal names. */
#ifndef TT_NEXT_LOCKS_H
#define TT_NEXT_LOCKS_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

/* EACH(result, name, arguments) */
#define TT_EACH_LOCK_FUNCTION(EACH)                                                      \
    EACH(int, pthread_mutex_lock, pthread_mutex_t *)                                     \
    EACH(int, pthread_mutex_trylock, pthread_mutex_t *)                                  \
    EACH(int, pthread_mutex_timedlock, pthread_mutex_t *, const struct timespec *)       \
    EACH(int, pthread_mutex_clocklock, pthread_mutex_t *, clockid_t,                     \
         const struct timespec *)                                                        \
    EACH(int, pthread_mutex_unlock, pthread_mutex_t *)                                   \
    EACH(int, pthread_mutex_init, pthread_mutex_t *, const pthread_mutexattr_t *)        \
    EACH(int, pthread_mutex_destroy, pthread_mutex_t *)                                  \
    EACH(int, pthread_rwlock_rdlock, pthread_rwlock_t *)                                 \
    EACH(int, pthread_rwlock_tryrdlock, pthread_rwlock_t *)                              \
    EACH(int, pthread_rwlock_timedrdlock, pthread_rwlock_t *, const struct timespec *)   \
    EACH(int, pthread_rwlock_clockrdlock, pthread_rwlock_t *, clockid_t,                 \
         const struct timespec *)                                                        \
    EACH(int, pthread_rwlock_wrlock, pthread_rwlock_t *)                                 \
    EACH(int, pthread_rwlock_trywrlock, pthread_rwlock_t *)                              \
    EACH(int, pthread_rwlock_timedwrlock, pthread_rwlock_t *, const struct timespec *)   \
    EACH(int, pthread_rwlock_clockwrlock, pthread_rwlock_t *, clockid_t,                 \
         const struct timespec *)                                                        \
    EACH(int, pthread_rwlock_unlock, pthread_rwlock_t *)                                 \
    EACH(int, pthread_rwlock_init, pthread_rwlock_t *, const pthread_rwlockattr_t *)     \
    EACH(int, pthread_rwlock_destroy, pthread_rwlock_t *)                                \
    EACH(int, pthread_cond_wait, pthread_cond_t *, pthread_mutex_t *)                    \
    EACH(int, pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *,               \
         const struct timespec *)                                                        \
    EACH(int, pthread_cond_clockwait, pthread_cond_t *, pthread_mutex_t *, clockid_t,    \
         const struct timespec *)                                                        \
    EACH(int, pthread_cond_signal, pthread_cond_t *)                                     \
    EACH(int, pthread_cond_broadcast, pthread_cond_t *)                                  \
    EACH(int, pthread_cond_init, pthread_cond_t *, const pthread_condattr_t *)           \
    EACH(int, pthread_cond_destroy, pthread_cond_t *)                                    \
    EACH(int, pthread_barrier_wait, pthread_barrier_t *)                                 \
    EACH(int, pthread_barrier_init, pthread_barrier_t *, const pthread_barrierattr_t *,  \
         unsigned)                                                                       \
    EACH(int, pthread_barrier_destroy, pthread_barrier_t *)                              \
    EACH(int, pthread_join, pthread_t, void **)                                          \
    EACH(int, pthread_tryjoin_np, pthread_t, void **)                                    \
    EACH(int, pthread_timedjoin_np, pthread_t, void **, const struct timespec *)         \
    EACH(int, pthread_clockjoin_np, pthread_t, void **, clockid_t,                       \
         const struct timespec *)                                                        \
    EACH(int, sem_wait, sem_t *)                                                         \
    EACH(int, sem_timedwait, sem_t *, const struct timespec *)                           \
    EACH(int, sem_clockwait, sem_t *, clockid_t, const struct timespec *)                \
    EACH(int, sem_post, sem_t *)                                                         \
    EACH(int, sem_getvalue, sem_t *, int *)                                              \
    EACH(int, sem_init, sem_t *, int, unsigned)                                          \
    EACH(int, sem_destroy, sem_t *)                                                      \
    EACH(int, mtx_lock, mtx_t *)                                                         \
    EACH(int, mtx_trylock, mtx_t *)                                                      \
    EACH(int, mtx_timedlock, mtx_t *, const struct timespec *)                           \
    EACH(int, mtx_unlock, mtx_t *)                                                       \
    EACH(int, mtx_init, mtx_t *, int)                                                    \
    EACH(void, mtx_destroy, mtx_t *)                                                     \
    EACH(int, cnd_wait, cnd_t *, mtx_t *)                                                \
    EACH(int, cnd_timedwait, cnd_t *, mtx_t *, const struct timespec *)                  \
    EACH(int, cnd_signal, cnd_t *)                                                       \
    EACH(int, cnd_broadcast, cnd_t *)                                                    \
    EACH(int, cnd_init, cnd_t *)                                                         \
    EACH(void, cnd_destroy, cnd_t *)                                                     \
    EACH(int, thrd_join, thrd_t, int *)

struct tt_next_locks {
#define TT_NEXT_FIELD(result, name, ...) result (*name)(__VA_ARGS__);
    TT_EACH_LOCK_FUNCTION(TT_NEXT_FIELD)
#undef TT_NEXT_FIELD
    int found; /* stored last */
};
extern struct tt_next_locks tt_next_locks;

/* 0: this very thread is looking for them. */
int tt_next_locks_find(void);

static inline int tt_has_next_locks(void)
{
    return __builtin_expect(__atomic_load_n(&tt_next_locks.found, __ATOMIC_ACQUIRE), 1) ||
           tt_next_locks_find();
}

#endif
