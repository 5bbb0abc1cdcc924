/* SPDX-License-Identifier: MIT */
/* log.c - what an entry of the sample log costs: tt_sample with and without the log, in turns.
 *
 *      log [FILE]      FILE: for recordings in a file; it is removed afterwards
 *
 * Prints a line a state of the log: ns an entry, the median of rounds with its interval of 95 %.
 * A log with room takes memory that the kernel has to provide; a full log uses its own.  Each
 * entry reads the clock, so a line says what that costs. */
#include <stdio.h>
#include <stdlib.h>

#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "tallytree.h"

enum { SAMPLES = 400000, ROUNDS = 15, BLOCKS = 16 };

/* Samples of some blocks; ns a sample. */
static double run(const char *options, int samples)
{
    tt_block block[BLOCKS];
    char name[16];
    double begin;

    if (tt_start(options) != 0)
        exit(2);
    for (int i = 0; i < BLOCKS; i++) {
        (void)snprintf(name, sizeof name, "block %d", i);
        block[i] = tt_block_get(name, "", 0, 0);
        tt_pop(tt_push(block[i]));
    }
    begin = bench_thread_time();
    for (int i = 0; i < samples; i++) {
        tt_mark mark = tt_push(block[i % BLOCKS]);
        tt_sample(4000000 + (uint64_t)i % 4096);
        tt_pop(mark);
    }
    begin = bench_thread_time() - begin;
    if (tt_stop() != 0)
        exit(2);
    return begin / samples;
}

static void print_cost(const char *what, double *cost)
{
    const struct bench_interval all = bench_interval(cost, ROUNDS);

    printf("%s: %.1f ns (%.1f to %.1f)\n", what, all.median, all.low, all.high);
}

static void compare(const char *what, const char *with, const char *without)
{
    double cost[ROUNDS];

    for (int i = 0; i < ROUNDS; i++)
        cost[i] = run(with, SAMPLES) - run(without, SAMPLES);
    print_cost(what, cost);
}

static void compare_in_file(const char *path)
{
    char with[4200], without[4200];

    (void)snprintf(with, sizeof with, "calls,output=%s", path);
    (void)snprintf(without, sizeof without, "calls,log=none,output=%s", path);
    compare("an entry, the log has room, in a file", with, without);
    (void)unlink(path);
}

static void read_clock(void)
{
    volatile uint64_t sink = 0;
    double cost[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double begin = bench_thread_time();
        for (int j = 0; j < SAMPLES; j++)
            sink += clock_read();
        cost[i] = (bench_thread_time() - begin) / SAMPLES;
    }
    print_cost("of these, a reading of the clock", cost);
}

int main(int count, char **words)
{
    bench_pin();
    compare("an entry, the log is full", "calls,log=64K", "calls,log=none");
    compare("an entry, the log has room, in memory", "calls", "calls,log=none");
    if (count > 1)
        compare_in_file(words[1]);
    read_clock();
    return 0;
}
