/* SPDX-License-Identifier: MIT */
/* tree.h - the bounded calling-context tree of one strand. */
#ifndef TT_TREE_H
#define TT_TREE_H

#include "recording.h"

enum { TT_TABLE_ORDERS = 21, TT_CELL_RESERVE = 8 };

struct tt_marks { /* which blocks have been seen in this walk */
    uint32_t *stamp, size, serial;
};

struct tt_tree {
    struct tt_recording *recording;
    struct tt_strand_record *record; /* in the recording */
    char *base;
    struct tt_node *root;
    struct tt_node *limbo; /* stands for a context that found no room; nothing leads on */
    uint32_t owner;
    uint32_t pages; /* the chain of its cell pages, and how many */
    uint32_t page_count;
    uint32_t free_first, free_last; /* free cells, first in first out, linked by parent */
    uint32_t fresh, fresh_end;      /* cells of the newest page not used so far */
    uint32_t free_count;            /* of both */
    uint32_t reserve;               /* of them, for evictions alone */
    uint32_t data, data_end;        /* the same of the newest data page */
    uint32_t data_pages;            /* the chain of its runs; an order each, by page */
    uint32_t tables[TT_TABLE_ORDERS]; /* free ones of 2^order cells, never used for else:
                                         a signal handler may interrupt a reader */
    uint32_t extensions[7];           /* free extensions of 2^order cells */
    /* Held by its thread while cells move or `tally` does, and by whoever looks at them from
     * another thread. */
    pthread_mutex_t lock;
    uint32_t *tally;       /* by block: a cell */
    uint32_t tally_size;   /* of it, and of the marks; grown on demand */
    struct tt_marks marks; /* its thread's own */
    uint64_t refused;      /* pushes without room since the last eviction */
    uint64_t patience;     /* how many to bear before the next */
};

/* Takes a strand's first cells.  Fails when the budget is used up. */
int tt_tree_init(struct tt_tree *, struct tt_recording *, struct tt_strand_record *);

/* For a tree that was copied. */
void tt_tree_lock_init(struct tt_tree *);

/* Gives all its pages back; or leaves them as they are, for good. */
void tt_tree_fini(struct tt_tree *);
void tt_tree_forget(struct tt_tree *);

/* An arc that a merge brings along. */
uint32_t tt_tree_arc(struct tt_tree *, struct tt_node *from, tt_block block,
                     struct tt_node *target);

/* The cell through which a push of `block` at `from` goes; 0 when there is none yet. */
uint32_t tt_tree_find(const struct tt_tree *, const struct tt_node *from, tt_block block);

/* The same, made at its first use under the
 * recursion policy; 0 when there is no room for it. */
uint32_t tt_tree_step(struct tt_tree *, struct tt_node *from, tt_block block);

/* The same as a child, whatever the policy. */
uint32_t tt_tree_child(struct tt_tree *, struct tt_node *from, tt_block block);

/* Figures beside the tree; NULL when there is no room. */
struct tt_tally *tt_tree_tally(struct tt_tree *, tt_block block);
struct tt_tally *tt_tree_tally_find(const struct tt_tree *, tt_block block);
struct tt_times *tt_tree_times(struct tt_tree *, struct tt_node *edge);
struct tt_loss *tt_tree_loss(struct tt_tree *, struct tt_node *context);
struct tt_loss *tt_tree_loss_find(const struct tt_tree *, const struct tt_node *context);
void *tt_tree_extension(struct tt_tree *, struct tt_node *, uint32_t kind,
                        uint32_t order);
void *tt_tree_extension_find(const struct tt_tree *, const uint32_t *chain,
                             uint32_t kind);

/* 2^order cells of data, zeroed; 0 without room. */
uint32_t tt_tree_data(struct tt_tree *, uint32_t order);
void tt_tree_give_data(struct tt_tree *, uint32_t cell, uint32_t order);

/* The amount of a metric on a chain of extensions, at first 0; NULL without room. */
uint64_t *tt_tree_metric_amount(struct tt_tree *, uint32_t *chain, uint32_t metric);

/* Adds to a metric on a chain of extensions; async-signal-safe when it is there already. */
int tt_tree_metric(struct tt_tree *, uint32_t *chain, uint32_t metric, uint64_t amount);

int tt_marks_grow(struct tt_marks *, uint32_t size);
void tt_marks_fini(struct tt_marks *);

/* Cells; for eviction and merging.  Reserving sees to it that so many are free. */
int tt_tree_reserve(struct tt_tree *, uint32_t cells);
struct tt_node *tt_tree_take(struct tt_tree *, uint32_t reserve);
void tt_tree_give(struct tt_tree *, struct tt_node *);
void tt_tree_give_extensions(struct tt_tree *, uint32_t *chain);
void tt_tree_give_table(struct tt_tree *, struct tt_node *);

static inline uint32_t tt_cell_of(const struct tt_tree *t, const void *cell)
{
    return (uint32_t)((size_t)((const char *)cell - t->base) / TT_CELL_SIZE);
}

static inline struct tt_node *tt_parent(const struct tt_tree *t, const struct tt_node *n)
{
    return tt_cell(t->base, n->parent);
}

/* Walks what leads on from a node: for (e = first; e; e = next). */
struct tt_edges {
    const struct tt_tree *tree;
    const struct tt_node *node;
    uint32_t bucket, cell;
};
struct tt_node *tt_edges_first(struct tt_edges *, const struct tt_tree *,
                               const struct tt_node *);
struct tt_node *tt_edges_next(struct tt_edges *);

#endif
