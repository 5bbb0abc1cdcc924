/* SPDX-License-Identifier: MIT */
/* maxima.h - live objects by context, now and at the maxima of the run; see maxima.c.
 * Callers hold a lock on all of it. */
#ifndef TT_MAXIMA_H
#define TT_MAXIMA_H

#include "space.h"

/* A new holding for a context's objects of one type; node NULL: the context is unknown.
 * Returns NULL if there is no room. */
struct tt_holding_room {
    uint32_t cell, end; /* of the page that is being filled */
};
struct tt_holding *tt_holding_take(struct tt_recording *, struct tt_holding_room *,
                                   tt_type, const struct tt_node *);

/* There are parts of the run, the first ones of some 2^shift ticks each. */
void tt_parts_begin(struct tt_space_record *, uint32_t shift);

/* It is `now`: parts may be over. */
void tt_parts_end(struct tt_recording *, struct tt_space_record *, uint64_t now);
static inline void tt_parts_see(struct tt_recording *r, struct tt_space_record *s,
                                uint64_t now)
{
    if (s->part_shift && now >> s->part_shift > s->part)
        tt_parts_end(r, s, now);
}

/* So much more is alive, of one; and then in all. */
static inline void tt_holding_change(const struct tt_space_record *s,
                                     struct tt_holding *h, int64_t bytes, int64_t number)
{
    /* Once: it may grow meanwhile, and is then of a later moment. */
    const uint64_t peak = __atomic_load_n(&s->peak, __ATOMIC_ACQUIRE);

    if (h->changed <= peak) {
        h->peak = h->live;
        h->peak_number = h->live_number;
    }
    h->live += (uint64_t)bytes;
    h->live_number += (uint64_t)number;
    __atomic_store_n(&h->changed, peak + 1, __ATOMIC_RELEASE);
}

static inline void tt_maxima_change(struct tt_space_record *s, int64_t bytes,
                                    uint64_t now)
{
    s->live += (uint64_t)bytes;
    if (s->live > s->most) {
        s->most = s->live;
        s->most_time = now;
        __atomic_store_n(&s->peak, s->peak + 1, __ATOMIC_RELEASE);
    }
}

#endif
