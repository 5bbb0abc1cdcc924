/* SPDX-License-Identifier: MIT */
/* descent.h - finished waits as contexts: a place in a thread's tree, made step by step.
 *
 *      waiter ─ kind ─ lock ─ [woken by] ─ path of the waker      metrics: here
 *                       └ count, and the longest: struct tt_times
 *
 * The recursion policy is not used: each path begins again. */
#ifndef TT_DESCENT_H
#define TT_DESCENT_H

#include "strand.h"

#define TT_HELD_BY "[held by]"
#define TT_WOKEN_BY "[woken by]"

/* Without room, as far down as possible. */
struct tt_descent {
    struct tt_thread *thread;
    struct tt_node *n;
    tt_block block; /* the last step */
    int below;      /* n is an ancestor of the place */
};

/* What a new block or context may need; 0: another thread has it, or has it for long. */
int tt_descent_try_lock(struct tt_thread *);
int tt_descent_lock(struct tt_thread *);
void tt_descent_unlock(struct tt_thread *);

/* In between, before any look-up: may evict contexts. */
void tt_descent_make_room(struct tt_thread *);

/* In between: goes a step down, adds to a metric, and to the times of the place. */
void tt_descend(struct tt_descent *, tt_block);
void tt_descent_add(struct tt_descent *, uint32_t metric, uint64_t amount);
void tt_descent_time(struct tt_descent *, uint64_t ns);

#endif
