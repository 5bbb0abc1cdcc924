/* SPDX-License-Identifier: MIT */
/* objects.h - objects that are known by a number; see objects.c. */
#ifndef TT_OBJECTS_H
#define TT_OBJECTS_H

#include "recording.h"

struct tt_thread;

/* Of a thread.  Events use the time of an earlier event while `told_so` has bytes left. */
struct tt_thread_objects {
    uint64_t told_at;
    int64_t told_so; /* see event-cache.h */
};

/* Ticks since the recording began, or of the caller's own. */
uint64_t tt_space_now(const struct tt_recording *);

/* The end of a collection: objects that have not survived it are dead. */
void tt_objects_sweep(struct tt_thread *, uint32_t generation);

/* The end of the recording: objects that are alive now live to its end. */
void tt_objects_end(struct tt_thread *);

/* Around fork: no other thread may hold them. */
void tt_objects_lock(void);
void tt_objects_unlock(void);
void tt_objects_forget_lock(void);

#ifdef TT_CHECKED
/* The first error in the table of live objects; "" if there is none. */
const char *tt_objects_check(void);
#endif

#endif
