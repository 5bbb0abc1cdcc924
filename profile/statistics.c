/* SPDX-License-Identifier: MIT */
/* statistics.c - statistics that stay exact when they are merged: integers, and squares
 * in 128 bits; fractions are computed for output only. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sorted.h"

uint64_t tt_whole(double x)
{
    if (x + 0.5 >= (double)UINT64_MAX)
        return UINT64_MAX;
    return x > 0 ? (uint64_t)(x + 0.5) : 0;
}

void tt_sum128_add(struct tt_sum128 *into, const struct tt_sum128 *from)
{
    into->low += from->low;
    into->high += from->high + (into->low < from->low);
}

void tt_sum128_add_square(struct tt_sum128 *into, uint64_t x)
{
    unsigned __int128 square = (unsigned __int128)x * x;

    tt_sum128_add(into, &(struct tt_sum128){(uint64_t)square, (uint64_t)(square >> 64)});
}

double tt_sum128_value(const struct tt_sum128 *s)
{
    return (double)s->high * 18446744073709551616.0 + (double)s->low; /* 2^64 */
}

double tt_mean(uint64_t count, uint64_t sum)
{
    return count ? (double)sum / (double)count : 0;
}

/* The numerator n·Σx² − (Σx)² is computed in 192 bits, as floating figures would cancel:
 * here as the difference of high and low parts, each exact. */
double tt_deviation(uint64_t count, uint64_t sum, const struct tt_sum128 *square)
{
    unsigned __int128 low, carry, high, s = (unsigned __int128)sum * sum;
    unsigned __int128 difference;

    if (!count)
        return 0;
    low = (unsigned __int128)square->low * count;
    carry = low >> 64;
    high = (unsigned __int128)square->high * count + carry;
    /* n·Σx² is high·2^64 + the low half of `low`; so is s its own two halves */
    if (high < s >> 64)
        return 0;
    high -= s >> 64;
    low = (uint64_t)low;
    if (low < (uint64_t)s) {
        if (!high)
            return 0; /* figures that are not of one set */
        high--;
        low += (unsigned __int128)1 << 64;
    }
    difference = low - (uint64_t)s;
    return sqrt((double)high * 18446744073709551616.0 + (double)difference) /
           (double)count;
}

int tt_rate_is_missed(uint64_t samples, uint64_t ns, double hz)
{
    enum { DEVIATIONS = 4, ENDS = 2 };
    double wanted = (double)ns / 1e9 * hz;

    return (double)samples + DEVIATIONS * sqrt(wanted) + ENDS < wanted;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return TT_ORDER(x, y);
}

