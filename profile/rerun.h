/* SPDX-License-Identifier: MIT */
/* rerun.h - the run again, with some code faster. */
#ifndef TT_RERUN_H
#define TT_RERUN_H

#include "feeds.h"

enum tt_rerun_model {                 /* a wait ends when */
                      TT_RERUN_TIGHT, /* all threads that may have ended it have run so far */
                      TT_RERUN_LIKELY, /* the likeliest has */
                      TT_RERUN_LOOSE,  /* the first one has */
                      TT_RERUN_MODELS
};

struct tt_rerun_heap { /* the least key first */
    struct tt_rerun_event {
        double key;
        uint32_t stretch;
        int ends;
    } * item;
    uint32_t count, room;
};

struct tt_rerun {
    const struct tt_lanes *lanes;
    const struct tt_feeds *feeds;
    const uint32_t *lane_of;
    const unsigned char *is_faster; /* of each context */
    uint64_t begin;
    double
        processors; /* that the threads had together; INFINITY: as many as they wanted */
    double *work;   /* owned; of each stretch, ns of a processor */
    double *ended;  /* owned; when each lane has ended, from `begin` on */
    /* owned; of each stretch: */
    uint32_t *first_feed; /* of those by it; one more at the end */
    uint32_t *of;         /* the feeds themselves, in this order */
    uint32_t *open;       /* what has to happen before it begins */
    double *ready;        /* it begins no earlier */
    double *arrived;      /* the thread had come there */
    unsigned char *flags;
    /* the state of a run */
    enum tt_rerun_model model;
    double share, time, virtual_time;
    struct tt_rerun_heap timers, running; /* keys: time, virtual time */
};

/* `cpu`: ns of processors that the threads had; 0: not known.  -TT_ERR_MEMORY;
 * tt_rerun_fini in either case. */
int tt_rerun_init(struct tt_rerun *, const struct tt_feeds *,
                  const unsigned char *is_faster, uint64_t cpu);
void tt_rerun_fini(struct tt_rerun *);

/* Fills `ended`, if the code takes `share` of its time less. */
void tt_rerun_go(struct tt_rerun *, double share, enum tt_rerun_model);

#endif
