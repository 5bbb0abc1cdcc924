/* SPDX-License-Identifier: MIT */
/* several.h - figures of more metrics than the main one, in columns after its own. */
#ifndef TT_SEVERAL_H
#define TT_SEVERAL_H

#include "view.h"

struct tt_columns;
struct tt_metric_view;

/* Metrics side by side: the first is `main`, and the others have separate columns. */
enum { TT_SEVERAL_MAX = 32 };
struct tt_several {
    uint32_t metric[TT_SEVERAL_MAX], count; /* count: 0 where there is but one */
};
struct tt_several_figures { /* by their place in the list, from 1 */
    uint64_t self[TT_SEVERAL_MAX], inclusive[TT_SEVERAL_MAX];
};

/* The metrics that a query names, where it names several: "a,b".  0, or -TT_ERR_OPTION with
 * q->error. */
int tt_several_find(const struct tt_profile *, struct tt_query *, struct tt_several *);
void tt_several_columns(const struct tt_metric_view *, struct tt_table *,
                        struct tt_columns *);
void tt_several_fill(const struct tt_metric_view *, struct tt_table *,
                     const struct tt_columns *, const struct tt_several_figures *);
/* Sums for each block in each further metric; to be ended in either case.
 * -TT_ERR_MEMORY. */
struct tt_several_sums {
    struct tt_block_sum *sum[TT_SEVERAL_MAX]; /* owned; from 1 */
};
int tt_several_sums_find(const struct tt_metric_view *, struct tt_several_sums *);
void tt_several_sums_fini(const struct tt_metric_view *, struct tt_several_sums *);
int tt_several_has(const struct tt_metric_view *, const struct tt_several_sums *,
                   uint32_t block); /* a self figure of any? */
void tt_several_block(const struct tt_metric_view *, const struct tt_several_sums *,
                      uint32_t block, struct tt_table *, const struct tt_columns *);
void tt_several_inclusive(const struct tt_metric_view *, struct tt_table *,
                          const struct tt_columns *, const struct tt_several_figures *);
/* A view of one further metric, for tt_metric_view_fini.  -TT_ERR_MEMORY. */
int tt_several_lens(const struct tt_metric_view *, uint32_t i,
                    struct tt_metric_view *one);

#endif
