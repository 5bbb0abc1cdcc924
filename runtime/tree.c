/* SPDX-License-Identifier: MIT */
/* tree.c - the bounded calling-context tree of one strand.
 *
 * A context is a path of blocks; a node stands for one context.  The path of a node never
 * changes, so where `push(X)` leads from it never changes either: we work it out once,
 * walking the ancestors, and remember it as a transition.  From then on a push is one
 * table look-up, however deep the stack.
 *
 *      root ── a ── b ⟲ b        ⟲  transition back into the path: an arc
 *                   └── c
 *
 * Each node has a table from blocks to cells, of a power of two entries, at first the two
 * in the node itself.  It grows until each block has an entry of its own, as far as four
 * times their number; what still collides is chained, and found by the slow path. */
#include "tree.h"

#include <string.h>
#include <sys/mman.h>

enum { INLINE_TABLE = 6, FIRST_TABLE_ORDER = 0, TABLE_CELL_ENTRIES = 16 };

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

static int take_cell_page(struct tt_tree *t)
{
    struct tt_recording *r = t->recording;
    uint32_t page = tt_page_take(r, TT_PAGE_CELL, t->owner, 0);

    if (!page)
        return -TT_ERR_MEMORY;
    while (t->fresh < t->fresh_end) { /* what the reserve kept back */
        t->free_count--;
        tt_tree_give(t, tt_cell(t->base, t->fresh++));
    }
    r->next[page] = t->pages;
    t->pages = page;
    t->page_count++;
    t->fresh = tt_page_cell(r, page);
    t->fresh_end = t->fresh + TT_PAGE_CELLS;
    t->free_count += TT_PAGE_CELLS;
    return 0;
}

/* A free cell, all zero but for its generation; NULL when no more than `reserve` are left.
 * The one that has been free longest comes first, so that a handle to what it was finds
 * its way to the ancestor for as long as possible.  One is always left for an eviction to
 * begin with: it needs at most one for each that it gives back. */
struct tt_node *tt_tree_take(struct tt_tree *t, uint32_t reserve)
{
    struct tt_node *n;
    uint16_t generation;

    if (reserve < t->reserve)
        reserve = t->reserve;
    if (t->free_count <= reserve && take_cell_page(t) != 0)
        return NULL;
    t->free_count--;
    if (t->fresh < t->fresh_end)
        return tt_cell(t->base, t->fresh++);
    n = tt_cell(t->base, t->free_first);
    t->free_first = n->parent; /* 0 after the last */
    generation = n->generation;
    memset(n, 0, sizeof *n);
    n->generation = generation;
    return n;
}

int tt_tree_reserve(struct tt_tree *t, uint32_t cells)
{
    while (t->free_count < cells)
        if (take_cell_page(t) != 0)
            return -TT_ERR_MEMORY;
    return 0;
}

/* `target` stays: the way to the surviving ancestor. */
void tt_tree_give(struct tt_tree *t, struct tt_node *n)
{
    uint32_t cell = tt_cell_of(t, n);

    __atomic_store_n(&n->kind, TT_CELL_FREE, __ATOMIC_RELEASE);
    n->key = UINT32_MAX;
    n->generation++;
    n->parent = 0;
    if (!t->free_first)
        t->free_first = cell;
    else
        tt_cell(t->base, t->free_last)->parent = cell;
    t->free_last = cell;
    t->free_count++;
}

/* ── Data: tables and large extensions ────────────────────────────────────────────── */

/* 2^order cells, zeroed; a run of pages from 16 cells on. */
static uint32_t take_data(struct tt_tree *t, uint32_t order)
{
    struct tt_recording *r = t->recording;
    uint32_t cells = 1u << order, pages = order > 4 ? order - 4 : 0, page, at;

    at = (t->data + cells - 1) & ~(cells - 1);
    if (order < 4 && at + cells <= t->data_end) {
        t->data = at + cells;
        return at;
    }
    page = tt_page_take(r, TT_PAGE_DATA, t->owner, pages);
    if (!page)
        return 0;
    for (uint32_t i = 0; i < 1u << pages; i++) {
        r->next[page + i] = t->data_pages;
        t->data_pages = page + i;
    }
    at = tt_page_cell(r, page);
    if (order < 4) {
        t->data = at + cells;
        t->data_end = at + TT_PAGE_CELLS;
    }
    return at;
}

