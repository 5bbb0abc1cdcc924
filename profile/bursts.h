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

/* Begins a search for up to `most` bursts in all samples of a profile.  NULL: no memory. */
struct tt_bursts *tt_bursts_new(const struct tt_profile *, uint32_t most,
                                const struct tt_memory *);
void tt_bursts_free(struct tt_bursts *);
/* Does a part of the work, of some ten milliseconds.  1: there is more to do; 0: all are
 * found; -TT_ERR_MEMORY. */
int tt_bursts_work(struct tt_bursts *);
/* Those that were found, the clearest first. */
const struct tt_burst *tt_bursts_found(const struct tt_bursts *, size_t *count);

#endif
