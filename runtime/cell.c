/* SPDX-License-Identifier: MIT */
/* cell.c - the memory of a strand's tree: cells, tables and other data.
 *
 * All of it comes from pages of the recording.  Freed memory goes to free lists of this
 * tree: a page belongs to the tree as long as the tree lives.
 *
 *      cells      one page at a time; free ones wait in a queue
 *      tables     2^order cells of data, free ones by order
 *      data       all else, in the same way, on separate lists */
#include "cell.h"
#include "tree.h"

#include <string.h>

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

static int take_cell_page(struct tt_tree *t)
{
    struct tt_recording *r = t->recording;
    uint32_t page = tt_page_take_more(r, TT_PAGE_CELL, t->owner, 0, t->page_count);

    if (!page)
        return -TT_ERR_MEMORY;
    TT_ASSERT(tt_page_owner(r, page) == t->owner);
    while (t->fresh < t->fresh_end) { /* kept back by the reserve */
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

/* Takes a free cell, all zero but its generation; returns NULL if at most `reserve` cells
 * are left.  The cell that was freed first is taken first, so that a handle to its old
 * context leads to an ancestor for as long as possible.  A few cells are always kept back
 * to start an eviction, which needs hardly more than it frees. */
struct tt_node *tt_tree_take(struct tt_tree *t, uint32_t reserve)
{
    struct tt_node *n;
    uint16_t generation;

    if (reserve < t->reserve)
        reserve = t->reserve;
    if (t->free_count <= reserve && take_cell_page(t) != 0)
        return NULL;
    TT_ASSERT(t->free_count > 0);
    t->free_count--;
    if (t->fresh < t->fresh_end)
        return tt_cell(t->base, t->fresh++);
    n = tt_cell(t->base, t->free_first);
    TT_ASSERT(t->free_first && n->kind == TT_CELL_FREE && n->key == UINT32_MAX);
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

    TT_ASSERT(n != t->root && n != t->limbo);
    TT_ASSERT(tt_page_owner(t->recording, tt_cell_page(t->recording, cell)) == t->owner);
    TT_ASSERT(n->key != UINT32_MAX || n->kind != TT_CELL_FREE); /* not given back twice */
    __atomic_store_n(&n->kind, TT_CELL_FREE, __ATOMIC_RELEASE);
    n->key = UINT32_MAX;
    n->generation = tt_generation_after(n->generation);
    n->parent = 0;
    if (!t->free_first)
        t->free_first = cell;
    else
        tt_cell(t->base, t->free_last)->parent = cell;
    t->free_last = cell;
    t->free_count++;
}

/* ── Tables and other data ────────────────────────────────────────────────────────── */

/* 2^order cells, zeroed; a run of pages from 16 cells on. */
static uint32_t take_data(struct tt_tree *t, uint32_t order)
{
    struct tt_recording *r = t->recording;
    uint32_t cells = 1u << order, pages = order > 4 ? order - 4 : 0, page, at;

    at = (t->data + cells - 1) & ~(cells - 1);
    TT_ASSERT(t->data <= t->data_end);
    if (order < 4 && at + cells <= t->data_end) {
        t->data = at + cells;
        return at;
    }
    page = tt_page_take_more(r, TT_PAGE_DATA, t->owner, pages, t->page_count);
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

uint32_t tt_tree_table(struct tt_tree *t, uint32_t order)
{
    uint32_t cell = order < TT_TABLE_ORDERS ? t->tables[order] : 0;
    uint32_t *entry;

    if (order >= TT_TABLE_ORDERS)
        return 0;
    if (!cell)
        return take_data(t, order);
    entry = (uint32_t *)(void *)tt_cell(t->base, cell);
    TT_ASSERT(entry[0] != cell);
    t->tables[order] = entry[0];
    memset(entry, 0, (size_t)TT_CELL_SIZE << order);
    return cell;
}

/* A free table still reads as a table: its link is a cell like any other entry. */
static void give_table(struct tt_tree *t, uint32_t cell, uint32_t order)
{
    uint32_t *entry = (uint32_t *)(void *)tt_cell(t->base, cell);

    TT_ASSERT(order < TT_TABLE_ORDERS && cell != t->tables[order]);
    entry[0] = t->tables[order];
    t->tables[order] = cell;
}

void tt_tree_give_table(struct tt_tree *t, struct tt_node *n)
{
    if (!tt_table_is_inline(n))
        give_table(t, n->table / TT_CELL_ENTRIES, tt_table_order(n));
}

uint32_t tt_tree_data(struct tt_tree *t, uint32_t order)
{
    uint32_t cell = t->extensions[order];
    struct tt_loss *e = (struct tt_loss *)(void *)tt_cell(t->base, cell);

    if (!cell)
        return take_data(t, order);
    TT_ASSERT(e->kind == TT_CELL_FREE);
    t->extensions[order] = e->next;
    memset(e, 0, (size_t)TT_CELL_SIZE << order);
    return cell;
}

void tt_tree_give_data(struct tt_tree *t, uint32_t cell, uint32_t order)
{
    struct tt_loss *e = (struct tt_loss *)(void *)tt_cell(t->base, cell);

    TT_ASSERT(order < sizeof t->extensions / sizeof *t->extensions);
    TT_ASSERT(cell && cell != t->extensions[order]);
    TT_ASSERT(tt_page_owner(t->recording, tt_cell_page(t->recording, cell)) == t->owner);
    e->kind = TT_CELL_FREE;
    e->next = t->extensions[order];
    t->extensions[order] = cell;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

static void give_pages(struct tt_recording *r, uint32_t page)
{
    uint32_t next;

    for (; page; page = next) {
        next = r->next[page];
        tt_page_give(r, page, 0);
    }
}

void tt_tree_give_pages(struct tt_tree *t)
{
    give_pages(t->recording, t->pages);
    give_pages(t->recording, t->data_pages);
}