static uint32_t take_table(struct tt_tree *t, uint32_t order)
{
    uint32_t cell = order < TT_TABLE_ORDERS ? t->tables[order] : 0;
    uint32_t *entry;

    if (order >= TT_TABLE_ORDERS)
        return 0;
    if (!cell)
        return take_data(t, order);
    entry = (uint32_t *)(void *)tt_cell(t->base, cell);
    t->tables[order] = entry[0];
    memset(entry, 0, (size_t)TT_CELL_SIZE << order);
    return cell;
}

/* A free table still reads as a table: its link is a cell like any other entry. */
static void give_table(struct tt_tree *t, uint32_t cell, uint32_t order)
{
    uint32_t *entry = (uint32_t *)(void *)tt_cell(t->base, cell);

    entry[0] = t->tables[order];
    t->tables[order] = cell;
}

static int table_is_inline(const struct tt_node *n)
{
    return n->mask < TABLE_CELL_ENTRIES - 1;
}

static uint32_t table_order(const struct tt_node *n)
{
    return (uint32_t)__builtin_ctz((n->mask + 1) / TABLE_CELL_ENTRIES);
}

void tt_tree_give_table(struct tt_tree *t, struct tt_node *n)
{
    if (!table_is_inline(n))
        give_table(t, n->table / TABLE_CELL_ENTRIES, table_order(n));
}

/* ── Transitions ──────────────────────────────────────────────────────────────────── */

struct tt_node *tt_edges_first(struct tt_edges *i, const struct tt_tree *t,
                               const struct tt_node *n)
{
    *i = (struct tt_edges){.tree = t, .node = n, .cell = tt_table(t->base, n)[0]};
    return i->cell ? tt_cell(t->base, i->cell) : tt_edges_next(i);
}

struct tt_node *tt_edges_next(struct tt_edges *i)
{
    const uint32_t *table = tt_table(i->tree->base, i->node);

    if (i->cell)
        i->cell = tt_cell(i->tree->base, i->cell)->next;
    while (!i->cell && i->bucket < i->node->mask)
        i->cell = table[++i->bucket];
    return i->cell ? tt_cell(i->tree->base, i->cell) : NULL;
}

uint32_t tt_tree_find(const struct tt_tree *t, const struct tt_node *from, tt_block block)
{
    uint32_t cell = tt_table(t->base, from)[block & from->mask];

    while (cell && (tt_cell(t->base, cell)->key & TT_KEY_BLOCK) != block)
        cell = tt_cell(t->base, cell)->next;
    return cell;
}

static void put_edge(char *base, uint32_t *table, uint32_t mask, uint32_t cell)
{
    struct tt_node *edge = tt_cell(base, cell);
    uint32_t *head = &table[edge->key & TT_KEY_BLOCK & mask];

    edge->next = *head;
    __atomic_store_n(head, cell, __ATOMIC_RELEASE);
}

/* Moves a node's transitions into a table of 2^order cells.  The new one is shown in one
 * store: a signal handler may look at any moment.  When there is no room it stays. */
static void grow_table(struct tt_tree *t, struct tt_node *n, uint32_t order,
                       uint32_t count)
{
    uint32_t cell = take_table(t, order), mask = (16u << order) - 1;
    uint32_t *table = (uint32_t *)(void *)tt_cell(t->base, cell), next;
    struct tt_node old = *n;
    const uint32_t *from = tt_table(t->base, n);
    union {
        uint32_t half[2];
        uint64_t whole;
    } shown = {.half = {cell * TABLE_CELL_ENTRIES, mask}};

    if (!cell)
        return;
    for (uint32_t i = 0; i <= old.mask; i++)
        for (uint32_t e = from[i]; e; e = next) {
            next = tt_cell(t->base, e)->next;
            put_edge(t->base, table, mask, e);
        }
    __atomic_store_n((uint64_t *)(void *)&n->table, shown.whole, __ATOMIC_RELEASE);
    n->slot[0] = count;
    tt_tree_give_table(t, &old);
}

static void add_edge(struct tt_tree *t, struct tt_node *from, uint32_t cell)
{
    const struct tt_node *edge = tt_cell(t->base, cell);
    uint32_t count;

    if (table_is_inline(from)) {
        if (tt_table(t->base, from)[edge->key & TT_KEY_BLOCK & from->mask])
            grow_table(t, from, FIRST_TABLE_ORDER, 2);
    } else {
        count = ++from->slot[0];
        if (tt_table(t->base, from)[edge->key & TT_KEY_BLOCK & from->mask] &&
            from->mask + 1 < 4 * count)
            grow_table(t, from, table_order(from) + 1, count);
    }
    put_edge(t->base, tt_table(t->base, from), from->mask, cell);
}

