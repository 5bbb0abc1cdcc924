/* SPDX-License-Identifier: MIT */
/* writers.h - code that all writers share. */
#ifndef TT_WRITERS_H
#define TT_WRITERS_H

#include "formats.h"

/* Returns the metric to write if there is room for one; TT_NONE with `error`: there is
 * none. */
uint32_t tt_export_metric(struct tt_export *);

/* Writes a figure of a metric as a number; that of a count with a fraction has its point. */
void tt_put_figure(struct tt_writer *, const struct tt_metric_columns *, uint64_t);

/* Returns the parent of each context, of the root 0, in the profile's memory; NULL: no memory. */
uint32_t *tt_parents_of(const struct tt_profile *);

#endif
