/* SPDX-License-Identifier: MIT */
/* picture.c - reads and checks a recording.
 *
 * This checks all that later code relies on: sizes, kinds, and that each cell refers to
 * cells of its own strand; figures.c checks the extensions of cells.  Then preorder.c
 * puts the contexts in order. */
#include "picture.h"
#include "figures.h"
#include "preorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_CELLS = sizeof(struct tt_strand_record) / TT_CELL_SIZE };

/* ── Errors and bounds ────────────────────────────────────────────────────────────── */

int tt_picture_damaged(struct tt_picture *p, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(p->error, sizeof p->error, format, list);
    va_end(list);
    return -TT_ERR_FORMAT;
}

static const uint32_t *page_map(const struct tt_picture *p)
{
    return (const uint32_t *)(const void *)(p->image + p->header->map);
}

static int is_cell_of(const struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    return tt_picture_page(p, cell) == (TT_PAGE_CELL | owner << 8);
}

/* Calls `each` for every cell of a type of page that is in use. */
static int each_in_pages(struct tt_picture *p, uint32_t type, uint32_t step,
                         int (*each)(struct tt_picture *, uint32_t cell, uint32_t owner))
{
    for (uint32_t page = 0; page < p->header->used; page++) {
        uint32_t word = page_map(p)[page];
        for (uint32_t i = 0; (word & 0xff) == type && i < TT_PAGE_CELLS; i += step) {
            int error = each(p, tt_picture_first(p) + page * TT_PAGE_CELLS + i,
                             word >> 8);
            if (error)
                return error;
        }
    }
    return 0;
}

/* ── Header ───────────────────────────────────────────────────────────────────────── */

#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

static int has_whole_texts(const struct tt_header *h)
{
    int whole = ENDS(h->program) && ENDS(h->host) && ENDS(h->source);

    for (int i = 0; i <= TT_METRICS_MAX; i++)
        whole = whole && ENDS(h->metric[i].name) && ENDS(h->metric[i].unit);
    return whole;
}

static int check_header(struct tt_picture *p)
{
    const struct tt_header *h = (const struct tt_header *)(const void *)p->image;
    uint64_t end;

    if (p->size < sizeof h->magic || memcmp(h->magic, TT_MAGIC, sizeof h->magic) != 0)
        return tt_picture_damaged(p, "this is not a recording");
    if (p->size < sizeof *h)
        return tt_picture_damaged(p, "cut off in the header, at %zu bytes", p->size);
    if (h->version != TT_LAYOUT_VERSION || h->header_size != sizeof *h)
        return tt_picture_damaged(p, "a recording of version %u; this reads version %u",
                                  h->version, TT_LAYOUT_VERSION);
    end = (uint64_t)h->first + (uint64_t)h->used * TT_PAGE_SIZE;
    if (h->first % TT_PAGE_SIZE || h->first < TT_HEADER_SIZE || h->map < TT_HEADER_SIZE ||
        h->map % 4 || h->map + (uint64_t)h->used * 4 > h->first || h->used > h->pages ||
        h->used > (UINT32_MAX - 1) / TT_PAGE_CELLS - h->first / TT_CELL_SIZE ||
        !has_whole_texts(h))
        return tt_picture_damaged(p, "damaged header");
    if (end > p->size && p->live && p->size >= h->first) {
        ((struct tt_header *)(void *)p->image)->used = (uint32_t)((p->size - h->first) /
                                                                  TT_PAGE_SIZE);
        end = p->size;
    }
    if (end > p->size)
        return tt_picture_damaged(p, "cut off at %zu of %llu bytes", p->size,
                                  (unsigned long long)end);
    p->header = h;
    p->space = NULL;
    p->cells = h->first / TT_CELL_SIZE + h->used * TT_PAGE_CELLS;
    return 0;
}

/* ── Changes ──────────────────────────────────────────────────────────────────────── */

