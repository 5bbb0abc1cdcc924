/* SPDX-License-Identifier: MIT */
/* brief-lock.h - locks that cost next to nothing in a process of one thread. */
#ifndef TT_BRIEF_LOCK_H
#define TT_BRIEF_LOCK_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "assertion.h"

/* The C library clears it before a second thread exists, however that is made. */
extern char __libc_single_threaded __attribute__((weak));

static inline int tt_alone(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

/* The states of a lock's word.  A waiting thread soon sleeps in the kernel: a thread of
 * real-time priority that went on spinning would keep the holder from the processor. */
enum { TT_BRIEF_FREE, TT_BRIEF_HELD, TT_BRIEF_AWAITED };

/* As in linux/futex.h, which other C libraries do not have. */
enum { TT_FUTEX_WAIT_PRIVATE = 128, TT_FUTEX_WAKE_PRIVATE = 129 };

__attribute__((noinline, cold, unused)) static void tt_brief_wait(uint32_t *word)
{
    int saved = errno;

    /* A plain exchange here could turn AWAITED into HELD, and a waiter would never wake. */
    for (int tries = 0; tries < 100; tries++) {
        uint32_t expected = TT_BRIEF_FREE;
        if (!__atomic_load_n(word, __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(word, &expected, TT_BRIEF_HELD, 0,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
    }
    while (__atomic_exchange_n(word, TT_BRIEF_AWAITED, __ATOMIC_ACQUIRE))
        (void)syscall(SYS_futex, word, TT_FUTEX_WAIT_PRIVATE, TT_BRIEF_AWAITED, NULL,
                      NULL, 0);
    errno = saved;
}

__attribute__((noinline, cold, unused)) static void tt_brief_wake(uint32_t *word)
{
    int saved = errno;

    (void)syscall(SYS_futex, word, TT_FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

/* In a process of one thread; nothing could free it. */
static inline void tt_brief_hold(uint32_t *word)
{
    TT_ASSERT(!__atomic_load_n(word, __ATOMIC_RELAXED));
    __atomic_store_n(word, TT_BRIEF_HELD, __ATOMIC_RELAXED);
}

/* A lock that is held for moments.  No handler may interrupt its holder and take it. */
static inline void tt_brief_lock(uint32_t *word)
{
    if (tt_alone()) {
        tt_brief_hold(word);
        return;
    }
    uint32_t expected = TT_BRIEF_FREE;
    if (!__atomic_compare_exchange_n(word, &expected, TT_BRIEF_HELD, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        tt_brief_wait(word);
}

/* 0: it is held, maybe by the thread that the caller has interrupted. */
static inline int tt_brief_try(uint32_t *word)
{
    uint32_t expected = TT_BRIEF_FREE;

    if (!tt_alone())
        return __atomic_compare_exchange_n(word, &expected, TT_BRIEF_HELD, 0,
                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    if (__atomic_load_n(word, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(word, TT_BRIEF_HELD, __ATOMIC_RELAXED);
    return 1;
}

static inline void tt_brief_unlock(uint32_t *word)
{
    if (tt_alone())
        __atomic_store_n(word, TT_BRIEF_FREE, __ATOMIC_RELEASE);
    else if (__atomic_exchange_n(word, TT_BRIEF_FREE, __ATOMIC_RELEASE) ==
             TT_BRIEF_AWAITED)
        tt_brief_wake(word);
}

/* A lock that stores which thread changes the data it guards: from after it was taken
 * until before it is released.  `self` is the calling thread's tt_self. */
struct tt_owned {
    uint32_t word;
    const void *holder;
};

static inline void tt_owned_lock(struct tt_owned *l, const void *self)
{
    tt_brief_lock(&l->word);
    __atomic_store_n(&l->holder, self, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void tt_owned_unlock(struct tt_owned *l)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&l->holder, NULL, __ATOMIC_RELAXED);
    tt_brief_unlock(&l->word);
}

static inline int tt_owned_try(struct tt_owned *l, const void *self)
{
    if (!tt_brief_try(&l->word))
        return 0;
    __atomic_store_n(&l->holder, self, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return 1;
}

/* In the child of a fork; returns 1 if another thread was making a change.  A change by
 * the calling thread goes on. */
static inline int tt_owned_forget(struct tt_owned *l, const void *self)
{
    const void *holder = l->holder;

    if (holder == self)
        return 0;
    l->holder = NULL;
    l->word = TT_BRIEF_FREE;
    return holder != NULL;
}

/* A lock that its holder may take again.  A recursive mutex of the C library would know its
 * holder by the number of the thread, which a child of a fork does not keep: work that a
 * handler interrupted by fork() goes on there.  A handler that comes while the lock is being
 * taken or given finds it held: it may only try. */
struct tt_nested {
    struct tt_owned lock;
    uint32_t again; /* how often the holder has taken it again */
};

static inline int tt_nested_is_held(const struct tt_nested *l, const void *self)
{
    return __atomic_load_n(&l->lock.holder, __ATOMIC_RELAXED) == self;
}

static inline void tt_nested_lock(struct tt_nested *l, const void *self)
{
    if (tt_nested_is_held(l, self))
        l->again++;
    else
        tt_owned_lock(&l->lock, self);
}

__attribute__((unused)) static inline int tt_nested_try(struct tt_nested *l,
                                                        const void *self)
{
    if (!tt_nested_is_held(l, self))
        return tt_owned_try(&l->lock, self);
    l->again++;
    return 1;
}

static inline void tt_nested_unlock(struct tt_nested *l)
{
    if (l->again)
        l->again--;
    else
        tt_owned_unlock(&l->lock);
}

/* In the child of a fork, as tt_owned_forget(). */
static inline void tt_nested_forget(struct tt_nested *l, const void *self)
{
    if (!tt_nested_is_held(l, self))
        l->again = 0;
    (void)tt_owned_forget(&l->lock, self);
}

#endif
