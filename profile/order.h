/* SPDX-License-Identifier: MIT */
/* order.h - the file's order of what a builder has. */
#ifndef TT_ORDER_H
#define TT_ORDER_H

#include "building.h"

struct tt_order { /* from the id of arrival to the place in the file */
    uint32_t *string, *block, *metric, *context, *arc, *strand;
    size_t *offset; /* of each string, by place */
    uint32_t *block_of, *size_of, depth;
    struct tt_arc_row *arc_row;
};

/* Sorts all but the log of figures; -TT_ERR_MEMORY; tt_order_free in either case.  Only
 * the number of the builder's contexts is kept. */
int tt_order_make(struct tt_builder *, struct tt_order *);
/* Frees data that were copied into the image: `block_of`, `size_of`. */
void tt_order_drop_copied(struct tt_builder *, struct tt_order *);
void tt_order_free(struct tt_builder *, struct tt_order *);
/* Turns the rows of the log into those of struct tt_entry, without sorting it. */
void tt_order_entries(struct tt_builder *, const struct tt_order *);

#endif
