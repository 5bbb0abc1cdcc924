/* SPDX-License-Identifier: MIT */
/* walking.h - stacks that other tools copied, unwound as those of recordings are. */
#ifndef TT_WALKING_H
#define TT_WALKING_H

#include "walker.h"

extern const struct tt_walker tt_stack_walker;

#endif
