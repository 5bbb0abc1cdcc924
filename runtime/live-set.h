/* SPDX-License-Identifier: MIT */
/* live-set.h - live objects of runtimes, now and at the maximum; see live-set.c. */
#ifndef TT_LIVE_SET_H
#define TT_LIVE_SET_H

#include "space.h"

struct tt_live_set_event {
    const struct tt_node *node; /* a context of the calling thread, which is busy */
    tt_context origin;          /* the handle that the objects' runtime has */
    tt_type type;
    uint32_t generation;
    uint64_t now;
};

/* Objects came to a generation, or left it. */
void tt_live_set_made(struct tt_recording *, const struct tt_live_set_event *,
                      const struct tt_objects *);
void tt_live_set_gone(struct tt_recording *, const struct tt_live_set_event *,
                      const struct tt_objects *);

/* All that is in these generations is gone: survivors come again. */
void tt_live_set_collect(struct tt_recording *, uint32_t generation, uint64_t now);

/* Around fork: no other thread may hold it. */
void tt_live_set_lock(void);
void tt_live_set_unlock(void);

/* In the child of a fork amid the profiler's work. */
void tt_live_set_forget(void);

#endif
