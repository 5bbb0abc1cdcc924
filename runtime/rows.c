/* SPDX-License-Identifier: MIT */
/* rows.c - rows of a context's objects, and how they move when contexts do.
 *
 * A context has a row for each type and way of the objects that it made:
 *
 *      context ── row  pair  none → 0     allocated
 *              ── row  pair  0 → 1        copied, as it survived
 *              └─ row  pair  0 → none     freed
 *
 * Rows are extensions of the context, at the end of its chain.  An index in the memory of
 * this process finds one in O(1), however long the chain, and can be rebuilt from it.
 *
 * Live objects need not be counted one by one.  A collection of a generation removes all
 * objects from it that do not survive, and counts the survivors again.  So of a row's
 * objects, those are in the generation `to` that came since its last collection: `gone`
 * is the value of `all` at that time, stored when the row is next changed, and `stamp`
 * shows whether it was.
 *
 *      alive in g  =  Σ rows → g (all - gone)  -  Σ rows g → none (all - gone)
 *
 * Rows move when contexts are evicted and when ended strands are merged. */
#include "rows.h"

#include <string.h>
#include <sys/mman.h>

#include "cell.h"
#include "extension.h"
#include "series.h"

/* ── What the process has ─────────────────────────────────────────────────────────── */

struct tt_space_record *tt_space_record_make(struct tt_recording *r)
{
    uint64_t cell = __atomic_load_n(&r->header->space, __ATOMIC_ACQUIRE), none = 0;
    uint32_t page;