/* ── Recursion policies: where on the path a push leads, or NULL for a child ──────── */

/* The nearest context on the path that ends in the same `length` blocks. */
static struct tt_node *find_repeat(const struct tt_tree *t, struct tt_node *from,
                                   tt_block block, uint32_t length)
{
    for (struct tt_node *n = from; n != t->root; n = tt_parent(t, n)) {
        struct tt_node *a = tt_parent(t, n), *b = from;
        uint32_t same = n->key == block;

        while (same && same < length && a != t->root && b != t->root &&
               a->key == b->key) {
            a = tt_parent(t, a);
            b = tt_parent(t, b);
            same++;
        }
        if (same == length)
            return n;
    }
    return NULL;
}

/* The nearest X on the path for which what lies between it and here stands once more
 * right before it. */
static struct tt_node *find_cycle(const struct tt_tree *t, struct tt_node *from,
                                  tt_block block)
{
    for (struct tt_node *n = from; n != t->root; n = tt_parent(t, n)) {
        struct tt_node *after = from, *before = tt_parent(t, n);

        if (n->key != block)
            continue;
        while (after != n && before != t->root && after->key == before->key) {
            after = tt_parent(t, after);
            before = tt_parent(t, before);
        }
        if (after == n)
            return n;
    }
    return NULL;
}

static struct tt_node *find_recent(const struct tt_tree *t, struct tt_node *from,
                                   tt_block block, uint32_t length)
{
    struct tt_node *n = from;

    for (uint32_t i = 0; i <= length && n != t->root; i++, n = tt_parent(t, n))
        if (n->key == block)
            return n;
    return NULL;
}

static struct tt_node *find_target(const struct tt_tree *t, struct tt_node *from,
                                   tt_block block)
{
    const struct tt_options *o = &t->recording->options;

    switch ((enum tt_recursion)o->recursion) {
    case TT_RECURSION_EDGE:
        return find_repeat(t, from, block, 2);
    case TT_RECURSION_REPEAT:
        return find_repeat(t, from, block, o->recursion_length);
    case TT_RECURSION_BLOCK:
        return find_repeat(t, from, block, 1);
    case TT_RECURSION_CYCLE:
        return find_cycle(t, from, block);
    case TT_RECURSION_DROP:
        return find_repeat(t, from, block, 1) ? from : NULL;
    case TT_RECURSION_RECENT:
        return find_recent(t, from, block, o->recursion_length);
    case TT_RECURSION_NONE:
        break;
    }
    return NULL;
}

/* ── Growing ──────────────────────────────────────────────────────────────────────── */

/* How much of this context may have been evicted before it came back: no more than what
 * its parent lost below it, and no more than any context that ever was evicted had. */
static uint64_t missed_by(const struct tt_tree *t, const struct tt_node *parent)
{
    const struct tt_loss *loss = tt_tree_loss_find(t, parent);
    uint64_t below;

    if (!loss)
        return 0;
    below = loss->missed +
            (loss->elsewhere.self ? loss->elsewhere.self : loss->elsewhere.calls);
    return below < t->record->threshold ? below : t->record->threshold;
}

/* Its block has its tally from now on: for when the context is evicted or hidden. */
static uint32_t make_context(struct tt_tree *t, struct tt_node *from, tt_block block)
{
    struct tt_node *n;
    uint32_t cell;
    uint64_t missed;
    struct tt_loss *loss;

    if (!tt_tree_tally(t, block) || !(n = tt_tree_take(t, TT_CELL_RESERVE)))
        return 0;
    cell = tt_cell_of(t, n);
    n->key = block;
    n->parent = tt_cell_of(t, from);
    n->target = cell;
    n->table = cell * (TT_CELL_SIZE / 4) + INLINE_TABLE;
    n->mask = 1;
    n->flags = find_repeat(t, from, block, 1) ? TT_NODE_AGAIN : TT_NODE_OUTERMOST;
    missed = missed_by(t, from);
    if (missed && (loss = tt_tree_loss(t, n)))
        loss->missed = missed;
    __atomic_store_n(&n->kind, TT_CELL_CONTEXT, __ATOMIC_RELEASE);
    add_edge(t, from, cell);
    return cell;
}

/* The blocks between target and from are hidden by an arc when they stand nowhere above
 * it. */
static uint32_t hides(const struct tt_tree *t, const struct tt_node *from,
                      const struct tt_node *target)
{
    for (; from != target; from = tt_parent(t, from))
        if (from->flags & TT_NODE_OUTERMOST)
            return TT_KEY_HIDES;
    return 0;
}

