/* SPDX-License-Identifier: MIT */
/* index.c - a hash table of numbers: open addressing, at most three quarters full. */
#include "index.h"

#include "assertion.h"
#include "tallytree.h"

static void put_slot(struct tt_index *x, uint64_t slot)
{
    size_t at = slot >> 32;

    while (x->slot[at & (x->size - 1)])
        at++;
    x->slot[at & (x->size - 1)] = slot;
}

static int grow_index(struct tt_index *x, const struct tt_memory *m)
{
    struct tt_index larger = {.size = x->size ? x->size * 2 : 64, .count = x->count};
    size_t first = 0;

    TT_ASSERT(x->count <= x->size && (x->size & (x->size - 1)) == 0);
    larger.slot = tt_memory_get(m, larger.size * sizeof *larger.slot);
    if (!larger.slot)
        return -TT_ERR_MEMORY;
    while (x->slot && x->slot[first])
        first++; /* from a free slot on, those of one hash are in their order */
    for (size_t i = 0; i < x->size; i++)
        if (x->slot[(first + i) & (x->size - 1)])
            put_slot(&larger, x->slot[(first + i) & (x->size - 1)]);
    tt_memory_put(m, x->slot);
    *x = larger;
    return 0;
}

int tt_index_add(struct tt_index *x, const struct tt_memory *m, uint64_t hash,
                 uint32_t number)
{
    if (number == TT_NO_NUMBER || (x->count * 4 >= x->size * 3 && grow_index(x, m) != 0))
        return -TT_ERR_MEMORY;
    put_slot(x, hash << 32 | (number + 1));
    x->count++;
    return 0;
}

void tt_index_fini(struct tt_index *x, const struct tt_memory *m)
{
    tt_memory_put(m, x->slot);
    *x = (struct tt_index){0};
}

uint32_t tt_index_append(struct tt_index *x, struct tt_vector *v, uint64_t hash,
                         const void *key, size_t size)
{
    const size_t number = v->count;
    void *item;

    TT_ASSERT(size <= v->size);
    if (number >= TT_NO_NUMBER || !(item = tt_vector_add(v, 1)))
        return TT_NO_NUMBER;
    if (tt_index_add(x, v->memory, hash, (uint32_t)number) != 0) {
        v->count--;
        return TT_NO_NUMBER;
    }
    memcpy(item, key, size);
    return (uint32_t)number;
}
