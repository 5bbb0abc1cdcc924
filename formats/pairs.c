/* SPDX-License-Identifier: MIT */
/* pairs.c - a table from pairs to numbers. */
#include "pairs.h"

struct pair {
    uint64_t key[2];
    uint32_t value;
};

void tt_pairs_init(struct tt_pairs *p, const struct tt_memory *memory)
{
    *p = (struct tt_pairs){.index = {0}};
    tt_vector_init(&p->pair, memory, sizeof(struct pair));
}

void tt_pairs_fini(struct tt_pairs *p)
{
    tt_index_fini(&p->index, p->pair.memory);
    tt_vector_fini(&p->pair);
}

uint32_t *tt_pairs_get(struct tt_pairs *p, uint64_t a, uint64_t b, int *is_new)
{
    const uint64_t key[] = {a, b};
    const uint32_t at = tt_index_get(&p->index, &p->pair, key, sizeof key, is_new);

    *is_new &= at != TT_NO_NUMBER;
    return at == TT_NO_NUMBER ? NULL : &((struct pair *)p->pair.item)[at].value;
}

void *tt_pairs_item(struct tt_pairs *p, struct tt_vector *items, uint64_t a, uint64_t b,
                    int *is_new)
{
    int added;
    uint32_t *at = tt_pairs_get(p, a, b, &added);

    if (!at || (added && !tt_vector_add(items, 1)))
        return NULL;
    if (added)
        *at = (uint32_t)items->count;
    if (is_new)
        *is_new = added;
    return (char *)items->item + (*at - 1) * items->size;
}

const uint32_t *tt_pairs_find(const struct tt_pairs *p, uint64_t a, uint64_t b)
{
    const uint64_t key[] = {a, b};
    const uint32_t at = tt_index_find(&p->index, &p->pair, key, sizeof key);

    return at == TT_NO_NUMBER ? NULL : &((const struct pair *)p->pair.item)[at].value;
}
