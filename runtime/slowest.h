/* SPDX-License-Identifier: MIT */
/* slowest.h - the K slowest activations of a marked block, with their subtrees. */
#ifndef TT_SLOWEST_H
#define TT_SLOWEST_H

#include "tree.h"

struct tt_thread;

enum { TT_SLOW_DEPTH = 8 }; /* marked activations within each other */

struct tt_slow_level {
    struct tt_frame *frame;     /* a marked activation under way */
    struct tt_slow_seen *table; /* figures of its subtree when it began, by cell */
    uint32_t size;
};

struct tt_slow_state {
    struct tt_slow_level level[TT_SLOW_DEPTH];
    uint32_t depth; /* levels whose activations are under way */
};

/* Around a marked activation. */
void tt_slowest_begin(struct tt_thread *, struct tt_frame *);
void tt_slowest_end(struct tt_thread *, struct tt_node *edge, const struct tt_frame *,
                    uint64_t duration, uint32_t capacity);
void tt_slowest_drop(struct tt_thread *);
void tt_slowest_merge(struct tt_tree *into, struct tt_node *to, struct tt_slowest *from);

#endif