/* A change that was written down but perhaps not carried out is carried out. */
static int finish_redo(struct tt_picture *p, const struct tt_journal *written,
                       uint32_t strand)
{
    struct tt_journal redo = *written;

    if (redo.count > TT_JOURNAL_WORDS)
        return tt_picture_damaged(p, "damaged change of strand %u", strand);
    for (uint32_t i = 0; i < redo.count; i++) {
        uint32_t type = tt_picture_page(p, redo.where[i] / (TT_CELL_SIZE / 8)) & 0xff;
        if (type != TT_PAGE_CELL && type != TT_PAGE_DATA && type != TT_PAGE_STRAND &&
            type != TT_PAGE_BAND)
            return tt_picture_damaged(p, "damaged change of strand %u", strand);
        *(tt_word *)(void *)(p->image + 8 * (size_t)redo.where[i]) = redo.value[i];
    }
    return 0;
}

static int finish_strand(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_strand_record *s = tt_picture_cell(p, cell);

    (void)owner;
    return s->state == TT_STRAND_NONE ? 0 : finish_redo(p, &s->redo, s->index);
}

static int find_space_record(struct tt_picture *p)
{
    uint64_t cell = p->header->space;

    if (cell <= UINT32_MAX && tt_picture_page(p, (uint32_t)cell) == TT_PAGE_SPACE &&
        (cell - tt_picture_first(p)) % TT_PAGE_CELLS == 0)
        p->space = tt_picture_cell(p, (uint32_t)cell);
    else if (cell && !p->live)
        return tt_picture_damaged(p, "damaged record of space, in cell %llu",
                                  (unsigned long long)cell);
    return 0;
}

/* Before all checks, since it changes the data that they check.  Not in a live copy,
 * which is accepted as consistent only if nothing was moving. */
static int finish_changes(struct tt_picture *p)
{
    int error = find_space_record(p);

    if (p->live || error)
        return error;
    if (p->space)
        error = finish_redo(p, &p->space->redo, 0);
    return error ? error : each_in_pages(p, TT_PAGE_STRAND, RECORD_CELLS, finish_strand);
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static int read_string(struct tt_picture *p, uint32_t at, const char **out)
{
    uint64_t offset = (uint64_t)at * 4;
    uint32_t length;

    *out = "";
    if (at == 0)
        return 0;
    if ((tt_picture_page(p, (uint32_t)(offset / TT_CELL_SIZE)) & 0xff) !=
            TT_PAGE_STRING ||
        offset + 4 > p->size)
        return tt_picture_damaged(p, "damaged string at byte %llu",
                                  (unsigned long long)offset);
    memcpy(&length, p->image + offset, 4);
    if (length >= p->size - offset - 4 || p->image[offset + 4 + length] != '\0' ||
        strlen(p->image + offset + 4) != length)
        return tt_picture_damaged(p, "damaged string at byte %llu",
                                  (unsigned long long)offset);
    *out = p->image + offset + 4;
    return 0;
}

static int read_type(struct tt_picture *p, struct tt_picture_block *b,
                     const struct tt_block_record *r)
{
    b->info = (struct tt_block_info){.file = "", .module = "", .kind = TT_KIND_TYPE};
    if (read_string(p, r->name, &b->info.name) && !p->live)
        return -TT_ERR_FORMAT;
    b->type = (const struct tt_type_record *)(const void *)r;
    p->blocks++;
    return 0;
}

static int read_block(struct tt_picture *p, const struct tt_block_record *r)
{
    struct tt_picture_block *b = &p->block[p->blocks];
    int error;

    if (r->id >= TT_BLOCKS_MAX || (r->kind >= TT_KINDS && r->kind != TT_KIND_TYPE))
        return tt_picture_damaged(p, "damaged block %u", r->id);
    b->id = r->id;
    b->info = (struct tt_block_info){.offset = r->offset,
                                     .line = r->line,
                                     .column = r->column,
                                     .length = r->length,
                                     .kind = (enum tt_kind)r->kind};
    if (r->kind == TT_KIND_TYPE)
        return read_type(p, b, r);
    error = read_string(p, r->name, &b->info.name);
    error |= read_string(p, r->file, &b->info.file);
    error |= read_string(p, r->module, &b->info.module);
    if (error && !p->live)
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
    int order = (x->type != NULL) - (y->type != NULL);

    if (!order)
        order = strcmp(x->info.name, y->info.name);
    if (!order)
        order = strcmp(x->info.file, y->info.file);
    if (!order)
        order = (x->info.line > y->info.line) - (x->info.line < y->info.line);
    if (!order)
        order = (x->id > y->id) - (x->id < y->id);
    return order;
}

static int count_block(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    (void)owner;
    p->blocks += ((const struct tt_block_record *)tt_picture_cell(p, cell))->id != 0;
    return 0;
}

static int take_block(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_block_record *r = tt_picture_cell(p, cell);

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
    for (uint32_t i = 0; i < p->blocks; i++)
        if (p->block[i].type && p->block[i].id >= p->types)
            p->types = p->block[i].id + 1;
    p->type = calloc(p->types + 1, sizeof *p->type);
    if (!p->type)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < p->blocks; i++) {
        if (p->block[i].type)
            p->type[p->block[i].id] = &p->block[i];
        p->block[i].rank = i;
        if (i && !p->block[i].type &&
            strcmp(p->block[i - 1].info.name, p->block[i].info.name) == 0)
            p->block[i - 1].shares_name = p->block[i].shares_name = 1;
    }
    return 0;
}

