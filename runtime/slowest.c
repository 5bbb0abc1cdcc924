/* SPDX-License-Identifier: MIT */
/* slowest.c - the K slowest activations of a marked block, each with its own subtree.
 *
 * An average does not show the one frame that took 40 ms.  When a marked activation
 * begins we note the charges of each context below it so far; if it ends among the
 * slowest, the differences are its subtree.  Activations within each other have separate
 * notes.  Noting costs a walk over the subtree: meant
 * for blocks that are entered a few thousand times a second, not a million. */
#include "slowest.h"

#include <string.h>
#include <sys/mman.h>

#include "activation.h"
#include "block.h"
#include "cell.h"
#include "extension.h"
#include "journal.h"
#include "stack.h"

enum { SEEN_LARGEST = 1 << 17 };

struct tt_slow_seen {
    uint32_t cell, row; /* row: + 1, once it has one */
    uint64_t calls, self;
};

/* ── What has been seen ───────────────────────────────────────────────────────────── */

/* Its memory is mapped, and kept for the next time: the program's heap is not used. */
static struct tt_slow_seen *find_seen(const struct tt_slow_level *s, uint32_t cell)
{
    uint32_t i = cell * 0x9e3779b1u >> 7;

    for (;; i++) {
        struct tt_slow_seen *seen = &s->table[i & (s->size - 1)];
        if (seen->cell == cell || !seen->cell)
            return seen;
    }
}

