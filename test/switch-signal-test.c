/* SPDX-License-Identifier: MIT */
/* switch-signal-test.c - handlers that evict what those whom they interrupt are looking for.
 *
 *      many ─┬─ 5 ─┬─ …      each function calls three that lie 64 apart: however large a
 *            ├─ 69 ─ …       table is, they share a bucket, and what is entered is found by
 *            └─ 133 ─ …      walking along its edges
 *
 * All of it is cold, so a handler's new contexts take the place of what is walked along.  Each
 * call and each push of the program itself is there in the end, and no other.  It ends when
 * the handlers were called so often that most of it has been evicted. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "tallytree-switch.h"
#include "tap.h"

enum { THREADS = 3, APART = 64, WAYS = 3, DEPTH = 6, NEW = 40, SIGNALS = 6000 };

struct counts {
    uint64_t functions, pushes, handlers;
};
static struct counts all; /* of threads that have ended */
static __thread struct counts counts;
static __thread uint32_t state;
static tt_block pushed[WAYS * APART], handled[NEW];
static int stop, came; /* came: signals, to all threads */

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* ── What is interrupted ──────────────────────────────────────────────────────────── */

static int step(int depth);

/* All of them alike, but not the same. */
#define FUNCTION(n)                                                                      \
    __attribute__((noinline, patchable_function_entry(5))) static int f##n(int depth)    \
    {                                                                                    \
        return step(depth) ^ n;                                                          \
    }
#define ADDRESS(n) f##n,
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define APART_(m, n)                                                                     \
    EIGHT(m, n##0)                                                                       \
    EIGHT(m, n##1)                                                                       \
    EIGHT(m, n##2)                                                                       \
    EIGHT(m, n##3) EIGHT(m, n##4) EIGHT(m, n##5) EIGHT(m, n##6) EIGHT(m, n##7)
#define ALL(m) APART_(m, 0) APART_(m, 01) APART_(m, 02)

ALL(FUNCTION)
static int (*const function[])(int) = {ALL(ADDRESS)};
_Static_assert(sizeof function == WAYS * APART * sizeof *function, "as many as blocks");

static uint32_t any(void) { return 5 + APART * draw(WAYS); }

/* There is more to do after each call, so that none is a tail call. */
static __attribute__((noinline)) int step(int depth)
{
    int sum = 0;

    counts.functions++;
    for (int i = 0; depth && i < 2; i++) {
        tt_mark mark = tt_push(pushed[any()]);
        counts.pushes++;
        sum += function[any()](depth - 1);
        tt_pop(mark);
        sum += function[any()](0);
    }
    return sum;
}

static void *work(void *arg)
{
    state = (uint32_t)(uintptr_t)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        (void)function[any()](DEPTH);
    __atomic_fetch_add(&all.functions, counts.functions, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all.pushes, counts.pushes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all.handlers, counts.handlers, __ATOMIC_RELAXED);
    return arg;
}

/* ── Signal handlers ──────────────────────────────────────────────────────────────── */

/* What was given back longest ago is taken first: it makes as many as it evicts. */
static void on_signal(int number)
{
    static __thread uint32_t next;
    tt_mark mark = tt_push(handled[0]);

    (void)number;
    counts.handlers++;
    for (int i = 0; i < 8; i++)
        tt_pop(tt_push(handled[1 + next++ % (NEW - 1)]));
    tt_pop(mark);
    __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
}

static void send_signals(const pthread_t *thread)
{
    while (__atomic_load_n(&came, __ATOMIC_RELAXED) < tap_times(SIGNALS)) {
        for (int i = 0; i < THREADS; i++)
            pthread_kill(thread[i], SIGUSR1);
        usleep(50);
    }
}

/* ── What is there in the end ─────────────────────────────────────────────────────── */

/* Calls of what has not been evicted. */
static int add_calls(const struct tt_visited *v, void *arg)
{
    *(uint64_t *)arg += v->calls;
    return 0;
}

static void check_calls(const struct tt_results *r)
{
    uint64_t functions = 0, pushes = 0, handlers = 0;

    for (size_t i = 0; i < r->functions; i++) {
        const struct tt_function_result *f = &r->function[i];
        if (f->block.kind == TT_KIND_FUNCTION)
            functions += f->calls;
        else if (strcmp(f->block.file, "pushed") == 0)
            pushes += f->calls;
        else if (strcmp(f->block.name, "handled 0") == 0)
            handlers = f->calls;
    }
    CHECK_INT(functions, all.functions);
    CHECK_INT(pushes, all.pushes);
    CHECK(handlers > 0 &&
          handlers <= all.handlers); /* some have interrupted the profiler */
}

static void make_blocks(tt_block *block, int count, const char *name)
{
    char text[32];

    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "%s %d", name, i);
        block[i] = tt_block_get(text, name, 0, 0);
    }
}

static void weather(const char *options)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    pthread_t thread[THREADS];
    struct tt_results *results;
    uint64_t kept = 0;

    all = (struct counts){0, 0, 0};
    stop = came = 0;
    make_blocks(pushed, WAYS * APART, "pushed");
    make_blocks(handled, NEW, "handled");
    CHECK_INT(sigaction(SIGUSR1, &action, &old), 0);
    if (!CHECK_INT(tt_profile_begin(options), 0) ||
        !CHECK_INT(tt_functions_on(NULL, NULL), 0))
        return;
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + 1)), 0);
    send_signals(thread);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(tt_functions_off(NULL), 0);
    CHECK_INT(tt_visit(add_calls, &kept), 0);
    CHECK(kept < all.functions + all.pushes);
    if (CHECK_INT(tt_profile_end(&results), 0))
        check_calls(results);
    tt_results_free(results);
    CHECK_INT(sigaction(SIGUSR1, &old, NULL), 0);
}

TEST(a_handler_may_evict_what_is_being_entered_in_mode_calls)
{
    weather("calls,hooks=calls,budget=512nodes");
}
TEST(a_handler_may_evict_what_is_being_entered_where_nothing_is_folded)
{
    weather("calls,hooks=calls,recursion=none,budget=512nodes");
}
TEST(a_handler_may_evict_what_is_being_entered_where_arcs_hide_blocks)
{
    weather("calls,hooks=calls,recursion=block,budget=128nodes");
}
TEST(a_handler_may_evict_what_is_being_entered_in_mode_exact)
{
    weather("exact,hooks=exact,budget=512nodes");
}
