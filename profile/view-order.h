/* SPDX-License-Identifier: MIT */
/* view-order.h - the order of a view's rows, where they are cut off, and words of its keys. */
#ifndef TT_VIEW_ORDER_H
#define TT_VIEW_ORDER_H

#include "metric-view.h"

static inline uint32_t tt_limit(const struct tt_query *q, uint32_t own)
{
    uint32_t limit = q->limit == TT_NONE ? own : q->limit;

    return limit ? limit : TT_NONE;
}
static inline double tt_threshold(const struct tt_query *q, double own)
{
    return q->threshold < 0 ? own : q->threshold;
}
/* Returns the least amount that is not below a share of a total. */
uint64_t tt_least_amount(double share, uint64_t total);

/* Sorts by q->sort, or else by `own`, which has the same form. */
int tt_view_sort(struct tt_query *, struct tt_table *, const char *own);
/* The same for rows with the same parent (by depth); remainders are last among them. */
int tt_view_sort_tree(struct tt_query *, struct tt_table *, const char *own);
/* Keeps rows up to the limit, whose self or inclusive figure is not below the threshold,
 * with their groups; sums up the others in a remainder row. */
void tt_view_cut(const struct tt_metric_view *, struct tt_table *,
                 const struct tt_columns *, uint32_t limit, double threshold);
/* Reads the value of a view's key, one of its words in the table of views; returns its
 * index, 0 if it was not given, or -TT_ERR_OPTION. */
int tt_view_word(struct tt_query *, const char *view, const char *key);
/* Returns which blocks a pattern matches, a byte for each, to be freed; at least one
 * matches. */
int tt_view_blocks(const struct tt_profile *, struct tt_query *, const char *pattern,
                   unsigned char **wanted);

#endif
