/* SPDX-License-Identifier: MIT */
/* preorder.h - orders the contexts of a picture. */
#ifndef TT_PREORDER_H
#define TT_PREORDER_H

#include "picture.h"

/* The next cell that is the tally of a block in a strand; 0: the first, and after the last. */
uint32_t tt_picture_next_tally(const struct tt_picture *, uint32_t cell);

/* The last step of reading it. */
int tt_picture_order(struct tt_picture *);

#endif
