/* SPDX-License-Identifier: MIT */
/* view-waits.h - threads that waited, and those they waited for. */
#ifndef TT_VIEW_WAITS_H
#define TT_VIEW_WAITS_H

#include "metric-view.h"

/* `strands` with by=wait, in the metric of waiting time. */
int tt_view_waits(const struct tt_metric_view *, struct tt_query *, struct tt_table *);

#endif
