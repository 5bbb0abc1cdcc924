/* SPDX-License-Identifier: MIT */
/* addressed.h - figures of addresses, for the views that show code and source text. */
#ifndef TT_ADDRESSED_H
#define TT_ADDRESSED_H

#include "metric-view.h"

/* Finds the block that a query names; if it names none, the one with the most self at
 * addresses. */
struct tt_addressed {
    const struct tt_metric_view *l;
    unsigned char *wanted; /* of each block; to be freed */
    uint64_t *all, *mine;  /* of each place: self there, and that of wanted blocks */
    uint64_t without;      /* self of wanted blocks that has no address */
};

/* 0, -TT_ERR_OPTION with q->error, -TT_ERR_MEMORY; tt_addressed_fini in either case. */
int tt_addressed_init(struct tt_addressed *, const struct tt_metric_view *,
                      struct tt_query *);
void tt_addressed_fini(struct tt_addressed *);

/* Returns the last frame of a place. */
static inline const struct tt_place_frame *tt_innermost(const struct tt_profile *p,
                                                        uint32_t place)
{
    return &p->place_frame[p->place[place].first + p->place[place].frames - 1];
}

/* Returns the block that has the self of a trail: the context's or, if that is a line,
 * its function's. */
static inline uint32_t tt_trail_block(const struct tt_profile *p, uint32_t trail)
{
    const struct tt_trail_row *t = &p->trail[trail];
    const uint32_t block = tt_block_of(p, t->context);

    return t->place != TT_NONE && p->block[block].kind == TT_KIND_STATEMENT
               ? tt_innermost(p, t->place)->block
               : block;
}

#endif
