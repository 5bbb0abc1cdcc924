/* SPDX-License-Identifier: MIT */
/* picture.c - a recording as it can be looked at.
 *
 * First everything is checked that the rest relies on: sizes, kinds, and that each cell
 * refers to cells of its own strand.  Contexts are then sorted by parent and name, and
 * strung together from the roots; a context that no root leads to, as in a damaged file
 * where parents run in a circle, is an error. */
#include "picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ── Errors and bounds ────────────────────────────────────────────────────────────── */

static __attribute__((format(printf, 2, 3))) int damaged(struct tt_picture *p,
                                                         const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(p->error, sizeof p->error, format, list);
    va_end(list);
    return -TT_ERR_FORMAT;
}

static struct tt_node *node_at(const struct tt_picture *p, uint32_t cell)
{
    return (struct tt_node *)(void *)(p->image + (size_t)cell * TT_CELL_SIZE);
}

static const uint32_t *page_map(const struct tt_picture *p)
{
    return (const uint32_t *)(const void *)(p->image + p->header->map);
}

static uint32_t first_cell(const struct tt_picture *p)
{
    return p->header->first / TT_CELL_SIZE;
}

/* The page map's word for a cell; 0 when there is no such cell. */
static uint32_t page_of(const struct tt_picture *p, uint32_t cell)
{
    if (cell < first_cell(p) || cell >= p->cells)
        return 0;
    return page_map(p)[(cell - first_cell(p)) / TT_PAGE_CELLS];
}

static int is_cell_of(const struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    return page_of(p, cell) == (TT_PAGE_CELL | owner << 8);
}

/* ── Header ───────────────────────────────────────────────────────────────────────── */

