/* SPDX-License-Identifier: MIT */
/* truth.c - W5: a program whose profile is known.
 *
 * A takes 40 % of the time in calls of about 9 ns each, B takes 60 % in one loop.  With
 * -DTHROUGHPUT the leaf keeps the processor's execution units busy; without it the leaf
 * is one long chain of dependencies, which leaves room for a profiler's instructions.
 *
 *      truth ROUNDS [OPTIONS [COPY]]
 *
 * prints "clock SHARE", A's share by two reads of the thread's CPU clock a round, and
 * "value SHARE", A's share by the recording; without OPTIONS the clock's once more.
 * COPY is a file to write the recording to. */
#include "bench.h"
#include "marks.h"
#include "tallytree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What makes it 40 to 60: loops of B for two calls of the leaf. */
#ifdef THROUGHPUT
#define LEAF() __asm__ volatile(".rept 150\n\tlea 1(%0), %%rax\n\t.endr" : "+r"(x)::"rax")
enum { LOOPS = 40 };
#else
#define LEAF() __asm__ volatile(".rept 9\n\timulq $5, %0, %0\n\t.endr" : "+r"(x))
enum { LOOPS = 27 };
#endif

static ALONE unsigned long leaf(unsigned long x)
{
    MARK("leaf");

    LEAF();
    return x;
}

static ALONE unsigned long part_a(long calls, unsigned long x)
{
    MARK("A");

    for (long i = 0; i < calls; i++)
        x = leaf(x);
    return x;
}

static ALONE unsigned long part_b(long loops, unsigned long x)
{
    MARK("B");

    for (long i = 0; i < loops; i++)
        __asm__ volatile("imulq $21, %0, %0" : "+r"(x));
    return x;
}

struct times {
    double a, b;
};

/* Lengths vary at random, so that no sampler keeps step with them. */
static struct times run(long rounds)
{
    struct times times = {0, 0};
    uint64_t chance = BENCH_SEED;
    unsigned long x = 1;

    for (long i = 0; i < rounds; i++) {
        long calls = 15000 + (long)(bench_random(&chance) % 30000);
        double start = bench_thread_time(), middle;

        x = part_a(calls, x);
        middle = bench_thread_time();
        x = part_b(calls / 2 * LOOPS, x);
        times.a += middle - start;
        times.b += bench_thread_time() - middle;
    }
    return times;
}

/* If only some activations were timed, all are taken to be like those. */
static double time_of(const struct tt_visited *v)
{
    return v->total ? (double)v->total : v->mean * (double)v->calls;
}

static int add_time(const struct tt_visited *v, void *argument)
{
    struct times *times = argument;

    if (v->depth > 0 && strcmp(v->path[v->depth - 1], "A") == 0)
        times->a += time_of(v);
    if (v->depth > 0 && strcmp(v->path[v->depth - 1], "B") == 0)
        times->b += time_of(v);
    return 0;
}

int main(int argc, char **argv)
{
    struct times clock, recorded = {0, 0};
    int error;

    if (argc < 2)
        return 2;
    if (argc > 2 && (error = tt_start(argv[2])) != 0) {
        fprintf(stderr, "tt_start(\"%s\"): %s\n", argv[2], tt_error_text(error));
        return 2;
    }
    bench_pin();
    clock = recorded = run(atol(argv[1]));
    if (argc > 2) {
        recorded = (struct times){0, 0};
        tt_visit(add_time, &recorded);
        if (argc > 3 && tt_write(argv[3]) != 0)
            return 2;
        tt_stop();
    }
    printf("clock %.6f\nvalue %.6f\n", clock.a / (clock.a + clock.b),
           recorded.a / (recorded.a + recorded.b));
    return 0;
}
