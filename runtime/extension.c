/* SPDX-License-Identifier: MIT */
/* extension.c - the figures that are stored beside the tree.
 *
 * Figures for which a cell has no room are in a chain of extensions: times first, for the
 * sake of the exact mode, rows of space last, since there may be many.  The totals of a
 * block over all of a strand, including evicted contexts, are its tally. */
#include "extension.h"
#include "cell.h"
#include "tree.h"

#include <string.h>
#include <sys/mman.h>

/* ── Extensions ───────────────────────────────────────────────────────────────────── */

void *tt_tree_extension_find(const struct tt_tree *t, const uint32_t *chain,
                             uint32_t kind)
{
    for (uint32_t cell = *chain; cell && !tt_is_space(tt_cell(t->base, cell)->kind);
         cell = ((struct tt_loss *)(void *)tt_cell(t->base, cell))->next)
        if (tt_cell(t->base, cell)->kind == kind)
            return tt_cell(t->base, cell);
    return NULL;
}

void tt_tree_link(const struct tt_tree *t, uint32_t *chain, void *extension,
                  uint32_t kind)
{
    struct tt_loss *e = extension;
    struct tt_node *first = tt_cell(t->base, *chain);

    TT_ASSERT(kind > TT_CELL_ARC && kind != TT_CELL_TALLY && kind <= TT_BAND);
    TT_ASSERT(tt_cell_of(t, e) != *chain);
    if (*chain && first->kind == TT_TIMES && kind != TT_TIMES)
        chain = &((struct tt_loss *)(void *)first)->next;
    while (tt_is_space(kind) && *chain && !tt_is_space(tt_cell(t->base, *chain)->kind))
        chain = &((struct tt_loss *)(void *)tt_cell(t->base, *chain))->next;
    e->next = *chain;
    __atomic_store_n(&e->kind, (uint8_t)kind, __ATOMIC_RELEASE);
    __atomic_store_n(chain, tt_cell_of(t, e), __ATOMIC_RELEASE);
}

void *tt_tree_extension(struct tt_tree *t, struct tt_node *n, uint32_t kind,
                        uint32_t order)
{
    void *e = tt_tree_extension_find(t, &n->extension, kind);
    uint32_t cell;

    if (e)
        return e;
    cell = tt_tree_data(t, order);
    if (!cell) {
        tt_bump_shared(&t->recording->header->lost_figures, 1);
        return NULL;
    }
    e = tt_cell(t->base, cell);
    tt_tree_link(t, &n->extension, e, kind);
    return e;
}

static void give_extension(struct tt_tree *t, uint32_t cell)
{
    struct tt_node *n = tt_cell(t->base, cell);
    const struct tt_slowest *slowest = (const struct tt_slowest *)(const void *)n;

    TT_ASSERT(n->kind > TT_CELL_ARC && n->kind != TT_CELL_TALLY);
    if (n->kind < TT_TIMES) {
        tt_tree_give(t, n);
    } else if (n->kind == TT_SLOWEST) {
        for (uint32_t i = 0; i < slowest->count; i++)
            if (slowest->slot[i].rows)
                tt_tree_give_data(t, slowest->slot[i].rows, TT_ROWS_ORDER);
        tt_tree_give_data(t, cell, TT_SLOWEST_ORDER);
    } else {
        tt_tree_give_data(t, cell,
                          n->kind == TT_TIMES ? TT_TIMES_ORDER : TT_HISTOGRAM_ORDER);
    }
}

void tt_tree_give_extensions(struct tt_tree *t, uint32_t *chain)
{
    uint32_t cell = *chain, next;

    *chain = 0;
    for (; cell; cell = next) {
        next = ((struct tt_loss *)(void *)tt_cell(t->base, cell))->next;
        give_extension(t, cell);
    }
}

struct tt_times *tt_tree_times(struct tt_tree *t, struct tt_node *edge)
{
    const struct tt_node *first = tt_cell(t->base, edge->extension);
    struct tt_tally *tally;
    struct tt_times *times;

