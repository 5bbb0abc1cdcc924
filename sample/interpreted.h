/* SPDX-License-Identifier: MIT */
/* interpreted.h - a native stack with the functions that interpreters run in it. */
#ifndef TT_INTERPRETED_H
#define TT_INTERPRETED_H

#include "interpreter.h"
#include "tallytree.h"

struct tt_recording;

/* A native frame, or one of an interpreter that takes the place of its loop. */
struct tt_merged {
    uint32_t index; /* of the one or the other */
    uint32_t is_interpreted;
};

/* Merges both, the innermost first, as far as there is room: how many there are.  `rooted`: the
 * last native frame is the outermost one.  *unplaced is set when a frame has no loop. */
uint32_t tt_interpreted_merge(const struct tt_interpreted_stack *, int rooted,
                              struct tt_merged *, uint32_t room, int *unplaced);

/* The block of a frame's function; 0: it has none so far.  Takes no lock.
 * Async-signal-safe. */
tt_block tt_interpreted_find(const struct tt_interpreted *);

/* The same, made and published where it is new, as tt_place_get; [other blocks] where it cannot
 * be read. */
tt_block tt_interpreted_get(struct tt_recording *, const struct tt_interpreted *,
                            struct tt_peek *);

/* Are lines shown too?  Set before the first sample. */
extern int tt_interpreted_lines;

/* The same of the line where a frame is, which hangs below its function; TT_BLOCK_OTHER: it has
 * none. */
tt_block tt_interpreted_find_line(const struct tt_interpreted *);
tt_block tt_interpreted_get_line(struct tt_recording *, const struct tt_interpreted *,
                                 struct tt_peek *);

#endif
