/* SPDX-License-Identifier: MIT */
/* pairs.h - numbers for pairs of numbers: ids in a file, of any size, become indices. */
#ifndef TT_PAIRS_H
#define TT_PAIRS_H

#include "index.h"

struct tt_pairs {
    struct tt_vector pair; /* the two, and their number */
    struct tt_index index;
};

void tt_pairs_init(struct tt_pairs *, const struct tt_memory *);
void tt_pairs_fini(struct tt_pairs *);
/* Returns the place of a pair's number, which is 0 if the pair is new; NULL: no memory.
 * Valid until the next call. */
uint32_t *tt_pairs_get(struct tt_pairs *, uint64_t a, uint64_t b, int *is_new);
/* Items of a vector by pairs: returns the pair's item, which is zeroed if the pair is new
 * (*is_new, unless that is NULL).  The pair's number is that of the item + 1.  NULL: no
 * memory. */
void *tt_pairs_item(struct tt_pairs *, struct tt_vector *, uint64_t a, uint64_t b,
                    int *is_new);
/* As tt_pairs_get, without adding the pair; NULL: it is not there. */
const uint32_t *tt_pairs_find(const struct tt_pairs *, uint64_t a, uint64_t b);

#endif
