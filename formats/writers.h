/* SPDX-License-Identifier: MIT */
/* writers.h - code that all writers share. */
#ifndef TT_WRITERS_H
#define TT_WRITERS_H

#include "formats.h"

/* Returns the metric to write if there is room for one; TT_NONE with `error`: there is
 * none. */
uint32_t tt_export_metric(struct tt_export *);

/* Returns the parent of each context, of the root 0, in the profile's memory; NULL: no memory. */
uint32_t *tt_parents_of(const struct tt_profile *);

#endif
