/* SPDX-License-Identifier: MIT */
/* heap-alive.h - live memory: now, at its maxima, and over time; see heap-alive.c.
 *
 * A site has its holding and its bands from tt_alive_begin on.  The record is the
 * process's, or a dummy, of which only the sums are kept. */
#ifndef TT_HEAP_ALIVE_H
#define TT_HEAP_ALIVE_H

#include "heap-sites.h"
#include "heap-table.h"

/* For a context with this block, and for its cost centre. */
void tt_alive_begin(struct tt_heap_site *, struct tt_recording *, const tt_type *types,
                    uint32_t count, tt_block, tt_block centre);

/* Adds an object.  Returns the bytes allocated so far. */
uint64_t tt_alive_made(struct tt_space_record *, struct tt_heap_site *,
                       const struct tt_object *);

/* Removes an object. */
void tt_alive_gone(struct tt_space_record *, struct tt_heap_site *,
                   const struct tt_object *);

/* The owner of a site has ended.  Returns 1 if no object of it is alive. */
int tt_alive_leave(struct tt_heap_site *);

/* In the child of a fork: frees the lock; and resets all. */
void tt_alive_free(void);
void tt_alive_forked(void);

#endif
