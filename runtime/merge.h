/* SPDX-License-Identifier: MIT */
/* merge.h - one tree's figures into another's. */
#ifndef TT_MERGE_H
#define TT_MERGE_H

#include "tree.h"

/* Adds all that `from` tallied to `into`, context by context, and counts it as a member of
 * its row.  What finds no room goes below the nearest context that has. */
void tt_merge(struct tt_tree *into, struct tt_tree *from);

#endif