static int read_bands(struct tt_picture *p)
{
    p->seen = calloc(p->cells / 8 + 1, 1);
    if (!p->seen)
        return -TT_ERR_MEMORY;
    p->bands = p->space ? p->space->bands : 0;
    if (tt_picture_check_bands(p, p->bands, TT_PAGE_BAND) == 0)
        return 0;
    p->bands = 0;
    return p->live ? 0 : -TT_ERR_FORMAT;
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

static int count_strand(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_strand_record *s = tt_picture_cell(p, cell);

    (void)owner;
    p->strands += s->state != TT_STRAND_NONE;
    return 0;
}

static int take_strand(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_strand_record *s = tt_picture_cell(p, cell);

    (void)owner;
    if (s->state == TT_STRAND_NONE)
        return 0;
    if (s->state > TT_STRAND_MERGED || !ENDS(s->name) ||
        !is_cell_of(p, s->root, s->index + 1) ||
        ((struct tt_node *)tt_picture_cell(p, s->root))->kind != TT_CELL_CONTEXT ||
        ((struct tt_node *)tt_picture_cell(p, s->root))->parent)
        return p->live ? 0
                       : tt_picture_damaged(p, "damaged strand record in cell %u", cell);
    p->strand[p->strands++] = s;
    return 0;
}

static int by_strand_index(const void *a, const void *b)
{
    const struct tt_strand_record *const *x = a, *const *y = b;

    return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

/* A live copy may have a strand twice, as records move. */
static int drop_twins(struct tt_picture *p)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->strands; i++) {
        const int is_twin = kept && p->strand[i]->index == p->strand[kept - 1]->index;
        if (is_twin && !p->live)
            return tt_picture_damaged(p, "two strands are number %u",
                                      p->strand[i]->index);
        if (is_twin)
            p->dropped++;
        else
            p->strand[kept++] = p->strand[i];
    }
    p->strands = kept;
    return 0;
}

static int read_strands(struct tt_picture *p)
{
    int error;

    (void)each_in_pages(p, TT_PAGE_STRAND, RECORD_CELLS, count_strand);
    p->strand = calloc(p->strands + 1, sizeof *p->strand);
    p->strand_first = calloc(p->strands + 1, sizeof *p->strand_first);
    if (!p->strand || !p->strand_first)
        return -TT_ERR_MEMORY;
    p->strands = 0;
    error = each_in_pages(p, TT_PAGE_STRAND, RECORD_CELLS, take_strand);
    if (error)
        return error;
    qsort(p->strand, p->strands, sizeof *p->strand, by_strand_index);
    for (uint32_t i = 0; i < p->strands; i++)
        if (tt_picture_check_bands(p, p->strand[i]->bands,
                                   TT_PAGE_DATA | (p->strand[i]->index + 1) << 8) != 0) {
            if (!p->live)
                return -TT_ERR_FORMAT;
            ((struct tt_strand_record *)(uintptr_t)p->strand[i])->bands = 0;
        }
    return drop_twins(p);
}

