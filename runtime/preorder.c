/* SPDX-License-Identifier: MIT */
/* preorder.c - puts the contexts of a picture in preorder, and sums them up.
 *
 * A recording's cells are in the order of their first use.  The contexts are sorted by
 * name, and linked from their parents: a subtree is then a range, children are
 * sorted by name, and sums are computed from the last to the first.  A cycle in a damaged
 * file cannot be reached from a root: an error. */
#include "preorder.h"
#include "figures.h"
#include "large-pages.h"
#include "picture.h"

#include <stdlib.h>

/* Block ids to indices: a separate table, since ids are small and dense. */
struct block_index {
    uint32_t *at, size;
};

static int index_blocks(const struct tt_picture *p, struct block_index *x)
{
    x->size = 2;
    for (uint32_t i = 0; i < p->blocks; i++)
        if (p->block[i].id >= x->size)
            x->size = p->block[i].id + 1;
    x->at = calloc(x->size, sizeof *x->at);
    if (!x->at)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < p->blocks; i++)
        if (!p->block[i].type)
            x->at[p->block[i].id] = i + 1;
    return 0;
}

static uint32_t block_index(const struct block_index *x, uint32_t key)
{
    key &= TT_KEY_BLOCK;
    return key < x->size ? x->at[key] : 0;
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

/* The children of each context, in the order of their names: a list through cells.  A cell is
 * in one list, that of its parent, so that lists from the roots down do not meet. */
struct sorting {
    uint32_t *first, *next; /* by cell; 0: there is none */
    uint32_t count;         /* of all children */
    struct block_index blocks;
};

struct child {
    uint32_t cell, parent, rank;
};

static int is_child(const struct tt_node *n)
{
    return n->kind == TT_CELL_CONTEXT && n->parent;
}

static int take_child(struct tt_picture *p, struct sorting *s, struct child *to,
                      uint32_t cell)
{
    const struct tt_node *n = tt_picture_cell(p, cell);
    const uint32_t rank = block_index(&s->blocks, n->key);

    if (!rank && !p->live)
        return tt_picture_damaged(p, "context %u is of block %u, which there is not",
                                  cell, n->key);
    to[s->count] = (struct child){cell, n->parent, rank};
    s->count += rank != 0;
    return 0;
}

/* One pass over the cells, which are many bytes: for children and tallies. */
static int take_cells(struct tt_picture *p, struct sorting *s, struct child *to)
{
    uint32_t tallies = 0;

    for (uint32_t page = tt_picture_first(p); page < p->cells; page += TT_PAGE_CELLS) {
        if ((tt_picture_page(p, page) & 0xff) != TT_PAGE_CELL)
            continue;
        for (uint32_t cell = page; cell < page + TT_PAGE_CELLS; cell++) {
            const struct tt_node *n = tt_picture_cell(p, cell);
            int error = is_child(n) ? take_child(p, s, to, cell) : 0;
            if (error)
                return error;
            if (n->kind == TT_CELL_TALLY)
                p->tally[tallies++] = cell;
        }
    }
    p->tallies = tallies;
    return 0;
}

/* Sorts by block, in as many steps as there are children, from the last name to the first: each
 * goes to the front of its parent's list. */
static int link_children(const struct tt_picture *p, struct sorting *s,
                         const struct child *child)
{
    uint32_t *first = calloc((size_t)p->blocks + 2, sizeof *first);
    uint32_t *sorted = calloc((size_t)s->count + 1, sizeof *sorted);

    for (uint32_t i = 0; first && i < s->count; i++)
        first[child[i].rank + 1]++;
    for (uint32_t rank = 1; first && rank <= p->blocks; rank++)
        first[rank + 1] += first[rank];
    for (uint32_t i = 0; first && sorted && i < s->count; i++)
        sorted[first[child[i].rank]++] = i;
    for (uint32_t i = s->count; first && sorted && i-- > 0;) {
        const struct child *c = &child[sorted[i]];
        s->next[c->cell] = s->first[c->parent];
        s->first[c->parent] = c->cell;
    }
    free(sorted);
    free(first);
    return first && sorted ? 0 : -TT_ERR_MEMORY;
}

static int sort_children(struct tt_picture *p, struct sorting *s)
{
    struct child *child = malloc(((size_t)p->contexts + 1) * sizeof *child);
    int error;

    p->tally = malloc(((size_t)p->tallies + 1) * sizeof *p->tally);
    error = child && p->tally ? take_cells(p, s, child) : -TT_ERR_MEMORY;
    if (!error)
        error = link_children(p, s, child);
    free(child);
    return error;
}

/* Room for the times of one more context; what is in a picture was counted before. */
static struct tt_times *times_of(struct tt_picture *p, struct tt_picture_context *c)
{
    if (!c->times)
        c->times = ++p->timed;
    return &p->times[c->times - 1];
}

static void add_context(struct tt_picture *p, uint32_t cell, uint32_t block,
                        uint32_t parent, uint32_t strand)
{
    struct tt_picture_context *c = &p->context[p->contexts++];
    const struct tt_node *n = tt_picture_cell(p, cell);
    const struct tt_loss *loss = tt_picture_extension(p, cell, TT_CELL_LOSS);
    const struct tt_times *times = tt_picture_extension(p, cell, TT_TIMES);

    *c = (struct tt_picture_context){.block = block,
                                     .parent = parent,
                                     .cell = cell,
                                     .strand = strand,
                                     .calls = n->calls,
                                     .self = n->self,
                                     .samples = n->samples,
                                     .size = 1};
    c->depth = parent == UINT32_MAX ? 0 : p->context[parent].depth + 1;
    if (parent != UINT32_MAX)
        p->context[parent].callees += n->calls;
    c->missed = p->strand[strand]->limbo;
    if (loss) {
        c->elsewhere = loss->elsewhere;
        c->missed += loss->missed;
        c->calls += loss->arrived;
    }
    if (times && times->count)
        *times_of(p, c) = *times;
    p->index[cell] = p->contexts;
}

/* One strand, in preorder: down to the first child, or up to where there is a next one. */
static void string_together(struct tt_picture *p, struct sorting *s, uint32_t strand)
{
    const uint32_t top = p->contexts;
    struct tt_node *root = tt_picture_cell(p, p->strand[strand]->root);
    uint32_t at = top, sibling = UINT32_MAX, cell = s->first[p->strand[strand]->root];

    TT_ASSERT(!p->index[p->strand[strand]->root]);
    if (root->kind != TT_CELL_CONTEXT)
        root->extension = 0; /* of a live copy: its extensions were not checked */
    p->strand_first[strand] = at;
    add_context(p, p->strand[strand]->root, UINT32_MAX, UINT32_MAX, strand);
    for (;;) {
        if (cell) {
            const struct tt_node *n = tt_picture_cell(p, cell);
            const uint32_t block = block_index(&s->blocks, n->key) - 1;
            TT_ASSERT(!p->index[cell]);
            p->has_twins |= sibling != UINT32_MAX && p->context[sibling].block == block;
            add_context(p, cell, block, at, strand);
            at = p->contexts - 1;
            cell = s->first[cell];
            sibling = UINT32_MAX;
        } else {
            p->context[at].size = p->contexts - at;
            if (at == top)
                return;
            cell = s->next[p->context[at].cell];
            sibling = at;
            at = p->context[at].parent;
        }
    }
}

static int read_contexts(struct tt_picture *p, struct sorting *s)
{
    const uint32_t expected = p->contexts;
    int error = sort_children(p, s);

    if (error)
        return error;
    p->context = tt_large_array((size_t)expected + p->strands + 1, sizeof *p->context);
    p->times = calloc((size_t)p->timed + 1, sizeof *p->times);
    p->index = tt_large_array(p->cells, sizeof *p->index);
    p->contexts = p->timed = 0;
    if (!p->context || !p->times || !p->index)
        error = -TT_ERR_MEMORY;
    for (uint32_t i = 0; !error && i < p->strands; i++)
        string_together(p, s, i);
    if (!error && p->live)
        p->dropped += s->count + p->strands - p->contexts;
    else if (!error && p->contexts != s->count + p->strands)
        error = tt_picture_damaged(p, "%u contexts hang below no strand",
                                   s->count + p->strands - p->contexts);
    return error;
}

/* ── Arcs ─────────────────────────────────────────────────────────────────────────── */

static void add_square_to(struct tt_square *into, const struct tt_square *from)
{
    into->low += from->low;
    into->high += from->high + (into->low < from->low);
}

static void add_times_to(struct tt_times *into, const struct tt_times *from)
{
    if (!into->count || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
    into->children += from->children;
    into->recursive += from->recursive;
    into->weighed += from->weighed;
    add_square_to(&into->square, &from->square);
    add_square_to(&into->children_square, &from->children_square);
    add_square_to(&into->recursive_square, &from->recursive_square);
}

static int by_source(const void *a, const void *b)
{
    const struct tt_picture_arc *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static int read_arcs(struct tt_picture *p, const struct block_index *x)
{
    p->arc = calloc((size_t)p->arcs + 1, sizeof *p->arc);
    if (!p->arc)
        return -TT_ERR_MEMORY;
    if (!p->arcs)
        return 0;
    p->arcs = 0;
    for (uint32_t cell = tt_picture_first(p); cell < p->cells; cell++) {
        const struct tt_node *n = tt_picture_cell(p, cell);
        struct tt_picture_arc *a = &p->arc[p->arcs];
        const struct tt_times *times;
        if ((tt_picture_page(p, cell) & 0xff) != TT_PAGE_CELL || n->kind != TT_CELL_ARC)
            continue;
        a->from = p->index[n->parent];
        a->to = p->index[n->target];
        a->block = block_index(x, n->key);
        if (p->live && (!a->from || !a->to || !a->block))
            continue;
        if (!a->from-- || !a->to-- || !a->block--)
            return tt_picture_damaged(p, "arc %u leads nowhere", cell);
        a->cell = cell;
        a->calls = n->calls;
        p->context[a->to].calls += n->calls;
        p->context[a->from].callees += n->calls;
        times = tt_picture_extension(p, cell, TT_TIMES);
        if (times && times->count)
            add_times_to(times_of(p, &p->context[a->to]), times);
        p->arcs++;
    }
    qsort(p->arc, p->arcs, sizeof *p->arc, by_source);
    return 0;
}

/* ── Totals ───────────────────────────────────────────────────────────────────────── */

/* Time that has gone by since a running strand was last charged. */
static void add_running(struct tt_picture *p, uint32_t strand)
{
    const struct tt_strand_record *s = p->strand[strand];
    uint64_t cell = s->current / TT_CELL_SIZE, end = p->header->end_ticks;
    struct tt_picture_context *c;

    if (s->state != TT_STRAND_OPEN || !s->depth || s->paused || end <= s->last ||
        cell >= p->cells || !p->index[cell])
        return;
    c = &p->context[p->index[cell] - 1];
    if (c->strand == strand && c->block != UINT32_MAX &&
        p->header->mode[p->block[c->block].info.kind] == TT_MODE_EXACT)
        c->self += end - s->last;
}

/* The most that the profiler itself may have added: its cost inside of each activation,
 * and around each activation that was entered from here. */
static uint64_t own_cost(const struct tt_picture *p, const struct tt_picture_context *c)
{
    const struct tt_header *h = p->header;
    double cost = (double)c->calls * (double)h->inside.high / 1024 +
                  (double)c->callees * (double)h->outside.high / 1024;

    if (c->block == UINT32_MAX || h->mode[p->block[c->block].info.kind] != TT_MODE_EXACT)
        return 0;
    return cost < (double)c->self ? (uint64_t)cost : c->self;
}

static void add_totals(struct tt_picture *p)
{
    for (uint32_t i = 0; i < p->strands; i++) {
        add_running(p, i);
        p->context[p->strand_first[i]].elsewhere.self += p->strand[i]->lost_ticks;
    }
    for (uint32_t i = p->contexts; i-- > 0;) {
        struct tt_picture_context *c = &p->context[i];
        c->self_low = c->self - own_cost(p, c);
        c->total += c->self + c->elsewhere.self;
        c->total_low += c->self_low + c->elsewhere.self;
        if (c->parent != UINT32_MAX) {
            p->context[c->parent].total += c->total;
            p->context[c->parent].total_low += c->total_low;
        }
    }
}

/* A block's inclusive figure counts a path once: at the topmost context of the block. */
static void add_to_block(struct tt_picture *p, const struct tt_picture_context *c)
{
    struct tt_picture_block *b;

    if (c->block == UINT32_MAX)
        return;
    b = &p->block[c->block];
    b->calls += c->calls;
    b->self += c->self;
    b->self_low += c->self_low;
    b->samples += c->samples;
    if (((struct tt_node *)tt_picture_cell(p, c->cell))->flags & TT_NODE_LEAVING)
        b->hidden -= c->total; /* its time in this context is not hidden yet */
    else if (((struct tt_node *)tt_picture_cell(p, c->cell))->flags & TT_NODE_OUTERMOST)
        b->inclusive += c->total;
}

static void add_to_blocks(struct tt_picture *p, const struct block_index *x)
{
    for (uint32_t i = 0; i < p->contexts; i++)
        add_to_block(p, &p->context[i]);
    for (uint32_t i = 0; i < p->tallies; i++) {
        const struct tt_tally *t = tt_picture_cell(p, p->tally[i]);
        uint32_t block = block_index(x, t->key);
        if (!block--)
            continue;
        p->block[block].calls += t->evicted.calls;
        p->block[block].self += t->evicted.self;
        p->block[block].self_low += t->evicted.self;
        p->block[block].samples += t->evicted.samples;
        p->block[block].evicted += t->evicted.self;
        p->block[block].inclusive += t->hidden;
        p->block[block].hidden += t->hidden;
    }
}

/* Under some policies an arc's calls are of another block than its target. */
static void move_calls_of_arcs(struct tt_picture *p)
{
    for (uint32_t i = 0; i < p->arcs; i++) {
        const struct tt_picture_arc *a = &p->arc[i];
        uint32_t target = p->context[a->to].block;
        if (target == a->block)
            continue;
        p->block[a->block].calls += a->calls;
        if (target != UINT32_MAX)
            p->block[target].calls -= a->calls;
    }
}

int tt_picture_order(struct tt_picture *p)
{
    struct sorting s = {0};
    int error = index_blocks(p, &s.blocks);

    s.first = tt_large_array(p->cells, sizeof *s.first);
    s.next = tt_large_array(p->cells, sizeof *s.next);
    if (!s.first || !s.next)
        error = -TT_ERR_MEMORY;
    if (!error)
        error = read_contexts(p, &s);
    if (!error)
        error = read_arcs(p, &s.blocks);
    if (!error) {
        add_totals(p);
        add_to_blocks(p, &s.blocks);
        move_calls_of_arcs(p);
    }
    free(s.first);
    free(s.next);
    free(s.blocks.at);
    return error;
}
