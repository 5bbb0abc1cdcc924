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

static void count_call(void *arg) { ++*(int *)arg; }

static int is_of_none(const struct tt_block_info *b, void *arg)
{
    (void)b;
    return arg != NULL;
}

static void use_every_function(void)
{
    struct tt_results *results = NULL;
    int calls = 0;
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
    tt_pop(tt_step(1, 0, block));
    context = tt_context_capture();
    tt_pop(inner);
    tt_unwind(tt_mark_get());
    tt_replace(block);
    inner = tt_context_enter(tt_context_parent(context));
    (void)tt_context_block(context);
    tt_pop(inner);
    tt_pop(tt_context_call(context));
    inner = tt_push_as(block, TT_CALL_CURRIED);
    tt_tail();
    tt_pop(inner);
    (void)tt_select(NULL, NULL);
    tt_clear(is_of_none, NULL);
    context = tt_alloc(tt_type_get("pair"), 16, 0);
    (void)tt_alloc_at(context, tt_type_get("pair"), 16, 0);
    tt_gc_begin(0);
    tt_survive(context, tt_type_get("pair"), 16, 0, 0, 1);
    tt_gc_end();
    tt_retained(tt_retainers_with(0, block), 16);
    tt_profiler_begin();
    tt_profiler_end();
    (void)tt_object_new(1, tt_type_get("pair"), 16, 0);
    (void)tt_object_picked(1, tt_type_get("pair"), 16, tt_object_weight(16));
    tt_object_use(1);
    tt_object_survive(1, 2, TT_NEXT);
    tt_object_free(2);
    tt_free(context, tt_type_get("pair"), 16, 0, tt_age(1));
    tt_pop(mark);
    fiber = tt_fiber_new();
    (void)tt_fiber_switch(fiber);
    (void)tt_fiber_switch(NULL);
    tt_fiber_free(fiber);
    (void)tt_pause();
    (void)tt_resume();
    tt_thread_name("all");
    if (tt_profile_call("no such word", count_call, &calls, &results) == 0)
        tt_results_free(results);
    if (tt_profile_begin("no such word") == 0 && tt_profile_end(&results) == 0)
        tt_results_free(results);
}

#endif
