/* SPDX-License-Identifier: MIT */
/* graph-to-tree.h - the tree of a call graph; see arcs.h. */
#ifndef TT_GRAPH_TO_TREE_H
#define TT_GRAPH_TO_TREE_H

#include "arcs.h"

/* Arcs must be sorted by the function that they begin at.  Function i has the arcs from
 * its `first` to that of i + 1; one more function ends the list. */
int tt_graph_to_tree(struct tt_arcs *, const uint32_t *metric, uint32_t calls);

#endif
