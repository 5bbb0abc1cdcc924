/* SPDX-License-Identifier: MIT */
/* every-macro.h - each public macro and function of tallytree.h, used once; compiled with
 * the profiler built in by api-test.c and without it by disabled-test.c. */
#ifndef TEST_EVERY_MACRO_H
#define TEST_EVERY_MACRO_H

#include "tallytree.h"

static int effects; /* of arguments that were evaluated */

static __attribute__((unused)) const char *effect(const char *text)
{
    effects++;
    return text;
}

static void marked_function(void) { TT_FUNCTION(); }

static void use_every_macro(void)
{
    TT_THREAD_NAME(effect("marked"));
    TT_SCOPE("outer");
    TT_BEGIN(hand, "by hand");
    marked_function();
    TT_END(hand);
    {
        TT_SCOPE_NAMED(effect("named"));
        TT_ADD("rows", (effects++, 3));
    }
    TT_PAUSE();
    marked_function();
    TT_RESUME();
}

static void use_every_function(void)
{
    const struct tt_block_info info = {
        .name = "made", .file = "every-macro.h", .line = 1};
    tt_block block = tt_block_get("got", "every-macro.h", 2, 3);
    tt_mark mark, inner;
    tt_context context;
    tt_fiber *fiber;

    mark = tt_push(block);
    inner = tt_push(tt_block_make(&info));
    tt_add(tt_metric_get("rows", ""), 2);
    tt_sample(1);
    tt_tick(1);
    context = tt_context_capture();
    tt_pop(inner);
    tt_unwind(tt_mark_get());
    tt_replace(block);
    inner = tt_context_enter(tt_context_parent(context));
    (void)tt_context_block(context);
    tt_pop(inner);
    tt_pop(mark);
    fiber = tt_fiber_new();
    (void)tt_fiber_switch(fiber);
    (void)tt_fiber_switch(NULL);
    tt_fiber_free(fiber);
    (void)tt_pause();
    (void)tt_resume();
    tt_thread_name("all");
}

#endif
