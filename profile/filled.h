/* SPDX-License-Identifier: MIT */
/* filled.h - figures that most contexts have, as columns and not as lines of the log. */
#ifndef TT_FILLED_H
#define TT_FILLED_H

#include "building.h"

/* Makes a column for this figure of the first strand, as most of its contexts have it. */
void tt_filled_expect(struct tt_builder *, enum tt_role, uint32_t metric,
                      size_t contexts);

/* Does a column have this figure now?  Only those of the first strand that has any; with the
 * next strand, all columns become lines of the log. */
int tt_filled_add(struct tt_builder *, enum tt_role role, uint32_t id, uint32_t metric,
                  uint64_t amount, uint32_t strand);

/* Moves all columns to the log. */
void tt_filled_to_log(struct tt_builder *);

/* The column of a role and a metric; NULL: there is none, or it is empty. */
const struct tt_filled *tt_filled_of(const struct tt_builder *, enum tt_role role,
                                     uint32_t metric);

void tt_filled_fini(struct tt_builder *);

#endif
