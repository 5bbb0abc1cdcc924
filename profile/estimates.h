/* SPDX-License-Identifier: MIT */
/* estimates.h - marks rows whose paths were estimated from a call graph. */
#ifndef TT_ESTIMATES_H
#define TT_ESTIMATES_H

#include "metric-view.h"

/* Marks rows of paths that a reader made from a call graph; does nothing for other
 * profiles.  `has`: the contexts of that block are estimates; the end notes the meaning
 * of the marks. */
struct tt_estimates {
    const struct tt_metric_view *l;
    struct tt_table *t;
    uint8_t
        *places; /* of each block: 0, 1, or 2 and more; NULL: nothing is an estimate */
    uint32_t column;
};
int tt_estimates_begin(struct tt_estimates *, const struct tt_metric_view *,
                       struct tt_table *);
int tt_estimates_has(const struct tt_estimates *, uint32_t block);
void tt_estimates_mark(const struct tt_estimates *);
void tt_estimates_end(struct tt_estimates *);

#endif