    if (!cell) {
        page = tt_page_take(r, TT_PAGE_SPACE, 0, 0);
        if (!page)
            return NULL;
        cell = tt_page_cell(r, page);
        if (!__atomic_compare_exchange_n(&r->header->space, &none, cell, 0,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            tt_page_give(r, page, 0);
            cell = none; /* another thread was faster */
        }
    }
    return (struct tt_space_record *)(void *)tt_cell(r->base, cell);
}

uint32_t tt_space_collection(struct tt_recording *r)
{
    const struct tt_space_record *s = tt_space_record(r);

    return s ? (uint32_t)__atomic_load_n(&s->collected, __ATOMIC_RELAXED) : 0;
}

/* ── The index of rows ────────────────────────────────────────────────────────────── */

static uint32_t key_of(const struct tt_space_way *w)
{
    return w->type | w->from << TT_SPACE_FROM_SHIFT;
}

static uint32_t way_of(uint32_t to, uint32_t kind) { return to | kind << 8; }

static struct tt_space_slot *find_space_slot(const struct tt_space_index *x,
                                             uint32_t context, uint32_t key, uint32_t way)
{
    for (uint32_t i = tt_space_home(context, key, way);; i++) {
        struct tt_space_slot *s = &x->slot[i & (x->size - 1)];
        if (!s->row || (s->context == context && s->key == key && s->way == way))
            return s;
    }
}

static int grow_space_index(struct tt_space_index *x)
{
    struct tt_space_index grown = {
        .size = x->size ? x->size * 2 : 1024, .count = x->count, .told = x->told};
    void *p = mmap(NULL, grown.size * sizeof *grown.slot, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return -TT_ERR_MEMORY;
    grown.slot = p;
    for (uint32_t i = 0; i < x->size; i++)
        if (x->slot[i].row)
            *find_space_slot(&grown, x->slot[i].context, x->slot[i].key,
                             x->slot[i].way) = x->slot[i];
    if (x->slot)
        munmap(x->slot, x->size * sizeof *x->slot);
    *x = grown;
    return 0;
}

static int index_row(struct tt_space_index *x, uint32_t context,
                     const struct tt_space *row, uint32_t cell)
{
    uint32_t way = way_of(row->flags, row->kind);

    if (x->count * 2 >= x->size && grow_space_index(x) != 0)
        return -TT_ERR_MEMORY;
    x->count++;
    *find_space_slot(x, context, row->key,
                     way) = (struct tt_space_slot){context, row->key, way, cell};
    return 0;
}

static int index_context(struct tt_tree *t, struct tt_node *n)
{
    const struct tt_space *row;

    for (uint32_t cell = n->extension; cell; cell = row->next) {
        row = (const struct tt_space *)(const void *)tt_cell(t->base, cell);
        if (tt_is_space(row->kind) &&
            index_row(&t->space, tt_cell_of(t, n), row, cell) != 0)
            return -TT_ERR_MEMORY;
    }
    return 0;
}

/* After cells have moved: from the contexts' chains. */
static int make_index_anew(struct tt_tree *t)
{
    struct tt_space_index *x = &t->space;

    if (x->slot)
        memset(x->slot, 0, x->size * sizeof *x->slot);
    x->count = 0;
    for (uint32_t page = t->pages; page; page = t->recording->next[page])
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++) {
            struct tt_node *n = tt_cell(t->base, tt_page_cell(t->recording, page) + i);
            if (n->kind == TT_CELL_CONTEXT && index_context(t, n) != 0)
                return -TT_ERR_MEMORY;
        }
    x->stale = 0;
    tt_bands_index(t);
    return 0;
}

uint32_t tt_space_known(struct tt_tree *t, uint32_t context, uint32_t key, uint32_t way)
{
    struct tt_space_index *x = &t->space;

    if (TT_UNLIKELY(x->stale) && make_index_anew(t) != 0)
        return 0;
    return x->size ? find_space_slot(x, context, key, way)->row : 0;
}

void tt_space_know(struct tt_tree *t, uint32_t context, uint32_t key, uint32_t way,
                   uint32_t what)
{
    struct tt_space_index *x = &t->space;

    if (x->count * 2 >= x->size && grow_space_index(x) != 0)
        return;
    x->count++;
    *find_space_slot(x, context, key, way) = (struct tt_space_slot){context, key, way,
                                                                    what};
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static struct tt_space *row_at(const struct tt_tree *t, uint32_t cell)
{
    return (struct tt_space *)(void *)tt_cell(t->base, cell);
}

struct tt_space *tt_space_row(struct tt_tree *t, struct tt_node *n, uint32_t kind,
                              const struct tt_space_way *w)
{
    struct tt_space_index *x = &t->space;
    uint32_t context = tt_cell_of(t, n), key = key_of(w), way = way_of(w->to, kind);
    struct tt_space_slot *slot;
    struct tt_space *row;

    if (TT_UNLIKELY(x->stale) && make_index_anew(t) != 0)
        return NULL;
    if (x->size && (slot = find_space_slot(x, context, key, way))->row)
        return row_at(t, slot->row);
    if (x->count * 2 >= x->size && grow_space_index(x) != 0)
        return NULL;
    row = (struct tt_space *)(void *)tt_tree_take(t, 0);
    if (!row)
        return NULL;
    row->key = key;
    row->flags = (uint8_t)w->to;
    tt_tree_link(t, &n->extension, row, kind);
    (void)index_row(x, context, row, tt_cell_of(t, row));
    return row;
}

uint64_t tt_space_bytes(const struct tt_tree *t, const struct tt_node *n)
{
    const struct tt_space *row;
    uint64_t bytes = 0;

    for (uint32_t cell = n->extension; cell; cell = row->next) {
        row = row_at(t, cell);
        if (tt_is_space(row->kind) && row->key >> TT_SPACE_FROM_SHIFT == TT_NO_GENERATION)
            bytes += row->all.bytes;
    }
    return bytes;
}

/* ── Moving rows ──────────────────────────────────────────────────────────────────── */

static void change_objects(struct tt_change *c, struct tt_objects *to,
                           const struct tt_objects *more)
{
    *tt_change_word(c, &to->number) += more->number;
    *tt_change_word(c, &to->bytes) += more->bytes;
    *tt_change_word(c, &to->overhead) += more->overhead;
}

static void set_head(struct tt_change *c, struct tt_space *row, uint32_t key,
                     uint8_t kind, uint8_t flags)
{
    struct tt_space head = *row;
    uint32_t half[2];

    head.key = key;
    head.kind = kind;
    head.flags = flags;
    memcpy(half, &head, sizeof half);
    tt_change_half(c, (uint32_t *)(void *)row, half[0]);
    tt_change_half(c, (uint32_t *)(void *)row + 1, half[1]);
}

/* Adds a row to another one of the same way; the emptied row goes from no generation to
 * none. */
static void move_row(struct tt_tree *t, struct tt_space *to, struct tt_space *from)
{
    const struct tt_space_record *s = tt_space_record(t->recording);
    uint32_t stamp = tt_space_stamp(s, to);
    struct tt_objects gone = from->stamp == stamp ? from->gone : from->all;
    struct tt_change c = tt_change_begin(t);

    if (to->stamp != stamp) {
        *tt_change_word(&c, &to->gone.number) = to->all.number;
        *tt_change_word(&c, &to->gone.bytes) = to->all.bytes;
        *tt_change_word(&c, &to->gone.overhead) = to->all.overhead;
        tt_change_half(&c, &to->stamp, stamp);
    }
    change_objects(&c, &to->all, &from->all);
    change_objects(&c, &to->gone, &gone);
    set_head(&c, from, from->key | (uint32_t)TT_NO_GENERATION << TT_SPACE_FROM_SHIFT,
             from->kind, TT_NO_GENERATION);
    tt_change_make(&c);
}

/* A row of an evicted context, at `link`, becomes one of those evicted below another: the
 * same cell, in another chain. */
static void relink_row(struct tt_tree *t, uint32_t *link, struct tt_node *to)
{
    struct tt_space *row = row_at(t, *link);
    struct tt_change c = tt_change_begin(t);
    uint32_t cell = *link, *end = &to->extension;

    while (*end && !tt_is_space(row_at(t, *end)->kind))
        end = &row_at(t, *end)->next;
    tt_change_half(&c, link, row->next);
    tt_change_half(&c, &row->next, *end);
    tt_change_half(&c, end, cell);
    set_head(&c, row, row->key, TT_CELL_SPACE_BELOW, row->flags);
    tt_change_make(&c);
    (void)index_row(&t->space, tt_cell_of(t, to), row, cell);
}

static struct tt_space *find_row_below(const struct tt_tree *t, const struct tt_node *n,
                                       const struct tt_space *like)
{
    const struct tt_space_index *x = &t->space;
    uint32_t row;

    if (!x->size)
        return NULL;
    row = find_space_slot(x, tt_cell_of(t, n), like->key,
                          way_of(like->flags, TT_CELL_SPACE_BELOW))
              ->row;
    return row ? row_at(t, row) : NULL;
}

void tt_space_evict_begin(struct tt_tree *t)
{
    if (t->space.stale)
        (void)make_index_anew(t);
}

/* Takes no cell: there may be none.  The index stays right for the remaining contexts
 * only; the caller has it rebuilt afterwards. */
void tt_space_evict(struct tt_tree *t, struct tt_node *from, struct tt_node *to)
{
    uint32_t *link = &from->extension;
    struct tt_space *row, *there;

    while (*link && !tt_is_space(row_at(t, *link)->kind))
        link = &row_at(t, *link)->next;
    while (*link) {
        row = row_at(t, *link);
        there = find_row_below(t, to, row);
        if (there)
            move_row(t, there, row);
        if (there)
            link = &row->next;
        else
            relink_row(t, link, to);
    }
}

void tt_space_merge(struct tt_tree *t, struct tt_node *to, struct tt_space *from)
{
    struct tt_space_way w = {from->key & TT_KEY_BLOCK, from->key >> TT_SPACE_FROM_SHIFT,
                             from->flags};
    struct tt_space *row;

    if (w.from == TT_NO_GENERATION && w.to == TT_NO_GENERATION)
        return;
    row = tt_space_row(t, to, from->kind, &w);
    if (row)
        move_row(t, row, from);
    else
        tt_bump_shared(&t->recording->header->lost_figures, 1);
}
