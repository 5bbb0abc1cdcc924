/* SPDX-License-Identifier: MIT */
/* unwind-test.c - scopes and pushes that are left by other ways than their end. */
#include <setjmp.h>

#include "tap.h"
#include "visit.h"

/* gcc fears for variables of inline functions that are dead at the jump. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

enum { ITERATIONS = 100000 };

static jmp_buf env;
static volatile int steps;

#define NOINLINE __attribute__((noinline))

/* ── longjmp over scopes ──────────────────────────────────────────────────────────── */

static NOINLINE void jump_from(int depth)
{
    TT_SCOPE("deep");
    if (depth == 0)
        longjmp(env, 1);
    if (steps >= 0)
        jump_from(depth - 1);
    steps++;
}

static NOINLINE void step(void)
{
    TT_FUNCTION();
    steps++;
}

static NOINLINE void attempt(int depth)
{
    TT_FUNCTION();
    if (setjmp(env) == 0)
        jump_from(depth);
    steps++;
}

static NOINLINE void run_attempts(int count, int depth)
{
    TT_SCOPE("run");
    for (int i = 0; i < count; i++) {
        attempt(depth);
        step();
    }
}

static void check_attempts(const char *options)
{
    CHECK_INT(tt_start(options), 0);
    run_attempts(ITERATIONS, 2);
    step();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("run").calls, 1);
    CHECK_INT(visit_path("run;attempt").calls, ITERATIONS);
    CHECK_INT(visit_path("run;step").calls, ITERATIONS);
    CHECK_INT(visit_path("step").calls, 1);
    CHECK_INT(visit_path("run;attempt;deep").calls, ITERATIONS);
    CHECK_INT(visit_block("deep").calls, 3 * ITERATIONS);
    CHECK_INT(visit_block("step").contexts, 2);
    CHECK_INT(visit_block("attempt").contexts, 1);
}

TEST(scopes_that_longjmp_skipped_are_gone_in_mode_calls) { check_attempts("calls"); }
TEST(scopes_that_longjmp_skipped_are_gone_in_mode_every) { check_attempts("every=16"); }
TEST(scopes_that_longjmp_skipped_are_gone_in_mode_exact)
{
    check_attempts("exact");
    CHECK_INT(visit_path("run").activations, 1);
    CHECK_INT(visit_path("run;attempt").activations, ITERATIONS);
    CHECK_INT(visit_block("deep").activations, 3 * ITERATIONS);
}

TEST(a_jump_into_the_middle_keeps_what_is_below_it)
{
    CHECK_INT(tt_start("calls,recursion=none"), 0);
    {
        TT_SCOPE("outer");
        attempt(20); /* more than one jump deep */
        step();
        CHECK_INT(visit_path("outer;attempt").calls, 1);
        CHECK_INT(visit_block("deep").contexts, 21);
        CHECK_INT(visit_path("outer;step").calls, 1);
    }
    step();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("step").calls, 1);
}

/* The jump comes back into the function that has the scopes: in each round they are
 * entered again at the place of the skipped ones. */
static NOINLINE void loop_around_setjmp(void)
{
    TT_FUNCTION();
    for (volatile int i = 0; i < ITERATIONS; i++) {
        TT_SCOPE("round");
        if (setjmp(env) == 0) {
            TT_SCOPE("try");
            jump_from(0);
        }
    }
}

TEST(a_loop_with_setjmp_around_its_own_scope_stays_flat)
{
    CHECK_INT(tt_start("calls,recursion=none"), 0);
    loop_around_setjmp();
    step();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("loop_around_setjmp;round").calls, ITERATIONS);
    CHECK_INT(visit_path("loop_around_setjmp;round;try").calls, ITERATIONS);
    CHECK_INT(visit_path("loop_around_setjmp;round;try;deep").calls, ITERATIONS);
    CHECK_INT(visit_block("deep").contexts, 1);
    CHECK_INT(visit_path("step").calls, 1);
}

static NOINLINE void jump_back_into_one_scope(void)
{
    volatile int rounds = 0;

    (void)setjmp(env);
    if (rounds++ < ITERATIONS) {
        TT_SCOPE("again"); /* left only by the jump */
        longjmp(env, 1);
    }
}

TEST(a_scope_left_only_by_jumps_does_not_pile_up)
{
    CHECK_INT(tt_start("calls,recursion=none"), 0);
    {
        TT_SCOPE("outer"); /* its end leaves the last one */
        jump_back_into_one_scope();
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_block("again").contexts, 1);
    CHECK_INT(visit_path("outer;again").calls, ITERATIONS);
}

static NOINLINE void catch_with_a_mark(void)
{
    TT_FUNCTION();
    tt_mark here = tt_mark_get();

    if (setjmp(env) == 0) {
        TT_SCOPE("try");
        jump_from(3);
    } else {
        tt_unwind(here);
        TT_SCOPE("catch");
        step();
    }
}

