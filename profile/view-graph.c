/* SPDX-License-Identifier: MIT */
/* view-graph.c - each block between its callers, the least above, and its callees. */
#include <stdlib.h>
#include <string.h>

#include "edges.h"
#include "metric-view.h"
#include "several.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 40 }; /* groups */

struct graph {
    const struct tt_metric_view *l;
    struct tt_table *t;
    struct tt_columns c;
    uint32_t edge_share, by_arcs;
    struct tt_block_sum *sum;
    struct tt_times_row *times;
    unsigned char *wanted; /* by `block`; NULL: all */
    unsigned char *shown;  /* of each block: has it an entry? */
    struct tt_vector edges, activations;
    const struct tt_edge **in, **out; /* edges by callee and by caller, both by amount */
    struct tt_others others;          /* blocks that are not wanted */
    struct tt_several_sums more;      /* of the further metrics, */
    struct tt_vector further[TT_SEVERAL_MAX]; /* and their edges by caller and callee */
};

/* ── Order ────────────────────────────────────────────────────────────────────────── */

static int by_amount(const struct tt_edge *x, const struct tt_edge *y)
{
    return TT_ORDER(x->inclusive, y->inclusive) ?: TT_ORDER(x->calls, y->calls);
}

static int compare_in(const void *a, const void *b)
{
    const struct tt_edge *x = *(const struct tt_edge *const *)a;
    const struct tt_edge *y = *(const struct tt_edge *const *)b;

    return TT_ORDER(x->callee, y->callee) ?: by_amount(x, y)
           ?: TT_ORDER(x->caller, y->caller);
}

static int compare_out(const void *a, const void *b)
{
    const struct tt_edge *x = *(const struct tt_edge *const *)a;
    const struct tt_edge *y = *(const struct tt_edge *const *)b;

    return TT_ORDER(x->caller, y->caller) ?: by_amount(y, x)
           ?: TT_ORDER(x->callee, y->callee);
}

static int compare_ends(const void *a, const void *b)
{
    const struct tt_edge *x = a, *y = b;

    return TT_ORDER(x->caller, y->caller) ?: TT_ORDER(x->callee, y->callee);
}

/* The same edges in each further metric. */
static int find_further(struct graph *g)
{
    int error = 0;

    for (uint32_t i = 1; !error && i < g->l->several.count; i++) {
        struct tt_vector *edges = &g->further[i], activations;
        struct tt_metric_view one;
        error = tt_several_lens(g->l, i, &one);
        one.has_times = 0;
        tt_vector_init(&activations, g->l->memory, sizeof(struct tt_times_row));
        error = error ?: tt_edges_find(&one, g->shown, edges, &activations);
        if (!error)
            tt_vector_sort(edges, compare_ends);
        tt_vector_fini(&activations);
        tt_metric_view_fini(&one);
    }
    return error;
}

static void fill_further(struct graph *g, const struct tt_edge *e)
{
    struct tt_several_figures f = {{0}, {0}};

    for (uint32_t i = 1; i < g->l->several.count; i++) {
        const struct tt_vector *edges = &g->further[i];
        const struct tt_edge *found = edges->count ? bsearch(e, edges->item, edges->count,
                                                             sizeof *e, compare_ends)
                                                   : NULL;
        f.inclusive[i] = found ? found->inclusive : 0;
    }
    tt_several_inclusive(g->l, g->t, &g->c, &f);
}

