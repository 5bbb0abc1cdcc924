/* SPDX-License-Identifier: MIT */
/* open-table.h - the steps of open addressing that tables of records have in common.
 *
 *      key  ->  home  ->  the first place from there on that has the key, or is free
 *
 * A table has a power of two of places (mask + 1) and always a free one.  A record begins
 * with its key, 64 bits, of which 0 is a free place.  Removing one moves later records up,
 * so no places are marked as deleted.  The table, its lock, and how it grows are the
 * caller's; `record`, the size, and `home` are constants, so the compiler inlines
 * everything.  Async-signal-safe. */
#ifndef TT_OPEN_TABLE_H
#define TT_OPEN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TT_OPEN_TABLE static inline __attribute__((always_inline))

typedef uint64_t tt_home_function(uint64_t key, uint64_t mask);

TT_OPEN_TABLE uint64_t tt_open_key(const void *table, size_t record, uint64_t place)
{
    return *(const uint64_t *)(const void *)((const char *)table + place * record);
}

/* The place of the key, or the free one where it belongs. */
TT_OPEN_TABLE uint64_t tt_open_find(const void *table, size_t record, uint64_t mask,
                                    tt_home_function *home, uint64_t key)
{
    uint64_t i = home(key, mask), found;

    while ((found = tt_open_key(table, record, i)) && found != key)
        i = (i + 1) & mask;
    return i;
}

/* The record at `hole` is removed: which one is to move there, so that it is still found?
 * The caller moves it, and asks again for the place that it left.  `hole` itself: none,
 * and the caller frees the place. */
TT_OPEN_TABLE uint64_t tt_open_next(const void *table, size_t record, uint64_t mask,
                                    tt_home_function *home, uint64_t hole)
{
    uint64_t i = hole, key;

    while ((key = tt_open_key(table, record, i = (i + 1) & mask)) != 0)
        if (((i - home(key, mask)) & mask) >= ((i - hole) & mask))
            return i;
    return hole;
}

#endif
