/* SPDX-License-Identifier: MIT */
/* heap-alive.h - live memory: now, at its maxima, and over time; see heap-alive.c.
 *
 * A site has its holding and its bands from tt_alive_begin on.  The record is the
 * process's, or a dummy, of which only the sums are kept. */
#ifndef TT_HEAP_ALIVE_H
#define TT_HEAP_ALIVE_H

#include "heap-sites.h"
#include "heap-table.h"
#include "mappings.h"

/* A thread has come, and has gone.  The first returns its shard. */
uint32_t tt_alive_join(struct tt_space_record *);
void tt_alive_part(struct tt_space_record *);

struct tt_alive_place { /* of a site */
    const tt_type *types;
    uint32_t count, shard;  /* types; of its thread, or 0 */
    tt_block block, centre; /* of its context; and the cost centre */
};
void tt_alive_begin(struct tt_heap_site *, struct tt_recording *,
                    const struct tt_alive_place *);

/* Adds an object.  Returns the bytes allocated so far: to a few KiB, if there are more threads. */
uint64_t tt_alive_made(struct tt_space_record *, struct tt_heap_site *,
                       const struct tt_object *);

/* Removes an object.  Returns the same, which is never less than when it was made. */
uint64_t tt_alive_gone(struct tt_space_record *, struct tt_heap_site *,
                       const struct tt_object *);

/* Removes an object and adds parts of it.  Returns the same, for all of these. */
uint64_t tt_alive_split(struct tt_space_record *, struct tt_heap_site *,
                        const struct tt_object *, const struct tt_heap_mapping *part,
                        int parts);

/* The recording ends: sums are right.  Async-signal-safe. */
void tt_alive_settle(const struct tt_recording *);

/* The owner of a site has ended.  Returns 1 if no object of it is alive. */
int tt_alive_leave(struct tt_space_record *, struct tt_heap_site *);

/* In the child of a fork: frees the locks; and resets all. */
void tt_alive_free(void);
void tt_alive_forked(int threads);

#endif
