/* SPDX-License-Identifier: MIT */
/* nettrace-blocks.h - walks over the blocks of a .nettrace file. */
#ifndef TT_NETTRACE_BLOCKS_H
#define TT_NETTRACE_BLOCKS_H

#include "nettrace.h"

uint64_t tt_nettrace_take(struct tt_nettrace_cursor *, int size);
uint64_t tt_nettrace_take_varied(struct tt_nettrace_cursor *);
void tt_nettrace_pass(struct tt_nettrace_cursor *, uint64_t size);
int tt_nettrace_read_events(struct tt_nettrace *, struct tt_nettrace_cursor,
                            const struct tt_nettrace_calls *);
int tt_nettrace_read_stacks(struct tt_nettrace *, struct tt_nettrace_cursor,
                            const struct tt_nettrace_calls *);

/* Reads when the run began, and the clock. */
void tt_nettrace_read_clock(struct tt_nettrace *, struct tt_nettrace_cursor *);

/* Walks over all blocks.  0, or an error, noted. */
int tt_nettrace_walk(struct tt_nettrace *, const struct tt_nettrace_calls *);

#endif