static int size_seen(struct tt_slow_level *s, uint32_t count)
{
    uint32_t size = s->size ? s->size : 1024;
    void *p;

    while (size < 4 * count)
        size *= 2;
    if (size > SEEN_LARGEST)
        return -TT_ERR_MEMORY;
    if (size != s->size) {
        p = mmap(NULL, size * sizeof *s->table, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return -TT_ERR_MEMORY;
        if (s->table)
            munmap(s->table, s->size * sizeof *s->table);
        s->table = p;
        s->size = size;
    } else {
        memset(s->table, 0, s->size * sizeof *s->table);
    }
    return 0;
}

void tt_slowest_drop(struct tt_thread *t)
{
    for (int i = 0; i < TT_SLOW_DEPTH; i++)
        if (t->slow.level[i].table)
            munmap(t->slow.level[i].table,
                   t->slow.level[i].size * sizeof *t->slow.level[i].table);
    memset(&t->slow, 0, sizeof t->slow);
}

/* ── A subtree in preorder ────────────────────────────────────────────────────────── */

static struct tt_node *skip_arcs(struct tt_edges *i, struct tt_node *n)
{
    while (n && n->kind != TT_CELL_CONTEXT)
        n = tt_edges_next(i);
    return n;
}

static struct tt_node *next_in_subtree(const struct tt_tree *t, const struct tt_node *top,
                                       struct tt_node *n)
{
    struct tt_edges i;
    struct tt_node *next = tt_edges_first(&i, t, n);

    next = skip_arcs(&i, next);
    while (!next && n != top) {
        i = (struct tt_edges){
            .tree = t, .node = tt_parent(t, n), .cell = tt_cell_of(t, n)};
        i.bucket = n->key & TT_KEY_BLOCK & i.node->mask;
        next = skip_arcs(&i, tt_edges_next(&i));
        n = tt_parent(t, n);
    }
    return next;
}

/* ── An activation ────────────────────────────────────────────────────────────────── */

/* Notes the figures of a frame's subtree.  -TT_ERR_MEMORY: it is too large to be looked at each
 * time. */
static int see_subtree(const struct tt_thread *t, struct tt_slow_level *s,
                       const struct tt_frame *f)
{
    uint32_t count = 0;

    for (struct tt_node *n = f->node; n && count < SEEN_LARGEST;
         n = next_in_subtree(&t->tree, f->node, n))
        count++;
    if (size_seen(s, count + 1) != 0)
        return -TT_ERR_MEMORY;
    for (struct tt_node *n = f->node; n; n = next_in_subtree(&t->tree, f->node, n))
        *find_seen(s, tt_cell_of(&t->tree, n)) = (struct tt_slow_seen){
            tt_cell_of(&t->tree, n), 0, n->calls, n->self};
    return 0;
}

void tt_slowest_begin(struct tt_thread *t, struct tt_frame *f)
{
    struct tt_slow_state *s = &t->slow;
    struct tt_slow_level *level = &s->level[s->depth];
    uint32_t mark = f->node == t->tree.limbo ? 0 : tt_block_marked(tt_frame_block(t, f));

    if (!mark || !t->recording->options.marked[mark - 1].slowest)
        return;
    if (s->depth == TT_SLOW_DEPTH || see_subtree(t, level, f) != 0) {
        tt_bump_shared(&t->recording->header->lost_figures, 1);
        return;
    }
    level->frame = f;
    s->depth++;
    f->entered = t->record->last = tt_time_now(t); /* our own time is not charged */
}

static struct tt_slow *find_least(struct tt_slowest *s)
{
    struct tt_slow *least = s->slot;

    for (uint32_t i = 1; i < s->count; i++)
        if (s->slot[i].duration < least->duration)
            least = &s->slot[i];
    return least;
}

static struct tt_slow *choose_slot(struct tt_slowest *s, uint64_t duration,
                                   uint32_t capacity)
{
    struct tt_slow *least;

    s->capacity = capacity;
    if (s->count < capacity)
        return &s->slot[s->count++];
    least = find_least(s);
    return duration > least->duration ? least : NULL;
}

static uint32_t row_above(const struct tt_thread *t, const struct tt_slow_level *level,
                          const struct tt_node *top, const struct tt_node *n)
{
    while (n != top) {
        n = tt_parent(&t->tree, n);
        const struct tt_slow_seen *seen = find_seen(level, tt_cell_of(&t->tree, n));
        if (seen->cell && seen->row)
            return seen->row;
    }
    return 0;
}

static void write_rows(struct tt_thread *t, const struct tt_slow_level *level,
                       struct tt_slow *slot, const struct tt_node *top)
{
    struct tt_slow_row *row = (struct tt_slow_row *)(void *)tt_cell(t->tree.base,
                                                                    slot->rows);
    uint32_t left = level->size / 2;

    slot->count = 0;
    slot->dropped = 0;
    for (struct tt_node *n = tt_cell(t->tree.base, tt_cell_of(&t->tree, top)); n;
         n = next_in_subtree(&t->tree, top, n)) {
        struct tt_slow_seen *seen = find_seen(level, tt_cell_of(&t->tree, n));
        uint64_t calls = n->calls - seen->calls, self = n->self - seen->self;
        if (!calls && !self && n != top)
            continue;
        if (slot->count == TT_SLOW_ROWS || left == 0) {
            slot->dropped += self;
            continue;
        }
        left -= !seen->cell;
        row[slot->count] = (struct tt_slow_row){n->key, row_above(t, level, top, n),
                                                calls, self};
        seen->cell = tt_cell_of(&t->tree, n);
        seen->row = slot->count + 1;
        __atomic_store_n(&slot->count, seen->row, __ATOMIC_RELEASE);
    }
}

/* Those above it are of fibers that did not run on: they are left out. */
static const struct tt_slow_level *leave_level(struct tt_thread *t,
                                               const struct tt_frame *f)
{
    struct tt_slow_state *s = &t->slow;
    uint32_t depth = s->depth;

    while (depth && s->level[depth - 1].frame != f)
        depth--;
    if (!depth)
        return NULL;
    if (s->depth > depth)
        tt_bump_shared(&t->recording->header->lost_figures, s->depth - depth);
    s->depth = depth - 1;
    return &s->level[depth - 1];
}

void tt_slowest_end(struct tt_thread *t, struct tt_node *edge, const struct tt_frame *f,
                    uint64_t duration, uint32_t capacity)
{
    const struct tt_slow_level *level = leave_level(t, f);
    struct tt_slowest *s;
    struct tt_slow *slot;

    if (!level)
        return;
    s = tt_tree_extension(&t->tree, edge, TT_SLOWEST, TT_SLOWEST_ORDER);
    slot = s ? choose_slot(s, duration, capacity) : NULL;
    if (!slot)
        return;
    if (!slot->rows)
        slot->rows = tt_tree_data(&t->tree, TT_ROWS_ORDER);
    slot->start = f->entered - t->recording->header->start_ticks;
    slot->duration = duration;
    if (slot->rows)
        write_rows(t, level, slot, f->node);
    t->record->last = tt_time_now(t); /* our own time is not charged */
}

/* Moves a slot, with a copy of its rows; frees those that the slot had. */
static void move_slot(struct tt_tree *into, struct tt_slowest *s, struct tt_slow *slot,
                      struct tt_slowest *from)
{
    const struct tt_slow *last = &from->slot[from->count - 1];
    uint32_t rows = last->rows ? tt_tree_data(into, TT_ROWS_ORDER) : 0, old = slot->rows;
    struct tt_change c = tt_change_begin(into);

    if (rows)
        memcpy(tt_cell(into->base, rows), tt_cell(into->base, last->rows),
               sizeof(struct tt_slow_row) * last->count);
    *tt_change_word(&c, &slot->start) = last->start;
    *tt_change_word(&c, &slot->duration) = last->duration;
    *tt_change_word(&c, &slot->dropped) = last->dropped;
    tt_change_half(&c, &slot->rows, rows);
    tt_change_half(&c, &slot->count, rows ? last->count : 0);
    *tt_change_word(&c, &s->count) += slot == &s->slot[s->count];
    --*tt_change_word(&c, &from->count);
    tt_change_make(&c);
    if (old)
        tt_tree_give_data(into, old, TT_ROWS_ORDER);
}

void tt_slowest_merge(struct tt_tree *into, struct tt_node *to, struct tt_slowest *from)
{
    struct tt_slowest *s = tt_tree_extension(into, to, TT_SLOWEST, TT_SLOWEST_ORDER);
    struct tt_slow *slot;

    if (s)
        s->capacity = from->capacity;
    while (s && from->count) {
        slot = s->count < s->capacity ? &s->slot[s->count] : find_least(s);
        if (slot == &s->slot[s->count] ||
            slot->duration < from->slot[from->count - 1].duration)
            move_slot(into, s, slot, from);
        else
            __atomic_store_n(&from->count, from->count - 1, __ATOMIC_RELEASE);
    }
}
