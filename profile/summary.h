/* SPDX-License-Identifier: MIT */
/* summary.h - replaces figures by strand by their spread over strands. */
#ifndef TT_SUMMARY_H
#define TT_SUMMARY_H

#include "builder.h"

/* Replaces figures by strand by their spread over strands, permanently; strands that have
 * figures now must get no more.  Called after each of many profiles, it keeps memory
 * bounded.  -TT_ERR_MEMORY. */
int tt_builder_summarise(struct tt_builder *);

/* The last time: until then, equal rows may be there twice. */
int tt_builder_end_summary(struct tt_builder *);

/* Adds up the activations of one edge in one strand. */
void tt_builder_sum_times(struct tt_builder *);

/* Returns a metric's spreads of totals, or of self, one for each context; NULL: no
 * memory. */
struct tt_spread *tt_spreads_of(struct tt_builder *, uint32_t metric, int of_self);

#endif
