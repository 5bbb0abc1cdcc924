/* SPDX-License-Identifier: MIT */
/* interpreted.h - merges a native stack with the functions that interpreters run in
 * it. */
#ifndef TT_INTERPRETED_H
#define TT_INTERPRETED_H

#include "interpreters.h"
#include "tallytree.h"

struct tt_recording;

/* A native frame, or a frame of an interpreter in place of its loop. */
struct tt_merged {
    uint32_t index; /* among native or among interpreted frames */
    uint32_t is_interpreted;
};

/* Merges both, the innermost first, as far as there is room; returns their number.
 * `rooted`: the last native frame is the outermost one.  Sets *unplaced if a frame has no
 * loop. */
uint32_t tt_interpreted_merge(const struct tt_interpreted_stack *, int rooted,
                              struct tt_merged *, uint32_t room, int *unplaced);

/* The block of a frame's function; 0 if there is none so far.  Takes no lock.
 * Async-signal-safe. */
tt_block tt_interpreted_find(const struct tt_interpreted *);

/* The same, but makes and publishes a new block, as tt_place_get does; [other blocks] if
 * the function cannot be read. */
tt_block tt_interpreted_get(struct tt_recording *, const struct tt_interpreted *,
                            struct tt_peek *);

/* Are lines shown too?  Set before the first sample. */
extern int tt_interpreted_lines;

/* The same for the line of a frame, which is a block below its function; TT_BLOCK_OTHER:
 * no line. */
tt_block tt_interpreted_find_line(const struct tt_interpreted *);
tt_block tt_interpreted_get_line(struct tt_recording *, const struct tt_interpreted *,
                                 struct tt_peek *);

#endif