static int by_owner(const void *key, const void *item)
{
    const struct tt_strand_record *const *s = item;
    uint32_t index = *(const uint32_t *)key - 1;

    return (index > (*s)->index) - (index < (*s)->index);
}

/* The cells of a merged strand have no owner until its pages are freed. */
static int drop_orphan(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    int is_orphan = !bsearch(&owner, p->strand, p->strands, sizeof *p->strand, by_owner);

    for (uint32_t i = 0; is_orphan && i < TT_PAGE_CELLS; i++) {
        struct tt_node *n = tt_picture_cell(p, cell + i);
        p->dropped += p->live && n->kind == TT_CELL_CONTEXT && n->parent;
        n->kind = TT_CELL_FREE;
    }
    return 0;
}

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

static int check_strictly(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_node *n = tt_picture_cell(p, cell);

    if (n->kind == TT_CELL_FREE || n->kind == TT_CELL_LOSS ||
        n->kind == TT_CELL_METRICS || n->kind == TT_CELL_SPACE ||
        n->kind == TT_CELL_SPACE_BELOW)
        return 0;
    if (n->kind >= TT_CELL_KINDS)
        return tt_picture_damaged(p, "cell %u is of no known kind", cell);
    if (n->kind != TT_CELL_TALLY && n->parent && !is_cell_of(p, n->parent, owner))
        return tt_picture_damaged(p, "cell %u has no parent", cell);
    if (n->kind == TT_CELL_ARC && (!n->parent || !is_cell_of(p, n->target, owner)))
        return tt_picture_damaged(p, "arc %u leads nowhere", cell);
    p->contexts += n->kind == TT_CELL_CONTEXT;
    p->arcs += n->kind == TT_CELL_ARC;
    p->tallies += n->kind == TT_CELL_TALLY;
    return tt_picture_check_extensions(p, cell, owner);
}

/* Drops an invalid cell of a live copy; a strand's root is needed, and is kept without
 * its extensions. */
static int check_cell(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    struct tt_node *n = tt_picture_cell(p, cell);
    int error = check_strictly(p, cell, owner);

    if (!error || !p->live)
        return error;
    n->kind = TT_CELL_FREE;
    n->extension = 0;
    p->dropped++;
    return 0;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

int tt_picture_read(struct tt_picture *p, void *image, size_t size, int live)
{
    int error;

    memset(p, 0, sizeof *p);
    p->image = image;
    p->size = size;
    p->live = live;
    error = check_header(p);
    if (!error)
        error = finish_changes(p);
    if (!error)
        error = read_blocks(p);
    if (!error)
        error = read_bands(p);
    if (!error)
        error = read_strands(p);
    if (!error)
        error = each_in_pages(p, TT_PAGE_CELL, TT_PAGE_CELLS, drop_orphan);
    if (!error)
        error = each_in_pages(p, TT_PAGE_CELL, 1, check_cell);
    if (!error)
        error = tt_picture_order(p);
    if (!error)
        ((struct tt_header *)image)->torn |= p->dropped != 0;
    free(p->seen);
    p->seen = NULL;
    if (error == -TT_ERR_MEMORY)
        (void)tt_picture_damaged(p, "no memory");
    return error;
}

void tt_picture_fini(struct tt_picture *p)
{
    free(p->block);
    free((void *)p->type);
    free(p->context);
    free(p->times);
    free(p->arc);
    free(p->tally);
    free((void *)p->strand);
    free(p->strand_first);
    free(p->index);
    p->block = NULL;
    p->type = NULL;
    p->context = NULL;
    p->times = NULL;
    p->arc = NULL;
    p->tally = NULL;
    p->strand = NULL;
    p->strand_first = p->index = NULL;
}