static int check_header(struct tt_picture *p)
{
    const struct tt_header *h = (const struct tt_header *)(const void *)p->image;
    uint64_t end;

    if (p->size < sizeof h->magic || memcmp(h->magic, TT_MAGIC, sizeof h->magic) != 0)
        return damaged(p, "this is not a recording");
    if (p->size < sizeof *h)
        return damaged(p, "cut off in the header, at %zu bytes", p->size);
    if (h->version != TT_LAYOUT_VERSION || h->header_size != sizeof *h)
        return damaged(p, "a recording of version %u; this reads version %u", h->version,
                       TT_LAYOUT_VERSION);
    end = (uint64_t)h->first + (uint64_t)h->used * TT_PAGE_SIZE;
    if (h->first % TT_PAGE_SIZE || h->first < TT_HEADER_SIZE || h->map < TT_HEADER_SIZE ||
        h->map % 4 || h->map + (uint64_t)h->used * 4 > h->first || h->used > h->pages ||
        h->used > (UINT32_MAX - 1) / TT_PAGE_CELLS - h->first / TT_CELL_SIZE)
        return damaged(p, "damaged header");
    if (end > p->size && p->live && p->size >= h->first) {
        ((struct tt_header *)(void *)p->image)->used = (uint32_t)((p->size - h->first) /
                                                                  TT_PAGE_SIZE);
        end = p->size;
    }
    if (end > p->size)
        return damaged(p, "cut off at %zu of %llu bytes", p->size,
                       (unsigned long long)end);
    p->header = h;
    p->cells = h->first / TT_CELL_SIZE + h->used * TT_PAGE_CELLS;
    return 0;
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static int read_string(struct tt_picture *p, uint32_t at, const char **out)
{
    uint64_t offset = (uint64_t)at * 4;
    uint32_t length;

    *out = "";
    if (at == 0)
        return 0;
    if ((page_of(p, (uint32_t)(offset / TT_CELL_SIZE)) & 0xff) != TT_PAGE_STRING ||
        offset + 4 > p->size)
        return damaged(p, "damaged string at byte %llu", (unsigned long long)offset);
    memcpy(&length, p->image + offset, 4);
    if (length >= p->size - offset - 4 || p->image[offset + 4 + length] != '\0' ||
        strlen(p->image + offset + 4) != length)
        return damaged(p, "damaged string at byte %llu", (unsigned long long)offset);
    *out = p->image + offset + 4;
    return 0;
}

static int read_block(struct tt_picture *p, const struct tt_block_record *r)
{
    struct tt_picture_block *b = &p->block[p->blocks];

    if (r->id >= TT_BLOCKS_MAX || r->kind >= TT_KINDS)
        return damaged(p, "damaged block %u", r->id);
    b->id = r->id;
    b->info = (struct tt_block_info){.offset = r->offset,
                                     .line = r->line,
                                     .column = r->column,
                                     .length = r->length,
                                     .kind = (enum tt_kind)r->kind};
    if ((read_string(p, r->name, &b->info.name) ||
         read_string(p, r->file, &b->info.file) ||
         read_string(p, r->module, &b->info.module)) &&
        !p->live)
        return -TT_ERR_FORMAT;
    b->calls = r->calls;
    b->self = b->self_low = b->evicted = r->self;
    b->inclusive = b->hidden = r->hidden;
    p->blocks++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct tt_picture_block *x = a, *y = b;
    int order = strcmp(x->info.name, y->info.name);

    if (!order)
        order = strcmp(x->info.file, y->info.file);
    if (!order)
        order = (x->info.line > y->info.line) - (x->info.line < y->info.line);
    if (!order)
        order = (x->id > y->id) - (x->id < y->id);
    return order;
}

/* Calls `each` for every cell of a type of page that is in use. */
static int each_in_pages(struct tt_picture *p, uint32_t type, uint32_t step,
                         int (*each)(struct tt_picture *, uint32_t cell, uint32_t owner))
{
    for (uint32_t page = 0; page < p->header->used; page++) {
        uint32_t word = page_map(p)[page];
        for (uint32_t i = 0; (word & 0xff) == type && i < TT_PAGE_CELLS; i += step) {
            int error = each(p, first_cell(p) + page * TT_PAGE_CELLS + i, word >> 8);
            if (error)
                return error;
        }
    }
    return 0;
}

static int count_block(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    (void)owner;
    p->blocks += ((struct tt_block_record *)(void *)node_at(p, cell))->id != 0;
    return 0;
}

static int take_block(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_block_record *r = (const struct tt_block_record *)(void *)node_at(
        p, cell);

    (void)owner;
    return r->id ? read_block(p, r) : 0;
}

static int read_blocks(struct tt_picture *p)
{
    int error;

    (void)each_in_pages(p, TT_PAGE_BLOCK, 1, count_block);
    p->block = calloc(p->blocks + 1, sizeof *p->block);
    if (!p->block)
        return -TT_ERR_MEMORY;
    p->blocks = 0;
    error = each_in_pages(p, TT_PAGE_BLOCK, 1, take_block);
    if (error)
        return error;
    qsort(p->block, p->blocks, sizeof *p->block, by_name);
    for (uint32_t i = 0; i < p->blocks; i++) {
        p->block[i].rank = i;
        if (i && strcmp(p->block[i - 1].info.name, p->block[i].info.name) == 0)
            p->block[i - 1].shares_name = p->block[i].shares_name = 1;
    }
    return 0;
}

/* Block ids to indices: a table of its own, since ids are small and dense. */
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
        x->at[p->block[i].id] = i + 1;
    return 0;
}