TEST(a_handler_that_unwinds_stands_where_setjmp_was)
{
    CHECK_INT(tt_start("exact"), 0);
    for (int i = 0; i < 1000; i++)
        catch_with_a_mark();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("catch_with_a_mark;catch").calls, 1000);
    CHECK_INT(visit_path("catch_with_a_mark;catch;step").calls, 1000);
    CHECK_INT(visit_path("catch_with_a_mark;try").activations, 1000);
    CHECK_INT(visit_path("catch_with_a_mark;try;deep").calls, 1000);
    CHECK_INT(visit_block("catch").contexts, 1);
}

/* ── goto, return, break ──────────────────────────────────────────────────────────── */

static NOINLINE int leave_by(int way)
{
    TT_FUNCTION();
    for (;;) {
        TT_SCOPE("a");
        {
            TT_SCOPE("b");
            if (way == 0)
                return 1;
            if (way == 1)
                goto out;
            if (way == 2)
                break;
        }
        way = 2;
        continue;
    }
out:
    step();
    return 0;
}

TEST(scopes_are_left_by_goto_return_break_and_continue)
{
    CHECK_INT(tt_start("calls"), 0);
    for (int i = 0; i < 4000; i++) {
        leave_by(i % 4);
        step();
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("leave_by").calls, 4000);
    CHECK_INT(visit_path("leave_by;a;b").calls, 5000);
    CHECK_INT(visit_path("leave_by;step").calls, 3000);
    CHECK_INT(visit_path("step").calls, 4000);
    CHECK_INT(visit_block("step").contexts, 2);
}

TEST(an_end_by_hand_leaves_what_was_left_open_above_it)
{
    CHECK_INT(tt_start("exact"), 0);
    for (int i = 0; i < 1000; i++) {
        TT_BEGIN(outer, "outer");
        TT_BEGIN(inner, "inner");
        (void)TT_JOIN(tt_hand_, inner);
        TT_END(outer);
        step();
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("outer;inner").calls, 1000);
    CHECK_INT(visit_path("outer;inner").activations, 1000);
    CHECK_INT(visit_path("step").calls, 1000);
}

/* ── Pushes ───────────────────────────────────────────────────────────────────────── */

static tt_block name(const char *text) { return tt_block_get(text, "", 0, 0); }

static void check_marks(const char *options)
{
    tt_block a = name("a"), b = name("b"), c = name("c");
    tt_mark base, first;

    CHECK_INT(tt_start(options), 0);
    base = tt_mark_get();
    for (int i = 0; i < 1000; i++) {
        tt_mark mark = tt_push(a), here;
        tt_push(b);
        here = tt_mark_get();
        for (int j = 0; j < 300; j++) /* across segments of the stack */
            tt_push(c);
        tt_unwind(here);
        CHECK(tt_mark_get() == here);
        tt_unwind(here); /* a second time: nothing is above */
        tt_pop(tt_push(a));
        CHECK(tt_mark_get() == here);
        tt_pop(mark); /* and b with it */
        CHECK(tt_mark_get() == base);
    }
    first = tt_push(a);
    tt_pop(first);
    tt_pop(first); /* is no longer there: nothing happens */
    tt_unwind(first);
    tt_unwind(base);
    tt_pop(base); /* the bottom stays */
    tt_pop(tt_push(c));
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("a").calls, 1001);
    CHECK_INT(visit_path("a;b").calls, 1000);
    CHECK_INT(visit_block("c").calls, 300 * 1000 + 1);
    CHECK_INT(visit_path("c").calls, 1);
}

TEST(marks_bring_back_the_stack_in_mode_calls) { check_marks("calls"); }
TEST(marks_bring_back_the_stack_in_mode_exact) { check_marks("exact"); }
TEST(marks_bring_back_the_stack_in_mode_every) { check_marks("every=2"); }
TEST(marks_bring_back_the_stack_under_a_tiny_budget)
{
    check_marks("exact,budget=64nodes");
}

TEST(a_mark_from_while_off_does_no_harm)
{
    tt_mark off = tt_push(name("a"));

    CHECK_INT(tt_start("exact"), 0);
    tt_mark mark = tt_push(name("a"));
    CHECK_INT(visit_path("a").calls, 1);
    tt_pop(off);
    tt_pop(mark);
    tt_pop(tt_push(name("b")));
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("b").calls, 1);
}

TEST(a_replaced_activation_is_left_by_the_mark_of_the_first)
{
    CHECK_INT(tt_start("exact"), 0);
    for (int i = 0; i < 1000; i++) {
        tt_mark mark = tt_push(name("a"));
        for (int j = 0; j < 10; j++)
            tt_replace(name(j % 2 ? "a" : "b"));
        tt_pop(mark);
    }
    tt_replace(name("c")); /* with nothing to replace it is a push */
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("a").calls, 6000);
    CHECK_INT(visit_path("b").calls, 5000);
    CHECK_INT(visit_path("c").calls, 1);
}
