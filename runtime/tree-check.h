/* SPDX-License-Identifier: MIT */
/* tree-check.h - checks a whole tree; in checked builds. */
#ifndef TT_TREE_CHECK_H
#define TT_TREE_CHECK_H

#include "tree.h"

#ifdef TT_CHECKED
/* The first error in a tree that no other thread changes; "" if there is none.  Takes
 * time that grows with the tree and the depths of its contexts. */
const char *tt_tree_check(struct tt_tree *);

/* Figures that no eviction changes. */
struct tt_amounts tt_tree_sums(const struct tt_tree *);
#endif

#endif
