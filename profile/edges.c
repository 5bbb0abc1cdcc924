/* SPDX-License-Identifier: MIT */
/* edges.c - who calls whom: contexts taken together by the last two blocks of their path.
 *
 * An edge's inclusive figure is what would be got back if the call were taken away: the
 * totals of the contexts that it leads to, of which one on a path counts.  As with blocks,
 * that is the first in preorder whose subtree is not inside the last one's.  An arc is a
 * call that led back into the path; its cost is in the tree's figures already. */
#include <stdlib.h>

#include "statistics.h"
#include "viewing.h"

/* ── Activations by set of blocks ─────────────────────────────────────────────────── */

static uint32_t callee_of(const struct tt_profile *p, uint32_t row)
{
    uint32_t block;

    if (row < p->contexts)
        return tt_block_of(p, row);
    block = p->arc[row - p->contexts].block;
    return block < p->blocks ? block : 0;
}

struct tt_times_row *tt_set_times(const struct tt_lens *l, const uint32_t *set,
                                  uint32_t sets)
{
    struct tt_times_row *sum = tt_memory_get(l->memory, sets * sizeof *sum);

    for (size_t i = 0; sum && i < l->p->many_times; i++) {
        const struct tt_times_row *t = &l->p->times[i];
        uint32_t block = callee_of(l->p, t->row), s = set ? set[block] : block;
        if (t->strand == TT_NONE && s != TT_NONE)
            tt_times_add(&sum[s], t);
    }
    return sum;
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

struct finding {
    const struct tt_lens *lens;
    struct tt_vector *edges, *activations;
    uint32_t *slot; /* index of an edge + 1; 0: free */
    size_t slots;
    struct tt_vector arrivals;
    size_t next; /* row of times */
};

static size_t hash_edge(uint32_t caller, uint32_t callee)
{
    uint64_t h = ((uint64_t)caller << 32 | callee) * 0x9e3779b97f4a7c15u;

    return (size_t)(h ^ h >> 32);
}

static void put_edge(const struct finding *f, uint32_t index)
{
    const struct tt_edge *e = (struct tt_edge *)f->edges->item + index;
    size_t at = hash_edge(e->caller, e->callee) & (f->slots - 1);

    while (f->slot[at])
        at = (at + 1) & (f->slots - 1);
    f->slot[at] = index + 1;
}

static int grow_slots(struct finding *f)
{
    size_t slots = f->slots ? f->slots * 2 : 64;
    uint32_t *slot = tt_memory_get(f->lens->memory, slots * sizeof *slot);

    if (!slot)
        return -TT_ERR_MEMORY;
    tt_memory_put(f->lens->memory, f->slot, f->slots * sizeof *slot);
    f->slot = slot;
    f->slots = slots;
    for (uint32_t i = 0; i < f->edges->count; i++)
        put_edge(f, i);
    return 0;
}

/* NULL: no memory. */
static struct tt_edge *edge_of(struct finding *f, uint32_t caller, uint32_t callee)
{
    struct tt_edge *e;

    if (f->edges->count * 2 >= f->slots && grow_slots(f) != 0)
        return NULL;
    for (size_t at = hash_edge(caller, callee) & (f->slots - 1); f->slot[at];
         at = (at + 1) & (f->slots - 1)) {
        e = (struct tt_edge *)f->edges->item + f->slot[at] - 1;
        if (e->caller == caller && e->callee == callee)
            return e;
    }
    e = tt_vector_add(f->edges, 1);
    if (!e || (f->lens->has_times && !tt_vector_add(f->activations, 1)))
        return NULL;
    e->caller = caller;
    e->callee = callee;
    e->id = (uint32_t)f->edges->count - 1;
    put_edge(f, (uint32_t)f->edges->count - 1);
    return e;
}

static void add_calls(const struct finding *f, struct tt_edge *e, uint32_t c)
{
    const struct tt_lens *l = f->lens;
    uint64_t calls, arrived = tt_calls_at(&f->arrivals, c);

    if (l->choice.calls == TT_NONE)
        return;
    calls = tt_self_of(&l->p->metric[l->choice.calls], c);
    e->calls += calls > arrived ? calls - arrived : 0;
}

/* Rows come in ascending order. */
static void add_activations(struct finding *f, const struct tt_edge *e, uint32_t row)
{
    const struct tt_profile *p = f->lens->p;
    struct tt_times_row *sum = f->activations->item;

    for (; f->lens->has_times && f->next < p->many_times; f->next++) {
        const struct tt_times_row *t = &p->times[f->next];
        if (t->row > row)
            return;
        if (t->row == row && t->strand == TT_NONE)
            tt_times_add(&sum[e->id], t);
    }
}

static int add_context(struct finding *f, uint32_t parent, uint32_t c)
{
    const struct tt_lens *l = f->lens;
    struct tt_edge *e = edge_of(f, tt_block_of(l->p, parent), tt_block_of(l->p, c));

    if (!e)
        return -TT_ERR_MEMORY;
    e->contexts++;
    add_calls(f, e, c);
    add_activations(f, e, c);
    if (c < e->until)
        return 0;
    e->until = tt_end_of(l->p, c);
    e->inclusive += tt_lens_total(l, c);
    e->inclusive_low += tt_lens_total_low(l, c);
    return 0;
}

/* A dropped call is a leaf below the context it came from. */
static int add_drop(struct finding *f, const struct tt_arc_calls *d, uint32_t c)
{
    struct tt_edge *e = edge_of(f, tt_block_of(f->lens->p, c), d->block);

    if (!e)
        return -TT_ERR_MEMORY;
    if (c >= e->until) {
        e->inclusive += tt_calls_of(d);
        e->inclusive_low += tt_calls_of(d);
    }
    return 0;
}

static int add_tree(struct finding *f)
{
    const struct tt_arc_calls *d = f->lens->drop.item;
    struct tt_walk w;
    int error = tt_walk_init(&w, f->lens->p, 0);

    while (!error && tt_walk_next(&w)) {
        if (w.depth)
            error = add_context(f, w.path[w.depth - 1], w.context);
        for (; !error && d && d->context == w.context; d++)
            error = add_drop(f, d, w.context);
    }
    tt_walk_fini(&w);
    return error;
}

static int add_arcs(struct finding *f)
{
    const struct tt_profile *p = f->lens->p;
    struct tt_edge *e;

    for (uint32_t i = 0; i < p->arcs; i++) {
        e = edge_of(f, tt_block_of(p, p->arc[i].from), callee_of(p, p->contexts + i));
        if (!e)
            return -TT_ERR_MEMORY;
        e->calls += p->arc[i].calls;
        e->by_arcs += p->arc[i].calls;
        add_activations(f, e, p->contexts + i);
    }
    return 0;
}

static int compare_edges(const void *a, const void *b)
{
    const struct tt_edge *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return (x->callee > y->callee) - (x->callee < y->callee);
}

int tt_edges_find(const struct tt_lens *l, struct tt_vector *edges,
                  struct tt_vector *times)
{
    struct finding f = {.lens = l, .edges = edges, .activations = times};
    int error;

    tt_vector_init(edges, l->memory, sizeof(struct tt_edge));
    tt_vector_init(times, l->memory, sizeof(struct tt_times_row));
    error = tt_arrivals_find(l, &f.arrivals);
    if (!error)
        error = add_tree(&f);
    if (!error)
        error = add_arcs(&f);
    if (!error && edges->count)
        qsort(edges->item, edges->count, edges->size, compare_edges);
    tt_memory_put(l->memory, f.slot, f.slots * sizeof *f.slot);
    tt_vector_fini(&f.arrivals);
    return error;
}
