/* SPDX-License-Identifier: MIT */
/* channels.h - pipes, sockets and eventfds as what threads wait for.
 *
 *      struct tt_wake_on on[1];
 *      struct tt_wake_wait w = {.on = on};
 *      tt_channel_begin(&w, fd, word, TT_FOR_DATA, 0, &caller);
 *      result = read(...);
 *      tt_channel_end(&w, fd, result);
 */
#ifndef TT_CHANNELS_H
#define TT_CHANNELS_H

#include <stddef.h>

#include "descriptors.h"
#include "wakes.h"

enum tt_channel_for { TT_FOR_DATA, TT_FOR_ROOM };

/* Adds what the word says to a wait, if it can be waited for. */
void tt_channel_add(struct tt_wake_wait *, int fd, uint64_t word, enum tt_channel_for);

/* A call that waits for one: it is recorded unless the call will return at once.  `size` is
 * of what is written.  Whether there is room is asked only for large writes, and for some
 * after one that took long. */
void tt_channel_begin(struct tt_wake_wait *, int fd, uint64_t word, enum tt_channel_for,
                      size_t size, const struct tt_caller *);

/* `result`: what the call returned, in bytes; less than 0: an error, which does not count. */
void tt_channel_end(struct tt_wake_wait *, int fd, long result);

/* The same for a call that waits for any of those that were added, and returned `ready`. */
void tt_channel_begin_any(struct tt_wake_wait *, const struct tt_caller *);
void tt_channel_end_any(struct tt_wake_wait *, int ready);

/* The event that threads in this slot wait for is about to happen, by a call with this
 * descriptor. */
void tt_channel_note(struct tt_wake_slot *, int fd, uint64_t word, uint64_t key,
                     enum tt_wake_type, const struct tt_caller *);

#endif
