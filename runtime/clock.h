/* SPDX-License-Identifier: MIT */
/* clock.h - the time in ticks of the recording's clock. */
#ifndef TT_CLOCK_H
#define TT_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "layout.h"

/* Of a thread. */
struct tt_thread_clock {
    uint32_t pauses;                  /* read by the sampler thread */
    uint64_t paused_at, paused_ticks; /* all ticks spent paused so far */
    uint64_t ticks;                   /* of clock=caller */
};

/* Set by tt_clock_choose, while threads may still be busy with an older recording. */
extern uint32_t tt_clock_kind;

static inline uint32_t tt_clock_in_use(void)
{
    return __atomic_load_n(&tt_clock_kind, __ATOMIC_RELAXED);
}

static inline uint64_t tt_clock_monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t tt_clock_cycles(void)
{
#if defined(__x86_64__)
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return tt_clock_monotonic();
#endif
}

/* Now, unless the clock is the caller's. */
static inline uint64_t tt_clock_now(void)
{
    return tt_clock_in_use() == TT_CLOCK_CYCLES ? tt_clock_cycles()
                                                : tt_clock_monotonic();
}

/* Makes the wanted clock, or the nearest to be had, the one in use: fills in the header's
 * kind and frequency. */
void tt_clock_choose(struct tt_header *);

/* Another process of this machine has measured the processor's counter, which takes 2 ms. */
void tt_clock_know(uint64_t counter_hz);

enum { TT_GONE = 64 };
struct tt_gone {              /* threads that have left a recording: */
    uint32_t thread[TT_GONE]; /* the last ones, which the system may still list; or 0 */
    uint32_t count;           /* of all */
    uint64_t waited[TT_GONE], sum; /* ns; sum: of all */
};

/* How long living threads of the process, except `gone` (NULL: none), could have run
 * while others had the processors, in ns; 0 if the system does not report it.  Sets
 * *threads, unless NULL, to their number.  Takes some microseconds a thread. */
uint64_t tt_clock_preempted(const struct tt_gone *, unsigned *threads);
uint64_t tt_clock_preempted_here(void); /* of the calling thread */

/* CPU time of the calling thread, ns.  Async-signal-safe. */
static inline uint64_t tt_clock_cpu(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
