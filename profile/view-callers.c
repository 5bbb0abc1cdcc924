/* SPDX-License-Identifier: MIT */
/* view-callers.c - the tree upside down: each block, then its callers, and their callers.
 *
 * A row is a chain of callers.  The contexts whose paths end in that chain are a stretch
 * of one array.  To show the row's callers, the stretch is sorted by the block one step
 * further up, and each run of one block is a row's stretch in turn.  Rows are taken from
 * a heap, the largest first, so that no more chains are followed than are shown.  A call
 * by an arc was made where the arc begins, and not by the parent of its target. */
#include <stdlib.h>
#include <string.h>

#include "estimates.h"
#include "metric-view.h"
#include "several.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

#define OWN_THRESHOLD 0.005
enum { OWN_LIMIT = 200 };
/* Half a minute's work: without a limit, recursion a million deep would take a day. */
#define MOST_STEPS ((uint64_t)1 << 31)

struct reach {
    uint32_t row; /* a context, or contexts + an arc */
    uint32_t at;  /* where the caller comes from; TT_NONE: there is none */
    uint32_t block;
};

struct chain {
    int is_estimated;
    uint32_t block, parent, depth; /* parent: index in chains; TT_NONE: none */
    uint32_t first_child, sibling; /* those that are shown */
    uint32_t callers, shown; /* of all callers, those that are shown; expanded only */
    size_t first, end;       /* in reaches */
    uint64_t amount;         /* that it is chosen by */
    struct tt_figures figures, rest;
};

/* A chain in the further metrics; rest: callers that are not shown. */
struct further {
    struct tt_several_figures own, rest;
};

struct inverting {
    const struct tt_metric_view *l;
    struct tt_query *q;
    struct tt_table *t;
    struct tt_columns c;
    struct tt_estimates estimates;
    unsigned char *wanted;    /* by `block`; NULL: all */
    unsigned char *outermost; /* a bit for each row of reaches */
    uint32_t *parent;         /* of each context */
    struct tt_vector arrivals, chains, heap, reaches;
    struct tt_block_sum *sum;
    struct tt_several_sums more; /* of the further metrics, and their lenses */
    struct tt_metric_view one[TT_SEVERAL_MAX]; /* from 1 */
    struct tt_vector further; /* of each chain; empty where there are none */
    uint64_t least, steps;
    uint32_t not_followed;        /* chains that are shown without their callers */
    uint32_t limit, first, shown; /* first: chain of a block alone that is shown */
};

static struct chain *chain_at(const struct inverting *v, uint32_t i)
{
    return (struct chain *)v->chains.item + i;
}

static struct further *further_at(const struct inverting *v, uint32_t i)
{
    return (struct further *)v->further.item + i;
}

/* ── Figures of one context or arc ────────────────────────────────────────────────── */

