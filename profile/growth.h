/* SPDX-License-Identifier: MIT */
/* growth.h - the difference between two readings of one recording, as a profile. */
#ifndef TT_GROWTH_H
#define TT_GROWTH_H

#include "builder.h"

/* Returns the name of a metric in the result; NULL: it is left out. */
typedef const char *tt_growth_name(const struct tt_profile *,
                                   const struct tt_metric_columns *);

/* Adds the self figures of `now` minus those of `then`, or all of them if `then` is NULL;
 * contexts are matched by their paths.  Contexts that were evicted in between are
 * missing.  Both must have been checked.  -TT_ERR_MEMORY. */
int tt_growth(struct tt_builder *, const struct tt_profile *now,
              const struct tt_profile *then, tt_growth_name *name);

#endif
