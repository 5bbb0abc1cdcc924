/* SPDX-License-Identifier: MIT */
/* viewing.h - code that the views share: figures of contexts in one metric, their
 * columns, the order of rows, and limits.
 *
 * A dropped push (an arc whose block is not that of its target) is a call that no context
 * has.  If the metric is calls, every view takes it as a leaf below the context it came
 * from, so that totals and self figures still add up. */
#ifndef TT_VIEWING_H
#define TT_VIEWING_H

#include <string.h>

#include "view.h"

/* The fact of a profile whose filters matched no block: the pattern. */
#define TT_NOTHING_LIKE "nothing like"

/* Calls by arcs, in the order of a context; the last one is a sentinel: context TT_NONE,
 * before: all calls. */
struct tt_arc_calls {
    uint32_t context, block; /* where they came from, or led to; what was pushed */
    uint64_t before;         /* calls of all before it */
};

struct tt_since;

/* A profile seen in the metric of a query. */
/* Metrics side by side: the first is `main`, and the others have separate columns. */
enum { TT_SEVERAL_MAX = 32 };
struct tt_several {
    uint32_t metric[TT_SEVERAL_MAX], count; /* count: 0 where there is but one */
};
struct tt_several_figures { /* by their place in the list, from 1 */
    uint64_t self[TT_SEVERAL_MAX], inclusive[TT_SEVERAL_MAX];
};

struct tt_metric_view {
    const struct tt_profile *p;
    const struct tt_memory *memory;
    struct tt_metric_choice choice;
    const struct tt_metric_columns *main;
    const struct tt_metric_columns *calls; /* NULL: none, or they are `main` */
    struct tt_vector
        drop;         /* struct tt_arc_calls of those that were dropped, by where they
                              came from; empty unless `main` is calls */
    uint64_t samples; /* of all; 0: the metric is not sampled */
    int has_times;    /* activations were timed, and `main` is time */
    struct tt_several several;
    struct tt_since *since; /* owned; NULL: the query knows of no other reading */
};

/* 0, -TT_ERR_OPTION with q->error, -TT_ERR_MEMORY; tt_metric_view_fini in either case. */
int tt_metric_view_init(struct tt_metric_view *, const struct tt_profile *,
                        struct tt_query *);
int tt_metric_view_of_choice(struct tt_metric_view *, const struct tt_profile *,
                             const struct tt_metric_choice *, const struct tt_memory *);
void tt_metric_view_fini(struct tt_metric_view *);

/* Returns the metric that counts activations; TT_NONE: there is none. */
uint32_t tt_calls_metric(const struct tt_profile *);

/* Collects the arcs that were not dropped, by their targets, into a vector that has not
 * been initialised.  -TT_ERR_MEMORY. */
int tt_arrivals_find(const struct tt_metric_view *, struct tt_vector *);
/* A column of how many calls led back to a context, and its cells; `arcs` are arrivals. */
uint32_t tt_back_column(struct tt_table *);
void tt_back_cell(struct tt_table *, uint32_t column, const struct tt_vector *arcs,
                  uint32_t context);
/* Notes the meaning of the marks, if there are any. */
void tt_back_note(const struct tt_profile *, struct tt_table *, uint32_t column);
/* Marks rows of paths that a reader made from a call graph; does nothing for other
 * profiles.  `has`: the contexts of that block are estimates; the end notes the meaning
 * of the marks. */
struct tt_estimates {
    const struct tt_metric_view *l;
    struct tt_table *t;
    uint8_t
        *places; /* of each block: 0, 1, or 2 and more; NULL: nothing is an estimate */
    size_t size;
    uint32_t column;
};
int tt_estimates_begin(struct tt_estimates *, const struct tt_metric_view *,
                       struct tt_table *);
int tt_estimates_has(const struct tt_estimates *, uint32_t block);
void tt_estimates_mark(const struct tt_estimates *);
void tt_estimates_end(struct tt_estimates *);
/* Calls at contexts in [from, to). */
uint64_t tt_calls_between(const struct tt_vector *, uint32_t from, uint32_t to);
static inline uint64_t tt_calls_at(const struct tt_vector *v, uint32_t context)
{
    return v->count ? tt_calls_between(v, context, context + 1) : 0;
}
static inline uint64_t tt_calls_of(const struct tt_arc_calls *d)
{
    return d[1].before - d->before;
}
uint64_t tt_metric_view_total(const struct tt_metric_view *,
                              uint32_t context); /* with the drops */
