/* SPDX-License-Identifier: MIT */
/* read-series.h - from a recording's bands to the series of a profile. */
#ifndef TT_READ_SERIES_H
#define TT_READ_SERIES_H

#include "builder.h"
#include "picture.h"

/* The marks on the amount alive over time, in the order of time: the greatest maximum,
 * which is called the peak, and local ones.  Each has a separate metric: the amount alive
 * then. */
struct tt_maxima {
    uint32_t count;
    struct tt_marked_maximum {
        uint32_t index, metric; /* index: for tt_picture_held */
        uint64_t time, most;    /* ticks since the start, bytes */
        char name[16];
    } one[TT_PARTS + 1];
};
void tt_maxima_take(struct tt_builder *, const struct tt_picture *, struct tt_maxima *);

/* Of a caller's clock the length of a tick may be unknown. */
static inline int tt_is_in_ns(const struct tt_header *h)
{
    return h->clock != TT_CLOCK_CALLER || h->ticks_per_second > 1;
}

/* -TT_ERR_MEMORY. */
int tt_series_take(struct tt_builder *, const struct tt_picture *,
                   const struct tt_maxima *);

#endif
