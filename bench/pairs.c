/* SPDX-License-Identifier: MIT */
/* pairs.c - small differences: two things done in turns in one process.
 *
 *      pairs LABEL same|marked PAIRS ROUNDS [OPTIONS]
 *
 * Each pair is a stretch of the bare coarse functions and one of the same ones built
 * again, or of the marked ones; the order changes from pair to pair.  With OPTIONS both
 * are the marked ones, and the second runs under a recording.  Prints a row: the median
 * ratio of the thread's CPU time with its 95 % interval, that of the process's (with what
 * a sampler thread took), and the samples a second. */
#include "bench.h"
#include "coarse.h"
#include "tallytree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 1000 };

struct times {
    double thread, process;
};

static const char *options; /* NULL: no recording */
static unsigned long (*first)(long), (*second)(long);
static long rounds;
static double samples, recorded;
static volatile unsigned long sink; /* so that nothing is left out */

static struct times measure(unsigned long (*run)(long))
{
    struct times start;

    bench_pin();
    sink = run(rounds / 20 + 1);
    start = (struct times){bench_thread_time(), bench_process_time()};
    sink = run(rounds);
    return (struct times){bench_thread_time() - start.thread,
                          bench_process_time() - start.process};
}

static int add_samples(const struct tt_visited *v, void *unused)
{
    (void)unused;
    samples += (double)v->samples;
    return 0;
}

/* A sampler thread is made while nothing is pinned, so that it may run elsewhere. */
static struct times measure_second(void)
{
    struct times times;
    int error;

    if (!options)
        return measure(second);
    bench_unpin();
    if ((error = tt_start(options)) != 0) {
        fprintf(stderr, "tt_start(\"%s\"): %s\n", options, tt_error_text(error));
        exit(2);
    }
    times = measure(second);
    tt_visit(add_samples, NULL);
    recorded += times.thread * 21 / 20;
    tt_stop();
    return times;
}

static void print_row(const char *label, double *thread, double *process, size_t pairs)
{
    struct bench_interval t = bench_interval(thread, pairs);
    struct bench_interval p = bench_interval(process, pairs);

    printf("| %-28s | %8.4f | %8.4f | %8.4f | %8.4f | %8.4f | %8.4f", label, t.median,
           t.low, t.high, p.median, p.low, p.high);
    if (samples > 0)
        printf(" | %8.0f |\n", samples / recorded * 1e9);
    else
        printf(" | %8s |\n", "-");
}

int main(int argc, char **argv)
{
    static double thread[PAIRS_MAX], process[PAIRS_MAX];
    int pairs;

    if (argc < 5 || (pairs = atoi(argv[3])) < 1 || pairs > PAIRS_MAX)
        return 2;
    rounds = atol(argv[4]);
    options = argc > 5 ? argv[5] : NULL;
    second = strcmp(argv[2], "same") == 0 ? coarse_same : coarse_marked;
    first = options ? second : coarse_bare;
    for (int i = 0; i < pairs; i++) {
        struct times a, b;

        if (i % 2)
            b = measure_second(), a = measure(first);
        else
            a = measure(first), b = measure_second();
        thread[i] = b.thread / a.thread;
        process[i] = b.process / a.process;
    }
    print_row(argv[1], thread, process, (size_t)pairs);
    return 0;
}
