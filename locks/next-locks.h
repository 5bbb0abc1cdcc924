/* SPDX-License-Identifier: MIT */
/* next-locks.h - the C library's functions of locks, descriptors and children, even if they
 * are overridden.
 *
 * Each is called through this table.  Filling it calls the loader, which may allocate,
 * and an allocator may lock: such calls go to the C library by its internal names. */
#ifndef TT_NEXT_LOCKS_H
#define TT_NEXT_LOCKS_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
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

#define TT_EACH_DESCRIPTOR_FUNCTION(EACH)                                                \
    EACH(ssize_t, read, int, void *, size_t)                                             \
    EACH(ssize_t, __read_chk, int, void *, size_t, size_t)                               \
    EACH(ssize_t, readv, int, const struct iovec *, int)                                 \
    EACH(ssize_t, recv, int, void *, size_t, int)                                        \
    EACH(ssize_t, __recv_chk, int, void *, size_t, size_t, int)                          \
    EACH(ssize_t, recvfrom, int, void *, size_t, int, struct sockaddr *, socklen_t *)    \
    EACH(ssize_t, __recvfrom_chk, int, void *, size_t, size_t, int, struct sockaddr *,   \
         socklen_t *)                                                                    \
    EACH(ssize_t, recvmsg, int, struct msghdr *, int)                                    \
    EACH(int, eventfd_read, int, eventfd_t *)                                            \
    EACH(ssize_t, write, int, const void *, size_t)                                      \
    EACH(ssize_t, writev, int, const struct iovec *, int)                                \
    EACH(ssize_t, send, int, const void *, size_t, int)                                  \
    EACH(ssize_t, sendto, int, const void *, size_t, int, const struct sockaddr *,       \
         socklen_t)                                                                      \
    EACH(ssize_t, sendmsg, int, const struct msghdr *, int)                              \
    EACH(int, eventfd_write, int, eventfd_t)                                             \
    EACH(int, pipe, int *)                                                               \
    EACH(int, pipe2, int *, int)                                                         \
    EACH(int, socketpair, int, int, int, int *)                                          \
    EACH(int, eventfd, unsigned, int)                                                    \
    EACH(int, close, int)                                                                \
    EACH(int, shutdown, int, int)                                                        \
    EACH(int, dup, int)                                                                  \
    EACH(int, dup2, int, int)                                                            \
    EACH(int, dup3, int, int, int)                                                       \
    EACH(int, poll, struct pollfd *, nfds_t, int)                                        \
    EACH(int, __poll_chk, struct pollfd *, nfds_t, int, size_t)                          \
    EACH(int, ppoll, struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) \
    EACH(int, __ppoll_chk, struct pollfd *, nfds_t, const struct timespec *,             \
         const sigset_t *, size_t)                                                       \
    EACH(int, select, int, fd_set *, fd_set *, fd_set *, struct timeval *)               \
    EACH(int, pselect, int, fd_set *, fd_set *, fd_set *, const struct timespec *,       \
         const sigset_t *)                                                               \
    EACH(int, epoll_ctl, int, int, int, struct epoll_event *)                            \
    EACH(int, epoll_wait, int, struct epoll_event *, int, int)                           \
    EACH(int, epoll_pwait, int, struct epoll_event *, int, int, const sigset_t *)        \
    EACH(int, epoll_pwait2, int, struct epoll_event *, int, const struct timespec *,     \
         const sigset_t *)

#define TT_EACH_CHILD_FUNCTION(EACH)                                                     \
    EACH(pid_t, fork, void)                                                              \
    EACH(void, exit, int)                                                                \
    EACH(pid_t, wait, int *)                                                             \
    EACH(pid_t, waitpid, pid_t, int *, int)                                              \
    EACH(pid_t, wait3, int *, int, struct rusage *)                                      \
    EACH(pid_t, wait4, pid_t, int *, int, struct rusage *)                               \
    EACH(int, waitid, idtype_t, id_t, siginfo_t *, int)

struct tt_next_locks {
#define TT_NEXT_FIELD(result, name, ...) result (*name)(__VA_ARGS__);
    TT_EACH_LOCK_FUNCTION(TT_NEXT_FIELD)
    TT_EACH_DESCRIPTOR_FUNCTION(TT_NEXT_FIELD)
    TT_EACH_CHILD_FUNCTION(TT_NEXT_FIELD)
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
