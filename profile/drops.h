/* SPDX-License-Identifier: MIT */
/* drops.h - gives dropped pushes contexts. */
#ifndef TT_DROPS_H
#define TT_DROPS_H

#include "filter.h"

/* Gives dropped pushes separate contexts, which get their calls, for views that show only
 * paths; as tt_filter_apply. */
int tt_drops_apply(const struct tt_profile *, const struct tt_memory *,
                   struct tt_filtered *);

#endif
