/* SPDX-License-Identifier: MIT */
/* call.h - kinds of calls, and the contexts that tail calls left. */
#ifndef TT_CALL_H
#define TT_CALL_H

#include "layout.h"

struct tt_thread;

/* The context that a tail call left: the parent of the next call from this frame. */
struct tt_tail {
    struct tt_frame *from;
    const struct tt_node *at; /* the node of that frame then */
    tt_context context;
    const struct tt_node *node; /* of the context, if still of this generation */
    uint16_t generation;
    uint32_t begins;   /* a context that was left began a path: see tt_frame_begins */
    uint32_t descends; /* the context is known to be below `at` */
};

/* Enters the context that a tail call from the top left; NULL: there is none. */
struct tt_frame *tt_tail_take(struct tt_thread *);

/* Counts a kind of call in the top's context. */
enum { TT_CALL_LEFT = TT_CALL_CURRIED + 1, TT_CALLS };
void tt_call_count(struct tt_thread *, int call);

#endif
