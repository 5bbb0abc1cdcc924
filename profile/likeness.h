/* SPDX-License-Identifier: MIT */
/* likeness.h - whether a metric of two profiles, or of the parts of one, is one thing. */
#ifndef TT_LIKENESS_H
#define TT_LIKENESS_H

#include "profile.h"
#include "table.h"

/* Is the metric measured there?  Else its figures are unknown, and not 0. */
int tt_is_measured(const struct tt_profile *, const struct tt_metric_columns *);

/* How the figures of both differ in what they mean, as text of `t`; NULL: they do not, as far
 * as is known. */
const char *tt_unlikeness(const struct tt_profile *a,
                          const struct tt_metric_columns *of_a,
                          const struct tt_profile *b,
                          const struct tt_metric_columns *of_b, struct tt_table *t);

/* Adds notes to a view of the metric if a merge has put together what is unlike. */
void tt_note_mixture(const struct tt_profile *, const struct tt_metric_columns *,
                     struct tt_table *);

#endif
