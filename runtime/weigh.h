/* SPDX-License-Identifier: MIT */
/* weigh.h - the cost of each context of a tree, with all below it. */
#ifndef TT_WEIGH_H
#define TT_WEIGH_H

#include "tree.h"

/* Cells are numbered densely: a cell's place is its page's ordinal and its number there. */
struct tt_weights {
    const struct tt_tree *tree;
    uint32_t count;    /* cells in all */
    uint32_t *ordinal; /* page → its place among the tree's */
    uint64_t *weight;  /* by place: of a context with all below it; of an arc its calls */
    uint32_t *order;   /* contexts and arcs, children before their parents */
    uint32_t ordered;
    uint32_t *link; /* by place: the user's own, all zero */
    uint8_t *state; /* the same */
    int by_calls;   /* no ticks in this tree: calls are its weight */
    void *memory;
    size_t size;
};

enum tt_weigh_by { TT_WEIGH_TICKS, TT_WEIGH_TICKS_OR_CALLS };

/* Memory for it; then the weighing itself, during which the tree may not change.  Linear in
 * the tree's size. */
int tt_weights_init(struct tt_weights *, const struct tt_tree *);
void tt_weigh(struct tt_weights *, enum tt_weigh_by);
void tt_weights_fini(struct tt_weights *);

static inline uint32_t tt_place(const struct tt_weights *w, uint32_t cell)
{
    const struct tt_recording *r = w->tree->recording;

    return w->ordinal[tt_cell_page(r, cell)] * TT_PAGE_CELLS +
           (cell - r->header->first / TT_CELL_SIZE) % TT_PAGE_CELLS;
}

#endif
