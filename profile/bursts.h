/* SPDX-License-Identifier: MIT */
/* bursts.h - stretches of a run in which a block has more samples than chance gives it. */
#ifndef TT_BURSTS_H
#define TT_BURSTS_H

#include "profile.h"

enum {
    TT_BURST_BLOCKS = 64, /* blocks that are looked at: bits of a mask */
    TT_BURST_LEAST = 100  /* samples; fewer are too few to tell */
};

struct tt_burst_share { /* of a block, while a burst lasts and in the rest of the run */
    uint32_t block;     /* TT_NONE: there is none */
    double then, rest;
    double error; /* of the change: half of its 95 % interval */
};

struct tt_burst {
    uint32_t from, to, samples; /* samples [from, to) of the profile; how many count */
    struct tt_burst_share more,
        less; /* the block with more, and the one that lost most */
};

struct tt_bursts;

/* Looks at all samples of a profile.  NULL: no memory. */
struct tt_bursts *tt_bursts_new(const struct tt_profile *, const struct tt_memory *);
void tt_bursts_free(struct tt_bursts *);
/* The clearest burst of what is left, which is then taken out.  0: there is none. */
int tt_bursts_next(struct tt_bursts *, struct tt_burst *);

#endif
