/* SPDX-License-Identifier: MIT */
/* graph-to-tree.h - the tree of a call graph; see arcs.h. */
#ifndef TT_GRAPH_TO_TREE_H
#define TT_GRAPH_TO_TREE_H

#include "arcs.h"

/* Arcs are in the order of the functions that they begin at, function i has those from its
 * `first` to that of i + 1, and there is one function more than there are. */
int tt_graph_to_tree(struct tt_arcs *, const uint32_t *metric, uint32_t calls);

#endif
