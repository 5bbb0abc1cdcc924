/* SPDX-License-Identifier: MIT */
/* feeds.h - which stretches of threads let others go on. */
#ifndef TT_FEEDS_H
#define TT_FEEDS_H

#include "lanes.h"

enum tt_feed_role {
    TT_FEED_SURE,   /* whatever the model, `of` needs it */
    TT_FEED_MADE,   /* so it does, as the first of a thread that `on` has made */
    TT_FEED_LIKELY, /* the likeliest of those that may have ended the wait */
    TT_FEED_OTHER,  /* another one of those */
    TT_FEED_MET,    /* the thread that ended the wait needs the waiting one */
    TT_FEED_BACK    /* it may need it */
};

/* Stretch `of` begins `after` ns after `on` at the earliest; `on` works for `part` of them.
 * The feed of a wait takes the place of its length. */
struct tt_feed {
    uint32_t of, on; /* numbers of stretches in lanes->stretch */
    enum tt_feed_role role;
    double part, after;
};

struct tt_feeds {
    const struct tt_profile *p;
    const struct tt_lanes *lanes;
    const uint32_t *in_order;   /* stretches by their begin */
    const uint32_t *lane_of;    /* of each stretch */
    uint64_t begin, near;       /* of the run; times that samples cannot tell apart */
    unsigned char *kind;        /* owned; of each context: what it waits for */
    struct tt_vector feed;      /* struct tt_feed; a wait adds 17 at most */
    struct tt_feeds_lane *lane; /* owned */
    uint32_t first;             /* the lane that began to run last; TT_NONE: none */
};

/* `in_order` has all stretches.  -TT_ERR_MEMORY; tt_feeds_fini in either case. */
int tt_feeds_init(struct tt_feeds *, const struct tt_profile *, const struct tt_lanes *,
                  const uint32_t *in_order, const uint32_t *lane_of, uint64_t begin,
                  uint64_t near);
void tt_feeds_fini(struct tt_feeds *);

static inline const struct tt_stretch *tt_stretch_at(const struct tt_lanes *l, size_t i)
{
    return (const struct tt_stretch *)l->stretch.item + i;
}

#endif
