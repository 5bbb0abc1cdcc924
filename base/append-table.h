/* SPDX-License-Identifier: MIT */
/* append-table.h - a table that only grows: readers look without a lock, one writer at a
 * time.
 *
 *      key, scattered  ->  record: the key, and its data
 *
 * It is replaced as a whole when half full; old ones stay, as readers may use them. */
#ifndef TT_APPEND_TABLE_H
#define TT_APPEND_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct tt_append_table {
    size_t size, count;
    unsigned shift;
    uint64_t at[]; /* each record begins with its key: 0: unused, stored last */
};

/* The record that has the key, or the unused one where it belongs.  `record` is the
 * table's, and a constant.  Async-signal-safe. */
static inline __attribute__((always_inline)) void *tt_append_table_slot(
    struct tt_append_table *t, uint64_t key, size_t record)
{
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> t->shift);
    uint64_t *slot, found;

    for (;; i = (i + 1) & (t->size - 1)) {
        slot = t->at + i * (record / sizeof *slot);
        found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (__builtin_expect(found == key || !found, 1))
            return slot;
    }
}

/* Room for one more in *t, of which there need not be one so far.  Less than 0 without
 * memory.  Async-signal-safe. */
int tt_append_table_reserve(struct tt_append_table **t, size_t record);

/* For the writer: the record is filled.  A record that is filled again counts once. */
void tt_append_table_show(struct tt_append_table *, void *slot, uint64_t key);

#endif
