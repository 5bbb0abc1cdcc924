/* SPDX-License-Identifier: MIT */
/* tree.c - the bounded calling-context tree of one strand.
 *
 * A context is a path of blocks; a node represents one context.  The path of a node never
 * changes, so the target of `push(X)` from it never changes either: we find it once,
 * walking the ancestors, and store it as a transition.  From then on a push is one table
 * look-up, however deep the stack.
 *
 *      root ── a ── b ⟲ b        ⟲  transition back into the path: an arc
 *                   └── c
 *
 * Each node has a table from blocks to cells, of a power of two entries, at first the two
 * in the node itself.  It grows until each block has a separate entry, up to four times
 * their number; further collisions are chained, and found by the slow path. */
#include "tree.h"
#include "block.h"
#include "cell.h"
#include "extension.h"

#include <string.h>
#include <sys/mman.h>

enum { INLINE_TABLE = 6, FIRST_TABLE_ORDER = 0, TABLE_ROOM = 16 };

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

    TT_ASSERT(from->kind == TT_CELL_CONTEXT);
    while (cell && (tt_cell(t->base, cell)->key & TT_KEY_BLOCK) != block)
        cell = tt_cell(t->base, cell)->next;
    return cell;
}

static void put_edge(char *base, uint32_t *table, uint32_t mask, uint32_t cell)
{
    struct tt_node *edge = tt_cell(base, cell);
    uint32_t *head = &table[edge->key & TT_KEY_BLOCK & mask];

    TT_ASSERT(edge->kind == TT_CELL_CONTEXT || edge->kind == TT_CELL_ARC);
    TT_ASSERT(*head != cell);
    edge->next = *head;
    __atomic_store_n(head, cell, __ATOMIC_RELEASE);
}

/* Moves a node's transitions into a table of 2^order cells.  The new one is shown in one
 * store: a signal handler may read it at any moment.  Without room the old one stays. */
static void grow_table(struct tt_tree *t, struct tt_node *n, uint32_t order)
{
    uint32_t cell = tt_tree_table(t, order),
             mask = ((uint32_t)TT_CELL_ENTRIES << order) - 1, count = 0;
    uint32_t *table = (uint32_t *)(void *)tt_cell(t->base, cell), next;
    struct tt_node old = *n;
    const uint32_t *from = tt_table(t->base, n);
    union {
        uint32_t half[2];
        uint64_t whole;
    } shown = {.half = {cell * TT_CELL_ENTRIES, mask}};

    if (!cell)
        return;
    TT_ASSERT(mask > old.mask);
    for (uint32_t i = 0; i <= old.mask; i++)
        for (uint32_t e = from[i]; e; e = next, count++) {
            next = tt_cell(t->base, e)->next;
            put_edge(t->base, table, mask, e);
        }
    TT_ASSERT(tt_table_is_inline(&old) || count == old.slot[0]);
    __atomic_store_n((uint64_t *)(void *)&n->table, shown.whole, __ATOMIC_RELEASE);
    n->slot[0] = count;
    tt_tree_give_table(t, &old);
}

static int is_taken(const struct tt_tree *t, const struct tt_node *from, tt_block block)
{
    return tt_table(t->base, from)[block & from->mask] != 0;
}

