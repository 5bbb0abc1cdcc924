/* SPDX-License-Identifier: MIT */
/* sample-sort.c - sorts samples digit by digit, the last one first. */
#include "sample-sort.h"

#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "large-pages.h"

enum { DIGIT = 11, VALUES = 1 << DIGIT };

/* ── Comparisons ──────────────────────────────────────────────────────────────────── */

#define ORDER_BY(field)                                                                  \
    if (x->field != y->field)                                                            \
    return x->field < y->field ? -1 : 1

int tt_sample_by_strand(const void *a, const void *b)
{
    const struct tt_sample_row *x = a, *y = b;

    ORDER_BY(strand);
    ORDER_BY(time);
    ORDER_BY(context);
    ORDER_BY(weight);
    ORDER_BY(ran);
    return 0;
}

int tt_sample_by_time(const void *a, const void *b)
{
    const struct tt_sample_row *x = a, *y = b;

    ORDER_BY(time);
    return tt_sample_by_strand(a, b);
}

/* ── Digits ───────────────────────────────────────────────────────────────────────── */

struct sorting {
    struct tt_sample_row *from, *to;
    size_t count;
};

static uint64_t key_of(const struct tt_sample_row *s, int is_strand)
{
    return is_strand ? s->strand : s->time;
}

static void sort_by_digit(struct sorting *s, int is_strand, uint32_t shift)
{
    struct tt_sample_row *from = s->from;
    size_t start[VALUES] = {0}, sum = 0;

    for (size_t i = 0; i < s->count; i++)
        start[key_of(&from[i], is_strand) >> shift & (VALUES - 1)]++;
    for (uint32_t v = 0; v < VALUES; v++) {
        const size_t here = start[v];
        start[v] = sum;
        sum += here;
    }
    TT_ASSERT(sum == s->count);
    for (size_t i = 0; i < s->count; i++)
        s->to[start[key_of(&from[i], is_strand) >> shift & (VALUES - 1)]++] = from[i];
    s->from = s->to;
    s->to = from;
}

/* Digits that are the same in all rows are left out. */
static void sort_by_key(struct sorting *s, int is_strand)
{
    uint64_t differ = 0;

    for (size_t i = 1; i < s->count; i++)
        differ |= key_of(&s->from[i], is_strand) ^ key_of(&s->from[0], is_strand);
    for (uint32_t shift = 0; shift < 64 && differ >> shift; shift += DIGIT)
        if (differ >> shift & (VALUES - 1))
            sort_by_digit(s, is_strand, shift);
}

/* Rows of one strand and one time. */
static void sort_ties(struct tt_sample_row *s, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && s[end].time == s[first].time; end++)
            continue;
        if (end - first > 1)
            qsort(&s[first], end - first, sizeof *s, tt_sample_by_strand);
    }
}

static int is_sorted(const struct tt_sample_row *s, size_t count,
                     int compare(const void *, const void *))
{
    for (size_t i = 1; i < count; i++)
        if (compare(&s[i - 1], &s[i]) > 0)
            return 0;
    return 1;
}

void tt_sort_samples(struct tt_sample_row *rows, size_t count, int is_by_strand)
{
    int (*const compare)(const void *, const void *) = is_by_strand ? tt_sample_by_strand
                                                                    : tt_sample_by_time;
    struct tt_sample_row *copy;
    struct sorting s;

    if (!count || is_sorted(rows, count, compare))
        return;
    copy = count < VALUES
               ? NULL
               : tt_large_pages(malloc(count * sizeof *rows), count * sizeof *rows);
    if (!copy) {
        qsort(rows, count, sizeof *rows, compare);
        return;
    }
    s = (struct sorting){rows, copy, count};
    if (is_by_strand)
        sort_by_key(&s, 1);
    if (!is_by_strand ||
        !is_sorted(s.from, count, compare)) { /* a log has an order of time */
        sort_by_key(&s, 0);
        if (is_by_strand)
            sort_by_key(&s, 1);
        sort_ties(s.from, count);
    }
    if (s.from != rows)
        memcpy(rows, s.from, count * sizeof *rows);
    TT_ASSERT(is_sorted(rows, count, compare));
    free(copy);
}
