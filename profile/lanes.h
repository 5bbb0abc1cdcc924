/* SPDX-License-Identifier: MIT */
/* lanes.h - when each thread ran and waited, from the samples of a profile by time. */
#ifndef TT_LANES_H
#define TT_LANES_H

#include "query.h"

enum tt_wait { /* of a block: what a sample with it at the end of its path did */
               TT_WAIT_NONE, /* it ran */
               TT_WAIT_THREAD, /* for another thread or process: futex, child, semaphore, message */
               TT_WAIT_ANY, /* that may be, or for the world outside: read, poll, accept */
               TT_WAIT_FIXED /* for a time or a device, whatever other threads do: sleep, fsync */
};

struct tt_stretch { /* of a thread: it ran, or waited, in this context */
    uint64_t from, to;
    uint32_t context;
    enum tt_wait wait;
};

struct tt_lane {
    size_t first, end; /* of its stretches, which are in the order of time */
};

struct tt_lanes {
    struct tt_vector stretch;
    struct tt_lane *lane; /* owned; of each strand */
    unsigned char *wait;  /* owned; enum tt_wait of each block */
    uint32_t lanes;
    uint64_t shift; /* times of stretches are so much later than those of samples */
    int has_waits;  /* of --wall: waits are in the samples, too */
    int is_rounded; /* the times are those of our log */
    int are_begins; /* samples have the time of their begin */
    int is_shared;  /* some strands are several threads */
    const struct tt_memory *memory;
};

/* Do samples have their begins as times, not their ends? */
int tt_lanes_are_begins(const struct tt_profile *);

/* Are the weights of samples lengths, in the unit of their times?  A caller's clock has both
 * in ticks. */
int tt_lanes_have_lengths(const struct tt_profile *);

/* Do samples have times, lengths in ns, and still their waits?  -TT_ERR_OPTION with q->error:
 * they do not. */
int tt_lanes_check(const struct tt_profile *, struct tt_query *);
int tt_lanes_check_lengths(const struct tt_profile *,
                           struct tt_query *); /* or in ticks */

/* Do the query's filters keep all samples of the threads that they keep, in one range of time?
 * Then between two samples the thread ran, or waited on. */
int tt_lanes_are_whole(const struct tt_query *);

/* `is_whole`: no filter has removed samples.  `wanted`, by strand: others get no stretches;
 * NULL: all are wanted.  -TT_ERR_MEMORY; tt_lanes_fini in either case. */
int tt_lanes_init(struct tt_lanes *, const struct tt_profile *, int is_whole,
                  const unsigned char *wanted, const struct tt_memory *);
void tt_lanes_fini(struct tt_lanes *);

#endif