uint64_t tt_metric_view_total_low(const struct tt_metric_view *, uint32_t context);
static inline uint64_t tt_metric_view_calls(const struct tt_metric_view *l,
                                            uint32_t context)
{
    return l->calls ? tt_self_of(l->calls, context) : 0;
}

/* Is it a block of the program?  The root is not, nor is the block for those without room
 * in a recording. */
static inline int tt_is_of_program(const struct tt_profile *p, uint32_t block)
{
    return block && strcmp(tt_block_name(p, block), "[other blocks]") != 0;
}

/* ── Columns and rows ─────────────────────────────────────────────────────────────── */

/* A row's figures; which of them it has, and the activations that they sum up. */
enum {
    TT_HAS_SELF = 1,
    TT_HAS_INCLUSIVE = 2,
    TT_HAS_CALLS = 4,
    TT_HAS_ALL = 7,
    TT_HAS_SELF_SINCE = 8,
    TT_HAS_INCLUSIVE_SINCE = 16
};
struct tt_figures {
    unsigned has;
    uint64_t self, self_low, inclusive, inclusive_low, calls;
    const struct tt_times_row *times;     /* NULL: not known */
    uint64_t self_since, inclusive_since; /* of what came since another reading */
};

/* The shared columns of a table; TT_NONE: missing. */
struct tt_columns {
    uint32_t self, self_low, self_share, self_error, self_since, self_rate;
    uint32_t inclusive, inclusive_low, inclusive_share, inclusive_error;
    uint32_t inclusive_since, inclusive_rate;
    uint32_t calls, average, min, max, deviation;
    uint32_t several; /* the first of two for each further metric */
    uint32_t name, module, file, line, column, block, id, apart;
};
/* The metrics that a query names, where it names several: "a,b".  0, or -TT_ERR_OPTION with
 * q->error. */
int tt_several_find(const struct tt_profile *, struct tt_query *, struct tt_several *);
void tt_several_columns(const struct tt_metric_view *, struct tt_table *,
                        struct tt_columns *);
void tt_several_fill(const struct tt_metric_view *, struct tt_table *,
                     const struct tt_columns *, const struct tt_several_figures *);
/* Sums for each block in each further metric; to be ended in either case.
 * -TT_ERR_MEMORY. */
struct tt_several_sums {
    struct tt_block_sum *sum[TT_SEVERAL_MAX]; /* owned; from 1 */
};
int tt_several_sums_find(const struct tt_metric_view *, struct tt_several_sums *);
void tt_several_sums_fini(const struct tt_metric_view *, struct tt_several_sums *);
int tt_several_has(const struct tt_metric_view *, const struct tt_several_sums *,
                   uint32_t block); /* a self figure of any? */
void tt_several_block(const struct tt_metric_view *, const struct tt_several_sums *,
                      uint32_t block, struct tt_table *, const struct tt_columns *);
void tt_several_inclusive(const struct tt_metric_view *, struct tt_table *,
                          const struct tt_columns *, const struct tt_several_figures *);
/* A view of one further metric, for tt_metric_view_fini.  -TT_ERR_MEMORY. */
int tt_several_lens(const struct tt_metric_view *, uint32_t i,
                    struct tt_metric_view *one);
void tt_metric_view_columns(const struct tt_metric_view *, struct tt_table *,
                            struct tt_columns *);
/* Self and calls alone; the former goes first, and begins `columns`. */
void tt_self_columns(const struct tt_metric_view *, struct tt_table *,
                     struct tt_columns *);
void tt_calls_column(const struct tt_metric_view *, struct tt_table *,
                     struct tt_columns *);
/* Then, after the view's own columns: those that name the row's block. */
void tt_block_columns(struct tt_table *, struct tt_columns *);
/* Its context: the number and the path.  The first of these two columns. */
uint32_t tt_context_columns(struct tt_table *);

/* Fill the last row. */
void tt_metric_view_figures(const struct tt_metric_view *, struct tt_table *,
                            const struct tt_columns *, const struct tt_figures *);
void tt_block_cells(const struct tt_profile *, struct tt_table *,
                    const struct tt_columns *, uint32_t block);
