/* SPDX-License-Identifier: MIT */
/* walk.h - N functions that call each other at random.
 *
 * Each step is a call with probability 55 % and a return with 45 %, between depth 0 and
 * WALK_DEPTH.  Whom a call goes to does not depend on the caller: to all alike, or to the
 * k-th of them in proportion to 1/k (Zipf, s = 1).  Each step ends with 1 to 4 ticks.
 * The same arguments give the same walk, every time. */
#ifndef WALK_H
#define WALK_H

#include "bench.h"

enum { WALK_DEPTH = 64, WALK_CHOICES = 1 << 16 };

struct walk {
    uint64_t chance;
    unsigned depth;
    unsigned block; /* what the last step called, 1 to N; 0: it returned */
    unsigned ticks; /* what it took */
    uint16_t choice[WALK_CHOICES];
};

enum walk_kind { WALK_UNIFORM, WALK_ZIPF };

void walk_init(struct walk *, enum walk_kind, unsigned blocks);

static inline void walk_step(struct walk *w)
{
    uint64_t x = bench_random(&w->chance);

    w->ticks = 1 + (unsigned)(x & 3);
    w->block = 0;
    if (w->depth < WALK_DEPTH && (w->depth == 0 || (x >> 2) % 100 < 55)) {
        w->block = w->choice[x >> 48];
        w->depth++;
    } else
        w->depth--;
}

#endif
