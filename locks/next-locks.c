/* SPDX-License-Identifier: MIT */
/* next-locks.c - the C library's functions of locks, descriptors and children, and how our
 * own code calls them.
 *
 * The linker (--wrap) turns each call of one of them in this library into one of
 * __wrap_NAME: our locks and files are not the program's. */
#include "next-locks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "next-function.h"
#include "system-call.h"

struct tt_next_locks tt_next_locks;

extern int __pthread_mutex_lock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_trylock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_unlock(pthread_mutex_t *) __attribute__((weak));

/* Of two versions of the functions for conditions, the newer one: a search without a
 * version may find the one of 2002.  There is one version of clockwait; a search that fails
 * allocates. */
static void *find(const char *name)
{
    void *found = strncmp(name, "pthread_cond_", 13) == 0 &&
                          strcmp(name, "pthread_cond_clockwait") != 0
                      ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2")
                      : NULL;

    return found ? found : tt_next_function(name);
}

int tt_next_locks_find(void)
{
    static __thread int finding;
    int saved = errno;
    void *found;

    if (finding)
        return 0;
    finding = 1;
#define FIND(result, name, ...)                                                          \
    found = find(#name);                                                                 \
    memcpy(&tt_next_locks.name, &found, sizeof found);
    TT_EACH_LOCK_FUNCTION(FIND)
    TT_EACH_DESCRIPTOR_FUNCTION(FIND)
    TT_EACH_CHILD_FUNCTION(FIND)
#undef FIND
    __atomic_store_n(&tt_next_locks.found, 1, __ATOMIC_RELEASE);
    finding = 0;
    errno = saved;
    return 1;
}

/* ── Calls of our own code ────────────────────────────────────────────────────────── */

int __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *);
int __wrap_pthread_join(pthread_t, void **);
int __wrap_pthread_timedjoin_np(pthread_t, void **, const struct timespec *);

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    return tt_has_next_locks() ? tt_next_locks.pthread_mutex_lock(m)
                               : __pthread_mutex_lock(m);
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *m)
{
    return tt_has_next_locks() ? tt_next_locks.pthread_mutex_trylock(m)
                               : __pthread_mutex_trylock(m);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    return tt_has_next_locks() ? tt_next_locks.pthread_mutex_unlock(m)
                               : __pthread_mutex_unlock(m);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
    static const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;

    if (tt_has_next_locks())
        return tt_next_locks.pthread_mutex_init(m, a);
    *m = initial;
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *m)
{
    return tt_has_next_locks() ? tt_next_locks.pthread_mutex_destroy(m) : 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    return tt_has_next_locks() ? tt_next_locks.pthread_join(thread, result) : EAGAIN;
}

int __wrap_pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *t)
{
    return tt_has_next_locks() ? tt_next_locks.pthread_timedjoin_np(thread, result, t)
                               : EAGAIN;
}

ssize_t __wrap_read(int, void *, size_t);
ssize_t __wrap_write(int, const void *, size_t);
int __wrap_close(int);

ssize_t __wrap_read(int fd, void *data, size_t size)
{
    return tt_call_system(SYS_read, (long[6]){fd, (long)(uintptr_t)data, (long)size});
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    return tt_call_system(SYS_write, (long[6]){fd, (long)(uintptr_t)data, (long)size});
}

int __wrap_close(int fd) { return (int)tt_call_system(SYS_close, (long[6]){fd}); }
