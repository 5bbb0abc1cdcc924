/* SPDX-License-Identifier: MIT */
/* pairs.c - a hash table from pairs to numbers. */
#include "pairs.h"

struct tt_pair {
    uint64_t a, b;
    uint32_t value, used;
};

void tt_pairs_init(struct tt_pairs *p, const struct tt_memory *memory)
{
    *p = (struct tt_pairs){.memory = memory};
}

void tt_pairs_fini(struct tt_pairs *p)
{
    tt_memory_put(p->memory, p->slot);
    *p = (struct tt_pairs){.memory = p->memory};
}

static size_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;

    h ^= h >> 32;
    return (size_t)(h * 0x9e3779b97f4a7c15u >> 20);
}

static struct tt_pair *slot_of(const struct tt_pairs *p, uint64_t a, uint64_t b)
{
    size_t at = hash(a, b);

    for (;; at++) {
        struct tt_pair *s = &p->slot[at & (p->size - 1)];
        if (!s->used || (s->a == a && s->b == b))
            return s;
    }
}

static int grow(struct tt_pairs *p)
{
    struct tt_pairs bigger = {.memory = p->memory, .size = p->size ? p->size * 2 : 64};

    bigger.slot = tt_memory_get(p->memory, bigger.size * sizeof *bigger.slot);
    if (!bigger.slot)
        return -1;
    for (size_t i = 0; i < p->size; i++)
        if (p->slot[i].used)
            *slot_of(&bigger, p->slot[i].a, p->slot[i].b) = p->slot[i];
    tt_memory_put(p->memory, p->slot);
    p->slot = bigger.slot;
    p->size = bigger.size;
    return 0;
}

uint32_t *tt_pairs_get(struct tt_pairs *p, uint64_t a, uint64_t b, int *is_new)
{
    struct tt_pair *s;

    *is_new = 0;
    if (p->count * 2 >= p->size && grow(p) != 0)
        return NULL;
    s = slot_of(p, a, b);
    if (!s->used) {
        *s = (struct tt_pair){a, b, 0, 1};
        *is_new = 1;
        p->count++;
    }
    return &s->value;
}

const uint32_t *tt_pairs_find(const struct tt_pairs *p, uint64_t a, uint64_t b)
{
    const struct tt_pair *s = p->size ? slot_of(p, a, b) : NULL;

    return s && s->used ? &s->value : NULL;
}
