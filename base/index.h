/* SPDX-License-Identifier: MIT */
/* index.h - a hash table of numbers, of items that are kept elsewhere.
 *
 *      hash  ->  number of an item         mostly: of a vector whose items begin with
 *                                          their key, without gaps between its fields
 *
 * A slot has half of its item's hash, so that an item is seldom read in vain, and not at
 * all when the table grows.  Not for signal handlers. */
#ifndef TT_INDEX_H
#define TT_INDEX_H

#include <string.h>

#include "memory.h"

/* All zero is an empty one. */
struct tt_index {
    uint64_t *slot; /* owned: half of the hash, and the number + 1; 0: free */
    size_t size, count;
};

#define TT_NO_NUMBER UINT32_MAX

/* Mixes a value into a hash. */
static inline uint64_t tt_mix(uint64_t h, uint64_t value)
{
    h = (h * 0xff51afd7ed558ccdu ^ value) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    return h ^ h >> 29;
}

/* A hash of bytes.  Fast if their number is a constant. */
static inline uint64_t tt_hash(const void *bytes, size_t size)
{
    const char *p = bytes;
    uint64_t h = size, word;

    for (; size >= sizeof word; p += sizeof word, size -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = tt_mix(h, word);
    }
    word = 0;
    memcpy(&word, p, size);
    return size ? tt_mix(h, word) : h;
}

/* The next number that may be of an item with this hash, the oldest first: the caller
 * compares the items.  TT_NO_NUMBER: there are no more.  *at is 0 before the first one. */
static inline uint32_t tt_index_next(const struct tt_index *x, uint64_t hash, size_t *at)
{
    const size_t mask = x->size - 1;
    uint64_t slot;

    while (x->size && (slot = x->slot[((uint32_t)hash + *at) & mask]) != 0) {
        ++*at;
        if (slot >> 32 == (uint32_t)hash)
            return (uint32_t)slot - 1;
    }
    return TT_NO_NUMBER;
}

/* Adds a number, which is not there so far.  -TT_ERR_MEMORY, and nothing has changed. */
int tt_index_add(struct tt_index *, const struct tt_memory *, uint64_t hash,
                 uint32_t number);
void tt_index_fini(struct tt_index *, const struct tt_memory *);

/* The number of the vector's item with this key of `size` bytes, a constant; or
 * TT_NO_NUMBER. */
static inline __attribute__((always_inline)) uint32_t tt_index_find(
    const struct tt_index *x, const struct tt_vector *v, const void *key, size_t size)
{
    const uint64_t hash = tt_hash(key, size);
    uint32_t n;

    for (size_t at = 0; (n = tt_index_next(x, hash, &at)) != TT_NO_NUMBER;)
        if (memcmp((const char *)v->item + n * v->size, key, size) == 0)
            break;
    return n;
}

/* Adds an item with this hash and key at the end; its other bytes are 0.  The number;
 * TT_NO_NUMBER: there is no memory. */
uint32_t tt_index_append(struct tt_index *, struct tt_vector *, uint64_t hash,
                         const void *key, size_t size);

/* The same as tt_index_find, but adds a missing item (*is_new).  TT_NO_NUMBER: there is
 * no memory. */
static inline __attribute__((always_inline)) uint32_t tt_index_get(
    struct tt_index *x, struct tt_vector *v, const void *key, size_t size, int *is_new)
{
    uint32_t n = tt_index_find(x, v, key, size);

    *is_new = n == TT_NO_NUMBER;
    return *is_new ? tt_index_append(x, v, tt_hash(key, size), key, size) : n;
}

#endif
