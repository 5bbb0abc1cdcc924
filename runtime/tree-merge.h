/* SPDX-License-Identifier: MIT */
/* tree-merge.h - one tree's figures into another's. */
#ifndef TT_TREE_MERGE_H
#define TT_TREE_MERGE_H

#include "tree.h"

/* Makes a row of a strand, of which it is the one member. */
int tt_merge_first(struct tt_tree *);

/* Moves all figures of `from` to `into`, context by context, and counts it as a member of
 * its row; its strand is then gone, and the caller frees its pages.  Figures without room
 * go below the nearest context that has some. -TT_ERR_MEMORY: nothing has moved. */
int tt_merge(struct tt_tree *into, struct tt_tree *from);

#endif
