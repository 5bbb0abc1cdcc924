/* SPDX-License-Identifier: MIT */
/* cell.h - the memory of a tree: cells, tables, data. */
#ifndef TT_CELL_H
#define TT_CELL_H

#include "tree.h"

/* Makes room for `cells` cells. */
int tt_tree_reserve(struct tt_tree *, uint32_t cells);
/* Takes a zeroed cell if more than `reserve` cells are free. */
struct tt_node *tt_tree_take(struct tt_tree *, uint32_t reserve);
/* Frees a cell. */
void tt_tree_give(struct tt_tree *, struct tt_node *);

/* 2^order cells, zeroed, as a table or as other data; 0 without room. */
uint32_t tt_tree_table(struct tt_tree *, uint32_t order);
void tt_tree_give_table(struct tt_tree *, struct tt_node *);
uint32_t tt_tree_data(struct tt_tree *, uint32_t order);
void tt_tree_give_data(struct tt_tree *, uint32_t cell, uint32_t order);

/* A table of one or two is in the node; a larger one is of 2^order cells of entries. */
enum { TT_CELL_ENTRIES = TT_CELL_SIZE / 4 };

static inline int tt_table_is_inline(const struct tt_node *n)
{
    return n->mask < TT_CELL_ENTRIES - 1;
}

static inline uint32_t tt_table_order(const struct tt_node *n)
{
    TT_ASSERT(!tt_table_is_inline(n) && ((n->mask + 1) & n->mask) == 0);
    return (uint32_t)__builtin_ctz((n->mask + 1) / TT_CELL_ENTRIES);
}

/* Gives all of it back, at the end. */
void tt_tree_give_pages(struct tt_tree *);

#endif
