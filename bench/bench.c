/* SPDX-License-Identifier: MIT */
/* bench.c - clocks, a pinned thread, medians. */
#include "bench.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_thread_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

double bench_process_time(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

double bench_now(void) { return read_clock(CLOCK_MONOTONIC); }

void bench_drop_caches(void)
{
    static volatile char caches[8 << 20];

    for (size_t i = 0; i < sizeof caches; i += 64)
        caches[i]++;
}

static cpu_set_t allowed; /* as it was at the first bench_pin */

void bench_pin(void)
{
    cpu_set_t one;
    size_t last = CPU_SETSIZE - 1;

    if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    while (last > 0 && !CPU_ISSET(last, &allowed))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* refused: then it is not pinned */
}

void bench_unpin(void)
{
    if (CPU_COUNT(&allowed) != 0)
        (void)sched_setaffinity(0, sizeof allowed, &allowed);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, size_t n) { return bench_interval(values, n).median; }

struct bench_interval bench_interval(double *values, size_t n)
{
    size_t reach = (size_t)ceil(0.98 * sqrt((double)n)); /* 1.96 / 2: binomial, p = 1/2 */
    size_t middle = n / 2;

    qsort(values, n, sizeof *values, compare_doubles);
    return (struct bench_interval){
        .low = values[reach > middle ? 0 : middle - reach],
        .median = n % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2,
        .high = values[middle + reach >= n ? n - 1 : middle + reach],
    };
}
