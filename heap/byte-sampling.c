/* SPDX-License-Identifier: MIT */
/* byte-sampling.c - chooses the sampled bytes, and the weight of a sampled object.
 *
 * Each byte is sampled with the same small probability, so the distance to the next one
 * is exponential; an object is sampled if one of its bytes is.  Whatever the sizes, the
 * weights add up to the allocated amount, on average, one object at a time. */
#include "byte-sampling.h"

#include <string.h>

#include "random.h"

static const double ln2 = 0.693147180559945309417;

void tt_byte_sampling_seed(struct tt_byte_sampling *c, uint64_t seed)
{
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebu;
    c->state = (seed ^ seed >> 31) | 1;
}

/* A random number above 0, and at most 1. */
static double unit(struct tt_byte_sampling *c)
{
    return ((double)(tt_random(&c->state) >> 11) + 1) * 0x1p-53;
}

static double log_of(double x)
{
    uint64_t bits;
    int power;
    double m, s, square, term, sum = 0;

    memcpy(&bits, &x, sizeof bits);
    power = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m /= 2;
        power++;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    term = 2 * s;
    for (int i = 1; i < 22; i += 2, term *= square)
        sum += term / i;
    return sum + power * ln2;
}

static double chance_below(double x)
{
    double halves = 1, term = 1, sum = 0;

    if (x > 60)
        return 1;
    while (x > 0.5) {
        halves /= 2;
        x -= ln2;
    }
    for (int i = 1; i < 18; i++) { /* e^-x - 1, |x| <= 0.5 */
        term *= -x / i;
        sum += term;
    }
    return 1 - halves - halves * sum;
}

uint64_t tt_byte_sampling_gap(struct tt_byte_sampling *c, uint64_t rate)
{
    return (uint64_t)(-log_of(unit(c)) * (double)rate);
}

static uint64_t round_by_chance(struct tt_byte_sampling *c, double x)
{
    uint64_t whole = (uint64_t)x;

    return whole + (unit(c) <= x - (double)whole);
}

void tt_byte_sampling_weigh(struct tt_byte_sampling *c, uint64_t size, uint64_t rate,
                            uint64_t *number, uint64_t *bytes)
{
    double chance = chance_below((double)size / (double)rate);

    *number = round_by_chance(c, 1 / chance);
    *bytes = round_by_chance(c, (double)size / chance);
}
