/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* fiber-test.c - what a thread that samples others reads of them is whole when fibers change.
 *
 * The chain of what recursion hides is read between two looks at `hiding`: a switch that left
 * the number as it was would let half of one chain pass for half of another. */
#include "share.h"
#include "stack.h"
#include "strand.h"
#include "tallytree.h"
#include "tap.h"

TEST(a_change_of_fibers_changes_what_says_that_the_chain_is_another)
{
    tt_block a = tt_block_get("a", "", 0, 0), b = tt_block_get("b", "", 0, 0);
    tt_mark outermost;
    tt_fiber *fiber;
    const struct tt_thread *t;
    uint64_t before;

    CHECK_INT(tt_start("clock=caller,recursion=block"), 0);
    fiber = tt_fiber_new();
    outermost = tt_push(a);
    (void)tt_push(b);
    (void)tt_push(a); /* leads back: b is hidden */
    tt_tick(1);
    t = tt_self.thread;
    CHECK(t->stack.hider);
    before = t->charging.changes;
    (void)tt_fiber_switch(fiber);
    CHECK(!t->stack.hider);
    CHECK(t->charging.changes != before && t->charging.changes % 2 == 0);
    before = t->charging.changes;
    (void)tt_fiber_switch(NULL);
    CHECK(t->stack.hider);
    CHECK(t->charging.changes != before && t->charging.changes % 2 == 0);
    tt_pop(outermost);
    tt_fiber_free(fiber);
    CHECK_INT(tt_stop(), 0);
}