/* The fast paths read only the first edge of a bucket. */
static void add_edge(struct tt_tree *t, struct tt_node *from, uint32_t cell)
{
    tt_block block = tt_cell(t->base, cell)->key & TT_KEY_BLOCK;
    uint32_t mask;

    TT_ASSERT(tt_tree_find(t, from, block) == 0); /* each block leads to one place */
    TT_ASSERT(tt_cell(t->base, cell)->parent == tt_cell_of(t, from));
    if (tt_table_is_inline(from)) {
        if (is_taken(t, from, block))
            grow_table(t, from, FIRST_TABLE_ORDER);
    } else {
        do {
            mask = from->mask;
            if (is_taken(t, from, block) && mask + 1 < TABLE_ROOM * (from->slot[0] + 1))
                grow_table(t, from, tt_table_order(from) + 1);
        } while (from->mask != mask);
    }
    put_edge(t->base, tt_table(t->base, from), from->mask, cell);
    if (!tt_table_is_inline(from))
        from->slot[0]++;
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

/* The nearest X on the path such that the path from it to here repeats the path right
 * before it. */
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

/* Has the block never had a context in this tree?  Then it is not on the path.  This
 * saves walking the whole path at each step of a new deep stack. */
static int has_never_been(const struct tt_tree *t, tt_block block)
{
    return !tt_tree_tally_find(t, block);
}

static struct tt_node *find_target(const struct tt_tree *t, struct tt_node *from,
                                   tt_block block)
{
    const struct tt_options *o = &t->recording->options;

    if (has_never_been(t, block))
        return NULL;
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

/* How much of this context may have been evicted before it came back: at most the loss of
 * its parent below it, and at most the weight of any evicted context. */
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

/* Makes its block's tally, too: for when the context is evicted or hidden. */
static uint32_t make_context(struct tt_tree *t, struct tt_node *from, tt_block block)
{
    struct tt_node *n;
    uint32_t cell, again = !has_never_been(t, block) && find_repeat(t, from, block, 1);
    uint64_t missed;
    struct tt_loss *loss;

    TT_ASSERT(block != TT_BLOCK_ROOT && block < TT_BLOCKS_MAX);
    TT_ASSERT(from->kind == TT_CELL_CONTEXT && from != t->limbo);
    if (!tt_tree_tally(t, block) || !(n = tt_tree_take(t, TT_CELL_RESERVE)))
        return 0;
    cell = tt_cell_of(t, n);
    n->key = block;
    n->parent = tt_cell_of(t, from);
    n->target = cell;
    n->table = cell * TT_CELL_ENTRIES + INLINE_TABLE;
    n->mask = 1;
    n->flags = again ? TT_NODE_AGAIN : TT_NODE_OUTERMOST;
    missed = missed_by(t, from);
    if (missed && (loss = tt_tree_loss(t, n)))
        loss->missed = missed;
    __atomic_store_n(&n->kind, TT_CELL_CONTEXT, __ATOMIC_RELEASE);
    add_edge(t, from, cell);
    return cell;
}

/* An arc hides the blocks between target and from that do not occur above target. */
static uint32_t hides(const struct tt_tree *t, const struct tt_node *from,
                      const struct tt_node *target)
{
    for (; from != target; from = tt_parent(t, from))
        if (from->flags & TT_NODE_OUTERMOST)
            return TT_KEY_HIDES;
    return 0;
}

/* May a push back to `target` be counted through its own edge?  Not under `drop`, where
 * the target is another block's, nor under `cycle`, where a tail call's source has no
 * frame. */
static int has_own_edge(const struct tt_tree *t, const struct tt_node *target,
                        tt_block block)
{
    return target->key == block && t->recording->options.recursion != TT_RECURSION_CYCLE;
}

static uint32_t make_arc(struct tt_tree *t, struct tt_node *from, tt_block block,
                         struct tt_node *target)
{
    struct tt_node *arc = tt_tree_take(t, 0);
    uint32_t cell;

    TT_ASSERT(from->kind == TT_CELL_CONTEXT && target->kind == TT_CELL_CONTEXT);
    TT_ASSERT(tt_tree_is_above(t, target, from)); /* an arc leads back into its path */
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

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

uint32_t tt_tree_depth(const struct tt_tree *t, const struct tt_node *n)
{
    uint32_t depth = 0;

    for (; n->parent; n = tt_parent(t, n))
        depth++;
    return depth;
}

uint32_t tt_tree_common(const struct tt_tree *t, const struct tt_node *a,
                        const struct tt_node *b)
{
    uint32_t m = tt_tree_depth(t, a), n = tt_tree_depth(t, b);

    for (; m > n; m--)
        a = tt_parent(t, a);
    for (; n > m; n--)
        b = tt_parent(t, b);
    for (; a != b; n--) {
        a = tt_parent(t, a);
        b = tt_parent(t, b);
    }
    return n;
}

int tt_tree_is_topmost(const struct tt_tree *t, const struct tt_node *n)
{
    const tt_block function = tt_block_function(n->key);

    if (!(n->flags & TT_NODE_OUTERMOST))
        return 0;
    for (; function && n != t->root; n = tt_parent(t, n))
        if (tt_parent(t, n) != t->root &&
            tt_block_function(tt_parent(t, n)->key) == function)
            return 0;
    return 1;
}

/* Mostly it is near. */
int tt_tree_is_above(const struct tt_tree *t, const struct tt_node *a,
                     const struct tt_node *b)
{
    while (b != a && b->parent)
        b = tt_parent(t, b);
    return b == a;
}

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

static struct tt_node *make_root(struct tt_tree *t, uint8_t kind)
{
    struct tt_node *n = tt_tree_take(t, 0);
    uint32_t cell = tt_cell_of(t, n);

    n->key = TT_BLOCK_ROOT;
    n->target = cell;
    n->table = cell * TT_CELL_ENTRIES + INLINE_TABLE;
    n->mask = 1;
    n->kind = kind;
    return n;
}

int tt_tree_init(struct tt_tree *t, struct tt_recording *r,
                 struct tt_strand_record *record)
{
    memset(t, 0, sizeof *t);
    t->recording = r;
    t->record = record;
    t->base = r->base;
    TT_ASSERT((uintptr_t)record % sizeof(uint64_t) == 0 && !record->redo.count);
    t->owner = record->index + 1;
    t->log_since = __atomic_load_n(&r->log.closed, __ATOMIC_RELAXED);
    if (tt_tree_reserve(t, 1) != 0)
        return -TT_ERR_MEMORY;
    t->root = make_root(t, TT_CELL_CONTEXT);
    t->limbo = make_root(t, TT_CELL_FREE);
    record->root = tt_cell_of(t, t->root);
    record->current = (uint64_t)record->root * TT_CELL_SIZE;
    t->reserve = TT_EVICTION_RESERVE;
    return 0;
}

void tt_tree_forget(struct tt_tree *t)
{
    tt_marks_fini(&t->marks);
    tt_by_block_free(t->tally, t->tally_size);
    if (t->space.slot)
        munmap(t->space.slot, t->space.size * sizeof *t->space.slot);
    if (t->space.told)
        munmap(t->space.told, TT_EVENT_CACHE * sizeof *t->space.told);
    memset(t, 0, sizeof *t);
}

void tt_tree_fini(struct tt_tree *t)
{
    tt_tree_give_pages(t);
    tt_tree_forget(t);
}
