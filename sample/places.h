/* SPDX-License-Identifier: MIT */
/* places.h - from a place in the code to its block, for handlers. */
#ifndef TT_PLACES_H
#define TT_PLACES_H

#include "tallytree.h"
#include "unwind.h"

struct tt_recording;

/* The block of where a frame stands; 0: it has none so far.  Takes no lock.
 * Async-signal-safe. */
tt_block tt_place_find(const struct tt_native *);

/* The same, made and published where it is new.  To be called between tt_block_try and
 * tt_block_done, with the recording's pages held.  Async-signal-safe. */
tt_block tt_place_get(struct tt_recording *, const struct tt_native *);

/* The same of the function, or the datum, that the address is in; it is looked for by its
 * name each time. */
tt_block tt_place_whole(struct tt_recording *, const struct tt_native *);

/* One of the blocks that stand for what could not be followed: "[broken stack]". */
tt_block tt_place_marker(struct tt_recording *, enum tt_unwind_end);

/* A block of that name, a constant's, which says what a thread waits for; 0: it is to be
 * made, and may not be now.  Async-signal-safe; `locked` as tt_place_get. */
tt_block tt_place_wait(struct tt_recording *, const char *name, int locked);

/* What tells functions apart: not 0. */
uint64_t tt_place_function(const struct tt_native *);

#endif
