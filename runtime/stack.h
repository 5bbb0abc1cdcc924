/* SPDX-License-Identifier: MIT */
/* stack.h - entering and leaving activations; charging figures to the top's context. */
#ifndef TT_STACK_H
#define TT_STACK_H

#include <signal.h>

#include "strand.h"

#define TT_ASIDE __attribute__((noinline)) /* its caller saves no registers for it */

/* The frame below all activations. */
struct tt_frame *tt_stack_bottom(const struct tt_fiber *);

/* Sets up an empty stack; its first segment is in `memory`, or mapped if that is NULL. */
int tt_stack_init(struct tt_fiber *, void *memory, size_t size);
void tt_stack_fini(struct tt_fiber *);

/* Lets the fast path push up to the end of the segment, unless the mode is exact or another
 * recording has begun. */
void tt_stack_open(struct tt_thread *);

/* Addresses on a signal handler's stack cannot be compared with this stack's. */
TT_INLINE int tt_on_signal_stack(uintptr_t cfa)
{
    stack_t s;

    return sigaltstack(NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK) &&
           cfa - (uintptr_t)s.ss_sp < s.ss_size;
}

/* Enters a block.  `cfa` 0: a runtime's push.  NULL: there is no memory for the frame. */
struct tt_frame *tt_stack_enter(struct tt_thread *, tt_block, enum tt_kind, void *slot,
                                uintptr_t cfa);

/* Leaves the top and enters `block` in its place. */
void tt_stack_replace(struct tt_thread *, tt_block, enum tt_kind);

/* Enters a captured context until the frame is left. */
struct tt_frame *tt_stack_enter_context(struct tt_thread *, struct tt_node *, tt_context);

/* Enters, until the frame is left, the context to which GHC's rule leads from a captured
 * one. */
struct tt_frame *tt_stack_join_context(struct tt_thread *, tt_context);

/* Enters a node; frames below stay as active as before.  `hides`: the node is not below
 * the current one. */
struct tt_frame *tt_stack_join_place(struct tt_thread *, struct tt_node *, int hides);

/* The cell through which a push leads; contexts are evicted for it.  0: no room. */
uint32_t tt_stack_step(struct tt_thread *, struct tt_node *from, tt_block);

/* Leaves everything above `f`, and `f` too unless `keep`; nothing if `f` is not there. */
void tt_stack_leave(struct tt_thread *, struct tt_frame *f, int keep);

/* Ends frames above the top that are still timed, or hide blocks.  A scope that was entered
 * fast is left by stepping down, also if meanwhile another recording began in which leaving
 * takes more.  Their activations end now, as the time when they were left is unknown. */
void tt_stack_drop_left(struct tt_thread *);

/* Is this one of the running stack's frames?  It may point anywhere. */
int tt_stack_has(const struct tt_thread *, const struct tt_frame *f);

/* Ends the running stack's activations in the figures; leaving them has no effect. */
void tt_stack_close(struct tt_thread *);

/* Repairs the state after a handler left the exact mode's fast path by longjmp: as if
 * entering had not begun, or leaving had ended. */
void tt_stack_mend(struct tt_thread *);

/* Resets the stack: until frames are resolved again, signal handlers charge the root, and
 * not a tree that is gone. */
void tt_stack_reset(struct tt_thread *);

/* Makes a scope that is just being entered, and was interrupted by a handler, look up its
 * edge again.  Whatever changes edges of the tree without entering a frame calls this, in the
 * thread itself; a thread that sleeps is seldom amid that (a handler that sleeps may be). */
void tt_stack_disturb(struct tt_thread *);

/* Finds all frames' places again, after the tree under them changed.  `again`: their times
 * begin now. */
void tt_stack_resolve(struct tt_thread *, int anew);

/* Writes each frame's block into it, so that it can be resolved elsewhere. */
void tt_stack_keep_blocks(struct tt_thread *, struct tt_fiber *);

/* Calls `each` for the frames of a stack that have a node in the tree. */
void tt_stack_walk(const struct tt_fiber *, struct tt_frame *top,
                   void (*each)(void *arg, struct tt_frame *), void *arg);

void tt_stack_show(struct tt_thread *, struct tt_frame *);

/* Takes the chain of hiders out of the count (change -1), or back into it (1). */
void tt_hiders_count(struct tt_thread *, uint32_t change);

/* The context that a frame of that chain came from: blocks between it and the frame's
 * node are hidden. */
const struct tt_node *tt_hider_source(const struct tt_thread *, struct tt_frame *hider);

#endif
