/* SPDX-License-Identifier: MIT */
/* edges.h - callers and callees: contexts added up by the last two blocks of their path. */
#ifndef TT_EDGES_H
#define TT_EDGES_H

#include "metric-view.h"

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

#endif
