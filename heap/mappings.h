/* SPDX-License-Identifier: MIT */
/* mappings.h - the recorded mappings of the program, by their places.
 *
 *      [ a ── size ──)     [ b ── size ──)     no two overlap
 *
 * The system unmaps places, not mappings: one call may take many of them, or a part of one, and a
 * mapping at a fixed place takes what was there.  All but tt_mappings_now and tt_mappings_any is
 * under the lock. */
#ifndef TT_MAPPINGS_H
#define TT_MAPPINGS_H

#include "heap-table.h"

struct tt_heap_mapping {
    struct tt_object object; /* its address: where the mapping begins */
    uint64_t size, stamp;    /* bytes that it has; and when it was added: 0: not yet */
};

void tt_mappings_lock(void);
void tt_mappings_unlock(void);

/* Those that are added from now on have later stamps: when a call that unmaps has returned, others
 * may be there already. */
uint64_t tt_mappings_now(void);

/* Are there any? */
int tt_mappings_any(void);

/* Adds one; -1: there is no memory. */
int tt_mappings_add(const struct tt_heap_mapping *);

/* Removes one that has a byte in [from, to) and was added up to the stamp.  Returns how many parts
 * of it are outside, 0 to 2: they are in `rest`, each with its part of the bytes and the stamp of
 * the whole, and are not added.  -1: there is none. */
int tt_mappings_take(uint64_t from, uint64_t to, uint64_t stamp,
                     struct tt_heap_mapping *whole, struct tt_heap_mapping rest[2]);

/* In the child of a fork: frees the lock; and drops all. */
void tt_mappings_free(void);
void tt_mappings_forked(void);

#endif