static uint32_t block_index(const struct block_index *x, uint32_t key)
{
    key &= TT_KEY_BLOCK;
    return key < x->size ? x->at[key] : 0;
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

/* A change that was written down but perhaps not carried out is carried out. */
static int finish_redo(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_strand_record *s = (const struct tt_strand_record *)(void *)node_at(
        p, cell);
    struct tt_redo redo = s->redo;

    (void)owner;
    if (s->state == TT_STRAND_NONE || !redo.count)
        return 0;
    if (redo.count > TT_REDO_WORDS)
        return damaged(p, "damaged change of strand %u", s->index);
    for (uint32_t i = 0; i < redo.count; i++) {
        uint32_t type = page_of(p, redo.where[i] / (TT_CELL_SIZE / 8)) & 0xff;
        if (type != TT_PAGE_CELL && type != TT_PAGE_DATA && type != TT_PAGE_STRAND)
            return damaged(p, "damaged change of strand %u", s->index);
        *(tt_word *)(void *)(p->image + 8 * (size_t)redo.where[i]) = redo.value[i];
    }
    return 0;
}

static int count_strand(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_strand_record *s = (const struct tt_strand_record *)(void *)node_at(
        p, cell);

    (void)owner;
    p->strands += s->state != TT_STRAND_NONE;
    return 0;
}

static int take_strand(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_strand_record *s = (const struct tt_strand_record *)(void *)node_at(
        p, cell);

    (void)owner;
    if (s->state == TT_STRAND_NONE)
        return 0;
    if (s->state > TT_STRAND_MERGED || !memchr(s->name, '\0', sizeof s->name) ||
        !is_cell_of(p, s->root, s->index + 1) ||
        node_at(p, s->root)->kind != TT_CELL_CONTEXT || node_at(p, s->root)->parent)
        return p->live ? 0 : damaged(p, "damaged strand record in cell %u", cell);
    p->strand[p->strands++] = s;
    return 0;
}

static int by_strand_index(const void *a, const void *b)
{
    const struct tt_strand_record *const *x = a, *const *y = b;

    return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

static int read_strands(struct tt_picture *p)
{
    const uint32_t step = sizeof(struct tt_strand_record) / TT_CELL_SIZE;
    int error = 0;

    if (!p->live) /* a live copy is only taken for whole when nothing moves */
        error = each_in_pages(p, TT_PAGE_STRAND, step, finish_redo);
    if (error)
        return error;
    (void)each_in_pages(p, TT_PAGE_STRAND, step, count_strand);
    p->strand = calloc(p->strands + 1, sizeof *p->strand);
    p->strand_first = calloc(p->strands + 1, sizeof *p->strand_first);
    if (!p->strand || !p->strand_first)
        return -TT_ERR_MEMORY;
    p->strands = 0;
    error = each_in_pages(p, TT_PAGE_STRAND, step, take_strand);
    if (error)
        return error;
    qsort(p->strand, p->strands, sizeof *p->strand, by_strand_index);
    for (uint32_t i = 1; i < p->strands; i++)
        if (p->strand[i]->index == p->strand[i - 1]->index && !p->live)
            return damaged(p, "two strands are number %u", p->strand[i]->index);
    return 0;
}

static int by_owner(const void *key, const void *item)
{
    const struct tt_strand_record *const *s = item;
    uint32_t index = *(const uint32_t *)key - 1;

    return (index > (*s)->index) - (index < (*s)->index);
}

/* What a merged strand left behind is nobody's, until its pages are given back. */
static int drop_orphan(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    int is_orphan = !bsearch(&owner, p->strand, p->strands, sizeof *p->strand, by_owner);

    for (uint32_t i = 0; is_orphan && i < TT_PAGE_CELLS; i++) {
        struct tt_node *n = node_at(p, cell + i);
        p->dropped += p->live && n->kind == TT_CELL_CONTEXT && n->parent;
        n->kind = TT_CELL_FREE;
    }
    return 0;
}

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

static int check_extensions(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    enum { LONGEST = 64 };
    uint32_t at = node_at(p, cell)->extension;

    if (node_at(p, cell)->kind == TT_CELL_TALLY)
        at = ((struct tt_tally *)(void *)node_at(p, cell))->next;
    for (int i = 0; at; i++) {
        const struct tt_loss *e = (const struct tt_loss *)(void *)node_at(p, at);
        uint32_t page = page_of(p, at), type = page & 0xff, cells = 1;
        if (i == LONGEST || page >> 8 != owner ||
            (type != TT_PAGE_CELL && type != TT_PAGE_DATA))
            return damaged(p, "damaged extensions of cell %u", cell);
        if (e->kind == TT_TIMES)
            cells = 1u << TT_TIMES_ORDER;
        else if (e->kind == TT_HISTOGRAM || e->kind == TT_HISTORY)
            cells = 1u << TT_HISTOGRAM_ORDER;
        else if (e->kind == TT_SLOWEST)
            cells = 1u << TT_SLOWEST_ORDER;
        else if (e->kind != TT_CELL_LOSS && e->kind != TT_CELL_METRICS)
            return damaged(p, "damaged extension in cell %u", at);
        if (page_of(p, at + cells - 1) != page)
            return damaged(p, "damaged extension in cell %u", at);
        at = e->next;
    }
    return 0;
}

static int check_slowest(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_slowest *s = tt_picture_extension(p, cell, TT_SLOWEST);
    const struct tt_history *h = tt_picture_extension(p, cell, TT_HISTORY);

    if (h && (h->capacity == 0 || h->capacity > TT_HISTORY_MAX))
        return damaged(p, "damaged history of cell %u", cell);
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct tt_slow *slot = &s->slot[i];
        if (s->count > TT_HISTORY_MAX || slot->count > TT_SLOW_ROWS ||
            (slot->count && (page_of(p, slot->rows) != (TT_PAGE_DATA | owner << 8) ||
                             page_of(p, slot->rows + (1u << TT_ROWS_ORDER) - 1) !=
                                 (TT_PAGE_DATA | owner << 8))))
            return damaged(p, "damaged slowest activations of cell %u", cell);
        for (uint32_t j = 0; j < slot->count; j++) {
            const struct tt_slow_row *row = (const struct tt_slow_row *)(const void *)
                                                node_at(p, slot->rows) +
                                            j;
            if (row->parent > j)
                return damaged(p, "damaged slowest activations of cell %u", cell);
        }
    }
    return 0;
}

static int check_strictly(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_node *n = node_at(p, cell);

    if (n->kind == TT_CELL_FREE || n->kind == TT_CELL_LOSS || n->kind == TT_CELL_METRICS)
        return 0;
    if (n->kind >= TT_CELL_KINDS)
        return damaged(p, "cell %u is of no known kind", cell);
    if (n->kind != TT_CELL_TALLY && n->parent && !is_cell_of(p, n->parent, owner))
        return damaged(p, "cell %u has no parent", cell);
    if (n->kind == TT_CELL_ARC && (!n->parent || !is_cell_of(p, n->target, owner)))
        return damaged(p, "arc %u leads nowhere", cell);
    p->contexts += n->kind == TT_CELL_CONTEXT;
    p->arcs += n->kind == TT_CELL_ARC;
    if (check_extensions(p, cell, owner))
        return -TT_ERR_FORMAT;
    return n->kind == TT_CELL_TALLY ? 0 : check_slowest(p, cell, owner);
}

static int check_cell(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    int error = check_strictly(p, cell, owner);

    if (!error || !p->live)
        return error;
    node_at(p, cell)->kind = TT_CELL_FREE;
    p->dropped++;
    return 0;
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

struct sorted { /* a context on its way into preorder */
    uint32_t parent, rank, cell;
};

struct sorting {
    struct sorted *item;
    uint32_t count;
    struct block_index blocks;
};

static int by_parent(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int collect_contexts(struct tt_picture *p, struct sorting *s)
{
    s->item = calloc(p->contexts + 1, sizeof *s->item);
    if (!s->item)
        return -TT_ERR_MEMORY;
    for (uint32_t cell = first_cell(p); cell < p->cells; cell++) {
        const struct tt_node *n = node_at(p, cell);
        uint32_t block;
        if ((page_of(p, cell) & 0xff) != TT_PAGE_CELL || n->kind != TT_CELL_CONTEXT ||
            !n->parent)
            continue;
        block = block_index(&s->blocks, n->key);
        if (!block && p->live)
            continue;
        if (!block)
            return damaged(p, "context %u is of block %u, which there is not", cell,
                           n->key);
        s->item[s->count++] = (struct sorted){n->parent, block - 1, cell};
    }
    qsort(s->item, s->count, sizeof *s->item, by_parent);
    return 0;
}

/* The first of a context's children among the sorted, or `count`. */
static uint32_t first_child(const struct sorting *s, uint32_t parent)
{
    uint32_t low = 0, high = s->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->item[middle].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_context(struct tt_picture *p, uint32_t cell, uint32_t block,
                        uint32_t parent, uint32_t strand)
{
    struct tt_picture_context *c = &p->context[p->contexts++];
    const struct tt_node *n = node_at(p, cell);
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
        c->times = *times;
    p->index[cell] = p->contexts;
}

/* One strand, in preorder: `next` on the stack is the sorted child to go on with. */
static int string_together(struct tt_picture *p, struct sorting *s, uint32_t strand,
                           uint32_t *stack)
{
    uint32_t depth = 0, at = p->contexts;

    p->strand_first[strand] = at;
    add_context(p, p->strand[strand]->root, UINT32_MAX, UINT32_MAX, strand);
    stack[0] = first_child(s, p->strand[strand]->root);
    for (;;) {
        uint32_t i = stack[depth];
        if (i < s->count && s->item[i].parent == p->context[at].cell) {
            stack[depth++]++;
            if (p->index[s->item[i].cell])
                return damaged(p, "context %u is there twice", s->item[i].cell);
            add_context(p, s->item[i].cell, s->item[i].rank, at, strand);
            at = p->contexts - 1;
            stack[depth] = first_child(s, s->item[i].cell);
        } else {
            p->context[at].size = p->contexts - at;
            if (depth-- == 0)
                return 0;
            at = p->context[at].parent;
        }
    }
}

static int read_contexts(struct tt_picture *p, struct sorting *s)
{
    uint32_t expected = p->contexts, *stack;
    int error = collect_contexts(p, s);

    if (error)
        return error;
    p->context = calloc((size_t)expected + p->strands + 1, sizeof *p->context);
    p->index = calloc(p->cells, sizeof *p->index);
    stack = calloc((size_t)expected + 2, sizeof *stack);
    p->contexts = 0;
    if (!p->context || !p->index || !stack)
        error = -TT_ERR_MEMORY;
    for (uint32_t i = 0; !error && i < p->strands; i++)
        error = string_together(p, s, i, stack);
    free(stack);
    if (!error && p->live)
        p->dropped += s->count + p->strands - p->contexts;
    else if (!error && p->contexts != s->count + p->strands)
        error = damaged(p, "%u contexts hang below no strand",
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
    if (!from || !from->count)
        return;
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
    p->arcs = 0;
    for (uint32_t cell = first_cell(p); cell < p->cells; cell++) {
        const struct tt_node *n = node_at(p, cell);
        struct tt_picture_arc *a = &p->arc[p->arcs];
        if ((page_of(p, cell) & 0xff) != TT_PAGE_CELL || n->kind != TT_CELL_ARC)
            continue;
        a->from = p->index[n->parent];
        a->to = p->index[n->target];
        a->block = block_index(x, n->key);
        if (p->live && (!a->from || !a->to || !a->block))
            continue;
        if (!a->from-- || !a->to-- || !a->block--)
            return damaged(p, "arc %u leads nowhere", cell);
        a->cell = cell;
        a->calls = n->calls;
        p->context[a->to].calls += n->calls;
        p->context[a->from].callees += n->calls;
        add_times_to(&p->context[a->to].times, tt_picture_extension(p, cell, TT_TIMES));
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

/* What the profiler itself may have added, at most: its cost inside of each activation, and
 * around each activation that was entered from here. */
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

/* A block's inclusive figure counts a path once: where the block stands highest. */
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
    if (node_at(p, c->cell)->flags & TT_NODE_LEAVING)
        b->hidden -= c->total; /* what is still here is not hidden yet */
    else if (node_at(p, c->cell)->flags & TT_NODE_OUTERMOST)
        b->inclusive += c->total;
}

static void add_to_blocks(struct tt_picture *p, const struct block_index *x)
{
    for (uint32_t i = 0; i < p->contexts; i++)
        add_to_block(p, &p->context[i]);
    for (uint32_t cell = first_cell(p); cell < p->cells; cell++) {
        const struct tt_tally *t = (const struct tt_tally *)(void *)node_at(p, cell);
        uint32_t block;
        if ((page_of(p, cell) & 0xff) != TT_PAGE_CELL || t->kind != TT_CELL_TALLY)
            continue;
        block = block_index(x, t->key);
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

/* ── The whole ────────────────────────────────────────────────────────────────────── */

int tt_picture_read(struct tt_picture *p, void *image, size_t size, int live)
{
    struct sorting s = {0};
    int error;

    memset(p, 0, sizeof *p);
    p->image = image;
    p->size = size;
    p->live = live;
    error = check_header(p);
    if (!error)
        error = read_blocks(p);
    if (!error)
        error = read_strands(p);
    if (!error)
        error = each_in_pages(p, TT_PAGE_CELL, TT_PAGE_CELLS, drop_orphan);
    if (!error)
        error = each_in_pages(p, TT_PAGE_CELL, 1, check_cell);
    if (!error)
        error = index_blocks(p, &s.blocks);
    if (!error)
        error = read_contexts(p, &s);
    if (!error)
        error = read_arcs(p, &s.blocks);
    if (!error) {
        add_totals(p);
        add_to_blocks(p, &s.blocks);
        move_calls_of_arcs(p);
        ((struct tt_header *)image)->torn |= p->dropped != 0;
    }
    free(s.item);
    free(s.blocks.at);
    if (error == -TT_ERR_MEMORY)
        (void)damaged(p, "no memory");
    return error;
}

void tt_picture_fini(struct tt_picture *p)
{
    free(p->block);
    free(p->context);
    free(p->arc);
    free((void *)p->strand);
    free(p->strand_first);
    free(p->index);
    p->block = NULL;
    p->context = NULL;
    p->arc = NULL;
    p->strand = NULL;
    p->strand_first = p->index = NULL;
}
