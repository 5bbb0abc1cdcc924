/* SPDX-License-Identifier: MIT */
/* budget.h - evicts cold contexts to make room. */
#ifndef TT_BUDGET_H
#define TT_BUDGET_H

#include "strand.h"

/* Evicts cold contexts to make room.  Returns the number of cells freed. */
uint32_t tt_evict_tree(struct tt_tree *, struct tt_thread *);

/* Evicts contexts if enough pushes found no room; returns whether that freed cells. */
int tt_make_room(struct tt_thread *);

#endif
