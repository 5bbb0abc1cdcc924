/* SPDX-License-Identifier: MIT */
/* bench.h - what every bench program needs: clocks, a pinned thread, medians, chance. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

/* A median with its 95 % confidence interval, from order statistics (the sign test). */
struct bench_interval {
    double low, median, high;
};

/* CPU time of the calling thread, and of the whole process, in ns. */
double bench_thread_time(void);
double bench_process_time(void);

/* Of the monotonic clock, in ns. */
double bench_now(void);

/* Fills the processor's caches with other data. */
void bench_drop_caches(void);

/* Keeps the calling thread on the last CPU it may use, until bench_unpin.  Threads that
 * exist already, a sampler above all, stay free to use the others. */
void bench_pin(void);
void bench_unpin(void);

/* Both sort the values in place.  NaN is not among them; n > 0. */
double bench_median(double *values, size_t n);
struct bench_interval bench_interval(double *values, size_t n);

/* The next of a sequence of random numbers that is the same in every run. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

enum { BENCH_SEED = 88172645 };

#endif