    if (edge->extension && first->kind == TT_TIMES)
        return (struct tt_times *)(void *)tt_cell(t->base, edge->extension);
    tally = tt_tree_tally(t, edge->key & TT_KEY_BLOCK);
    times = tally ? tt_tree_extension(t, edge, TT_TIMES, TT_TIMES_ORDER) : NULL;
    TT_ASSERT(!times || !times->tally || times->tally == tt_cell_of(t, tally));
    if (times)
        times->tally = tt_cell_of(t, tally);
    return times;
}

struct tt_loss *tt_tree_loss_find(const struct tt_tree *t, const struct tt_node *n)
{
    return tt_tree_extension_find(t, &n->extension, TT_CELL_LOSS);
}

struct tt_loss *tt_tree_loss(struct tt_tree *t, struct tt_node *n)
{
    void *loss = tt_tree_loss_find(t, n);

    if (loss)
        return loss;
    loss = tt_tree_take(t, 0);
    if (loss)
        tt_tree_link(t, &n->extension, loss, TT_CELL_LOSS);
    return loss;
}

/* ── Metrics ──────────────────────────────────────────────────────────────────────── */

/* The place for a metric on a chain, which it has already or for which the last cell has room;
 * else NULL, and *end is where the next cell belongs. */
static uint64_t *place_on(const struct tt_tree *t, uint32_t **end, uint32_t metric,
                          uint32_t **name)
{
    struct tt_metrics *m;
    uint32_t cell, i;

    for (cell = **end; cell; cell = m->next) { /* only the last has room */
        m = (struct tt_metrics *)(void *)tt_cell(t->base, cell);
        if (tt_is_space(m->kind))
            break;
        if (m->kind != TT_CELL_METRICS)
            continue;
        *end = &m->next;
        for (i = 0; i < 4 && m->metric[i] && m->metric[i] != metric; i++)
            ;
        *name = &m->metric[i % 4];
        if (i < 4)
            return &m->amount[i];
    }
    return NULL;
}

static uint64_t *make_place(struct tt_tree *t, uint32_t *chain, uint32_t metric,
                            uint32_t reserve)
{
    uint32_t *name;
    uint64_t *amount = place_on(t, &chain, metric, &name);
    struct tt_metrics *m;

    if (amount) {
        __atomic_store_n(name, metric, __ATOMIC_RELEASE);
        return amount;
    }
    m = (struct tt_metrics *)(void *)tt_tree_take(t, reserve);
    if (!m)
        return NULL;
    m->metric[0] = metric;
    tt_tree_link(t, chain, m, TT_CELL_METRICS);
    return &m->amount[0];
}

uint64_t *tt_tree_metric_amount(struct tt_tree *t, uint32_t *chain, uint32_t metric)
{
    return make_place(t, chain, metric, 0);
}

/* Makes the cells by which an eviction, which makes none, moves a metric of the block. */
static int is_movable(struct tt_tree *t, tt_block block, uint32_t metric)
{
    struct tt_tally *tally = tt_tree_tally_find(t, block);
    uint32_t other = metric | TT_METRIC_ELSEWHERE;

    return tally && tt_tree_metric_amount(t, &tally->next, other) &&
           tt_tree_metric_amount(t, &t->root->extension, other);
}

uint64_t *tt_tree_metric_of(struct tt_tree *t, struct tt_node *n, uint32_t metric)
{
    uint32_t *chain = &n->extension, *name;
    uint64_t *amount = place_on(t, &chain, metric, &name);

    if (amount && *name == metric)
        return amount;
    if (n != t->root && !is_movable(t, n->key, metric))
        return NULL;
    return make_place(t, &n->extension, metric, n == t->root ? 0 : TT_CELL_RESERVE);
}

uint64_t *tt_tree_metric_below(struct tt_tree *t, struct tt_node *n, uint32_t metric)
{
    uint32_t other = metric | TT_METRIC_ELSEWHERE;
    uint64_t *amount;

    while (!(amount = tt_tree_metric_amount(t, &n->extension, other)) && n != t->root)
        n = tt_parent(t, n);
    return amount;
}

