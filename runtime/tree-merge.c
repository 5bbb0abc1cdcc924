/* SPDX-License-Identifier: MIT */
/* tree-merge.c - moves one tree's figures into another tree.
 *
 * Figures are not copied but moved: at any moment each is in one of the two trees, so a
 * process killed in the middle leaves both, and their sum is right.  The strand of a tree
 * is freed only when the tree has no figures left.
 *
 * For each context of the one tree, the same context is found or made in the other under
 * the same parent: `link` has the target of each cell.  Before anything moves there is
 * room for all of it: cold contexts of either tree are evicted until there is. */
#include "tree-merge.h"

#include <string.h>

#include "activation.h"
#include "budget.h"
#include "cell.h"
#include "extension.h"
#include "rows.h"
#include "series.h"
#include "slowest.h"
#include "stack.h"
#include "tree-check.h"
#include "weigh.h"

struct merge {
    struct tt_tree *into, *from;
    struct tt_weights w; /* of `from`; link: a cell of `into` */
};

static uint32_t *link_of(const struct merge *m, const struct tt_node *n)
{
    return &m->w.link[tt_place(&m->w, tt_cell_of(m->from, n))];
}

static struct tt_node *into_node(const struct merge *m, const struct tt_node *n)
{
    return tt_cell(m->into->base, *link_of(m, n));
}

/* ── Statistics ───────────────────────────────────────────────────────────────────── */

static void add_square(struct tt_change *c, struct tt_square *into,
                       const struct tt_square *from)
{
    uint64_t *low = tt_change_word(c, &into->low), *high = tt_change_word(c, &into->high);

    *low += from->low;
    *high += from->high + (*low < from->low);
}

static void merge_times(struct merge *m, struct tt_node *to, struct tt_times *from)
{
    struct tt_times *into = from->count ? tt_tree_times(m->into, to) : NULL;
    struct tt_change c = tt_change_begin(m->into);

    if (!into)
        return;
    if (!into->count || from->min < into->min)
        *tt_change_word(&c, &into->min) = from->min;
    if (from->max > into->max)
        *tt_change_word(&c, &into->max) = from->max;
    *tt_change_word(&c, &into->sum) += from->sum;
    *tt_change_word(&c, &into->children) += from->children;
    *tt_change_word(&c, &into->recursive) += from->recursive;
    *tt_change_word(&c, &into->weighed) += from->weighed;
    add_square(&c, &into->square, &from->square);
    add_square(&c, &into->children_square, &from->children_square);
    add_square(&c, &into->recursive_square, &from->recursive_square);
    tt_change_move(&c, &into->count, &from->count);
    tt_change_make(&c);
}

static void merge_histogram(struct merge *m, struct tt_node *to,
                            struct tt_histogram *from)
{
    struct tt_histogram *into = tt_tree_extension(m->into, to, TT_HISTOGRAM,
                                                  TT_HISTOGRAM_ORDER);
    struct tt_change c = tt_change_begin(m->into);

    for (int i = 0; into && i < TT_HISTOGRAM_BINS; i++) {
        if (from->bin[i])
            tt_change_move(&c, &into->bin[i], &from->bin[i]);
        if (c.count + 2 > TT_JOURNAL_WORDS)
            tt_change_make(&c);
    }
    tt_change_make(&c);
}

/* The link to this extension in its context's chain. */
static uint32_t *link_to(const struct tt_tree *t, struct tt_node *n, uint32_t cell)
{
    uint32_t *link = &n->extension;

    while (*link != cell) {
        TT_ASSERT(*link);
        link = &((struct tt_loss *)(void *)tt_cell(t->base, *link))->next;
    }
    return link;
}

/* Each keeps the latest that the ring has room for: a new ring replaces both at once. */
static void merge_history(struct merge *m, struct tt_node *to, struct tt_history *from)
{
    struct tt_tree *t = m->into;
    struct tt_history *old = tt_tree_extension(t, to, TT_HISTORY, TT_HISTOGRAM_ORDER),
                      *both;
    uint64_t first = from->count > from->capacity ? from->count - from->capacity : 0;
    uint32_t cell = old ? tt_tree_data(t, TT_HISTOGRAM_ORDER) : 0;
    struct tt_change c = tt_change_begin(t);

    if (old && !cell)
        tt_bump_shared(&t->recording->header->lost_figures, 1);
    if (!cell)
        return;
    both = (struct tt_history *)(void *)tt_cell(t->base, cell);
    *both = *old;
    both->capacity = from->capacity;
    both->count += first;
    for (uint64_t i = first; i < from->count; i++)
        both->ring[both->count++ % both->capacity] = from->ring[i % from->capacity];
    tt_change_half(&c, link_to(t, to, tt_cell_of(t, old)), cell);
    *tt_change_word(&c, &from->count) = 0;
    tt_change_make(&c);
    tt_tree_give_data(t, tt_cell_of(t, old), TT_HISTOGRAM_ORDER);
}

