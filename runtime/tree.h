/* SPDX-License-Identifier: MIT */
/* tree.h - the bounded calling-context tree of one strand. */
#ifndef TT_TREE_H
#define TT_TREE_H

#include "recording.h"

enum { TT_TABLE_ORDERS = 21, TT_CELL_RESERVE = 8, TT_EVICTION_RESERVE = 4 };

struct tt_marks { /* which blocks have been seen in a walk: those stamped with `serial` */
    uint32_t *stamp, size, serial;
};

enum { TT_EVENT_CACHE = 1024 };
struct tt_event_cache { /* where events of such objects are counted: see event-cache.h */
    tt_context origin;
    uint64_t way; /* type, from and to; 0: nothing is known */
    struct tt_space *row;
    const struct tt_node *node; /* which it is of */
    struct tt_band *left,
        *there; /* of the type, where they were and where they are; or NULL */
    const struct tt_space_record *space;
    uint64_t unused; /* so that each has a line */
};

/* Rows of space by context, type and generations; see space.c. */
struct tt_space_index {
    struct tt_space_slot {
        uint32_t context, key, way, row;
    } * slot;
    uint32_t size, count;
    int stale; /* cells have moved: it is made again before it is used */
    struct tt_event_cache
        *told; /* TT_EVENT_CACHE of them, by origin, type and generations, or NULL */
};

struct tt_tree {
    struct tt_recording *recording;
    struct tt_strand_record *record; /* in the recording */
    char *base;
    struct tt_node *root;
    struct tt_node *limbo; /* the node of contexts without room; no transitions */
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
    /* Held by its thread while it moves cells or `tally`, and by other threads while they
     * read them. */
    pthread_mutex_t lock;
    uint32_t *tally;             /* by block: a cell */
    uint32_t tally_size;         /* of it, and of the marks; grown on demand */
    struct tt_marks marks;       /* its thread's own */
    struct tt_space_index space; /* the same */
    uint64_t refused;            /* pushes without room since the last eviction */
    uint64_t patience;           /* how many to bear before the next */
    uint32_t log_since; /* pages of the sample log that were filled before it was made */
};

/* ── The tree: tree.c ─────────────────────────────────────────────────────────────── */

/* Takes a strand's first cells.  Fails when the budget is used up. */
int tt_tree_init(struct tt_tree *, struct tt_recording *, struct tt_strand_record *);

/* For a tree that was copied. */
void tt_tree_lock_init(struct tt_tree *);

/* Frees all its pages; or keeps them, for good. */
void tt_tree_fini(struct tt_tree *);
void tt_tree_forget(struct tt_tree *);

/* The cell through which a push of `block` at `from` goes; 0 if there is none yet. */
uint32_t tt_tree_find(const struct tt_tree *, const struct tt_node *from, tt_block block);

/* The same, made at its first use under the recursion policy; 0 without room. */
uint32_t tt_tree_step(struct tt_tree *, struct tt_node *from, tt_block block);

/* The same as a child, whatever the policy. */
uint32_t tt_tree_child(struct tt_tree *, struct tt_node *from, tt_block block);

/* The same as an arc, for a merge that brings one along. */
uint32_t tt_tree_arc(struct tt_tree *, struct tt_node *from, tt_block block,
                     struct tt_node *target);

/* Walks the edges of a node: for (e = first; e; e = next). */
struct tt_edges {
    const struct tt_tree *tree;
    const struct tt_node *node;
    uint32_t bucket, cell;
};
struct tt_node *tt_edges_first(struct tt_edges *, const struct tt_tree *,
                               const struct tt_node *);
struct tt_node *tt_edges_next(struct tt_edges *);

static inline struct tt_node *tt_parent(const struct tt_tree *t, const struct tt_node *n)
{
    TT_ASSERT(n != t->root && n->parent);
    return tt_cell(t->base, n->parent);
}

/* How many blocks the path of a node has, two paths begin with alike. */
uint32_t tt_tree_depth(const struct tt_tree *, const struct tt_node *);
uint32_t tt_tree_common(const struct tt_tree *, const struct tt_node *,
                        const struct tt_node *);

