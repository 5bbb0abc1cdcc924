/* SPDX-License-Identifier: MIT */
/* walk.c - the table from which a random walk draws: each block as often as it is
 * likely. */
#include "walk.h"

#include <string.h>

static double weight(enum walk_kind kind, unsigned block)
{
    return kind == WALK_ZIPF ? 1.0 / block : 1.0;
}

void walk_init(struct walk *w, enum walk_kind kind, unsigned blocks)
{
    double sum = 0, so_far = 0;
    size_t filled = 0;

    memset(w, 0, sizeof *w);
    w->chance = BENCH_SEED;
    for (unsigned block = 1; block <= blocks; block++)
        sum += weight(kind, block);
    for (unsigned block = 1; block <= blocks; block++) {
        so_far += weight(kind, block);
        while (filled < WALK_CHOICES &&
               ((double)filled + 0.5) / WALK_CHOICES < so_far / sum)
            w->choice[filled++] = (uint16_t)block;
    }
    while (filled < WALK_CHOICES) /* what rounding left over */
        w->choice[filled++] = (uint16_t)blocks;
}
