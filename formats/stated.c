/* SPDX-License-Identifier: MIT */
/* stated.c - compares the figures of contexts with those that calls state. */
#include "stated.h"

void tt_stated_init(struct tt_stated *s, const struct tt_memory *memory, uint32_t events)
{
    *s = (struct tt_stated){.memory = memory, .events = events};
    tt_pairs_init(&s->index, memory);
    tt_vector_init(&s->place, memory, sizeof(struct tt_stated_place));
    tt_vector_init(&s->total, memory, sizeof(uint64_t));
    tt_stated_context(s, TT_BUILDER_ROOT, TT_BUILDER_ROOT, TT_BUILDER_ROOT);
}

static uint32_t index_of(const struct tt_stated *s, uint32_t context)
{
    const uint32_t *at = tt_pairs_find(&s->index, context, 0);

    return at ? *at - 1 : 0;
}

void tt_stated_context(struct tt_stated *s, uint32_t context, uint32_t parent,
                       uint32_t block)
{
    struct tt_stated_place *p;
    int is_new;
    uint32_t *at = tt_pairs_get(&s->index, context, 0, &is_new);

    if (at && !is_new)
        return;
    p = at ? tt_vector_add(&s->place, 1) : NULL;
    if (!p || !tt_vector_add(&s->total, s->events)) {
        s->failed = 1;
        return;
    }
    *at = (uint32_t)s->place.count;
    p = (struct tt_stated_place *)s->place.item + s->place.count - 1;
    *p = (struct tt_stated_place){.parent = index_of(s, parent), .block = block};
}

void tt_stated_add(struct tt_stated *s, uint32_t context, uint32_t event, uint64_t amount)
{
    if (!s->failed)
        ((uint64_t *)
             s->total.item)[(size_t)index_of(s, context) * s->events + event] += amount;
}

/* Sums up subtrees, and makes lists of children; parents come before their children. */
static void sum_up(struct tt_stated *s)
{
    struct tt_stated_place *p = s->place.item;
    uint64_t *total = s->total.item;

    for (size_t i = s->place.count; i-- > 1;) {
        for (uint32_t e = 0; e < s->events; e++)
            total[p[i].parent * (size_t)s->events + e] += total[i * s->events + e];
        p[i].next = p[p[i].parent].first;
        p[p[i].parent].first = (uint32_t)i;
    }
}

/* Subtracts the figures of a block's outermost contexts from the block's. */
static void take_shown(const struct tt_stated *s, uint64_t *figure, uint32_t *open)
{
    const struct tt_stated_place *p = s->place.item;
    const uint64_t *total = s->total.item;
    uint32_t i = p[0].first;

    while (i) {
        if (!open[p[i].block]++)
            for (uint32_t e = 0; e < s->events; e++)
                figure[(size_t)p[i].block * s->events + e] -=
                    total[(size_t)i * s->events + e];
        if (p[i].first) {
            i = p[i].first;
            continue;
        }
        open[p[i].block]--;
        while (i && !p[i].next) {
            i = p[i].parent;
            if (i)
                open[p[i].block]--;
        }
        i = p[i].next;
    }
}

static uint32_t most_block(const struct tt_stated *s, const struct tt_arc_function *f,
                           uint32_t functions)
{
    const struct tt_stated_place *p = s->place.item;
    uint32_t most = 0;

    for (size_t i = 0; i < s->place.count; i++)
        most = p[i].block > most ? p[i].block : most;
    for (uint32_t i = 0; i < functions; i++)
        most = f[i].block > most ? f[i].block : most;
    return most;
}

int tt_stated_finish(struct tt_stated *s, const struct tt_arcs *a, uint32_t functions,
                     const uint64_t *inclusive, const uint32_t *metric)
{
    const struct tt_arc_function *f = a->function.item;
    const size_t blocks = s->failed ? 0 : (size_t)most_block(s, f, functions) + 1;
    const size_t size = blocks * s->events * sizeof(uint64_t);
    uint64_t *figure = blocks ? tt_memory_get(s->memory, size) : NULL;
    uint32_t *open = figure ? tt_memory_get(s->memory, blocks * sizeof *open) : NULL;

    if (open) {
        for (uint32_t i = 0; i < functions; i++)
            for (uint32_t e = 0; e < s->events; e++)
                figure[(size_t)f[i].block * s->events + e] +=
                    inclusive[(size_t)i * s->events + e];
        sum_up(s);
        take_shown(s, figure, open);
        for (size_t b = TT_BUILDER_ROOT + 1; b < blocks; b++)
            for (uint32_t e = 0; e < s->events; e++)
                tt_builder_add(a->b, TT_ROLE_HIDDEN, (uint32_t)b, metric[e],
                               figure[b * s->events + e]);
    }
    tt_memory_put(s->memory, open);
    tt_memory_put(s->memory, figure);
    return open ? 0 : -TT_ERR_MEMORY;
}
