/* SPDX-License-Identifier: MIT */
/* since.h - the growth since another reading of the same recording. */
#ifndef TT_SINCE_H
#define TT_SINCE_H

#include "metric-view.h"
#include "view.h"

/* The figures of the same item then; items are matched by identity, as numbers change if
 * new ones come in between. */
struct tt_since {
    struct tt_metric_view then;
    int was_there;     /* had it the metric at all? */
    double seconds;    /* in between; 0: not known */
    uint32_t *block;   /* of each block now, the one then; TT_NONE: none; owned */
    uint32_t *context; /* the same of each context; NULL until they are asked for */
    struct tt_block_sum *sum;  /* of each block then; NULL until they are asked for */
    uint32_t blocks, contexts; /* now */
};

/* Makes l->since, if the query has another reading.  -TT_ERR_MEMORY. */
int tt_since_init(struct tt_metric_view *, const struct tt_query *);
void tt_since_fini(struct tt_metric_view *);
/* Must be called before figures of blocks, or of contexts, are read.  -TT_ERR_MEMORY. */
int tt_since_blocks(const struct tt_metric_view *);
int tt_since_contexts(const struct tt_metric_view *);
/* Set self_since and inclusive_since of complete figures.  A figure that is less than it
 * was, because contexts were evicted and came back in between, is unknown. */
void tt_since_block(const struct tt_metric_view *, uint32_t block, struct tt_figures *);
void tt_since_context(const struct tt_metric_view *, uint32_t context,
                      struct tt_figures *);
void tt_since_total(const struct tt_metric_view *, struct tt_figures *);
void tt_since_figures(struct tt_figures *, const struct tt_figures *then);

#endif
