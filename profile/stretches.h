/* SPDX-License-Identifier: MIT */
/* stretches.h - the stretches of a trace of events, as samples by time: see stretches.c. */
#ifndef TT_STRETCHES_H
#define TT_STRETCHES_H

#include "builder.h"

/* Adds the stretch [from, to) of a trace, in ns; its context and its strand are numbers of
 * the caller's. */
void tt_builder_stretch(struct tt_builder *, uint32_t context, uint32_t strand,
                        uint64_t from, uint64_t to);

/* Gives the contexts of stretches other numbers, as `to` returns them. */
void tt_builder_move_stretches(struct tt_builder *,
                               uint32_t (*to)(void *arg, uint32_t context), void *arg);

/* Gives the stretches so far their contexts and strands, of each number (NULL: the number is
 * the builder's), and makes samples by time of them, which are parts of the metric. */
void tt_builder_place_stretches(struct tt_builder *, uint32_t metric,
                                const uint32_t *context, const uint32_t *strand);

#endif
