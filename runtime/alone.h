/* SPDX-License-Identifier: MIT */
/* alone.h - locks that cost next to nothing in a process of one thread. */
#ifndef TT_ALONE_H
#define TT_ALONE_H

#include <sched.h>
#include <stdint.h>

/* The C library clears it before there is another thread, whoever makes it. */
extern char __libc_single_threaded __attribute__((weak));

static inline int tt_alone(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

/* A lock that is held for moments.  No handler may interrupt its holder and take it. */
static inline void tt_brief_lock(uint32_t *word)
{
    if (tt_alone()) {
        __atomic_store_n(word, 1, __ATOMIC_RELAXED);
        return;
    }
    for (unsigned tries = 0; __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE);)
        while (__atomic_load_n(word, __ATOMIC_RELAXED))
            if (++tries > 100)
                sched_yield(); /* the holder was put to sleep */
}

/* 0: it is held, maybe by whom the caller has interrupted. */
static inline int tt_brief_try(uint32_t *word)
{
    if (!tt_alone())
        return !__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(word, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(word, 1, __ATOMIC_RELAXED);
    return 1;
}

static inline void tt_brief_unlock(uint32_t *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

#endif
