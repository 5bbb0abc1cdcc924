/* SPDX-License-Identifier: MIT */
/* held.h - what is alive of runtimes' objects, and was when most was; see held.c. */
#ifndef TT_HELD_H
#define TT_HELD_H

#include "space.h"

struct tt_held_event {
    const struct tt_node *node; /* a context of the calling thread, which is busy */
    tt_context origin;          /* as the objects' runtime knows it */
    tt_type type;
    uint32_t generation;
    uint64_t now;
};

/* Objects came to a generation, or left it. */
void tt_held_made(struct tt_recording *, const struct tt_held_event *,
                  const struct tt_objects *);
void tt_held_gone(struct tt_recording *, const struct tt_held_event *,
                  const struct tt_objects *);

/* All that is in these generations is gone: survivors come anew. */
void tt_held_collect(struct tt_recording *, uint32_t generation, uint64_t now);

/* Around fork: no other thread may hold it. */
void tt_held_lock(void);
void tt_held_unlock(void);

/* In the child of a fork amid the profiler's work. */
void tt_held_forget(void);

#endif