static int order_edges(struct graph *g)
{
    const struct tt_edge *e = g->edges.item;
    const size_t count = g->edges.count;

    g->in = tt_memory_get(g->l->memory, count * sizeof *g->in);
    g->out = tt_memory_get(g->l->memory, count * sizeof *g->out);
    if (!g->in || !g->out)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        g->in[i] = g->out[i] = &e[i];
    if (count) {
        qsort(g->in, count, sizeof *g->in, compare_in);
        qsort(g->out, count, sizeof *g->out, compare_out);
    }
    return 0;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* Adds the block at the other end of an edge.  An edge that consists only of arcs has no
 * inclusive figure: its cost is at the targets of the arcs. */
static void add_edge(struct graph *g, const struct tt_edge *e, enum tt_row_role role,
                     uint32_t block)
{
    const uint64_t whole = g->sum[block].inclusive;
    int is_known = e->contexts || e->inclusive;
    struct tt_figures f = {.has = TT_HAS_CALLS | (is_known ? TT_HAS_INCLUSIVE : 0),
                           .inclusive = e->inclusive,
                           .inclusive_low = e->inclusive_low,
                           .calls = e->calls};

    if (g->activations.count)
        f.times = (const struct tt_times_row *)g->activations.item + e->id;
    tt_table_row(g->t, role, 0, block + 1);
    tt_metric_view_figures(g->l, g->t, &g->c, &f);
    if (is_known)
        fill_further(g, e);
    if (is_known)
        tt_table_real(g->t, g->edge_share,
                      whole ? (double)e->inclusive / (double)whole : 0);
    if (e->by_arcs)
        tt_table_amount(g->t, g->by_arcs, e->by_arcs);
    tt_block_cells(g->l->p, g->t, &g->c, role == TT_ROW_CALLER ? e->caller : e->callee);
}

static void add_entry(struct graph *g, uint32_t block)
{
    struct tt_figures f = tt_figures_of_sum(&g->sum[block]);

    f.times = g->times ? &g->times[block] : NULL;
    tt_table_row(g->t, TT_ROW_ENTRY, 0, block + 1);
    tt_metric_view_figures(g->l, g->t, &g->c, &f);
    tt_several_block(g->l, &g->more, block, g->t, &g->c);
    tt_block_cells(g->l->p, g->t, &g->c, block);
}

static void add_entries(struct graph *g)
{
    for (uint32_t b = 0; b < g->l->p->blocks; b++) {
        const struct tt_block_sum *s = &g->sum[b];
        struct tt_figures f;
        if (!s->contexts && !s->self && !s->inclusive && !s->calls &&
            !tt_several_has(g->l, &g->more, b))
            continue;
        if (!g->wanted || g->wanted[b]) {
            add_entry(g, b);
            continue;
        }
        f = tt_figures_of_sum(s);
        tt_others_add(g->l, &g->others, &g->more, b, &f);
    }
}

/* Returns the first edge of those that lead to a block, or come from it. */
static size_t first_edge(const struct graph *g, const struct tt_edge **edges,
                         uint32_t block)
{
    size_t low = 0, high = g->edges.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tt_edge *e = edges[middle];
        if ((edges == g->in ? e->callee : e->caller) < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Collects the edges of entries, after these were sorted and cut, so that only they get
 * rows. */
static int find_edges(struct graph *g)
{
    int error;

    g->shown = tt_memory_get(g->l->memory, g->l->p->blocks);
    if (!g->shown)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < tt_table_rows(g->t); i++) {
        uint32_t group = tt_table_row_at(g->t, i)->group;
        if (group)
            g->shown[group - 1] = 1;
    }
    error = tt_edges_find(g->l, g->shown, &g->edges, &g->activations);
    return error ?: order_edges(g);
}

/* Adds rows for the callers and the callees of the shown entries. */
static int surround(struct graph *g)
{
    const size_t rows = g->t->row.count, count = g->edges.count;
    struct tt_row *row = tt_memory_get(g->l->memory, rows * sizeof *row);

    if (!row)
        return -TT_ERR_MEMORY;
    if (rows)
        memcpy(row, g->t->row.item, rows * sizeof *row);
    g->t->row.count = 0;
    for (size_t i = 0; i < rows; i++) {
        uint32_t block = row[i].group - 1;
        if (row[i].group)
            for (size_t j = first_edge(g, g->in, block);
                 j < count && g->in[j]->callee == block; j++)
                add_edge(g, g->in[j], TT_ROW_CALLER, block);
        if (g->t->failed || tt_vector_push(&g->t->row, &row[i]) != 0)
            g->t->failed = 1;
        if (row[i].group)
            for (size_t j = first_edge(g, g->out, block);
                 j < count && g->out[j]->caller == block; j++)
                add_edge(g, g->out[j], TT_ROW_CALLEE, block);
    }
    tt_memory_put(g->l->memory, row);
    return g->t->failed ? -TT_ERR_MEMORY : 0;
}

static int add_rows(struct graph *g, struct tt_query *q)
{
    int error;

    tt_metric_view_columns(g->l, g->t, &g->c);
    tt_table_column(g->t, "edge_share", "of entry", "", TT_COLUMN_SHARE, 0);
    g->edge_share = (uint32_t)tt_table_columns(g->t) - 1;
    g->by_arcs = tt_back_column(g->t);
    tt_block_columns(g->t, &g->c);
    add_entries(g);
    error = tt_view_sort(q, g->t, "inclusive");
    if (error)
        return error;
    tt_view_cut(g->l, g->t, &g->c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
    error = find_edges(g);
    error = error ?: find_further(g);
    error = error ?: surround(g);
    if (error)
        return error;
    tt_others_row(g->l, g->t, &g->c, &g->others);
    tt_metric_view_elsewhere(g->l, g->t, &g->c);
    tt_metric_view_sum_row(g->l, g->t, &g->c);
    tt_view_notes(g->l->p, &g->l->choice, g->t);
    tt_back_note(g->l->p, g->t, g->by_arcs);
    return 0;
}

static int fill(struct graph *g, struct tt_query *q)
{
    g->sum = tt_block_sums(g->l->p, &g->l->choice, g->l->memory);
    if (g->l->has_times)
        g->times = tt_set_times(g->l, NULL, g->l->p->blocks);
    if (!g->sum || (g->l->has_times && !g->times) ||
        tt_several_sums_find(g->l, &g->more) != 0)
        return -TT_ERR_MEMORY;
    return add_rows(g, q);
}

int tt_view_graph(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct graph g = {.l = &l, .t = t};
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&g.edges, q->memory, sizeof(struct tt_edge));
    for (uint32_t i = 0; i < TT_SEVERAL_MAX; i++)
        tt_vector_init(&g.further[i], q->memory, sizeof(struct tt_edge));
    tt_vector_init(&g.activations, q->memory, sizeof(struct tt_times_row));
    if (!error && q->block)
        error = tt_view_blocks(p, q, q->block, &g.wanted);
    error = error ?: fill(&g, q);
    tt_several_sums_fini(&l, &g.more);
    for (uint32_t i = 0; i < TT_SEVERAL_MAX; i++)
        tt_vector_fini(&g.further[i]);
    free(g.wanted);
    tt_memory_put(q->memory, g.shown);
    tt_memory_put(q->memory, g.out);
    tt_memory_put(q->memory, g.in);
    tt_memory_put(q->memory, g.times);
    tt_memory_put(q->memory, g.sum);
    tt_vector_fini(&g.activations);
    tt_vector_fini(&g.edges);
    tt_metric_view_fini(&l);
    return error;
}