void tt_context_cells(struct tt_table *, uint32_t column, uint32_t context,
                      uint64_t path);
/* Writes what distinguishes a block from others of its name in the whole profile, before
 * filters: "libx.so:list.c:12".  Returns its length, 0 if the name is unique; as
 * snprintf. */
size_t tt_block_apart(const struct tt_profile *, uint32_t block, char *to, size_t size);
/* Returns how many blocks of the whole profile have the name; the first of them, as
 * patterns. */
uint32_t tt_namesakes(const struct tt_profile *, const char *name, char *to, size_t size);
/* A remainder row, whose inclusive figure is its self. */
void tt_metric_view_remainder(const struct tt_metric_view *, struct tt_table *,
                              const struct tt_columns *, uint32_t depth, uint32_t group,
                              const char *name, const struct tt_figures *);
/* Figures of evicted contexts are in those of blocks; if filters have removed these, they
 * are in a separate row. */
void tt_metric_view_elsewhere(const struct tt_metric_view *, struct tt_table *,
                              const struct tt_columns *);
/* The sum of all: self columns above add up to it. */
void tt_metric_view_sum_row(const struct tt_metric_view *, struct tt_table *,
                            const struct tt_columns *);
static inline struct tt_figures tt_figures_of_sum(const struct tt_block_sum *s)
{
    return (struct tt_figures){.has = TT_HAS_ALL,
                               .self = s->self,
                               .self_low = s->self_low,
                               .inclusive = s->inclusive,
                               .inclusive_low = s->inclusive_low,
                               .calls = s->calls};
}

/* ── Since another reading ────────────────────────────────────────────────────────── */

/* The figures of the same item then; items are matched by identity, as numbers change if
 * new ones come in between. */
struct tt_since {
    struct tt_metric_view then;
    int was_there;     /* had it the metric at all? */
    double seconds;    /* in between; 0: not known */
    uint32_t *block;   /* of each block now, the one then; TT_NONE: none; owned */
    uint32_t *context; /* the same of each context; NULL until they are asked for */
    struct tt_block_sum *sum;  /* of each block then; NULL until they are asked for */
    uint32_t blocks, contexts; /* now */
};

/* Makes l->since, if the query has another reading.  -TT_ERR_MEMORY. */
int tt_since_init(struct tt_metric_view *, const struct tt_query *);
void tt_since_fini(struct tt_metric_view *);
/* Must be called before figures of blocks, or of contexts, are read.  -TT_ERR_MEMORY. */
int tt_since_blocks(const struct tt_metric_view *);
int tt_since_contexts(const struct tt_metric_view *);
/* Set self_since and inclusive_since of complete figures.  A figure that is less than it
 * was, because contexts were evicted and came back in between, is unknown. */
void tt_since_block(const struct tt_metric_view *, uint32_t block, struct tt_figures *);
void tt_since_context(const struct tt_metric_view *, uint32_t context,
                      struct tt_figures *);
void tt_since_total(const struct tt_metric_view *, struct tt_figures *);
void tt_since_figures(struct tt_figures *, const struct tt_figures *then);

/* ── Order and cut ────────────────────────────────────────────────────────────────── */

static inline uint32_t tt_limit(const struct tt_query *q, uint32_t own)
{
    uint32_t limit = q->limit == TT_NONE ? own : q->limit;

    return limit ? limit : TT_NONE;
}
static inline double tt_threshold(const struct tt_query *q, double own)
{
    return q->threshold < 0 ? own : q->threshold;
}
/* Returns the least amount that is not below a share of a total. */
uint64_t tt_least_amount(double share, uint64_t total);

/* Sorts by q->sort, or else by `own`, which has the same form. */
int tt_view_sort(struct tt_query *, struct tt_table *, const char *own);
/* The same for rows with the same parent (by depth); remainders are last among them. */
int tt_view_sort_tree(struct tt_query *, struct tt_table *, const char *own);
/* Keeps rows up to the limit, whose self or inclusive figure is not below the threshold,
 * with their groups; sums up the others in a remainder row. */
void tt_view_cut(const struct tt_metric_view *, struct tt_table *,
                 const struct tt_columns *, uint32_t limit, double threshold);
/* Reads the value of a key that only one view knows, as one of `words`, up to a NULL;
 * returns its index, 0 if it was not given, or -TT_ERR_OPTION. */
