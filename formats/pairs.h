/* SPDX-License-Identifier: MIT */
/* pairs.h - numbers for pairs of numbers: ids of a file, of any size, to indices of ours. */
#ifndef TT_PAIRS_H
#define TT_PAIRS_H

#include "memory.h"

struct tt_pair;

struct tt_pairs {
    const struct tt_memory *memory;
    struct tt_pair *slot; /* owned: a hash table */
    size_t size, count;
};

void tt_pairs_init(struct tt_pairs *, const struct tt_memory *);
void tt_pairs_fini(struct tt_pairs *);
/* The number that was noted for a pair, 0 when it is new; NULL: no memory.  Stays until the
 * next call. */
uint32_t *tt_pairs_get(struct tt_pairs *, uint64_t a, uint64_t b, int *is_new);
/* The same without noting anything; NULL: it is not there. */
const uint32_t *tt_pairs_find(const struct tt_pairs *, uint64_t a, uint64_t b);

#endif
