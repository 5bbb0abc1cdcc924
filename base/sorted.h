/* SPDX-License-Identifier: MIT */
/* sorted.h - putting items in order, and finding them by it. */
#ifndef TT_SORTED_H
#define TT_SORTED_H

#include <stdlib.h>

#include "memory.h"

/* Less than 0, 0 or more, as a comparison returns.  The first one that is not 0 decides:
 *
 *      return TT_ORDER(x->file, y->file) ?: TT_ORDER(x->line, y->line);
 */
#define TT_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* qsort, but `item` may be NULL if there are none. */
static inline void tt_sort(void *item, size_t count, size_t size,
                           int (*compare)(const void *, const void *))
{
    if (count > 1)
        qsort(item, count, size, compare);
}

static inline void tt_vector_sort(struct tt_vector *v,
                                  int (*compare)(const void *, const void *))
{
    tt_sort(v->item, v->count, v->size, compare);
}

/* The index of the first of `count` rows whose number is not below `least`, or `count`.
 * `number` is that of the first row; a row has `size` bytes. */
static inline size_t tt_first_from(const uint32_t *number, size_t size, size_t count,
                                   uint32_t least)
{
    const char *bytes = (const char *)number;
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (*(const uint32_t *)(const void *)(bytes + middle * size) < least)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* How many of `count` rows, each of which begins with its address, have one up to
 * `address`: the last of them is where it is, if it is anywhere. */
static inline size_t tt_count_up_to(const void *row, size_t size, size_t count,
                                    uint64_t address)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (*(const uint64_t *)(const void *)((const char *)row + middle * size) <=
            address)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

#endif
