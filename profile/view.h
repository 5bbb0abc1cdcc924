/* SPDX-License-Identifier: MIT */
/* view.h - answers a query about a profile with a table; figures and notes that views share. */
#ifndef TT_VIEW_H
#define TT_VIEW_H

#include "query.h"

struct tt_metric_view;

struct tt_metric_choice {          /* the metric of a query, and those shown beside it */
    uint32_t main, calls, samples; /* indices; TT_NONE */
    const struct tt_metric_columns *column; /* of main */
    uint64_t total;
};
int tt_view_metric(const struct tt_profile *, struct tt_query *,
                   struct tt_metric_choice *);

/* Figures of each block over the whole tree. */
struct tt_block_sum {
    uint64_t self, self_low, inclusive, inclusive_low, calls, samples;
    uint64_t contexts;
};
/* Returns one for each block, from `memory`; inclusive counts a path once, at the block's
 * outermost context, and adds hidden figures of arcs.  Of calls and samples below evicted
 * contexts it is a lower bound.  NULL: no memory. */
struct tt_block_sum *tt_block_sums(const struct tt_profile *,
                                   const struct tt_metric_choice *,
                                   const struct tt_memory *);

/* Returns half the width of the 95 % interval of a share of `samples` (Wilson). */
double tt_share_error(double share, uint64_t samples);

/* Which part of the run a range of time is: "1.000 s to 2.000 s of 9.000 s". */
const char *tt_view_range(const struct tt_profile *, struct tt_table *);
/* A thread's name, with its number if it has one. */
const char *tt_strand_name(struct tt_table *, const struct tt_profile *, uint32_t strand);
/* Notes that every view owes its readers: hidden, evicted, unresolved, lost. */
void tt_view_notes(const struct tt_profile *, const struct tt_metric_choice *,
                   struct tt_table *);

/* Notes what was lost. */
void tt_note_losses(const struct tt_profile *, struct tt_table *);
/* Notes that a sum of peaks may be more than was ever alive, where there are several. */
void tt_note_peaks(const struct tt_profile *, struct tt_table *);

/* Returns the metric that counts activations; TT_NONE: there is none. */
uint32_t tt_calls_metric(const struct tt_profile *);

/* Sums up the contexts of each block: tt_block_sums without the figures beside contexts.
 * -TT_ERR_MEMORY. */
int tt_context_sums(const struct tt_metric_view *, struct tt_block_sum *sum);

/* Like tt_block_sums for sets: set[b] is the set of block b, TT_NONE: none.  What arcs
 * hid of several blocks together is unknown: inclusive is then a lower bound, at least
 * that of each of them.  NULL: no memory. */
struct tt_block_sum *tt_set_sums(const struct tt_metric_view *, const uint32_t *set,
                                 uint32_t sets);

/* Answers a query (its filters have been applied): initialises the table.  -TT_ERR_OPTION
 * with q->error if the view cannot do it; -TT_ERR_MEMORY. */
int tt_view(const struct tt_profile *, struct tt_query *, struct tt_table *);

#endif
