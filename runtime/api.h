/* SPDX-License-Identifier: MIT */
/* api.h - pushes that have no stack to go to. */
#ifndef TT_API_H
#define TT_API_H

#include "layout.h"

/* Counts a push that has no stack to go to. */
void tt_push_stray(tt_block);

#endif
