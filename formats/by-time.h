/* SPDX-License-Identifier: MIT */
/* by-time.h - a profile in the order of time, thread by thread, for formats that have an
 * axis of time: export's --by-time.
 *
 * Of each thread, frames open and close as its samples by time say:
 *
 *      samples    main;a  main;a  main;b          main;b
 *      frames   ┌main───────────────────┐       ┌main───┐
 *               │a──────────────┐b──────┤       │b──────┤
 *
 * A sample lasts for its weight (lanes.h); if the next one begins clearly later, nothing
 * is open in between. */
#ifndef TT_BY_TIME_H
#define TT_BY_TIME_H

#include "formats.h"
#include "lanes.h"

struct tt_by_time {
    const struct tt_profile *p;
    struct tt_lanes lanes;
    uint64_t start;   /* of all threads */
    uint32_t *parent; /* of each context */
    uint32_t *depth;  /* of each context: its place in `open`, while it is there */
    struct tt_vector open, path; /* uint32_t: contexts */
};

/* Can it be written by time?  If not, -TT_ERR_OPTION and e->error says why. */
int tt_by_time_check(struct tt_export *);

/* 0, -TT_ERR_MEMORY, or -TT_ERR_OPTION with e->error; tt_by_time_fini in each case. */
int tt_by_time_init(struct tt_by_time *, struct tt_export *);
void tt_by_time_fini(struct tt_by_time *);

/* Did this strand run? */
static inline int tt_by_time_has(const struct tt_by_time *x, uint32_t strand)
{
    return x->lanes.lane[strand].first < x->lanes.lane[strand].end;
}

/* A frame opens or closes; the time is in ns from x->start on.  Context 0 is the root,
 * which is open only if it is the innermost frame. */
typedef void tt_by_time_edge(void *arg, uint32_t context, uint64_t at);

/* Calls them for each frame of a strand, in the order of time. */
int tt_by_time_walk(struct tt_by_time *, uint32_t strand, tt_by_time_edge *open,
                    tt_by_time_edge *close, void *arg);

#endif
