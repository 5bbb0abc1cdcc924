/* SPDX-License-Identifier: MIT */
/* view-groups.c - sets of mutually recursive blocks, each taken as one.
 *
 * A group is a strongly connected component of the graph of calls.  Within a group it does not matter where recursion was
 * folded: the blocks that an arc hides of a path are in one group, and its target is one
 * of them. */
#include <stdlib.h>

#include "components.h"
#include "edges.h"
#include "metric-view.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 60 };

struct grouping {
    const struct tt_metric_view *l;
    struct tt_vector edges, activations;
    uint32_t *first; /* of each block: its first edge as a caller; one more at the end */
    uint32_t *group; /* of each block */
    uint32_t groups;
};

/* Calls within a group.  They may be known without their number. */
struct inside {
    uint64_t calls;
    int is_ring;
};

struct member {
    uint32_t group, block;
    uint64_t self;
};

static int find_groups(struct grouping *g)
{
    const struct tt_edge *edge = g->edges.item;
    struct tt_digraph calls = {.nodes = g->l->p->blocks,
                               .first = g->first,
                               .first_size = sizeof *g->first,
                               .to = edge ? &edge->callee : NULL,
                               .to_size = sizeof *edge};

    for (size_t i = 0; i < g->edges.count; i++)
        g->first[edge[i].caller + 1]++;
    for (uint32_t b = 0; b < calls.nodes; b++)
        g->first[b + 1] += g->first[b];
    return tt_components_find(&calls, g->l->memory, g->group, &g->groups);
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

struct filling {
    const struct grouping *g;
    struct tt_table *t;
    struct tt_columns c;
    uint32_t members_column, inside_column;
    struct tt_block_sum *sum, *of_block; /* of each group; of each block */
    struct tt_times_row *times;          /* of each group; NULL: not known */
    struct member *member;               /* by group, the largest first */
    struct inside *inside;               /* of each group */
    int rings;                           /* only groups with calls within them */
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return TT_ORDER(x->group, y->group) ?: TT_ORDER(y->self, x->self)
           ?: TT_ORDER(x->block, y->block);
}

static void find_members(struct filling *f)
{
    const struct grouping *g = f->g;
    const struct tt_edge *edge = g->edges.item;

    for (uint32_t b = 0; b < g->l->p->blocks; b++)
        f->member[b] = (struct member){g->group[b], b, f->of_block[b].self};
    qsort(f->member, g->l->p->blocks, sizeof *f->member, compare_members);
    for (size_t i = 0; i < g->edges.count; i++)
        if (g->group[edge[i].caller] == g->group[edge[i].callee]) {
            f->inside[g->group[edge[i].caller]].calls += edge[i].calls;
            f->inside[g->group[edge[i].caller]].is_ring = 1;
        }
}

static const char *group_name(struct filling *f, const struct member *m, uint32_t count)
{
    const struct tt_profile *p = f->g->l->p;

    if (count == 2)
        return tt_table_text(f->t, "%s, %s", tt_block_name(p, m[0].block),
                             tt_block_name(p, m[1].block));
    return tt_table_text(f->t, count == 3 ? "%s, %s, %s" : "%s, %s, %s, ...",
                         tt_block_name(p, m[0].block), tt_block_name(p, m[1].block),
                         tt_block_name(p, m[2].block));
}

static void add_member(struct filling *f, const struct member *m)
{
    struct tt_figures figures = tt_figures_of_sum(&f->of_block[m->block]);

    tt_table_row(f->t, TT_ROW_CALLEE, 1, m->group + 1);
    tt_metric_view_figures(f->g->l, f->t, &f->c, &figures);
    tt_block_cells(f->g->l->p, f->t, &f->c, m->block);
}

static void add_group(struct filling *f, const struct member *m, uint32_t count)
{
    const struct tt_block_sum *sum = &f->sum[m->group];
    struct tt_figures figures = tt_figures_of_sum(sum);

    if (!sum->contexts && !sum->self && !sum->inclusive && !sum->calls)
        return;
    if (m->block == 0 && count == 1 && !sum->self && !sum->calls)
        return;
    if (f->rings && !f->inside[m->group].is_ring)
        return;
    figures.times = f->times ? &f->times[m->group] : NULL;
    tt_table_row(f->t, TT_ROW_ENTRY, 0, m->group + 1);
    tt_metric_view_figures(f->g->l, f->t, &f->c, &figures);
    tt_table_amount(f->t, f->members_column, count);
    if (f->g->l->choice.calls != TT_NONE)
        tt_table_amount(f->t, f->inside_column, f->inside[m->group].calls);
    if (count == 1) {
        tt_block_cells(f->g->l->p, f->t, &f->c, m->block);
        return;
    }
    tt_table_string(f->t, f->c.name, group_name(f, m, count));
    for (uint32_t i = 0; i < count; i++)
        add_member(f, &m[i]);
}

static int add_rows(struct filling *f, struct tt_query *q)
{
    const struct tt_metric_view *l = f->g->l;
    uint32_t end;
    int error;

    tt_metric_view_columns(l, f->t, &f->c);
    f->inside_column = (uint32_t)tt_table_columns(f->t);
    tt_table_column(f->t, "calls_inside", "inside", "", TT_COLUMN_AMOUNT, 0);
    f->members_column = f->inside_column + 1;
    tt_table_column(f->t, "members", "blocks", "", TT_COLUMN_AMOUNT, 0);
    tt_block_columns(f->t, &f->c);
    for (uint32_t i = 0; i < l->p->blocks; i = end) {
        for (end = i; end < l->p->blocks; end++)
            if (f->member[end].group != f->member[i].group)
                break;
        add_group(f, &f->member[i], end - i);
    }
    error = tt_view_sort(q, f->t, "inclusive");
    if (error)
        return error;
    tt_view_cut(l, f->t, &f->c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
    tt_metric_view_elsewhere(l, f->t, &f->c);
    tt_metric_view_sum_row(l, f->t, &f->c);
    tt_view_notes(l->p, &l->choice, f->t);
    return 0;
}

static int fill(const struct grouping *g, struct tt_query *q, struct tt_table *t)
{
    const struct tt_memory *m = g->l->memory;
    const uint32_t blocks = g->l->p->blocks;
    const int rings = tt_view_word(q, "groups", "rings");
    struct filling f = {.g = g, .t = t, .rings = rings & 1};
    int error = -TT_ERR_MEMORY;

    if (rings < 0)
        return -TT_ERR_OPTION;

    f.sum = tt_set_sums(g->l, g->group, g->groups);
    f.of_block = tt_block_sums(g->l->p, &g->l->choice, m);
    f.times = g->l->has_times ? tt_set_times(g->l, g->group, g->groups) : NULL;
    f.member = tt_memory_get(m, blocks * sizeof *f.member);
    f.inside = tt_memory_get(m, g->groups * sizeof *f.inside);
    if (f.sum && f.of_block && (f.times || !g->l->has_times) && f.member && f.inside) {
        find_members(&f);
        error = add_rows(&f, q);
    }
    tt_memory_put(m, f.inside);
    tt_memory_put(m, f.member);
    tt_memory_put(m, f.times);
    tt_memory_put(m, f.of_block);
    tt_memory_put(m, f.sum);
    return error;
}

int tt_view_groups(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    const size_t bytes = ((size_t)p->blocks + 1) * sizeof(uint32_t);
    struct tt_metric_view l;
    struct grouping g = {.l = &l};
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&g.edges, q->memory, sizeof(struct tt_edge));
    tt_vector_init(&g.activations, q->memory, sizeof(struct tt_times_row));
    error = error ?: tt_edges_find(&l, NULL, &g.edges, &g.activations);
    g.first = tt_memory_get(q->memory, bytes);
    g.group = tt_memory_get(q->memory, bytes);
    if (!error && !(g.first && g.group))
        error = -TT_ERR_MEMORY;
    error = error ?: find_groups(&g);
    error = error ?: fill(&g, q, t);
    tt_memory_put(q->memory, g.group);
    tt_memory_put(q->memory, g.first);
    tt_vector_fini(&g.activations);
    tt_vector_fini(&g.edges);
    tt_metric_view_fini(&l);
    return error;
}
