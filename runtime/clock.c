/* SPDX-License-Identifier: MIT */
/* clock.c - which clock, and how fast it runs.
 *
 * The processor's own counter is the cheapest, and good where it runs at one speed and
 * goes on while the processor sleeps; its frequency is measured against the system's
 * clock.  Else the system's clock serves. */
#include "clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint32_t tt_clock_kind = TT_CLOCK_MONOTONIC;

enum { MEASURE_NS = 2000000 };

static int counter_is_steady(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#elif defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

/* A reading of both clocks at one moment: the tightest of a few. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t before = tt_clock_cycles(), now = tt_clock_monotonic(),
                 after = tt_clock_cycles();
        if (after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *ns = now;
        }
    }
}

static uint64_t counter_frequency(void)
{
#if defined(__aarch64__)
    uint64_t hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    if (hz)
        return hz;
#endif
    uint64_t ticks, ns, end_ticks, end_ns;

    read_both(&ticks, &ns);
    do
        end_ns = tt_clock_monotonic();
    while (end_ns - ns < MEASURE_NS);
    read_both(&end_ticks, &end_ns);
    return (uint64_t)((double)(end_ticks - ticks) * 1e9 / (double)(end_ns - ns));
}

static uint64_t frequency; /* measured once a process, under the lock of tt_start */

void tt_clock_know(uint64_t counter_hz) { frequency = counter_hz; }

void tt_clock_choose(struct tt_header *h)
{
    if (h->clock == TT_CLOCK_CYCLES && !counter_is_steady())
        h->clock = TT_CLOCK_MONOTONIC;
    if (h->clock == TT_CLOCK_CYCLES && !frequency)
        frequency = counter_frequency();
    __atomic_store_n(&tt_clock_kind, h->clock, __ATOMIC_RELAXED);
    if (h->clock != TT_CLOCK_CALLER)
        h->ticks_per_second = h->clock == TT_CLOCK_CYCLES ? frequency : 1000000000u;
    h->start_ticks = h->clock == TT_CLOCK_CALLER ? 0 : tt_clock_now();
}
