/* SPDX-License-Identifier: MIT */
/* switch-exception-test.cpp - C++ exceptions through functions that are switched on. */
#include <pthread.h>
#include <stdexcept>
#include <stdint.h>
#include <stdlib.h>

#include "tallytree-switch.h"
#include "tap.h"

#ifdef __clang__
#define F __attribute__((noinline, patchable_function_entry(5), disable_tail_calls))
#else
#define F                                                                                \
    __attribute__((noinline, patchable_function_entry(5),                                \
                   optimize("no-optimize-sibling-calls")))
#endif

static uint64_t called;
static volatile int zero;
static int destroyed;

struct guard {
    ~guard() { destroyed++; }
};

F static int thrower(int depth)
{
    guard g;

    called++;
    if (depth == zero)
        throw std::runtime_error("out");
    return thrower(depth - 1) + 1;
}

F static int catcher(int depth)
{
    called++;
    try {
        return thrower(depth);
    } catch (const std::runtime_error &) {
        return depth;
    }
}

/* Catches, and throws on. */
F static int between(int depth)
{
    called++;
    try {
        return thrower(depth);
    } catch (...) {
        throw;
    }
}

static int add(const struct tt_visited *v, void *arg)
{
    if (v->block.kind == TT_KIND_FUNCTION)
        *static_cast<uint64_t *>(arg) += v->calls;
    return 0;
}

TEST(exceptions_pass_through_and_every_call_is_counted)
{
    static const char *const modes[] = {"hooks=calls", "hooks=exact", "hooks=sampled"};

    for (int m = 0; m < 3; m++) {
        uint64_t calls = 0;
        called = 0;
        destroyed = 0;
        CHECK_INT(tt_start(modes[m]), 0);
        CHECK_INT(tt_functions_on("*t*r*", NULL), 0);
        for (int i = 0; i < 100; i++)
            CHECK_INT(catcher(i % 10), i % 10);
        CHECK_INT(tt_functions_off(NULL), 0);
        CHECK_INT(destroyed, 550);
        (void)tt_visit(add, &calls);
        CHECK_INT(calls, m == 2 ? 0 : called);
        CHECK_INT(tt_stop(), 0);
    }
}

TEST(exceptions_pass_through_what_is_switched_meanwhile)
{
    CHECK_INT(tt_start("hooks=calls"), 0);
    for (int i = 0; i < 500; i++) {
        int caught = 0;
        if (i & 1)
            CHECK_INT(tt_functions_on(NULL, NULL), 0);
        else
            CHECK_INT(tt_functions_off(NULL), 0);
        try {
            (void)between(i % 6);
        } catch (const std::exception &) {
            caught = 1;
        }
        CHECK_INT(caught, 1);
        CHECK_INT(catcher(3), 3);
    }
    CHECK_INT(tt_functions_off(NULL), 0);
    CHECK_INT(tt_stop(), 0);
}

static int stop;

static void *work(void *arg)
{
    do
        CHECK_INT(catcher(4), 4);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
    return arg;
}

/* $TT_TOGGLES: number of rounds, for a longer test. */
TEST(threads_throw_while_functions_are_switched)
{
    const char *wanted = getenv("TT_TOGGLES");
    int toggles = wanted ? atoi(wanted) / 2 : 60;
    pthread_t thread[8];

    stop = 0;
    CHECK_INT(tt_start("hooks=calls"), 0);
    for (int i = 0; i < 8; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, work, NULL), 0);
    for (int i = 0; i < toggles; i++) {
        CHECK_INT(tt_functions_on(NULL, NULL), 0);
        CHECK_INT(tt_functions_off(NULL), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(tt_stop(), 0);
}
