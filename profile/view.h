/* SPDX-License-Identifier: MIT */
/* view.h - the views: each answers a query about a profile with a table. */
#ifndef TT_VIEW_H
#define TT_VIEW_H

#include "query.h"

/* Each fills a table that has been initialised.  0, -TT_ERR_OPTION with q->error, or
 * -TT_ERR_MEMORY. */
typedef int tt_view_function(const struct tt_profile *, struct tt_query *,
                             struct tt_table *);

tt_view_function tt_view_flat;     /* each block: self, inclusive, calls */
tt_view_function tt_view_graph;    /* each block between its callers and its callees */
tt_view_function tt_view_tree;     /* contexts from the root, the largest first */
tt_view_function tt_view_callers;  /* inverted: each block, then its callers */
tt_view_function tt_view_block;    /* one block: its callers and callees */
tt_view_function tt_view_groups;   /* mutually recursive blocks, combined */
tt_view_function tt_view_flame;    /* contexts in preorder, small ones combined */
tt_view_function tt_view_lines;    /* locations: file and line */
tt_view_function tt_view_assembly; /* instructions of functions */
tt_view_function tt_view_source;   /* their source text */
tt_view_function tt_view_strands;  /* threads, processes, ranks, and how they differ */
tt_view_function tt_view_series;   /* over time */
tt_view_function tt_view_space;    /* by type and generation */
tt_view_function tt_view_slowest;  /* single activations, with what they called */
tt_view_function tt_view_locks;    /* locks, the threads that waited for them, and those
                                      that held them */
tt_view_function tt_view_header;   /* what produced it, what it cannot tell */
tt_view_function tt_view_timeline; /* use over time */
tt_view_function tt_view_bursts;   /* stretches that differ from the rest */

/* What the views share. */
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
 * outermost context, and adds hidden figures of arcs.  NULL: no memory. */
struct tt_block_sum *tt_block_sums(const struct tt_profile *,
                                   const struct tt_metric_choice *,
                                   const struct tt_memory *);

/* Returns half the width of the 95 % interval of a share of `samples` (Wilson). */
double tt_share_error(double share, uint64_t samples);

/* Begins to look for the bursts that the view shows; NULL: no memory. */
struct tt_bursts *tt_view_bursts_begin(const struct tt_profile *,
                                       const struct tt_query *);
/* Which part of the run a range of time is: "1.000 s to 2.000 s of 9.000 s". */
const char *tt_view_range(const struct tt_profile *, struct tt_table *);
/* Notes that every view owes its readers: hidden, evicted, unresolved, lost. */
void tt_view_notes(const struct tt_profile *, const struct tt_metric_choice *,
                   struct tt_table *);

#endif