static int has_bit(const unsigned char *bits, uint32_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static void add_arc_figures(const struct inverting *v, const struct tt_metric_view *l,
                            uint32_t row, struct tt_figures *f)
{
    const struct tt_arc_row *a = &l->p->arc[row - l->p->contexts];

    f->calls += a->calls;
    if (!(l->main->flags & TT_METRIC_CALLS))
        return;
    f->self += a->calls;
    f->self_low += a->calls;
    if (has_bit(v->outermost, row)) {
        f->inclusive += a->calls;
        f->inclusive_low += a->calls;
    }
}

static void add_figures(const struct inverting *v, const struct tt_metric_view *l,
                        uint32_t row, struct tt_figures *f)
{
    uint64_t arrived, arrived_self;

    if (row >= l->p->contexts) {
        add_arc_figures(v, l, row, f);
        return;
    }
    arrived = tt_calls_at(&v->arrivals, row);
    arrived_self = l->main->flags & TT_METRIC_CALLS ? arrived : 0;
    f->self += tt_self_of(l->main, row) - arrived_self;
    f->self_low += tt_self_low_of(l->main, row) - arrived_self;
    f->calls += l->calls ? tt_self_of(l->calls, row) - arrived : 0;
    if (has_bit(v->outermost, row)) {
        f->inclusive += tt_metric_view_total(l, row);
        f->inclusive_low += tt_metric_view_total_low(l, row);
    }
}

static int is_nothing(const struct inverting *v, uint32_t row)
{
    struct tt_figures f = {0};

    add_figures(v, v->l, row, &f);
    for (uint32_t i = 1; i < v->l->several.count; i++)
        add_figures(v, &v->one[i], row, &f);
    return !f.self && !f.calls && !f.inclusive;
}

static void add_further(const struct inverting *v, uint32_t row,
                        struct tt_several_figures *f)
{
    for (uint32_t i = 1; i < v->l->several.count; i++) {
        struct tt_figures one = {0};
        add_figures(v, &v->one[i], row, &one);
        f->self[i] += one.self;
        f->inclusive[i] += one.inclusive;
    }
}

static void sum_further(struct tt_several_figures *f,
                        const struct tt_several_figures *more, int sign)
{
    for (uint32_t i = 1; i < TT_SEVERAL_MAX; i++) {
        f->self[i] += sign > 0 ? more->self[i] : -more->self[i];
        f->inclusive[i] += sign > 0 ? more->inclusive[i] : -more->inclusive[i];
    }
}

/* Chooses blocks by their self cost; blocks that were asked for by name, by their
 * inclusive cost. */
static uint64_t amount_of(const struct inverting *v, const struct tt_figures *f)
{
    return v->q->block && f->inclusive > f->self ? f->inclusive : f->self;
}

/* ── What is there ────────────────────────────────────────────────────────────────── */

static void set_bit(unsigned char *bits, uint32_t i)
{
    bits[i / 8] = (unsigned char)(bits[i / 8] | 1u << (i % 8));
}

/* Finds parents, and which contexts are the outermost of their block on their path. */
static int find_parents(struct inverting *v)
{
    const struct tt_profile *p = v->l->p;
    uint32_t *until = tt_memory_get(v->l->memory, p->blocks * sizeof *until);
    uint32_t arc = 0;
    struct tt_walk w;
    int error = tt_walk_init(&w, p, 0);

    while (!error && until && tt_walk_next(&w)) {
        uint32_t c = w.context, block = tt_block_of(p, c);
        v->parent[c] = w.depth ? w.path[w.depth - 1] : TT_NONE;
        if (c >= until[block]) {
            until[block] = tt_end_of(p, c);
            set_bit(v->outermost, c);
        }
        for (; arc < p->arcs && p->arc[arc].from <= c; arc++)
            if (p->arc[arc].from == c && tt_arc_is_dropped(p, &p->arc[arc]) &&
                c >= until[p->arc[arc].block])
                set_bit(v->outermost, p->contexts + arc);
    }
    tt_walk_fini(&w);
    tt_memory_put(v->l->memory, until);
    return error || !until ? -TT_ERR_MEMORY : 0;
}

/* The root has only callees. */
static int is_there(const struct inverting *v, uint32_t block)
{
    const struct tt_block_sum *s = &v->sum[block];

    return s->self || s->calls || (block && s->inclusive) ||
           tt_several_has(v->l, &v->more, block);
}

static int is_candidate(const struct inverting *v, uint32_t block)
{
    struct tt_figures f = tt_figures_of_sum(&v->sum[block]);

    if (v->wanted && !v->wanted[block])
        return 0;
    return amount_of(v, &f) >= v->least && is_there(v, block);
}

/* Returns the block of a row of reaches; TT_NONE: it is not chosen. */
static uint32_t block_of_row(const struct inverting *v, uint32_t row)
{
    const struct tt_profile *p = v->l->p;
    uint32_t block = row < p->contexts ? tt_block_of(p, row)
                                       : p->arc[row - p->contexts].block;

    if (row >= p->contexts && v->l->choice.calls == TT_NONE)
        return TT_NONE;
    return is_candidate(v, block) && !is_nothing(v, row) ? block : TT_NONE;
}

/* Makes the stretches of the blocks, by counting; start[b] becomes the end of block
 * b's. */
static int find_reaches(struct inverting *v, size_t *start)
{
    const struct tt_profile *p = v->l->p;
    const uint32_t rows = p->contexts + p->arcs;
    struct reach *r;
    size_t sum = 0;
    uint32_t block;

    for (uint32_t i = 0; i < rows; i++)
        if ((block = block_of_row(v, i)) != TT_NONE)
            start[block]++;
    for (uint32_t b = 0; b < p->blocks; b++) {
        size_t here = start[b];
        start[b] = sum;
        sum += here;
    }
    r = sum ? tt_vector_add(&v->reaches, sum) : NULL;
    if (sum && !r)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < rows; i++)
        if ((block = block_of_row(v, i)) != TT_NONE)
            r[start[block]++] = (struct reach){
                i, i < p->contexts ? v->parent[i] : p->arc[i - p->contexts].from, block};
    return 0;
}

/* ── The heap ─────────────────────────────────────────────────────────────────────── */

