/* SPDX-License-Identifier: MIT */
/* components.h - strongly connected components of a graph: nodes that reach each other. */
#ifndef TT_COMPONENTS_H
#define TT_COMPONENTS_H

#include "memory.h"

/* Node n has the edges from first[n] to first[n + 1] - 1, of which each leads to a node.
 * The numbers may be members of larger structures. */
struct tt_digraph {
    uint32_t nodes;
    const uint32_t *first, *to;
    size_t first_size, to_size; /* of such a structure, in bytes */
};

/* Sets each node's component, and how many there are.  They are numbered in the order of
 * their ends: an edge leads to its own component or to one of a lower number.  In linear
 * time, without recursion.  -TT_ERR_MEMORY. */
int tt_components_find(const struct tt_digraph *, const struct tt_memory *,
                       uint32_t *component, uint32_t *components);

#endif
