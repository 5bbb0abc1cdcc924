/* SPDX-License-Identifier: MIT */
/* side.h - one side of a comparison: figures of blocks or contexts, by comparable
 * identities. */
#ifndef TT_SIDE_H
#define TT_SIDE_H

#include "diff.h"

struct tt_figure {           /* of a block, or a context */
    uint64_t sum, most;      /* most: on one strand */
    struct tt_sample sample; /* over units */
};

struct tt_side_strand {
    const char *run; /* borrowed: the name of its run; "": it has none */
    size_t size;     /* of the name */
    uint32_t number;
    size_t first, end; /* its entries */
};

struct tt_side {
    const struct tt_memory *memory;
    struct tt_profile p;
    void *image;
    size_t size;
    struct tt_side_strand *strand; /* owned: by run */
    const struct tt_metric_columns *m;
    uint32_t metric, runs, rows;
    int by_context, by_run;
    double scale;                   /* from sums to the figures that are shown */
    uint64_t samples, whole;        /* samples: as many equal ones; whole: their time */
    uint32_t busy;                  /* units that have figures at all */
    uint64_t longest;               /* the largest total of a strand */
    struct tt_figure *self, *total; /* of each row */
    unsigned char *outermost;       /* of each context: none of its block is above it */
    uint64_t *amount; /* contexts + 1, and then blocks' `beside` and `hidden` */
    uint64_t *row;    /* a unit's figures of rows */
};

/* Renames the blocks of `profile`, as it is compared with `other`, opens it, and finds its
 * runs; memory must be set.  tt_side_fini in either case. */
int tt_side_open(struct tt_side *, const struct tt_profile *profile,
                 const struct tt_profile *other);
/* Then, with `metric`, `m`, `by_context`, `by_run` and `scale` set: collects the
 * figures. */
int tt_side_read(struct tt_side *);
void tt_side_fini(struct tt_side *);

#endif