static double median_of(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

int tt_away_from_median(const double *x, double *away, size_t n,
                        const struct tt_memory *memory)
{
    double *copy = tt_memory_get(memory, n * sizeof *copy), median, distance;

    if (!copy)
        return -TT_ERR_MEMORY;
    memcpy(copy, x, n * sizeof *copy);
    median = n ? median_of(copy, n) : 0;
    for (size_t i = 0; i < n; i++)
        copy[i] = fabs(x[i] - median);
    distance = n ? median_of(copy, n) * 1.4826 : 0;
    for (size_t i = 0; i < n; i++)
        away[i] = distance > 0 ? (x[i] - median) / distance : 0;
    tt_memory_put(memory, copy);
    return 0;
}

static int comes_before(uint32_t strand, uint32_t other, const struct tt_strand_order *o)
{
    return o ? o->is_before(o->arg, strand, other) : strand < other;
}

static void take_least(uint64_t *least, uint32_t *whose, uint64_t amount, uint32_t strand,
                       const struct tt_strand_order *o)
{
    if (amount < *least || (amount == *least && comes_before(strand, *whose, o))) {
        *least = amount;
        *whose = strand;
    }
}

static void take_greatest(uint64_t *greatest, uint32_t *whose, uint64_t amount,
                          uint32_t strand, const struct tt_strand_order *o)
{
    if (amount > *greatest || (amount == *greatest && comes_before(strand, *whose, o))) {
        *greatest = amount;
        *whose = strand;
    }
}

/* Takes both; the first ones as they are. */
#define TAKE_EXTREMES(into, from, order)                                                 \
    do {                                                                                 \
        if (!(into)->count) {                                                            \
            (into)->min = (from)->min;                                                   \
            (into)->max = (from)->max;                                                   \
            (into)->min_strand = (from)->min_strand;                                     \
            (into)->max_strand = (from)->max_strand;                                     \
        }                                                                                \
        take_least(&(into)->min, &(into)->min_strand, (from)->min, (from)->min_strand,   \
                   order);                                                               \
        take_greatest(&(into)->max, &(into)->max_strand, (from)->max,                    \
                      (from)->max_strand, order);                                        \
    } while (0)

void tt_times_add(struct tt_times_row *into, const struct tt_times_row *from,
                  const struct tt_strand_order *order)
{
    if (!from->count)
        return;
    TAKE_EXTREMES(into, from, order);
    into->row = from->row;
    into->count += from->count;
    into->sum += from->sum;
    into->children += from->children;
    into->recursive += from->recursive;
    into->weighed += from->weighed;
    tt_sum128_add(&into->square, &from->square);
    tt_sum128_add(&into->children_square, &from->children_square);
    tt_sum128_add(&into->recursive_square, &from->recursive_square);
}

void tt_spread_add(struct tt_spread *into, const struct tt_spread *from,
                   const struct tt_strand_order *order)
{
    if (!from->count)
        return;
    TAKE_EXTREMES(into, from, order);
    into->count += from->count;
    tt_sum128_add(&into->square, &from->square);
}

void tt_spread_take(struct tt_spread *s, uint32_t strand, uint64_t amount,
                    const struct tt_strand_order *order)
{
    struct tt_spread one = {.count = 1,
                            .min_strand = strand,
                            .max_strand = strand,
                            .min = amount,
                            .max = amount};

    tt_sum128_add_square(&one.square, amount);
    tt_spread_add(s, &one, order);
}

/* ── Over strands ─────────────────────────────────────────────────────────────────── */

/* Takes the figures of contexts of one strand, or process, from `amount`, and zeroes
 * them.  Running sums give totals: a context's is the difference of two. */
static void take_strand(const struct tt_profile *p, struct tt_spread *s, uint32_t strand,
                        uint64_t *amount, int of_self)
{
    uint64_t sum = 0;

    if (of_self) {
        for (uint32_t c = 0; c < p->contexts; c++)
            if (amount[c])
                tt_spread_take(&s[c], strand, amount[c], NULL);
    } else {
        for (uint32_t c = 0; c <= p->contexts; c++) {
            uint64_t here = amount[c];
            amount[c] = sum;
            sum += here;
        }
        for (uint32_t c = 0; c < p->contexts; c++) {
            uint64_t total = amount[tt_end_of(p, c)] - amount[c];
            if (total)
                tt_spread_take(&s[c], strand, total, NULL);
        }
    }
    memset(amount, 0, ((size_t)p->contexts + 1) * sizeof *amount);
}

int tt_is_one_process(const struct tt_profile *p, uint32_t strand, uint32_t other)
{
    const struct tt_strand_row *a = &p->strand[strand], *b = &p->strand[other];

    return a->host == b->host && a->process == b->process && a->pid == b->pid &&
           a->rank == b->rank && a->labels == b->labels;
}

static int is_last_of(const struct tt_profile *p, size_t entry, enum tt_spreading over)
{
    const struct tt_entry *e = &p->entry[entry];

    if (entry + 1 == p->entries)
        return 1;
    return e[1].strand != e->strand &&
           (over == TT_OVER_STRANDS || !tt_is_one_process(p, e->strand, e[1].strand));
}

struct tt_spread *tt_spread_of(const struct tt_profile *p, uint32_t metric, int of_self,
                               enum tt_spreading over, const struct tt_memory *memory)
{
    const size_t bytes = ((size_t)p->contexts + 1) * sizeof(uint64_t);
    const uint64_t elsewhere = (uint64_t)p->contexts + p->arcs + 2 * (uint64_t)p->blocks;
    struct tt_spread *s = tt_memory_get(memory, (size_t)p->contexts * sizeof *s);
    uint64_t *amount = tt_memory_get(memory, bytes);

    for (size_t i = 0; s && amount && i < p->entries; i++) {
        const struct tt_entry *e = &p->entry[i];
        if (e->metric == metric && e->row < p->contexts)
            amount[e->row] += e->amount;
        else if (!of_self && e->metric == metric && e->row >= elsewhere &&
                 e->row < elsewhere + p->contexts)
            amount[e->row - elsewhere] += e->amount;
        if (is_last_of(p, i, over))
            take_strand(p, s, e->strand, amount, of_self);
    }
    if (!amount) {
        tt_memory_put(memory, s);
        s = NULL;
    }
    tt_memory_put(memory, amount);
    return s;
}
