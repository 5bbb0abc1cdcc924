/* SPDX-License-Identifier: MIT */
/* shown.h - the contexts that are worth a row, in preorder. */
#ifndef TT_SHOWN_H
#define TT_SHOWN_H

#include "metric-view.h"

struct tt_shown { /* in preorder */
    uint32_t context, block, end, depth;
    uint32_t parent; /* index; TT_NONE: of the first */
    uint32_t rest;   /* contexts below that are not shown */
    uint64_t total, total_low, dropped;
    uint64_t path; /* see identity.h */
    struct tt_digest_figure self, low, elsewhere, calls;
    struct tt_figures left; /* of the rest: self, calls */
};
struct tt_shown_rule {
    uint32_t start, limit, depth; /* TT_NONE: any */
    uint32_t towards;             /* only what leads there; TT_NONE: all */
    uint64_t least;               /* total */
};
/* Finds contexts below `start` whose total is not below the least, down to a depth; of
 * them the `limit` largest, of equal ones the first.  A parent is never smaller than its
 * children, so parents of shown contexts are shown.  Skips small subtrees, one step a
 * child. */
int tt_shown_find(const struct tt_metric_view *, const struct tt_shown_rule *,
                  struct tt_vector *shown);
/* Reads a query's rule: its limit, depth and threshold, which is a share of `context=N`
 * or, without that, of everything. */
int tt_shown_rule_of(const struct tt_metric_view *, struct tt_query *, uint32_t limit,
                     double threshold, struct tt_shown_rule *);
/* Adds rows for all shown contexts, each followed by its remainders.  Calls back after a
 * row was filled; `i` is the shown context, or the one that a remainder belongs to. */
typedef void tt_shown_row(void *arg, size_t i, uint64_t amount, int is_remainder);
int tt_shown_rows(const struct tt_metric_view *, const struct tt_vector *shown,
                  struct tt_table *, const struct tt_columns *, tt_shown_row *,
                  void *arg);

#endif