/* May a push back to `target` be counted as one through its own edge?  Not under `drop`,
 * where it is another block's, nor under `cycle`, where a tail call's source is no frame's. */
static int has_own_edge(const struct tt_tree *t, const struct tt_node *target,
                        tt_block block)
{
    return target->key == block && t->recording->options.recursion != TT_RECURSION_CYCLE;
}

static uint32_t make_arc(struct tt_tree *t, struct tt_node *from, tt_block block,
                         struct tt_node *target)
{
    struct tt_node *arc = tt_tree_take(t, TT_CELL_RESERVE / 4);
    uint32_t cell;

    if (!arc) /* it is better to mistake the caller than the context */
        return has_own_edge(t, target, block) ? tt_cell_of(t, target) : 0;
    cell = tt_cell_of(t, arc);
    arc->key = block | TT_KEY_ARC | hides(t, from, target) |
               (target->key == block ? 0 : TT_KEY_STAYS);
    arc->flags = TT_NODE_AGAIN;
    arc->parent = tt_cell_of(t, from);
    arc->target = tt_cell_of(t, target);
    __atomic_store_n(&arc->kind, TT_CELL_ARC, __ATOMIC_RELEASE);
    add_edge(t, from, cell);
    return cell;
}

uint32_t tt_tree_step(struct tt_tree *t, struct tt_node *from, tt_block block)
{
    uint32_t cell;
    struct tt_node *target;

    if (from == t->limbo)
        return 0;
    cell = tt_tree_find(t, from, block);
    if (cell)
        return cell;
    target = find_target(t, from, block);
    return target ? make_arc(t, from, block, target) : make_context(t, from, block);
}

uint32_t tt_tree_arc(struct tt_tree *t, struct tt_node *from, tt_block block,
                     struct tt_node *target)
{
    uint32_t cell = tt_tree_find(t, from, block);

    return cell ? cell : make_arc(t, from, block, target);
}

uint32_t tt_tree_child(struct tt_tree *t, struct tt_node *from, tt_block block)
{
    uint32_t cell = tt_tree_find(t, from, block);

    return cell ? cell : make_context(t, from, block);
}

/* ── Figures beside the tree ──────────────────────────────────────────────────────── */

void *tt_tree_extension_find(const struct tt_tree *t, const uint32_t *chain,
                             uint32_t kind)
{
    for (uint32_t cell = *chain; cell;
         cell = ((struct tt_loss *)(void *)tt_cell(t->base, cell))->next)
        if (tt_cell(t->base, cell)->kind == kind)
            return tt_cell(t->base, cell);
    return NULL;
}

/* TIMES stay first on the chain, for the sake of the exact mode. */
static void link_extension(const struct tt_tree *t, uint32_t *chain, void *extension,
                           uint32_t kind)
{
    struct tt_loss *e = extension;
    struct tt_node *first = tt_cell(t->base, *chain);

    if (*chain && first->kind == TT_TIMES && kind != TT_TIMES)
        chain = &((struct tt_loss *)(void *)first)->next;
    e->next = *chain;
    __atomic_store_n(&e->kind, (uint8_t)kind, __ATOMIC_RELEASE);
    __atomic_store_n(chain, tt_cell_of(t, e), __ATOMIC_RELEASE);
}

uint32_t tt_tree_data(struct tt_tree *t, uint32_t order)
{
    uint32_t cell = t->extensions[order];
    struct tt_loss *e = (struct tt_loss *)(void *)tt_cell(t->base, cell);

    if (!cell)
        return take_data(t, order);
    t->extensions[order] = e->next;
    memset(e, 0, (size_t)TT_CELL_SIZE << order);
    return cell;
}

void tt_tree_give_data(struct tt_tree *t, uint32_t cell, uint32_t order)
{
    struct tt_loss *e = (struct tt_loss *)(void *)tt_cell(t->base, cell);

    e->kind = TT_CELL_FREE;
    e->next = t->extensions[order];
    t->extensions[order] = cell;
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
    link_extension(t, &n->extension, e, kind);
    return e;
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
        link_extension(t, &n->extension, loss, TT_CELL_LOSS);
    return loss;
}

