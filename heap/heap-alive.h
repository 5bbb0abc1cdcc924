/* SPDX-License-Identifier: MIT */
/* heap-alive.h - what is alive: now, at its maxima, and over time; see heap-alive.c.
 *
 * A site has its holding and its bands from tt_alive_begin on.  The record is the process's,
 * or one that is none, of which no more than the sums are kept. */
#ifndef TT_HEAP_ALIVE_H
#define TT_HEAP_ALIVE_H

#include "heap-sites.h"
#include "heap-table.h"

/* Of a context with this block, and of its cost centre. */
void tt_alive_begin(struct tt_heap_site *, struct tt_recording *, const tt_type *types,
                    uint32_t count, tt_block, tt_block centre);

/* An object is there.  Returns how many bytes were allocated so far. */
uint64_t tt_alive_made(struct tt_space_record *, struct tt_heap_site *,
                       const struct tt_object *);

/* It is not any more. */
void tt_alive_gone(struct tt_space_record *, struct tt_heap_site *,
                   const struct tt_object *);

/* The owner of a site is over.  1 when nothing is alive of it. */
int tt_alive_leave(struct tt_heap_site *);

/* In the child of a fork: no other thread has its lock; and nothing is. */
void tt_alive_free(void);
void tt_alive_forked(void);

#endif
