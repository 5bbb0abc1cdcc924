/* SPDX-License-Identifier: MIT */
/* growth.c - the difference between two readings of one recording, as a profile.
 *
 * The contexts of the older reading are built first, without figures; those of the newer
 * one are then found among them, and so the figures to subtract. */
#include "growth.h"
#include "add-profile.h"

struct reading {
    const struct tt_profile *p;
    uint32_t *context, *metric; /* of each: the builder's; TT_NONE: left out */
};

static int open_reading(struct reading *r, struct tt_builder *b,
                        const struct tt_profile *p, tt_growth_name *name)
{
    r->p = p;
    r->context = tt_memory_get(p->memory, p->contexts * sizeof *r->context);
    r->metric = tt_memory_get(p->memory, p->metrics * sizeof *r->metric);
    if (!r->context || (p->metrics && !r->metric))
        return -TT_ERR_MEMORY;
    for (uint32_t m = 0; m < p->metrics; m++) {
        const struct tt_metric_columns *from = &p->metric[m];
        const char *called = name(p, from);
        r->metric[m] = called ? tt_builder_metric(b, called, from->unit, from->flags)
                              : TT_NONE;
    }
    return 0;
}

static void close_reading(struct reading *r)
{
    tt_memory_put(r->p->memory, r->metric);
    tt_memory_put(r->p->memory, r->context);
}

/* In preorder a parent comes before its children.  Returns the greatest number given, +
 * 1. */
static int add_contexts(struct reading *r, struct tt_builder *b, uint32_t *end)
{
    struct tt_walk w;

    *end = 1;
    if (tt_walk_init(&w, r->p, 0) != 0)
        return -TT_ERR_MEMORY;
    while (tt_walk_next(&w)) {
        uint32_t c = w.context, id = TT_BUILDER_ROOT;
        if (w.depth)
            id = tt_builder_context(b, r->context[w.path[w.depth - 1]],
                                    tt_builder_block_of(b, r->p, tt_block_of(r->p, c)));
        r->context[c] = id;
        if (id != TT_NONE && id >= *end)
            *end = id + 1;
    }
    tt_walk_fini(&w);
    return 0;
}

/* Returns the older reading's figures of this metric, by the builder's contexts. */
static void find_before(const struct reading *then, uint32_t metric, uint64_t *before)
{
    for (uint32_t m = 0; m < then->p->metrics; m++)
        for (uint32_t c = 0; then->metric[m] == metric && c < then->p->contexts; c++)
            if (then->context[c] != TT_NONE)
                before[then->context[c]] += tt_self_of(&then->p->metric[m], c);
}

static void add_metric(struct tt_builder *b, const struct reading *now, uint32_t m,
                       uint64_t *before)
{
    for (uint32_t c = 0; c < now->p->contexts; c++) {
        uint64_t amount = tt_self_of(&now->p->metric[m], c), less = 0;
        if (now->context[c] == TT_NONE)
            continue;
        if (before)
            less = before[now->context[c]];
        if (amount > less)
            tt_builder_add(b, TT_ROLE_SELF, now->context[c], now->metric[m],
                           amount - less);
    }
}

static int add_growth(struct tt_builder *b, const struct reading *now,
                      const struct reading *then, uint32_t contexts)
{
    const struct tt_memory *memory = now->p->memory;
    int error = 0;

    for (uint32_t m = 0; !error && m < now->p->metrics; m++) {
        uint64_t *before = NULL;
        if (now->metric[m] == TT_NONE)
            continue;
        if (then->p && !(before = tt_memory_get(memory, contexts * sizeof *before)))
            error = -TT_ERR_MEMORY;
        if (before)
            find_before(then, now->metric[m], before);
        if (!error)
            add_metric(b, now, m, before);
        tt_memory_put(memory, before);
    }
    return error;
}

int tt_growth(struct tt_builder *b, const struct tt_profile *now,
              const struct tt_profile *then, tt_growth_name *name)
{
    struct reading new = {.p = now}, old = {.p = then};
    uint32_t end = 1, last = 1;
    int error = then ? open_reading(&old, b, then, name) : 0;

    if (!error && then)
        error = add_contexts(&old, b, &last);
    error = error ?: open_reading(&new, b, now, name);
    error = error ?: add_contexts(&new, b, &end);
    if (!error)
        error = add_growth(b, &new, &old, end > last ? end : last);
    close_reading(&new);
    if (then)
        close_reading(&old);
    return error;
}