int tt_view_word(struct tt_query *, const char *key, const char *const *words);
/* Returns which blocks a pattern matches, a byte for each, to be freed; at least one
 * matches. */
int tt_view_blocks(const struct tt_profile *, struct tt_query *, const char *pattern,
                   unsigned char **wanted);

/* `strands` with by=wait, in the metric of waiting time. */
int tt_view_waits(const struct tt_metric_view *, struct tt_query *, struct tt_table *);

/* ── Sums over sets of blocks, and edges between blocks ───────────────────────────── */

/* Sums up the contexts of each block: tt_block_sums without the figures beside contexts.
 * -TT_ERR_MEMORY. */
int tt_context_sums(const struct tt_metric_view *, struct tt_block_sum *sum);

/* Like tt_block_sums for sets: set[b] is the set of block b, TT_NONE: none.  What arcs
 * hid of several blocks together is unknown: inclusive is then a lower bound, at least
 * that of each of them.  NULL: no memory. */
struct tt_block_sum *tt_set_sums(const struct tt_metric_view *, const uint32_t *set,
                                 uint32_t sets);
/* Returns the activations of each set's blocks, by any edge; set NULL: of each block.
 * NULL: no memory. */
struct tt_times_row *tt_set_times(const struct tt_metric_view *, const uint32_t *set,
                                  uint32_t sets);

struct tt_edge { /* calls of one block by another */
    uint32_t caller, callee;
    uint64_t inclusive, inclusive_low; /* a path counts once */
    uint64_t calls, by_arcs;           /* by_arcs: those of them that led back */
    uint32_t until, contexts;          /* until: used while they are found */
    uint32_t id, reserved;             /* its index in the vector of times */
};
/* Collects edges by caller and callee, for wanted blocks (NULL: all), and, if there are
 * times, their activations (struct tt_times_row, by id), into vectors that have not been
 * initialised.  -TT_ERR_MEMORY. */
int tt_edges_find(const struct tt_metric_view *, const unsigned char *wanted,
                  struct tt_vector *edges, struct tt_vector *times);
/* Are they in a digest, so that nothing else is read? */
int tt_edges_are_kept(const struct tt_metric_view *);
/* Collects all edges, without figures, and, by their id, as many tallies as there are
 * metrics; the profile needs only contexts and arcs.  -TT_ERR_MEMORY. */
int tt_edges_tally(const struct tt_profile *, struct tt_vector *edges,
                   struct tt_vector *tallies);

/* ── Contexts that are worth a row ────────────────────────────────────────────────── */

struct tt_shown { /* in preorder */
    uint32_t context, block, end, depth;
    uint32_t parent; /* index; TT_NONE: of the first */
    uint32_t rest;   /* contexts below that are not shown */
    uint64_t total, total_low, dropped;
    uint64_t path; /* see identity.h */
    struct tt_digest_figure self, low, elsewhere, calls;
    struct tt_figures left; /* of the rest: self, calls */
};
struct tt_shown_rule {
    uint32_t start, limit, depth; /* TT_NONE: any */
    uint32_t towards;             /* only what leads there; TT_NONE: all */
    uint64_t least;               /* total */
};
/* Finds contexts below `start` whose total is not below the least, down to a depth; of
 * them the `limit` largest, of equal ones the first.  A parent is never smaller than its
 * children, so parents of shown contexts are shown.  Skips small subtrees, one step a
 * child. */
int tt_shown_find(const struct tt_metric_view *, const struct tt_shown_rule *,
                  struct tt_vector *shown);
/* Reads a query's rule: its limit, depth and threshold, which is a share of `context=N`
 * or, without that, of everything. */
int tt_shown_rule_of(const struct tt_metric_view *, struct tt_query *, uint32_t limit,
                     double threshold, struct tt_shown_rule *);
/* Adds rows for all shown contexts, each followed by its remainders.  Calls back after a
 * row was filled; `i` is the shown context, or the one that a remainder belongs to. */
typedef void tt_shown_row(void *arg, size_t i, uint64_t amount, int is_remainder);
int tt_shown_rows(const struct tt_metric_view *, const struct tt_vector *shown,
                  struct tt_table *, const struct tt_columns *, tt_shown_row *,
                  void *arg);

#endif
