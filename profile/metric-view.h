/* SPDX-License-Identifier: MIT */
/* metric-view.h - a profile seen in the metric of a query: figures of contexts, the columns
 * and rows that views share.
 *
 * A dropped push (an arc whose block is not that of its target) is a call that no context
 * has.  If the metric is calls, every view takes it as a leaf below the context it came
 * from, so that totals and self figures still add up. */
#ifndef TT_METRIC_VIEW_H
#define TT_METRIC_VIEW_H

#include <string.h>

#include "several.h"
#include "view.h"

struct tt_since;

/* Calls by arcs, in the order of a context; the last one is a sentinel: context TT_NONE,
 * before: all calls. */
struct tt_arc_calls {
    uint32_t context, block; /* where they came from, or led to; what was pushed */
    uint64_t before;         /* calls of all before it */
};

/* Of the samples of a profile, those of recordings: other files that were merged count something
 * else. */
uint64_t tt_own_samples(const struct tt_profile *, uint64_t samples);
/* As many samples of equal weight would give as narrow intervals as `samples` ones, which are
 * those of the profile. */
uint64_t tt_equal_samples(const struct tt_profile *, uint64_t samples);

/* A profile seen in the metric of a query. */
struct tt_metric_view {
    const struct tt_profile *p;
    const struct tt_memory *memory;
    struct tt_metric_choice choice;
    const struct tt_metric_columns *main;
    const struct tt_metric_columns *calls; /* NULL: none, or they are `main` */
    struct tt_vector
        drop;         /* struct tt_arc_calls of those that were dropped, by where they
                              came from; empty unless `main` is calls */
    uint64_t samples; /* tt_equal_samples of all; 0: the metric is not sampled */
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

/* Collects the arcs that were not dropped, by their targets, into a vector that has not
 * been initialised.  -TT_ERR_MEMORY. */
int tt_arrivals_find(const struct tt_metric_view *, struct tt_vector *);
/* A column of how many calls led back to a context, and its cells; `arcs` are arrivals. */
uint32_t tt_back_column(struct tt_table *);
void tt_back_cell(struct tt_table *, uint32_t column, const struct tt_vector *arcs,
                  uint32_t context);
/* Notes the meaning of the marks, if there are any. */
void tt_back_note(const struct tt_profile *, struct tt_table *, uint32_t column);
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
    int is_sampled;                       /* it has samples, or its callees have */
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
                               .calls = s->calls,
                               .is_sampled = s->samples != 0};
}

/* Has a context samples, or its callees? */
static inline int tt_is_sampled(const struct tt_metric_view *l, uint32_t context)
{
    return l->choice.samples != TT_NONE &&
           tt_total_of(l->p, &l->p->metric[l->choice.samples], context) != 0;
}

/* Blocks that a view leaves out, as one row: "[all else]". */
struct tt_others {
    uint32_t count;
    struct tt_figures rest;
    struct tt_several_figures more;
};
void tt_others_add(const struct tt_metric_view *, struct tt_others *,
                   const struct tt_several_sums *, uint32_t block,
                   const struct tt_figures *);
void tt_others_row(const struct tt_metric_view *, struct tt_table *,
                   const struct tt_columns *, const struct tt_others *);

#endif
