/* SPDX-License-Identifier: MIT */
/* interpreted.c - what the functions of Python add to the look at a stack.
 *
 * bench/interpreters loads this into Python and calls it from stacks of many shapes.  Each is
 * unwound and looked up in the tree by what takes samples, natively and with the interpreter's
 * functions: warm, again and again; and cold, with other data in the processor's caches,
 * as a sample finds it.  Times are elapsed time, whose clock is read without a system call: the
 * medians over stacks leave out those that were interrupted. */
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

#include "bench.h"
#include "graft.h"
#include "strand.h"

enum { WARM = 20, MAX = 20000 };

enum figure { UNWIND, FIND, FIGURES };

static struct tt_grafting graft;
static double ns[2][2][FIGURES][MAX]; /* cold, with functions */
static double added[2][FIGURES][MAX], natives[MAX], functions[MAX];
static size_t stacks;
static unsigned bad;

int bench_begin(const char *options);
int bench_stack(void);
void bench_end(void);

/* From the same place, with or without the interpreter's functions. */
static void unwind(const ucontext_t *context, int wanted)
{
    graft.script.wanted = wanted;
    tt_registers_of_context(&graft.registers, context);
    bad += !tt_graft_unwind(&graft);
}

static void make(const ucontext_t *context, int wanted)
{
    struct tt_node *n;
    uint32_t made;

    unwind(context, wanted);
    if (tt_graft_make(&graft, &n, &made))
        tt_graft_done(&graft);
    tt_graft_release(&graft);
}

/* Adds to both sums. */
static void time_once(const ucontext_t *context, int wanted, double *sum)
{
    struct tt_node *n;
    double begin = bench_now(), between;

    unwind(context, wanted);
    between = bench_now();
    bad += !tt_graft_find(&graft, &n);
    sum[UNWIND] += between - begin;
    sum[FIND] += bench_now() - between;
    tt_graft_release(&graft);
}

static void time_stack(const ucontext_t *context, int cold)
{
    const int times = cold ? 1 : WARM;
    double sum[2][FIGURES] = {{0}};

    for (int i = 0; i < times; i++)
        for (int wanted = 0; wanted < 2; wanted++) {
            if (cold)
                bench_drop_caches();
            time_once(context, wanted, sum[wanted]);
        }
    for (int f = 0; f < FIGURES; f++) {
        for (int wanted = 0; wanted < 2; wanted++)
            ns[cold][wanted][f][stacks] = sum[wanted][f] / times;
        added[cold][f][stacks] = (sum[1][f] - sum[0][f]) / times;
    }
}

int bench_begin(const char *options)
{
    struct tt_thread *t;

    tt_graft_init();
    tt_interpreters_find();
    if (!tt_interpreters_first() || tt_interpreters_first()->off ||
        tt_start(options) != 0)
        return 0;
    t = tt_thread_enter();
    if (!t)
        return 0;
    tt_safe_loads = tt_safe_thread.direct = TT_SAFE_CALLED; /* here none faults */
    graft.thread = t;
    tt_graft_find_stack(&graft);
    return 1;
}

int bench_stack(void)
{
    ucontext_t context;

    if (stacks == MAX)
        return 0;
    getcontext(&context);
    make(&context, 0);
    make(&context, 1);
    time_stack(&context, 1);
    time_stack(&context, 0);
    natives[stacks] = graft.stack.count;
    functions[stacks] = graft.script.stack.count;
    stacks++;
    return 1;
}

static void row(int cold)
{
    double unwound = bench_median(ns[cold][0][UNWIND], stacks),
           found = bench_median(ns[cold][0][FIND], stacks),
           walked = bench_median(added[cold][UNWIND], stacks),
           named = bench_median(added[cold][FIND], stacks);

    printf("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f |\n",
           tt_interpreters_first()->name, cold ? "cold" : "warm",
           bench_median(natives, stacks), bench_median(functions, stacks), unwound, found,
           walked, named, walked / unwound, (walked + named) / (unwound + found));
}

void bench_end(void)
{
    row(0);
    row(1);
    if (bad)
        printf("%u stacks were not found\n", bad);
    (void)fflush(stdout);
}
