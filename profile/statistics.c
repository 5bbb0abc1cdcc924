/* SPDX-License-Identifier: MIT */
/* statistics.c - what is kept so that merging stays exact: integers, and squares in 128
 * bits; fractions are made when somebody looks. */
#include "statistics.h"

#include <math.h>
#include <string.h>

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

/* The numerator n·Σx² − (Σx)² is taken in 192 bits, where floating figures would cancel:
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

void tt_times_add(struct tt_times_row *into, const struct tt_times_row *from)
{
    if (!from->count)
        return;
    if (!into->count || from->min < into->min ||
        (from->min == into->min && from->min_strand < into->min_strand)) {
        into->min = from->min;
        into->min_strand = from->min_strand;
    }
    if (!into->count || from->max > into->max ||
        (from->max == into->max && from->max_strand < into->max_strand)) {
        into->max = from->max;
        into->max_strand = from->max_strand;
    }
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

void tt_spread_add(struct tt_spread *into, const struct tt_spread *from)
{
    if (!from->count)
        return;
    if (!into->count || from->min < into->min ||
        (from->min == into->min && from->min_strand < into->min_strand)) {
        into->min = from->min;
        into->min_strand = from->min_strand;
    }
    if (!into->count || from->max > into->max ||
        (from->max == into->max && from->max_strand < into->max_strand)) {
        into->max = from->max;
        into->max_strand = from->max_strand;
    }
    into->count += from->count;
    tt_sum128_add(&into->square, &from->square);
}

void tt_spread_take(struct tt_spread *s, uint32_t strand, uint64_t amount)
{
    struct tt_spread one = {.count = 1,
                            .min_strand = strand,
                            .max_strand = strand,
                            .min = amount,
                            .max = amount};

    tt_sum128_add_square(&one.square, amount);
    tt_spread_add(s, &one);
}

/* ── Over strands ─────────────────────────────────────────────────────────────────── */

/* One strand's figures of contexts in `amount` are taken, and made 0 again.  For totals,
 * running sums do: a context's is the difference of two. */
static void take_strand(const struct tt_profile *p, struct tt_spread *s, uint32_t strand,
                        uint64_t *amount, int of_self)
{
    uint64_t sum = 0;

    if (of_self) {
        for (uint32_t c = 0; c < p->contexts; c++)
            if (amount[c])
                tt_spread_take(&s[c], strand, amount[c]);
    } else {
        for (uint32_t c = 0; c <= p->contexts; c++) {
            uint64_t here = amount[c];
            amount[c] = sum;
            sum += here;
        }
        for (uint32_t c = 0; c < p->contexts; c++) {
            uint64_t total = amount[tt_end_of(p, c)] - amount[c];
            if (total)
                tt_spread_take(&s[c], strand, total);
        }
    }
    memset(amount, 0, ((size_t)p->contexts + 1) * sizeof *amount);
}

struct tt_spread *tt_spread_of(const struct tt_profile *p, uint32_t metric, int of_self,
                               const struct tt_memory *memory)
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
        if (i + 1 == p->entries || e[1].strand != e->strand)
            take_strand(p, s, e->strand, amount, of_self);
    }
    if (!amount) {
        tt_memory_put(memory, s, (size_t)p->contexts * sizeof *s);
        s = NULL;
    }
    tt_memory_put(memory, amount, bytes);
    return s;
}
