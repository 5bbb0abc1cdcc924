/* SPDX-License-Identifier: MIT */
/* memray-ranges.h - what is mapped: ranges that do not overlap. */
#ifndef TT_MEMRAY_RANGES_H
#define TT_MEMRAY_RANGES_H

#include "memory.h"

struct tt_memray_range {
    uint64_t start, end;
    uint32_t place;
};

struct tt_memray_ranges {
    struct tt_vector node;
    uint32_t top, unused;
    uint64_t random;
};

void tt_memray_ranges_init(struct tt_memray_ranges *, const struct tt_memory *);
/* Adds a range that overlaps no other one; -TT_ERR_MEMORY, not noted. */
int tt_memray_ranges_add(struct tt_memray_ranges *, struct tt_memray_range);
/* Returns the range that starts before an address and ends after it, or NULL.  Valid until
 * the next addition. */
struct tt_memray_range *tt_memray_ranges_around(const struct tt_memray_ranges *,
                                                uint64_t address);
/* Removes one range that starts there, from `start` to before `end`; returns whether there
 * was one. */
int tt_memray_ranges_take(struct tt_memray_ranges *, uint64_t start, uint64_t end,
                          struct tt_memray_range *);

#endif
