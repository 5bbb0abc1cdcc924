/* SPDX-License-Identifier: MIT */
/* coarse.c - functions as long as those that people mark by hand; see coarse.h.
 * Compiled with COARSE set to the name of what it defines. */
#include "coarse.h"
#include "marks.h"

enum { WORDS = 4096 };

static unsigned words[WORDS] __attribute__((aligned(4096)));

static ALONE unsigned fill(unsigned seed)
{
    MARK("fill");

    for (int i = 0; i < WORDS; i++)
        words[i] = seed = seed * 1664525u + 1013904223u;
    return seed;
}

static ALONE unsigned checksum(int from, int to)
{
    MARK("checksum");
    unsigned sum = 0;

    for (int i = from; i < to; i++)
        sum = (sum << 5) - sum + words[i];
    return sum;
}

static ALONE unsigned search(unsigned wanted)
{
    MARK("search");
    unsigned found = 0;

    for (int i = 0; i < WORDS; i++)
        found += words[i] >> 20 == wanted >> 20;
    return found + checksum(0, WORDS / 16);
}

static ALONE unsigned one_round(unsigned seed)
{
    MARK("round");
    unsigned x = fill(seed);

    for (int i = 0; i < 8; i++)
        x += search(x) + checksum(i * (WORDS / 8), (i + 1) * (WORDS / 8));
    return x;
}

unsigned long COARSE(long rounds)
{
    unsigned x = 1;

    for (long i = 0; i < rounds; i++)
        x = one_round(x);
    return x;
}
