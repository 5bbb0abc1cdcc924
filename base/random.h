/* SPDX-License-Identifier: MIT */
/* random.h - random numbers, fast: xorshift64*, not for secrets.  Async-signal-safe. */
#ifndef TT_RANDOM_H
#define TT_RANDOM_H

#include <stdint.h>

/* The state is the caller's, and never 0.  The upper bits are the best ones. */
static inline uint64_t tt_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

#endif
