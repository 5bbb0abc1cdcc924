/* SPDX-License-Identifier: MIT */
/* edges.c - callers and callees: contexts added up by the last two blocks of their path.
 *
 * An edge's inclusive figure is the cost that removing the call would save: the totals of
 * the contexts that it leads to, of which only one on each path counts.  As with blocks,
 * that is the first in preorder whose subtree is not inside the last one's.  An arc is a
 * call that led back into the path; its cost is in the tree's figures already. */
#include <stdlib.h>

#include "edges.h"
#include "index.h"
#include "metric-view.h"
#include "sorted.h"
#include "statistics.h"
#include "view.h"

/* ── Activations by set of blocks ─────────────────────────────────────────────────── */

struct tt_times_row *tt_set_times(const struct tt_metric_view *l, const uint32_t *set,
                                  uint32_t sets)
{
    struct tt_times_row *sum = tt_memory_get(l->memory, sets * sizeof *sum);

    for (size_t i = 0; sum && i < l->p->many_times; i++) {
        const struct tt_times_row *t = &l->p->times[i];
        uint32_t block = tt_block_of_edge(l->p, t->row), s = set ? set[block] : block;
        if (t->strand == TT_NONE && s != TT_NONE)
            tt_times_add(&sum[s], t, NULL);
    }
    return sum;
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

struct finding {
    const struct tt_metric_view *lens;
    const unsigned char *wanted; /* of each block; NULL: all */
    struct tt_vector *edges, *activations;
    struct tt_vector *tallies; /* NULL: an edge has the figures of the lens's metric */
    struct tt_index index;     /* of edges, by caller and callee */
    struct tt_vector arrivals;
    size_t next; /* row of times */
};

/* NULL: no memory. */
static struct tt_edge *edge_of(struct finding *f, uint32_t caller, uint32_t callee)
{
    const uint32_t ends[] = {caller, callee};
    int is_new;
    uint32_t id = tt_index_get(&f->index, f->edges, ends, sizeof ends, &is_new);
    struct tt_edge *e = (struct tt_edge *)f->edges->item + id;

    if (id == TT_NO_NUMBER)
        return NULL;
    if (is_new && ((f->lens->has_times && !tt_vector_add(f->activations, 1)) ||
                   (f->tallies && f->lens->p->metrics &&
                    !tt_vector_add(f->tallies, f->lens->p->metrics))))
        return NULL;
    e->id = id;
    return e;
}

static void add_calls(const struct finding *f, struct tt_edge *e, uint32_t c)
{
    const struct tt_metric_view *l = f->lens;
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

    for (; f->lens->has_times && f->next < p->many_times; f->next++) {
        const struct tt_times_row *t = &p->times[f->next];
        if (t->row > row)
            return;
        if (t->row == row && t->strand == TT_NONE)
            tt_times_add((struct tt_times_row *)f->activations->item + e->id, t, NULL);
    }
}

static void add_totals(const struct finding *f, struct tt_edge *e, uint32_t c)
{
    const struct tt_profile *p = f->lens->p;
    struct tt_edge_tally *t;

    if (!f->tallies) {
        e->inclusive += tt_metric_view_total(f->lens, c);
        e->inclusive_low += tt_metric_view_total_low(f->lens, c);
        return;
    }
    t = (struct tt_edge_tally *)f->tallies->item + (size_t)e->id * p->metrics;
    for (uint32_t m = 0; m < p->metrics; m++) {
        t[m].inclusive += tt_total_of(p, &p->metric[m], c);
        t[m].inclusive_low += tt_total_low_of(p, &p->metric[m], c);
    }
}

static int is_wanted(const struct finding *f, uint32_t caller, uint32_t callee)
{
    return !f->wanted || f->wanted[caller] || f->wanted[callee];
}

static int add_context(struct finding *f, uint32_t parent, uint32_t c)
{
    const struct tt_profile *p = f->lens->p;
    const uint32_t caller = tt_block_of(p, parent), callee = tt_block_of(p, c);
    struct tt_edge *e;

    if (!is_wanted(f, caller, callee))
        return 0;
    e = edge_of(f, caller, callee);
    if (!e)
        return -TT_ERR_MEMORY;
    e->contexts++;
    add_calls(f, e, c);
    add_activations(f, e, c);
    if (c >= e->until) {
        e->until = tt_end_of(p, c);
        add_totals(f, e, c);
    }
    return 0;
}

/* A dropped call is a leaf below the context it came from. */
static int add_drop(struct finding *f, const struct tt_arc_calls *d, uint32_t c)
{
    const uint32_t caller = tt_block_of(f->lens->p, c);
    struct tt_edge *e;

    if (!is_wanted(f, caller, d->block))
        return 0;
    e = edge_of(f, caller, d->block);
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
        uint32_t caller = tt_block_of(p, p->arc[i].from),
                 callee = tt_block_of_edge(p, p->contexts + i);
        if (!is_wanted(f, caller, callee))
            continue;
        e = edge_of(f, caller, callee);
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

    return TT_ORDER(x->caller, y->caller) ?: TT_ORDER(x->callee, y->callee);
}

static int find(struct finding *f)
{
    const struct tt_metric_view *l = f->lens;
    int error;

    tt_vector_init(f->edges, l->memory, sizeof(struct tt_edge));
    error = tt_arrivals_find(l, &f->arrivals);
    error = error ?: add_tree(f);
    error = error ?: add_arcs(f);
    if (!error)
        tt_vector_sort(f->edges, compare_edges);
    tt_index_fini(&f->index, l->memory);
    tt_vector_fini(&f->arrivals);
    return error;
}

int tt_edges_are_kept(const struct tt_metric_view *l)
{
    return l->p->edges && !l->has_times && !l->drop.count;
}

/* The same, from a digest. */
static int take_digest(const struct finding *f)
{
    const struct tt_metric_view *l = f->lens;
    const struct tt_edge_row *row = l->p->edge;
    const struct tt_edge_tally *t = l->main->edge_tally;

    tt_vector_init(f->edges, l->memory, sizeof(struct tt_edge));
    for (uint32_t i = 0; i < l->p->edges; i++) {
        struct tt_edge e;
        if (!is_wanted(f, row[i].caller, row[i].callee))
            continue;
        e = (struct tt_edge){.caller = row[i].caller,
                             .callee = row[i].callee,
                             .inclusive = t[i].inclusive,
                             .inclusive_low = t[i].inclusive_low,
                             .calls = row[i].by_arcs,
                             .by_arcs = row[i].by_arcs,
                             .contexts = row[i].contexts};
        if (l->choice.calls != TT_NONE)
            e.calls += row[i].calls;
        if (tt_vector_push(f->edges, &e) != 0)
            return -TT_ERR_MEMORY;
    }
    return 0;
}

int tt_edges_find(const struct tt_metric_view *l, const unsigned char *wanted,
                  struct tt_vector *edges, struct tt_vector *times)
{
    struct finding f = {
        .lens = l, .wanted = wanted, .edges = edges, .activations = times};

    tt_vector_init(times, l->memory, sizeof(struct tt_times_row));
    if (tt_edges_are_kept(l))
        return take_digest(&f);
    return find(&f);
}

int tt_edges_tally(const struct tt_profile *p, struct tt_vector *edges,
                   struct tt_vector *tallies)
{
    struct tt_metric_view l = {.p = p, .memory = p->memory};
    struct finding f = {.lens = &l, .edges = edges, .tallies = tallies};

    l.choice.calls = tt_calls_metric(p);
    tt_vector_init(tallies, p->memory, sizeof(struct tt_edge_tally));
    return find(&f);
}
