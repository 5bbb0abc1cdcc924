/* SPDX-License-Identifier: MIT */
/* stated.h - the inclusive figures that the calls of a file state, where the tree that was
 * made of these calls has others.
 *
 * A tree of a call graph is an estimate: what calls claim may be more than what they led to
 * cost, and cycles have no order.  What stands at contexts is gathered here; in the end each
 * block gets the difference to what its calls say, as hidden. */
#ifndef TT_STATED_H
#define TT_STATED_H

#include "arcs.h"

struct tt_stated {
    const struct tt_memory *memory;
    uint32_t events;
    struct tt_pairs index; /* of the builder's contexts, + 1 */
    struct tt_vector place,
        total;  /* struct tt_stated_place; uint64_t, `events` of each */
    int failed; /* no memory */
};

struct tt_stated_place {
    uint32_t parent, block; /* parent: an index, below its own */
    uint32_t first, next;   /* of its children; its sibling; 0: none */
};

void tt_stated_init(struct tt_stated *, const struct tt_memory *, uint32_t events);
void tt_stated_fini(struct tt_stated *);
/* A context is there; its parent has been, or is the root. */
void tt_stated_context(struct tt_stated *, uint32_t context, uint32_t parent,
                       uint32_t block);
/* So much stands at it. */
void tt_stated_add(struct tt_stated *, uint32_t context, uint32_t event, uint64_t amount);
/* Adds to the builder what blocks have more, or less, than their contexts show; `inclusive`
 * has `events` of each function.  -TT_ERR_MEMORY. */
int tt_stated_finish(struct tt_stated *, const struct tt_arcs *, uint32_t functions,
                     const uint64_t *inclusive, const uint32_t *metric);

#endif