uint64_t *tt_tree_metric_amount(struct tt_tree *t, uint32_t *chain, uint32_t metric)
{
    struct tt_metrics *m;
    uint32_t cell, i;

    for (cell = *chain; cell; cell = m->next) {
        m = (struct tt_metrics *)(void *)tt_cell(t->base, cell);
        if (m->kind != TT_CELL_METRICS)
            continue;
        for (i = 0; i < 4 && m->metric[i] && m->metric[i] != metric; i++)
            ;
        if (i < 4) {
            __atomic_store_n(&m->metric[i], metric, __ATOMIC_RELEASE);
            return &m->amount[i];
        }
    }
    m = (struct tt_metrics *)(void *)tt_tree_take(t, 1);
    if (!m) {
        tt_bump_shared(&t->recording->header->lost_figures, 1);
        return NULL;
    }
    m->metric[0] = metric;
    link_extension(t, chain, m, TT_CELL_METRICS);
    return &m->amount[0];
}

int tt_tree_metric(struct tt_tree *t, uint32_t *chain, uint32_t metric, uint64_t amount)
{
    uint64_t *sum = tt_tree_metric_amount(t, chain, metric);

    if (!sum)
        return -TT_ERR_MEMORY;
    tt_bump(sum, amount);
    return 0;
}

/* Grows an array by block.  On failure it stays as it was. */
static int grow_array(uint32_t **array, uint32_t have, uint32_t want)
{
    uint32_t *grown = mmap(NULL, want * sizeof *grown, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint32_t *old = *array;

    if (grown == MAP_FAILED)
        return -TT_ERR_MEMORY;
    if (old)
        memcpy(grown, old, have * sizeof *grown);
    __atomic_store_n(array, grown, __ATOMIC_RELEASE);
    if (old)
        munmap(old, have * sizeof *grown);
    return 0;
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
    if (m->stamp)
        munmap(m->stamp, m->size * sizeof *m->stamp);
    *m = (struct tt_marks){NULL, 0, 0};
}

/* Room for a block's slot. */
static int grow_tally(struct tt_tree *t, tt_block block)
{
    uint32_t size = t->tally_size ? t->tally_size : 512;
    int error;

    while (size <= block)
        size *= 2;
    pthread_mutex_lock(&t->lock);
    error = tt_marks_grow(&t->marks, size);
    if (!error)
        error = grow_array(&t->tally, t->tally_size, size);
    if (!error)
        __atomic_store_n(&t->tally_size, size, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&t->lock);
    return error;
}

struct tt_tally *tt_tree_tally_find(const struct tt_tree *t, tt_block block)
{
    uint32_t cell = block < t->tally_size ? t->tally[block] : 0;

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

static void give_extension(struct tt_tree *t, uint32_t cell)
{
    struct tt_node *n = tt_cell(t->base, cell);
    const struct tt_slowest *slowest = (const struct tt_slowest *)(const void *)n;

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

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

static struct tt_node *make_root(struct tt_tree *t, uint8_t kind)
{
    struct tt_node *n = tt_tree_take(t, 0);
    uint32_t cell = tt_cell_of(t, n);

    n->key = TT_BLOCK_ROOT;
    n->target = cell;
    n->table = cell * (TT_CELL_SIZE / 4) + INLINE_TABLE;
    n->mask = 1;
    n->kind = kind;
    return n;
}

/* Recursive: an eviction may have to make room for a tally. */
void tt_tree_lock_init(struct tt_tree *t)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&t->lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

int tt_tree_init(struct tt_tree *t, struct tt_recording *r,
                 struct tt_strand_record *record)
{
    memset(t, 0, sizeof *t);
    t->recording = r;
    t->record = record;
    t->base = r->base;
    t->owner = record->index + 1;
    if (take_cell_page(t) != 0)
        return -TT_ERR_MEMORY;
    tt_tree_lock_init(t);
    t->root = make_root(t, TT_CELL_CONTEXT);
    t->limbo = make_root(t, TT_CELL_FREE);
    record->root = tt_cell_of(t, t->root);
    record->current = (uint64_t)record->root * TT_CELL_SIZE;
    t->reserve = 1;
    return 0;
}

static void give_pages(struct tt_recording *r, uint32_t page)
{
    uint32_t next;

    for (; page; page = next) {
        next = r->next[page];
        tt_page_give(r, page, 0);
    }
}

void tt_tree_forget(struct tt_tree *t)
{
    pthread_mutex_destroy(&t->lock);
    tt_marks_fini(&t->marks);
    if (t->tally)
        munmap(t->tally, t->tally_size * sizeof *t->tally);
    memset(t, 0, sizeof *t);
}

void tt_tree_fini(struct tt_tree *t)
{
    give_pages(t->recording, t->pages);
    give_pages(t->recording, t->data_pages);
    tt_tree_forget(t);
}
