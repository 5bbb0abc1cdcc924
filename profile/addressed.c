/* SPDX-License-Identifier: MIT */
/* addressed.c - self of functions by address, for the views of code and of source text. */
#include <stdlib.h>

#include "addressed.h"
#include "listing.h"
#include "metric-view.h"
#include "range.h"
#include "view-order.h"
#include "view.h"

static uint32_t block_with_most(const struct tt_metric_view *l)
{
    const struct tt_profile *p = l->p;
    uint64_t *self = tt_memory_get(l->memory, p->blocks * sizeof *self);
    uint32_t most = TT_NONE;

    for (size_t i = 0; self && i < p->trail_entries; i++) {
        const struct tt_entry *e = &p->trail_entry[i];
        if (e->metric == l->choice.main && p->trail[e->row].place != TT_NONE)
            self[tt_trail_block(p, (uint32_t)e->row)] += e->amount;
    }
    for (uint32_t b = 1; self && b < p->blocks; b++)
        if (self[b] && (most == TT_NONE || self[b] > self[most]))
            most = b;
    tt_memory_put(l->memory, self);
    return most;
}

static int choose_blocks(struct tt_addressed *a, struct tt_query *q)
{
    uint32_t most;

    if (q->block)
        return tt_view_blocks(a->l->p, q, q->block, &a->wanted);
    most = block_with_most(a->l);
    a->wanted = calloc(1, (size_t)a->l->p->blocks + 1);
    if (!a->wanted)
        return -TT_ERR_MEMORY;
    if (most != TT_NONE)
        a->wanted[most] = 1;
    return 0;
}

/* A filter may have charged what was at an address to a function that is not there. */
static int is_there(const struct tt_profile *p, uint32_t place, uint32_t block)
{
    const struct tt_place_row *r = &p->place[place];

    for (uint32_t i = 0; i < r->frames; i++)
        if (p->place_frame[r->first + i].block == block)
            return 1;
    return 0;
}

static void add_amounts(struct tt_addressed *a)
{
    const struct tt_profile *p = a->l->p;

    for (size_t i = 0; i < p->trail_entries; i++) {
        const struct tt_entry *e = &p->trail_entry[i];
        const uint32_t place = p->trail[e->row].place;
        uint32_t block;
        if (e->metric != a->l->choice.main || place == TT_NONE)
            continue;
        block = tt_trail_block(p, (uint32_t)e->row);
        if (a->wanted[block] || is_there(p, place, block))
            a->all[place] += e->amount;
        if (a->wanted[block])
            a->mine[place] += e->amount;
    }
}

/* Returns the rest of the self figures. */
static int find_rest(struct tt_addressed *a)
{
    const struct tt_profile *p = a->l->p;
    struct tt_block_sum *sum = tt_block_sums(p, &a->l->choice, a->l->memory);
    uint64_t self = 0, here = 0;

    if (!sum)
        return -TT_ERR_MEMORY;
    for (uint32_t b = 0; b < p->blocks; b++)
        self += a->wanted[b] ? sum[b].self : 0;
    for (uint32_t i = 0; i < p->places; i++)
        here += a->mine[i];
    a->without = self > here ? self - here : 0;
    tt_memory_put(a->l->memory, sum);
    return 0;
}

int tt_addressed_init(struct tt_addressed *a, const struct tt_metric_view *l,
                      struct tt_query *q)
{
    const size_t bytes = l->p->places * sizeof *a->all;
    int error;

    *a = (struct tt_addressed){.l = l};
    if (!l->p->trails)
        return tt_query_wrong(q, "%s",
                              tt_fact_number(l->p, TT_FACT_TO)
                                  ? "addresses are not kept by time"
                                  : "this profile has no addresses: only recordings of "
                                    "native code have them");
    error = choose_blocks(a, q);
    if (error)
        return error;
    a->all = tt_memory_get(l->memory, bytes);
    a->mine = tt_memory_get(l->memory, bytes);
    if (!a->all || !a->mine)
        return -TT_ERR_MEMORY;
    add_amounts(a);
    return find_rest(a);
}

void tt_addressed_fini(struct tt_addressed *a)
{
    free(a->wanted);
    tt_memory_put(a->l->memory, a->all);
    tt_memory_put(a->l->memory, a->mine);
}
