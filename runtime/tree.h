/* SPDX-License-Identifier: MIT */
/* tree.h - the bounded calling-context tree of one strand. */
#ifndef TT_TREE_H
#define TT_TREE_H

#include "brief-lock.h"
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
    struct tt_nested lock;       /* an eviction may have to make room for a tally */
    uint32_t *tally;             /* by block: a cell */
    uint32_t tally_size;         /* of it, and of the marks; grown on demand */
    struct tt_marks marks;       /* its thread's own */
    struct tt_space_index space; /* the same */
    uint64_t refused;            /* pushes without room since the last eviction */
    uint64_t patience;           /* how many to bear before the next */
    uint32_t log_since; /* pages of the sample log that were filled before it was made */
};

/* Takes a strand's first cells.  Fails when the budget is used up. */
int tt_tree_init(struct tt_tree *, struct tt_recording *, struct tt_strand_record *);

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

/* The context that a cell leads to: itself, or an arc's. */
static inline struct tt_node *tt_tree_target(const struct tt_tree *t, uint32_t cell)
{
    struct tt_node *target = tt_cell(t->base, tt_cell(t->base, cell)->target);

    TT_ASSERT(target->kind == TT_CELL_CONTEXT);
    return target;
}

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

/* Is it the outermost context of its block, and of all places in its function? */
int tt_tree_is_topmost(const struct tt_tree *, const struct tt_node *);

/* Is `a` on the path of `b`? */
int tt_tree_is_above(const struct tt_tree *, const struct tt_node *a,
                     const struct tt_node *b);

static inline uint32_t tt_cell_of(const struct tt_tree *t, const void *cell)
{
    TT_ASSERT((const char *)cell >= t->base &&
              (size_t)((const char *)cell - t->base) < tt_base_size(t->base));
    TT_ASSERT((size_t)((const char *)cell - t->base) % TT_CELL_SIZE == 0);
    return (uint32_t)((size_t)((const char *)cell - t->base) / TT_CELL_SIZE);
}

#endif
