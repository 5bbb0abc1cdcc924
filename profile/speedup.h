/* SPDX-License-Identifier: MIT */
/* speedup.h - how long a run would have taken if some code were faster. */
#ifndef TT_SPEEDUP_H
#define TT_SPEEDUP_H

#include "rerun.h"

enum { TT_SPEEDUP_LEAST, TT_SPEEDUP_MEAN, TT_SPEEDUP_MOST, TT_SPEEDUP_CHOICES };

struct tt_speedup_begin {
    uint64_t from;
    uint32_t stretch;
};

struct tt_speedup_work { /* ns that a thread ran the code, and did what takes its time */
    double faster, other, slept; /* slept: a part of `other` */
};

struct tt_speedup {
    const struct tt_profile *p;
    const struct tt_lanes *lanes;
    unsigned char *is_faster;     /* owned; of each context: does the code run there? */
    uint32_t *in_order;           /* owned; all stretches, by their begin */
    uint32_t *lane_of;            /* owned; of each stretch */
    struct tt_speedup_work *work; /* owned; of each lane */
    struct tt_feeds feeds;
    struct tt_rerun run;
    double before[TT_RERUN_MODELS]; /* when the run again ends with nothing faster */
    double some, only;   /* time in which some thread ran the code, and no other work */
    double fine;         /* 0 to 1: how many waits are too short for the samples */
    uint64_t begin, end; /* of the run */
    uint64_t near;       /* times that samples cannot tell apart */
    uint64_t ran;        /* samples of threads that ran */
};

/* `blocks`: a byte for each block, is it the code?  -TT_ERR_MEMORY; tt_speedup_fini in
 * either case. */
int tt_speedup_init(struct tt_speedup *, const struct tt_profile *,
                    const struct tt_lanes *, const unsigned char *blocks);
void tt_speedup_fini(struct tt_speedup *);

/* The time that the run saves if the code takes `share` of its time less, in ns: if each
 * wait ends when all threads in question have come so far, the likeliest, or the first. */
void tt_speedup_find(struct tt_speedup *, double share, double saved[TT_SPEEDUP_CHOICES]);

#endif
