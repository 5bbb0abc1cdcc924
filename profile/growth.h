/* SPDX-License-Identifier: MIT */
/* growth.h - what has come between two readings of one recording, as a profile. */
#ifndef TT_GROWTH_H
#define TT_GROWTH_H

#include "builder.h"

/* What a metric is called in what comes out; NULL: it is left out. */
typedef const char *tt_growth_name(const struct tt_profile *,
                                   const struct tt_metric_columns *);

/* Adds self figures of `now` less those of `then`, or all of them when that is NULL;
 * contexts are matched by their paths.  What was evicted in between is missing.  Both have
 * been checked.  -TT_ERR_MEMORY. */
int tt_growth(struct tt_builder *, const struct tt_profile *now,
              const struct tt_profile *then, tt_growth_name *name);

#endif