/* The larger one comes first; of equal ones, the earlier one. */
static int is_before(const struct inverting *v, uint32_t a, uint32_t b)
{
    uint64_t x = chain_at(v, a)->amount, y = chain_at(v, b)->amount;

    return x != y ? x > y : a < b;
}

static int push_chain(struct inverting *v, const struct chain *chain,
                      const struct tt_several_figures *own)
{
    uint32_t *heap = tt_vector_add(&v->heap, 1);
    struct chain *c = heap ? tt_vector_add(&v->chains, 1) : NULL;
    struct further *f = c && v->l->several.count ? tt_vector_add(&v->further, 1) : NULL;
    size_t at;

    if (!c || (v->l->several.count && !f))
        return -TT_ERR_MEMORY;
    *c = *chain;
    if (f)
        *f = (struct further){.own = *own};
    heap = v->heap.item;
    for (at = v->heap.count - 1;
         at && is_before(v, (uint32_t)v->chains.count - 1, heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = (uint32_t)v->chains.count - 1;
    return 0;
}

static uint32_t pop_chain(struct inverting *v)
{
    uint32_t *heap = v->heap.item, top = heap[0], last = heap[--v->heap.count];
    size_t at = 0, child;

    for (; (child = 2 * at + 1) < v->heap.count; at = child) {
        if (child + 1 < v->heap.count && is_before(v, heap[child + 1], heap[child]))
            child++;
        if (!is_before(v, heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* ── Chains ───────────────────────────────────────────────────────────────────────── */

static int push_blocks(struct inverting *v, const size_t *ends)
{
    int error = 0;

    for (uint32_t b = 0; !error && b < v->l->p->blocks; b++) {
        struct chain c = {.block = b,
                          .parent = TT_NONE,
                          .first_child = TT_NONE,
                          .sibling = TT_NONE,
                          .first = b ? ends[b - 1] : 0,
                          .end = ends[b],
                          .figures = tt_figures_of_sum(&v->sum[b])};
        struct tt_several_figures own = {{0}, {0}};
        c.amount = amount_of(v, &c.figures);
        for (uint32_t i = 1; i < v->l->several.count; i++) {
            own.self[i] = v->more.sum[i][b].self;
            own.inclusive[i] = v->more.sum[i][b].inclusive;
        }
        if (is_candidate(v, b))
            error = push_chain(v, &c, &own);
    }
    return error;
}

static int compare_reaches(const void *a, const void *b)
{
    const struct reach *x = a, *y = b;

    return TT_ORDER(x->block, y->block) ?: TT_ORDER(x->row, y->row);
}

static int is_sorted(const struct reach *r, size_t first, size_t end)
{
    for (size_t i = first + 1; i < end; i++)
        if (compare_reaches(&r[i - 1], &r[i]) > 0)
            return 0;
    return 1;
}

static void add_to(struct tt_figures *f, const struct tt_figures *more)
{
    f->self += more->self;
    f->self_low += more->self_low;
    f->inclusive += more->inclusive;
    f->inclusive_low += more->inclusive_low;
    f->calls += more->calls;
}

/* Moves one step up the paths; those that end at the root come last. */
static size_t step_up(struct inverting *v, size_t first, size_t end)
{
    struct reach *r = v->reaches.item;
    size_t kept = first;

    for (size_t i = first; i < end; i++) {
        struct reach here = r[i];
        if (here.at == TT_NONE || here.at == 0)
            continue;
        here.block = tt_block_of(v->l->p, here.at);
        here.at = v->parent[here.at];
        r[i] = r[kept];
        r[kept++] = here;
    }
    if (!is_sorted(r, first, kept)) /* already sorted, as for a block that calls itself */
        qsort(r + first, kept - first, sizeof *r, compare_reaches);
    return kept;
}

static int expand(struct inverting *v, uint32_t index)
{
    struct chain above = *chain_at(v, index);
    const struct reach *r = v->reaches.item;
    size_t end = step_up(v, above.first, above.end), next;
    struct tt_figures all = {.has = TT_HAS_ALL};
    struct tt_several_figures every = {{0}, {0}};
    uint32_t callers = 0;
    int error = 0;

    for (size_t i = above.first; !error && i < end; i = next) {
        struct chain c = {.block = r[i].block,
                          .parent = index,
                          .depth = above.depth + 1,
                          .first_child = TT_NONE,
                          .sibling = TT_NONE,
                          .first = i,
                          .figures = {.has = TT_HAS_ALL}};
        struct tt_several_figures own = {{0}, {0}};
        for (next = i; next < end && r[next].block == r[i].block; next++) {
            add_figures(v, v->l, r[next].row, &c.figures);
            add_further(v, r[next].row, &own);
        }
        c.end = next;
        c.amount = amount_of(v, &c.figures);
        callers++;
        add_to(&all, &c.figures);
        sum_further(&every, &own, 1);
        if (c.amount >= v->least)
            error = push_chain(v, &c, &own);
    }
    v->steps += above.end - above.first;
    chain_at(v, index)->callers = callers;
    chain_at(v, index)->rest = all;
    if (v->further.count)
        further_at(v, index)->rest = every;
    return error;
}

static void take_from(struct tt_figures *rest, const struct tt_figures *f)
{
    rest->self -= f->self;
    rest->self_low -= f->self_low;
    rest->inclusive -= f->inclusive;
    rest->inclusive_low -= f->inclusive_low;
    rest->calls -= f->calls;
}

static int choose(struct inverting *v)
{
    int error = 0;

    v->first = TT_NONE;
    while (!error && v->heap.count && v->shown < v->limit) {
        uint32_t i = pop_chain(v), *list = &v->first;
        struct chain *c = chain_at(v, i);
        if (c->parent != TT_NONE) {
            struct chain *parent = chain_at(v, c->parent);
            list = &parent->first_child;
            parent->shown++;
            take_from(&parent->rest, &c->figures);
            if (v->further.count)
                sum_further(&further_at(v, c->parent)->rest, &further_at(v, i)->own, -1);
        }
        c->sibling = *list;
        *list = i;
        v->shown++;
        if (v->q->depth && c->depth + 1 >= v->q->depth)
            continue;
        if (v->steps < MOST_STEPS)
            error = expand(v, i);
        else
            v->not_followed++;
    }
    return error;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* Adds callers that are not shown, and evicted contexts, whose callers are unknown. */
static void fill_rest(struct inverting *v, uint32_t at)
{
    const struct chain *c = chain_at(v, at);
    const struct tt_block_figures *f = v->l->main->block;
    struct tt_figures rest = c->rest;

    if (c->callers > c->shown) {
        tt_table_row(v->t, TT_ROW_REMAINDER, c->depth + 1, 0);
        tt_table_left(v->t, c->callers - c->shown);
        tt_metric_view_figures(v->l, v->t, &v->c, &rest);
        if (v->further.count)
            tt_several_fill(v->l, v->t, &v->c, &further_at(v, at)->rest);
        tt_table_string(v->t, v->c.name,
                        tt_table_text(v->t, "%u more", c->callers - c->shown));
    }
    if (c->depth || !f || !f[c->block].beside || !c->rest.has)
        return;
    rest = (struct tt_figures){.self = f[c->block].beside,
                               .self_low = f[c->block].beside};
    tt_metric_view_remainder(v->l, v->t, &v->c, 1, 0, "[elsewhere below]", &rest);
}

/* The first step up is exact, from the file; further up it is exact only if each block on
 * the way is at one place. */
static void mark_estimate(struct inverting *v, uint32_t at)
{
    struct chain *c = chain_at(v, at);
    const struct chain *below = c->depth > 1 ? chain_at(v, c->parent) : NULL;

    c->is_estimated = below && (below->is_estimated ||
                                tt_estimates_has(&v->estimates, below->block));
    if (c->is_estimated)
        tt_estimates_mark(&v->estimates);
}

static void fill_rows(struct inverting *v)
{
    uint32_t at = v->first;

    while (at != TT_NONE && !v->t->failed) {
        const struct chain *c = chain_at(v, at);
        tt_table_row(v->t, TT_ROW_ENTRY, c->depth, 0);
        tt_metric_view_figures(v->l, v->t, &v->c, &c->figures);
        if (v->further.count)
            tt_several_fill(v->l, v->t, &v->c, &further_at(v, at)->own);
        tt_block_cells(v->l->p, v->t, &v->c, c->block);
        mark_estimate(v, at);
        if (c->first_child != TT_NONE) {
            at = c->first_child;
            continue;
        }
        fill_rest(v, at);
        while (c->sibling == TT_NONE && c->parent != TT_NONE) {
            at = c->parent;
            c = chain_at(v, at);
            fill_rest(v, at);
        }
        at = c->sibling;
    }
}

/* Adds the blocks that are not shown. */
static void fill_others(struct inverting *v)
{
    struct tt_figures rest = {.has = TT_HAS_CALLS};
    struct tt_several_figures further = {{0}, {0}};
    uint32_t others = 0;

    for (uint32_t b = 0; b < v->l->p->blocks; b++) {
        others += is_there(v, b) ? 1 : 0;
        rest.self += v->sum[b].self;
        rest.self_low += v->sum[b].self_low;
        rest.calls += v->sum[b].calls;
        for (uint32_t i = 1; i < v->l->several.count; i++)
            further.self[i] += v->more.sum[i][b].self;
    }
    for (uint32_t i = v->first; i != TT_NONE; i = chain_at(v, i)->sibling) {
        others--;
        take_from(&rest, &chain_at(v, i)->figures);
        for (uint32_t k = 1; k < v->l->several.count; k++)
            further.self[k] -= further_at(v, i)->own.self[k];
    }
    if (!others)
        return;
    tt_metric_view_remainder(v->l, v->t, &v->c, 0, 0,
                             tt_table_text(v->t, "%u more", others), &rest);
    tt_table_left(v->t, others);
    memcpy(further.inclusive, further.self, sizeof further.self); /* as of the main one */
    tt_several_fill(v->l, v->t, &v->c, &further);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static size_t bits_size(const struct tt_profile *p)
{
    return ((size_t)p->contexts + p->arcs) / 8 + 1;
}

static int find_lenses(struct inverting *v)
{
    int error = tt_several_sums_find(v->l, &v->more);

    for (uint32_t i = 1; !error && i < v->l->several.count; i++)
        error = tt_several_lens(v->l, i, &v->one[i]);
    return error;
}

static int find_chains(struct inverting *v)
{
    const struct tt_profile *p = v->l->p;
    const struct tt_memory *m = v->l->memory;
    size_t *start = tt_memory_get(m, p->blocks * sizeof *start);
    int error = -TT_ERR_MEMORY;

    v->sum = tt_block_sums(p, &v->l->choice, m);
    v->parent = tt_memory_get(m, p->contexts * sizeof *v->parent);
    v->outermost = tt_memory_get(m, bits_size(p));
    if (start && v->sum && v->parent && v->outermost && find_lenses(v) == 0)
        error = find_parents(v);
    error = error ?: find_reaches(v, start);
    error = error ?: push_blocks(v, start);
    error = error ?: choose(v);
    tt_memory_put(m, start);
    return error;
}

static int fill(struct inverting *v)
{
    int error = find_chains(v);

    if (error)
        return error;
    tt_metric_view_columns(v->l, v->t, &v->c);
    tt_block_columns(v->t, &v->c);
    error = tt_estimates_begin(&v->estimates, v->l, v->t);
    if (error)
        return error;
    fill_rows(v);
    error = tt_view_sort_tree(v->q, v->t, v->q->block ? "inclusive" : "self");
    if (v->not_followed)
        tt_table_note(v->t, "callers not shown",
                      "callers: not shown for %u rows, because there are too many",
                      v->not_followed);
    fill_others(v);
    tt_metric_view_elsewhere(v->l, v->t, &v->c);
    tt_metric_view_sum_row(v->l, v->t, &v->c);
    tt_view_notes(v->l->p, &v->l->choice, v->t);
    tt_estimates_end(&v->estimates);
    return error;
}

int tt_view_callers(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct inverting v = {.l = &l, .q = q, .t = t, .limit = tt_limit(q, OWN_LIMIT)};
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&v.arrivals, q->memory, sizeof(struct tt_arc_calls));
    tt_vector_init(&v.further, q->memory, sizeof(struct further));
    tt_vector_init(&v.chains, q->memory, sizeof(struct chain));
    tt_vector_init(&v.heap, q->memory, sizeof(uint32_t));
    tt_vector_init(&v.reaches, q->memory, sizeof(struct reach));
    l.has_times = 0; /* a chain's activations are not known */
    if (!error && q->block)
        error = tt_view_blocks(p, q, q->block, &v.wanted);
    error = error ?: tt_arrivals_find(&l, &v.arrivals);
    if (!error) {
        v.least = tt_least_amount(tt_threshold(q, OWN_THRESHOLD), l.choice.total);
        error = fill(&v);
    }
    tt_memory_put(q->memory, v.outermost);
    tt_memory_put(q->memory, v.parent);
    tt_memory_put(q->memory, v.sum);
    tt_several_sums_fini(&l, &v.more);
    for (uint32_t i = 1; i < l.several.count; i++)
        tt_metric_view_fini(&v.one[i]);
    tt_vector_fini(&v.further);
    tt_vector_fini(&v.reaches);
    tt_vector_fini(&v.heap);
    tt_vector_fini(&v.chains);
    tt_vector_fini(&v.arrivals);
    free(v.wanted);
    tt_metric_view_fini(&l);
    return error;
}
