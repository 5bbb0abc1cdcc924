/* SPDX-License-Identifier: MIT */
/* filter.h - applies the filters of a query. */
#ifndef TT_FILTER_H
#define TT_FILTER_H

#include "query.h"

/* The fact of a profile whose filters matched no block: the pattern. */
#define TT_NOTHING_LIKE "no match for"

/* Applies a query's filters in order.  The result is a separate image, from the query's
 * memory, until tt_filter_close; or the profile itself, if nothing is filtered.
 * -TT_ERR_OPTION with q->error, -TT_ERR_MEMORY, or -TT_ERR_STATE if it was cancelled;
 * then there is nothing to close. */
struct tt_filtered {
    const struct tt_profile *profile; /* what views look at */
    struct tt_profile own;
    void *image; /* NULL: there was nothing to filter */
    size_t size;
};
int tt_filter_apply(const struct tt_profile *, struct tt_query *, struct tt_filtered *);
void tt_filter_close(struct tt_filtered *, const struct tt_memory *);

/* Which group of strands do paths begin with?  Less than 0: none, also if the view itself
 * has a row for each group. */
int tt_filter_group(const struct tt_query *);

#endif
