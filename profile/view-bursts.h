/* SPDX-License-Identifier: MIT */
/* view-bursts.h - stretches of the run that differ from the rest. */
#ifndef TT_VIEW_BURSTS_H
#define TT_VIEW_BURSTS_H

#include "query.h"

/* Begins to look for the bursts that the view shows; NULL: no memory. */
struct tt_bursts *tt_view_bursts_begin(const struct tt_profile *,
                                       const struct tt_query *);

#endif
