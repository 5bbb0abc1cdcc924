/* SPDX-License-Identifier: MIT */
/* dominators.h - finds the dominator of each node of a graph: the node that is on every
 * path from the root to it.
 *
 *      root ── a ── b ── d          a dominates b, c and d: d is reached by way of b
 *              └─── c ──▲           as well as of c
 *
 * By Lengauer and Tarjan, in time of (nodes + edges) · log(nodes); no depth costs C
 * stack. */
#ifndef TT_DOMINATORS_H
#define TT_DOMINATORS_H

#include "memory.h"

struct tt_graph {
    uint32_t nodes;        /* node 0 is the root */
    const uint32_t *first; /* of each node and one more: its edges begin here */
    const uint32_t *to;    /* of each edge: where it leads, below `nodes` */
};

struct tt_dominators {
    const struct tt_memory *memory;
    uint32_t nodes;
    uint32_t *order; /* owned: nodes, each after its dominator; the root is first */
    uint32_t *by;    /* owned: of each node its dominator; the root's is itself */
};

/* Nodes that cannot be reached from the root get an edge from it: first those without any
 * incoming edge.  -TT_ERR_MEMORY. */
int tt_dominators_find(struct tt_dominators *, const struct tt_graph *,
                       const struct tt_memory *);

#endif
