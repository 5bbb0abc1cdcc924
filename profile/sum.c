/* SPDX-License-Identifier: MIT */
/* sum.c - adds up a log of figures: a long one is sorted by digits, so that its length costs
 * little. */
#include <string.h>

#include "building.h"
#include "sorted.h"
#include "sum.h"

/* FEW: less than a pass over all values of a digit costs. */
enum { DIGIT_BITS = 16, DIGIT_VALUES = 1 << DIGIT_BITS, DIGITS = 8, FEW = 4096 };

/* From the least significant: metric, then the row's four digits, then the strand. */
static uint32_t digit(const struct tt_entry *e, int i)
{
    switch (i) {
    case 0:
        return e->metric & 0xffff;
    case 1:
        return e->metric >> 16;
    case 6:
        return e->strand & 0xffff;
    case 7:
        return e->strand >> 16;
    default:
        return (uint32_t)(e->row >> (DIGIT_BITS * (i - 2))) & 0xffff;
    }
}

static int is_before(const struct tt_entry *x, const struct tt_entry *y)
{
    if (x->strand != y->strand)
        return x->strand < y->strand;
    if (x->row != y->row)
        return x->row < y->row;
    return x->metric < y->metric;
}

static int compare(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

/* Returns how many at the front are in order. */
static size_t count_sorted(const struct tt_entry *e, size_t count)
{
    size_t i = 1;

    while (i < count && !is_before(&e[i], &e[i - 1]))
        i++;
    return i < count ? i : count;
}

/* One stable pass from `e` to `to`; 0 if all agree in this digit and nothing was done. */
static int pass(const struct tt_entry *e, struct tt_entry *to, size_t count, int i,
                size_t *start)
{
    size_t sum = 0;

    memset(start, 0, DIGIT_VALUES * sizeof *start);
    for (size_t j = 0; j < count; j++)
        start[digit(&e[j], i)]++;
    if (start[digit(&e[0], i)] == count)
        return 0;
    for (size_t j = 0; j < DIGIT_VALUES; j++) {
        size_t here = start[j];
        start[j] = sum;
        sum += here;
    }
    for (size_t j = 0; j < count; j++)
        to[start[digit(&e[j], i)]++] = e[j];
    return 1;
}

static int sort_digits(struct tt_vector *v, size_t first)
{
    const size_t count = v->count - first, bytes = count * sizeof(struct tt_entry);
    struct tt_entry *const begin = (struct tt_entry *)v->item + first;
    struct tt_entry *from = begin, *to = tt_memory_get(v->memory, bytes), *swap;
    size_t *start = tt_memory_get(v->memory, DIGIT_VALUES * sizeof *start);

    for (int i = 0; to && start && i < DIGITS; i++) {
        if (!pass(from, to, count, i, start))
            continue;
        swap = from;
        from = to;
        to = swap;
    }
    if (to && start && from != begin) {
        memcpy(begin, from, bytes);
        to = from;
    }
    tt_memory_put(v->memory, start);
    tt_memory_put(v->memory, to);
    return to && start ? 0 : -TT_ERR_MEMORY;
}

static int sort(struct tt_vector *v, size_t first)
{
    if (v->count - first >= FEW)
        return sort_digits(v, first);
    tt_sort((struct tt_entry *)v->item + first, v->count - first, sizeof(struct tt_entry),
            compare);
    return 0;
}

/* Merges what is in order before `second` with what is in order from there on, from the end: only
 * the second part needs room beside it. */
static int merge(struct tt_vector *v, size_t first, size_t second)
{
    struct tt_entry *const e = v->item;
    const size_t count = v->count - second;
    struct tt_entry *copy = tt_memory_get(v->memory, count * sizeof *copy);
    size_t i = second, j = count;

    if (!copy)
        return -TT_ERR_MEMORY;
    memcpy(copy, e + second, count * sizeof *copy);
    for (size_t to = v->count; j > 0; to--) {
        if (i > first && is_before(&copy[j - 1], &e[i - 1]))
            e[to - 1] = e[--i];
        else
            e[to - 1] = copy[--j];
    }
    tt_memory_put(v->memory, copy);
    return 0;
}

int tt_entries_sum(struct tt_vector *v, size_t first)
{
    struct tt_entry *e = v->item;
    const size_t more = first < v->count ? v->count - first : 0,
                 sorted = more ? first + count_sorted(e + first, more) : v->count;
    size_t kept = first;

    if (sorted < v->count && (sort(v, sorted) != 0 || merge(v, first, sorted) != 0))
        return -TT_ERR_MEMORY;
    for (size_t i = first; i < v->count; i++) {
        if (kept > first && e[kept - 1].strand == e[i].strand &&
            e[kept - 1].row == e[i].row && e[kept - 1].metric == e[i].metric)
            e[kept - 1].amount += e[i].amount;
        else
            e[kept++] = e[i];
    }
    v->count = more ? kept : v->count;
    return 0;
}