int tt_tree_metric_evicted(struct tt_tree *t, struct tt_node *n, tt_block block,
                           uint32_t metric, uint64_t amount)
{
    struct tt_tally *tally = tt_tree_tally_find(t, block);
    uint64_t *own = NULL, *below;

    if (tally)
        own = tt_tree_metric_amount(t, &tally->next, metric | TT_METRIC_ELSEWHERE);
    below = own ? tt_tree_metric_below(t, n, metric) : NULL;
    if (!below)
        return 0;
    tt_bump(own, amount);
    tt_bump(below, amount);
    return 1;
}

int tt_tree_metric(struct tt_tree *t, uint32_t *chain, uint32_t metric, uint64_t amount)
{
    uint64_t *sum = tt_tree_metric_amount(t, chain, metric);

    if (!sum) {
        tt_bump_shared(&t->recording->header->lost_figures, 1);
        return -TT_ERR_MEMORY;
    }
    tt_bump(sum, amount);
    return 0;
}

/* ── By block: marks and tallies ──────────────────────────────────────────────────── */

/* Returns how many bytes to map for an array of `size` blocks.  It has room to grow: moving an array takes longer
 * than a sample.  Pages without a store take no memory, unless the kernel uses large ones. */
static size_t room_for(uint32_t size)
{
    size_t room = 1 << 14;

    while (room < size)
        room *= 4;
    return room * sizeof(uint32_t);
}

/* Most are zero: a copy of those would take memory. */
static void copy_sparse(uint32_t *to, const uint32_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (from[i])
            to[i] = from[i];
}

/* Grows an array by block.  On failure it stays as it was. */
static int grow_array(uint32_t **array, uint32_t have, uint32_t want)
{
    uint32_t *grown, *old = *array;

    TT_ASSERT(want > have && (have == 0) == (old == NULL));
    if (old && room_for(have) == room_for(want))
        return 0;
    grown = mmap(NULL, room_for(want), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (grown == MAP_FAILED)
        return -TT_ERR_MEMORY;
    copy_sparse(grown, old, have);
    __atomic_store_n(array, grown, __ATOMIC_RELEASE);
    tt_by_block_free(old, have);
    return 0;
}

void tt_by_block_free(uint32_t *array, uint32_t size)
{
    if (array)
        munmap(array, room_for(size));
}

int tt_marks_grow(struct tt_marks *m, uint32_t size)
{
    if (size > m->size && grow_array(&m->stamp, m->size, size) != 0)
        return -TT_ERR_MEMORY;
    m->size = size > m->size ? size : m->size;
    return 0;
}

void tt_marks_fini(struct tt_marks *m)
{
    tt_by_block_free(m->stamp, m->size);
    *m = (struct tt_marks){NULL, 0, 0};
}

/* Room for a block's slot. */
static int grow_tally(struct tt_tree *t, tt_block block)
{
    uint32_t size = t->tally_size ? t->tally_size : 512;
    int error;

    TT_ASSERT(block < TT_BLOCKS_MAX);
    while (size <= block)
        size *= 2;
    tt_nested_lock(&t->lock, &tt_self);
    error = tt_marks_grow(&t->marks, size);
    if (!error)
        error = grow_array(&t->tally, t->tally_size, size);
    if (!error)
        __atomic_store_n(&t->tally_size, size, __ATOMIC_RELEASE);
    tt_nested_unlock(&t->lock);
    return error;
}

struct tt_tally *tt_tree_tally_find(const struct tt_tree *t, tt_block block)
{
    uint32_t cell = block < t->tally_size ? t->tally[block] : 0;

    TT_ASSERT(!cell || (tt_cell(t->base, cell)->kind == TT_CELL_TALLY &&
                        tt_cell(t->base, cell)->key == block));
    return cell ? (struct tt_tally *)(void *)tt_cell(t->base, cell) : NULL;
}

struct tt_tally *tt_tree_tally(struct tt_tree *t, tt_block block)
{
    struct tt_tally *tally = tt_tree_tally_find(t, block);

    if (tally)
        return tally;
    if (block >= t->tally_size && grow_tally(t, block) != 0)
        return NULL;
    tally = (struct tt_tally *)(void *)tt_tree_take(t, 0);
    if (!tally)
        return NULL;
    tally->key = block;
    __atomic_store_n(&tally->kind, TT_CELL_TALLY, __ATOMIC_RELEASE);
    t->tally[block] = tt_cell_of(t, tally);
    return tally;
}
