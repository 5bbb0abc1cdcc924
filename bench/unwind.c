/* SPDX-License-Identifier: MIT */
/* unwind.c - what it takes to unwind a stack, and to make the tables for it.
 *
 *      unwind STACKS
 *      unwind 0 FILE...
 *
 * Functions without frame pointers and with frames of many sizes call each other at random,
 * 25 deep.  There the stack is unwound by our tables, and by libunwind where it was built
 * in (-DPEER_LIBUNWIND), a few times each, in turn; the rows give medians.  Or the table of
 * each FILE is made.  Times are CPU time.
 * Exit status 1 when a stack does not lead to the root. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef PEER_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include "bench.h"
#include "unwind.h"

enum { DEPTH = 25, ROOM = 256, TIMES = 10, STACKS_MAX = 100000 };

static struct {
    const char *end; /* of the stack */
    uint64_t random;
    size_t stacks;
    unsigned frames, bad;
    struct tt_unwind_cache cache;
    double cached[STACKS_MAX];
    double ours[STACKS_MAX], theirs[STACKS_MAX], traced[STACKS_MAX], depth[STACKS_MAX];
} state;

/* ── Unwinding ────────────────────────────────────────────────────────────────────── */

static unsigned unwind_ours(const ucontext_t *context, struct tt_unwind_cache *cache)
{
    struct tt_native frame[ROOM];
    struct tt_unwound out = {.frame = frame, .room = ROOM, .cache = cache};
    struct tt_registers r;
    struct tt_peek peek;
    struct tt_hold hold;

    tt_registers_of_context(&r, context);
    tt_peek_own(&peek, (const char *)(uintptr_t)r.value[TT_REGISTER_SP], state.end);
    tt_modules_hold(&hold);
    tt_native_unwind(&out, hold.modules, &r, &peek);
    tt_modules_release(&hold);
    state.bad += out.end != TT_UNWIND_ROOT;
    return out.count;
}

#ifdef PEER_LIBUNWIND
static void unwind_theirs(ucontext_t *context)
{
    unw_cursor_t cursor;
    unw_word_t pc;

    unw_init_local(&cursor, context);
    do
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
    while (unw_step(&cursor) > 0);
}

/* Its fast way, with a cache for each thread: no registers but the stack's. */
static void trace(void)
{
    void *frame[ROOM];

    unw_backtrace(frame, ROOM);
}
#endif

static void measure(void)
{
    ucontext_t context;
    double start;

    getcontext(&context);
    start = bench_thread_time();
    for (int i = 0; i < TIMES; i++)
        state.frames = unwind_ours(&context, NULL);
    state.ours[state.stacks] = (bench_thread_time() - start) / TIMES;
    start = bench_thread_time();
    for (int i = 0; i < TIMES; i++)
        state.bad += unwind_ours(&context, &state.cache) != state.frames;
    state.cached[state.stacks] = (bench_thread_time() - start) / TIMES;
    state.depth[state.stacks] = state.frames;
#ifdef PEER_LIBUNWIND
    start = bench_thread_time();
    for (int i = 0; i < TIMES; i++)
        unwind_theirs(&context);
    state.theirs[state.stacks] = (bench_thread_time() - start) / TIMES;
    start = bench_thread_time();
    for (int i = 0; i < TIMES; i++)
        trace();
    state.traced[state.stacks] = (bench_thread_time() - start) / TIMES;
#endif
    state.stacks++;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static unsigned call(unsigned depth);

/* Each has a separate frame size, and saves other registers. */
#define FUNCTION(n)                                                                      \
    static __attribute__((noinline, noclone)) unsigned function##n(unsigned depth)       \
    {                                                                                    \
        volatile char room[16 * n + 1];                                                  \
        unsigned a = depth * n, b = a ^ 77, c = b + depth;                               \
        room[n] = (char)a;                                                               \
        a += call(depth - 1) * (n > 3 ? b : 1) + (n > 5 ? c : 0);                        \
        return a + (unsigned)room[n];                                                    \
    }

/* clang-format off */
FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4)
FUNCTION(5) FUNCTION(6) FUNCTION(7) FUNCTION(8)
    /* clang-format on */

    static __attribute__((noinline, noclone)) unsigned call(unsigned depth)
{
    static unsigned (*const function[])(unsigned) = {function1, function2, function3,
                                                     function4, function5, function6,
                                                     function7, function8};

    if (!depth) {
        measure();
        return 1;
    }
    return function[bench_random(&state.random) % 8](depth) + 1;
}

static void run(size_t stacks)
{
    volatile unsigned sum = 0;

#ifdef PEER_LIBUNWIND
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
#endif
    tt_modules_refresh();
    state.random = BENCH_SEED;
    while (state.stacks < stacks)
        sum += call(DEPTH / 2); /* two frames a call */
}

static void row(const char *name, double *ns)
{
    double stack = bench_median(ns, state.stacks);

    printf("| %-28s | %8.0f | %8.1f |\n", name, stack,
           stack / bench_median(state.depth, state.stacks));
}

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

static void time_table(const char *path, const struct tt_frame_info *info)
{
    struct tt_rules *rules;
    double start = bench_thread_time(), ms, all;
    uint32_t rows = 0;

    if (tt_rules_new(&rules, info) != 0)
        return;
    ms = (bench_thread_time() - start) / 1e6;
    for (uint32_t i = 0; i < rules->functions; i++) {
        const struct tt_function *f = tt_rules_function(rules, i);
        rows += f ? f->rows : 0;
    }
    all = (bench_thread_time() - start) / 1e6;
    printf("| %-28s | %9zu | %9u | %9u | %8.2f | %8.1f |\n", strrchr(path, '/') + 1,
           info->size / 1024, rules->functions, rows, ms, all);
    tt_rules_free(rules);
}

static void make_table(const char *path)
{
    struct tt_image image;
    struct tt_frame_info info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (tt_image_of_file(&image, fd) == 0) {
        if (tt_image_frame_info(&image, &info) == 0)
            time_table(path, &info);
        tt_image_fini(&image);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    size_t stacks = argc > 1 ? strtoul(argv[1], NULL, 10) : STACKS_MAX + 1;

    if (stacks > STACKS_MAX)
        return 2;
    state.end = (const char *)(argv + argc);
    for (int i = 2; i < argc; i++)
        make_table(argv[i]);
    if (!stacks)
        return 0;
    run(stacks);
    row("our tables", state.ours);
    row("our tables, with a cache", state.cached);
#ifdef PEER_LIBUNWIND
    row("libunwind, unw_step", state.theirs);
    row("libunwind, unw_backtrace", state.traced);
#endif
    return state.bad != 0;
}
