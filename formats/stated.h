/* SPDX-License-Identifier: MIT */
/* stated.h - the inclusive figures that the calls of a file state, if the tree made of
 * these calls has others.
 *
 * A tree of a call graph is an estimate: calls may claim more cost than was found below
 * them, and cycles have no order.  The figures of contexts are gathered here.  In the end
 * each block gets the difference to the figure that its calls state, as hidden. */
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
/* Adds a context; its parent was added before, or is the root. */
void tt_stated_context(struct tt_stated *, uint32_t context, uint32_t parent,
                       uint32_t block);
/* Adds a figure of that context. */
void tt_stated_add(struct tt_stated *, uint32_t context, uint32_t event, uint64_t amount);
/* Adds the difference between blocks and their contexts to the builder, which may be
 * below 0; `inclusive` has `events` of each function.  -TT_ERR_MEMORY. */
int tt_stated_finish(struct tt_stated *, const struct tt_arcs *, uint32_t functions,
                     const uint64_t *inclusive, const uint32_t *metric);

#endif
