/* SPDX-License-Identifier: MIT */
/* walking.h - unwinds stacks that other tools copied, as those of recordings are
 * unwound. */
#ifndef TT_WALKING_H
#define TT_WALKING_H

#include "walker.h"

extern const struct tt_walker tt_stack_walker;

#endif
