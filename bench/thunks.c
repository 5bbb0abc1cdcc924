/* SPDX-License-Identifier: MIT */
/* thunks.c OUT WORDS - the cost of capturing a context and of entering one, at any depth.
 *
 * A thunk is made at a certain depth, and forced from the root: the time must not depend
 * on the depth.  Prints for each depth a row: ns of CPU time of a capture, and of an
 * enter with its pop; the medians of rounds, minus the empty loop. */
#include "bench.h"
#include "tallytree.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 15, TIMES = 200000, DEEPEST = 10000 };

static tt_mark mark[DEEPEST];
static volatile tt_context kept;

static double bare(void)
{
    double start = bench_thread_time();

    for (int i = 0; i < TIMES; i++)
        kept = (tt_context)i;
    return (bench_thread_time() - start) / TIMES;
}

static double capture(void)
{
    double start = bench_thread_time();

    for (int i = 0; i < TIMES; i++)
        kept = tt_context_capture();
    return (bench_thread_time() - start) / TIMES;
}

static double enter(tt_context thunk)
{
    double start = bench_thread_time();

    for (int i = 0; i < TIMES; i++)
        tt_pop(tt_context_enter(thunk));
    return (bench_thread_time() - start) / TIMES;
}

static void measure(const char *words, int depth)
{
    double captured[ROUNDS], entered[ROUNDS], empty[ROUNDS];
    char name[16];
    tt_context thunk;

    for (int i = 0; i < ROUNDS; i++) {
        for (int d = 0; d < depth; d++) {
            (void)snprintf(name, sizeof name, "block %d", d);
            mark[d] = tt_push(tt_block_get(name, "", 0, 0));
        }
        thunk = tt_context_capture();
        captured[i] = capture();
        tt_pop(mark[0]);
        entered[i] = enter(thunk);
        empty[i] = bare();
    }
    printf("| %s | %d | %.2f | %.2f |\n", words, depth,
           bench_median(captured, ROUNDS) - bench_median(empty, ROUNDS),
           bench_median(entered, ROUNDS) - bench_median(empty, ROUNDS));
}

int main(int argc, char **argv)
{
    char words[300];
    int error;

    (void)snprintf(words, sizeof words, "output=%s,%s", argc > 1 ? argv[1] : "",
                   argc > 2 ? argv[2] : "calls");
    error = tt_start(words);
    if (error) {
        fprintf(stderr, "tt_start(\"%s\"): %s\n", words, tt_error_text(error));
        return 1;
    }
    bench_pin();
    for (int depth = 1; depth <= DEEPEST; depth *= 100)
        measure(argc > 2 ? argv[2] : "calls", depth);
    return tt_stop() != 0;
}
