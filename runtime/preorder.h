/* SPDX-License-Identifier: MIT */
/* preorder.h - orders the contexts of a picture. */
#ifndef TT_PREORDER_H
#define TT_PREORDER_H

#include "picture.h"

/* The last step of reading it. */
int tt_picture_order(struct tt_picture *);

#endif
