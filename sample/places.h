/* SPDX-License-Identifier: MIT */
/* places.h - from a place in the code to its block, for handlers. */
#ifndef TT_PLACES_H
#define TT_PLACES_H

#include "tallytree.h"
#include "unwind.h"

struct tt_recording;

/* The block of a frame's pc; 0 if there is none so far.  Takes no lock.
 * Async-signal-safe. */
tt_block tt_place_find(const struct tt_native *);

/* The same, but makes and publishes a new block.  To be called between tt_block_try and
 * tt_block_done, with the recording's pages held.  Async-signal-safe. */
tt_block tt_place_get(struct tt_recording *, const struct tt_native *);

/* The same for the function, or the datum, that contains the address; looks it up by its
 * name each time. */
tt_block tt_place_whole(struct tt_recording *, const struct tt_native *);

/* A block for a stack that could not be followed: "[broken stack]". */
tt_block tt_place_marker(struct tt_recording *, enum tt_unwind_end);

/* The block that shows what a thread waits for; `name` is a constant.  0: it is new, and
 * may not be made now.  Async-signal-safe; `locked` as tt_place_get. */
tt_block tt_place_wait(struct tt_recording *, const char *name, int locked);

/* The identity of a function: not 0. */
uint64_t tt_place_function(const struct tt_native *);

#endif
