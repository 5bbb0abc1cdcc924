/* SPDX-License-Identifier: MIT */
/* join.h - enters a captured context by a rule. */
#ifndef TT_JOIN_H
#define TT_JOIN_H

#include "options.h"

struct tt_frame;
struct tt_thread;

enum { TT_JOINS = 64 };
struct tt_join { /* where a captured context led from a place */
    tt_context captured;
    uint32_t from, to; /* cells */
    uint16_t from_generation, to_generation;
    uint32_t hides; /* `from` is not above `to` */
};

/* The node to which a handle leads from frame->node by GHC's rule, and whether that hides
 * blocks; NULL without room.  The frame is the top: it keeps the nodes in use from being
 * evicted. */
struct tt_node *tt_context_join(struct tt_thread *, struct tt_frame *, tt_context,
                                int *hides);

/* tt_context_enter by any rule. */
tt_mark tt_context_enter_by(tt_context, enum tt_stacks rule);

#endif