/* Is `a` on the path of `b`? */
int tt_tree_is_above(const struct tt_tree *, const struct tt_node *a,
                     const struct tt_node *b);

/* ── Memory of a tree: cell.c ─────────────────────────────────────────────────────── */

static inline uint32_t tt_cell_of(const struct tt_tree *t, const void *cell)
{
    TT_ASSERT((const char *)cell >= t->base &&
              (size_t)((const char *)cell - t->base) < tt_base_size(t->base));
    TT_ASSERT((size_t)((const char *)cell - t->base) % TT_CELL_SIZE == 0);
    return (uint32_t)((size_t)((const char *)cell - t->base) / TT_CELL_SIZE);
}

/* Makes sure that so many cells are free; takes one, zeroed, if more than `reserve` are
 * left; frees one. */
int tt_tree_reserve(struct tt_tree *, uint32_t cells);
struct tt_node *tt_tree_take(struct tt_tree *, uint32_t reserve);
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

/* ── Figures beside it: extension.c ───────────────────────────────────────────────── */

/* A block's tally, an edge's times, a context's loss: made at their first use, NULL
 * without room; the others return NULL if there is none yet. */
struct tt_tally *tt_tree_tally(struct tt_tree *, tt_block block);
struct tt_times *tt_tree_times(struct tt_tree *, struct tt_node *edge);
struct tt_loss *tt_tree_loss(struct tt_tree *, struct tt_node *context);
struct tt_tally *tt_tree_tally_find(const struct tt_tree *, tt_block block);
struct tt_loss *tt_tree_loss_find(const struct tt_tree *, const struct tt_node *context);

/* The same for a large extension of any kind; and an existing one, of any kind but
 * space. */
void *tt_tree_extension(struct tt_tree *, struct tt_node *, uint32_t kind,
                        uint32_t order);
void *tt_tree_extension_find(const struct tt_tree *, const uint32_t *chain,
                             uint32_t kind);

static inline int tt_is_space(uint32_t kind)
{
    return kind == TT_CELL_SPACE || kind == TT_CELL_SPACE_BELOW;
}

/* Links an extension that was taken; gives all of a chain back. */
void tt_tree_link(const struct tt_tree *, uint32_t *chain, void *extension,
                  uint32_t kind);
void tt_tree_give_extensions(struct tt_tree *, uint32_t *chain);

/* The amount of a metric on a chain of extensions, initially 0; NULL without room. */
uint64_t *tt_tree_metric_amount(struct tt_tree *, uint32_t *chain, uint32_t metric);

/* The same of a context, with the cells that an eviction needs to keep the amount; and of
 * amounts evicted below `n`: on the nearest ancestor that has room. */
uint64_t *tt_tree_metric_of(struct tt_tree *, struct tt_node *, uint32_t metric);
uint64_t *tt_tree_metric_below(struct tt_tree *, struct tt_node *n, uint32_t metric);

/* Adds to a metric of a block without a context, below `n`.  0: there is no room. */
int tt_tree_metric_evicted(struct tt_tree *, struct tt_node *n, tt_block, uint32_t metric,
                           uint64_t amount);

/* Adds to a metric on a chain of extensions; async-signal-safe if it is already there. */
int tt_tree_metric(struct tt_tree *, uint32_t *chain, uint32_t metric, uint64_t amount);

int tt_marks_grow(struct tt_marks *, uint32_t size);
void tt_marks_fini(struct tt_marks *);

/* ── Checked: tree-check.c ─────────────────────────────────────────────────────────────── */

#ifdef TT_CHECKED
/* The first error in a tree that no other thread changes; "" if there is none.  Takes
 * time that grows with the tree and the depths of its contexts. */
const char *tt_tree_check(struct tt_tree *);

/* Figures that no eviction changes. */
struct tt_amounts tt_tree_sums(const struct tt_tree *);
#endif

#endif