static void merge_metrics(struct merge *m, uint32_t *chain, struct tt_metrics *from)
{
    for (int i = 0; i < 4 && from->metric[i]; i++) {
        uint64_t *into = tt_tree_metric_amount(m->into, chain, from->metric[i]);
        struct tt_change c = tt_change_begin(m->into);
        if (into)
            tt_change_move(&c, into, &from->amount[i]);
        tt_change_make(&c);
    }
}

/* `to` may be an arc where `from` is a context: figures of contexts go to its target. */
static void merge_extensions(struct merge *m, struct tt_node *to,
                             const struct tt_node *from)
{
    struct tt_node *context = tt_cell(m->into->base, to->target);
    const struct tt_loss *e;

    for (uint32_t cell = from->extension; cell; cell = e->next) {
        void *p = tt_cell(m->from->base, cell);
        e = p;
        if (e->kind == TT_CELL_METRICS)
            merge_metrics(m, &context->extension, p);
        else if (tt_is_space(e->kind))
            tt_space_merge(m->into, context, p);
        else if (e->kind == TT_TIMES)
            merge_times(m, to, p);
        else if (e->kind == TT_HISTOGRAM)
            merge_histogram(m, to, p);
        else if (e->kind == TT_HISTORY)
            merge_history(m, to, p);
        else if (e->kind == TT_SLOWEST)
            tt_slowest_merge(m->into, to, p);
    }
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

static struct tt_loss *from_loss(const struct merge *m, const struct tt_node *n)
{
    return tt_tree_loss_find(m->from, n);
}

static void clear_amounts(struct tt_change *c, struct tt_amounts *a)
{
    *tt_change_word(c, &a->calls) = 0;
    *tt_change_word(c, &a->self) = 0;
    *tt_change_word(c, &a->samples) = 0;
}

/* Losses below a context, or of it, are losses in the other tree, too. */
static void merge_loss(struct merge *m, struct tt_node *to, struct tt_loss *from)
{
    struct tt_loss *into = tt_tree_loss(m->into, to);
    struct tt_change c = tt_change_begin(m->into);

    tt_change_amounts(&c, &into->elsewhere, &from->elsewhere);
    clear_amounts(&c, &from->elsewhere);
    tt_change_move(&c, &into->missed, &from->missed);
    tt_change_move(&c, &into->arrived, &from->arrived);
    tt_change_make(&c);
}

static void merge_context(struct merge *m, struct tt_node *edge, struct tt_node *from)
{
    struct tt_node *to = tt_cell(m->into->base, edge->target);
    struct tt_change c = tt_change_begin(m->into);

    tt_change_move(&c, &edge->calls, &from->calls);
    tt_change_move(&c, &to->self, &from->self);
    tt_change_move(&c, &to->samples, &from->samples);
    tt_change_make(&c);
    if (from_loss(m, from))
        merge_loss(m, to, from_loss(m, from));
    merge_extensions(m, edge, from);
}

static void merge_arc(struct merge *m, struct tt_node *edge, struct tt_node *from)
{
    struct tt_change c = tt_change_begin(m->into);

    tt_change_move(&c, &edge->calls, &from->calls);
    tt_change_make(&c);
    merge_extensions(m, edge, from);
}

/* Sends a cell after its parent, and after an arc's target, which is above it. */
static void send_cell(struct merge *m, struct tt_node *n)
{
    struct tt_tree *t = m->into;
    struct tt_node *above = into_node(m, tt_parent(m->from, n)), *target;
    uint32_t cell;

    if (n->kind == TT_CELL_CONTEXT) {
        cell = tt_tree_child(t, above, n->key);
        TT_ASSERT(cell); /* room was made for all of it */
        *link_of(m, n) = tt_cell(t->base, cell)->target;
        merge_context(m, tt_cell(t->base, cell), n);
    } else {
        target = into_node(m, tt_cell(m->from->base, n->target));
        /* Where an arc was in the place of a context, the target may be no longer above. */
        cell = tt_tree_is_above(t, target, above)
                   ? tt_tree_arc(t, above, n->key & TT_KEY_BLOCK, target)
                   : tt_tree_child(t, above, n->key & TT_KEY_BLOCK);
        TT_ASSERT(cell);
        merge_arc(m, tt_cell(t->base, cell), n);
    }
}

/* ── Tallies ──────────────────────────────────────────────────────────────────────── */

static void send_tally(struct merge *m, struct tt_tally *from)
{
    struct tt_tally *into = tt_tree_tally_find(m->into, from->key);
    struct tt_change c = tt_change_begin(m->into);
    const struct tt_loss *e;

    TT_ASSERT(into);
    tt_change_amounts(&c, &into->evicted, &from->evicted);
    clear_amounts(&c, &from->evicted);
    tt_change_move(&c, &into->hidden, &from->hidden);
    tt_change_make(&c);
    for (uint32_t cell = from->next; cell; cell = e->next) {
        void *p = tt_cell(m->from->base, cell);
        e = p;
        merge_metrics(m, &into->next, p);
    }
}

/* The new cell of a sample-log entry. */
static uint32_t send_samples(void *arg, uint32_t cell)
{
    const struct merge *m = arg;
    uint32_t to = m->w.link[tt_place(&m->w, cell)];

    return to ? to : tt_cell_of(m->into, m->into->root);
}

static void send_tree(struct merge *m)
{
    merge_context(m, m->into->root, m->from->root);
    for (uint32_t i = m->w.ordered - 1;
         i-- > 0;) /* parents first; the root is the last */
        send_cell(m, tt_cell(m->from->base, m->w.order[i]));
    for (uint32_t block = 0; block < m->from->tally_size; block++)
        if (m->from->tally[block])
            send_tally(m, tt_tree_tally_find(m->from, block));
}

/* Then one has the figures of both, and the other none. */
static void send_checked(struct merge *m)
{
#ifdef TT_CHECKED
    struct tt_amounts a = tt_tree_sums(m->into), b = tt_tree_sums(m->from), both, left;

    send_tree(m);
    both = tt_tree_sums(m->into);
    left = tt_tree_sums(m->from);
    TT_ASSERT(both.calls == a.calls + b.calls && both.self == a.self + b.self &&
              both.samples == a.samples + b.samples);
    TT_ASSERT(!left.calls && !left.self && !left.samples);
#else
    send_tree(m);
#endif
}

/* Every block of the one tree has its tally in the other before anything moves. */
static int make_tallies(struct merge *m)
{
    for (uint32_t block = 0; block < m->from->tally_size; block++)
        if (m->from->tally[block] && !tt_tree_tally(m->into, block))
            return -TT_ERR_MEMORY;
    return 0;
}

/* ── The row ──────────────────────────────────────────────────────────────────────── */

/* Sums up the ticks of a row's members, with minimum and maximum.  After this the member
 * is gone, and any context of the row may lack figures that were evicted there. */
static void count_member(struct tt_tree *into, struct tt_strand_record *member,
                         uint64_t ticks)
{
    struct tt_strand_record *row = into->record;
    struct tt_change c = tt_change_begin(into);
    struct tt_square s = {0, 0};

    tt_square_add(&s, ticks);
    if (ticks < row->least) {
        *tt_change_word(&c, &row->least) = ticks;
        tt_change_half(&c, &row->least_thread, member->thread);
    }
    if (ticks >= row->most) {
        *tt_change_word(&c, &row->most) = ticks;
        tt_change_half(&c, &row->most_thread, member->thread);
    }
    ++*tt_change_word(&c, &row->members);
    add_square(&c, &row->square, &s);
    *tt_change_word(&c, &row->charged) += member->charged;
    *tt_change_word(&c, &row->lost_pushes) += member->lost_pushes;
    *tt_change_word(&c, &row->lost_ticks) += member->lost_ticks;
    if (member->threshold > row->threshold)
        *tt_change_word(&c, &row->threshold) = member->threshold;
    *tt_change_word(&c, &row->evictions) += member->evictions;
    *tt_change_word(&c, &row->limbo) += member->limbo + member->threshold;
    tt_change_half(&c, &member->state, TT_STRAND_NONE);
    tt_change_make(&c);
}

/* ── Room ─────────────────────────────────────────────────────────────────────────── */

static uint32_t count_small_extensions(const struct merge *m, uint32_t cell)
{
    const struct tt_loss *e;
    uint32_t count = 0;

    for (; cell; cell = e->next) {
        e = (const struct tt_loss *)(const void *)tt_cell(m->from->base, cell);
        count += e->kind < TT_TIMES;
    }
    return count;
}

/* An upper bound of the cells that `into` needs: for contexts that it lacks, for
 * extensions, and one for the extension that a new context may need for `missed`. */
static uint32_t count_wanted(struct merge *m)
{
    const struct tt_node *root = m->from->root;
    uint32_t wanted = TT_CELL_RESERVE + count_small_extensions(m, root->extension);

    *link_of(m, root) = tt_cell_of(m->into, m->into->root);
    for (uint32_t i = m->w.ordered - 1; i-- > 0;) { /* parents first, below the root */
        const struct tt_node *n = tt_cell(m->from->base, m->w.order[i]),
                             *up = tt_parent(m->from, n);
        uint32_t cell = 0;
        if (*link_of(m, up))
            cell = tt_tree_find(m->into, into_node(m, up), n->key & TT_KEY_BLOCK);
        if (n->kind == TT_CELL_CONTEXT)
            *link_of(m, n) = cell ? tt_cell(m->into->base, cell)->target : 0;
        wanted += count_small_extensions(m, n->extension) + (cell ? 0 : 2);
    }
    for (uint32_t block = 0; block < m->from->tally_size; block++)
        if (m->from->tally[block])
            wanted += count_small_extensions(m, tt_tree_tally_find(m->from, block)->next);
    return wanted;
}

/* Evicts cold contexts of both trees until it fits.  Leaves the weights, if it
 * succeeds. */
static int make_room(struct merge *m)
{
    while (tt_weights_init(&m->w, m->from) == 0) {
        tt_weigh(&m->w, TT_WEIGH_TICKS);
        if (tt_tree_reserve(m->into, count_wanted(m)) == 0)
            return 0;
        tt_weights_fini(&m->w);
        if (tt_evict_tree(m->into, NULL) + tt_evict_tree(m->from, NULL) == 0)
            break;
    }
    return -TT_ERR_MEMORY;
}

int tt_merge_first(struct tt_tree *t)
{
    struct tt_strand_record *row = t->record;
    struct tt_change c = tt_change_begin(t);
    struct tt_square s = {0, 0};
    struct tt_weights w;
    uint64_t ticks;

    if (tt_weights_init(&w, t) != 0)
        return -TT_ERR_MEMORY;
    tt_weigh(&w, TT_WEIGH_TICKS);
    ticks = w.weight[tt_place(&w, row->root)] + row->lost_ticks;
    tt_weights_fini(&w);
    tt_square_add(&s, ticks);
    add_square(&c, &row->square, &s);
    *tt_change_word(&c, &row->least) = *tt_change_word(&c, &row->most) = ticks;
    tt_change_half(&c, &row->least_thread, row->thread);
    tt_change_half(&c, &row->most_thread, row->thread);
    tt_change_half(&c, &row->thread, 0);
    tt_change_half(&c, &row->state, TT_STRAND_MERGED);
    tt_change_make(&c);
    return 0;
}

int tt_merge(struct tt_tree *into, struct tt_tree *from)
{
    struct merge m = {.into = into, .from = from};
    struct tt_strand_record *record = from->record;

    TT_ASSERT(into != from && into->recording == from->recording);
    if (make_tallies(&m) != 0 || make_room(&m) != 0)
        return -TT_ERR_MEMORY;
    TT_ASSERT(into->record->moves % 2 == 0);
    __atomic_fetch_add(&into->record->moves, 1, __ATOMIC_SEQ_CST);
    send_checked(&m);
    tt_bands_merge(into, from);
    tt_log_move(from, send_samples, &m);
    if (from->log_since < into->log_since)
        into->log_since = from->log_since;
    count_member(into, record,
                 m.w.weight[tt_place(&m.w, record->root)] + record->lost_ticks);
    __atomic_fetch_add(&into->record->moves, 1, __ATOMIC_SEQ_CST);
    tt_weights_fini(&m.w);
    return 0;
}
