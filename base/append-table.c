/* SPDX-License-Identifier: MIT */
/* append-table.c - a table that only grows. */
#include "append-table.h"

#include <string.h>
#include <sys/mman.h>

#include "assertion.h"

enum { FIRST_BITS = 8 };

int tt_append_table_reserve(struct tt_append_table **table, size_t record)
{
    struct tt_append_table *old = *table, *t;
    size_t size = old ? old->size * 2 : (size_t)1 << FIRST_BITS;

    TT_ASSERT(record % sizeof(uint64_t) == 0);
    if (old && old->count * 2 < old->size)
        return 0;
    t = mmap(NULL, sizeof *t + size * record, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return -1;
    t->size = size;
    t->shift = old ? old->shift - 1 : 64 - FIRST_BITS;
    for (size_t i = 0; old && i < old->size; i++) {
        const uint64_t *from = old->at + i * (record / sizeof *from);
        if (*from)
            memcpy(tt_append_table_slot(t, *from, record), from, record);
        t->count += *from != 0;
    }
    __atomic_store_n(table, t, __ATOMIC_RELEASE);
    return 0;
}

void tt_append_table_show(struct tt_append_table *t, void *slot, uint64_t key)
{
    uint64_t *shown = slot;

    TT_ASSERT(key && (!*shown || *shown == key));
    TT_ASSERT(t->count < t->size);
    t->count += !*shown;
    __atomic_store_n(shown, key, __ATOMIC_RELEASE);
}
