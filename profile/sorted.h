/* SPDX-License-Identifier: MIT */
/* sorted.h - rows in the order of a number in them. */
#ifndef TT_SORTED_H
#define TT_SORTED_H

#include <stddef.h>
#include <stdint.h>

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

#endif
