/* SPDX-License-Identifier: MIT */
/* trails.h - addresses beside the tree: places and stacks of them. */
#ifndef TT_TRAILS_H
#define TT_TRAILS_H

#include "builder.h"

struct tt_order;

/* Adds addresses of code: places, and trails, which are stacks of places.  A trail
 * belongs to a context, and has the part of its self that was charged at this address.
 * `parent`: TT_NONE: none; block and file of frames are the builder's ids. */
uint32_t tt_builder_place(struct tt_builder *, const char *module, const char *id,
                          uint64_t address, const struct tt_place_frame *,
                          uint32_t frames);
uint32_t tt_builder_trail(struct tt_builder *, uint32_t parent, uint32_t context,
                          uint32_t place);
void tt_builder_trail_add(struct tt_builder *, uint32_t trail, uint32_t metric,
                          uint64_t amount);

/* Addresses, with vectors empty; of all strands together; in the file's order. */
void tt_trails_init(struct tt_builder *);
void tt_trails_summarise(struct tt_builder *);
int tt_trails_order(struct tt_builder *, const struct tt_order *);

#endif
