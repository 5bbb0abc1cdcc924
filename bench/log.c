/* SPDX-License-Identifier: MIT */
/* log.c - what an entry of the sample log costs: tt_sample with and without the log, in turns.
 *
 * Prints a line a state of the log: ns an entry, the median of rounds with its interval of 95 %. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
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

static void compare(const char *what, const char *with, const char *without)
{
    double cost[ROUNDS];
    struct bench_interval all;

    for (int i = 0; i < ROUNDS; i++)
        cost[i] = run(with, SAMPLES) - run(without, SAMPLES);
    all = bench_interval(cost, ROUNDS);
    printf("%s: %.1f ns an entry (%.1f to %.1f)\n", what, all.median, all.low, all.high);
}

int main(void)
{
    bench_pin();
    compare("a log with room", "calls", "calls,log=none");
    compare("a full log", "calls,log=64K", "calls,log=none");
    return 0;
}
