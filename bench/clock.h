/* SPDX-License-Identifier: MIT */
/* clock.h - the cheapest clock of the processor. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#if defined(__x86_64__)
static inline uint64_t clock_read(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
static inline uint64_t clock_read(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#error "no clock for this processor"
#endif

#endif
