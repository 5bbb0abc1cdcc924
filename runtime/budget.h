/* SPDX-License-Identifier: MIT */
/* budget.h - evicts cold contexts to make room. */
#ifndef TT_BUDGET_H
#define TT_BUDGET_H

#include "strand.h"

/* Evicts cold contexts to make room.  Returns the number of cells freed; contexts may be gone
 * even if that is 0. */
uint32_t tt_evict_tree(struct tt_tree *, struct tt_thread *);

/* Evicts contexts if enough pushes found no room; 0: not yet, and all is as it was. */
int tt_make_room(struct tt_thread *);

#endif
