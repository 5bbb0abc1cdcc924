/* SPDX-License-Identifier: MIT */
/* sample-sort-test.c - samples sorted by digits, against qsort() and a comparison of all fields
 * that this test has for itself. */
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "sample-sort.h"
#include "tap.h"

enum { ROWS_MAX = 20000 };

static struct tt_sample_row row[ROWS_MAX], wanted[ROWS_MAX];
static int is_by_strand;

static int compare(const void *a, const void *b)
{
    const struct tt_sample_row *x = a, *y = b;
    const uint64_t fields[6][2] = {{x->strand, y->strand}, {x->time, y->time},
                                   {x->strand, y->strand}, {x->context, y->context},
                                   {x->weight, y->weight}, {x->ran, y->ran}};

    for (int i = !is_by_strand; i < 6; i++)
        if (fields[i][0] != fields[i][1])
            return fields[i][0] < fields[i][1] ? -1 : 1;
    return 0;
}

static void check(size_t count)
{
    memcpy(wanted, row, sizeof row);
    qsort(wanted, count, sizeof *wanted, compare);
    tt_sort_samples(row, count, is_by_strand);
    CHECK(memcmp(row, wanted, sizeof row) == 0);
}

/* The arguments are the numbers of different values in the columns. */
static void fill(size_t count, uint64_t times, uint32_t strands, uint32_t others)
{
    static uint64_t state = 1;

    for (size_t i = 0; i < count; i++)
        row[i] = (struct tt_sample_row){
            tt_random(&state) % times, tt_random(&state) % others,
            tt_random(&state) % others, (uint32_t)(tt_random(&state) % others),
            (uint32_t)(tt_random(&state) % strands) * (UINT32_MAX / strands)};
}

TEST(rows_of_any_spread_are_sorted)
{
    static const uint64_t times[] = {1, 3, 1000, (uint64_t)1 << 33, UINT64_MAX};
    static const uint32_t strands[] = {1, 2, 500, UINT32_MAX}, others[] = {1, 2, 1 << 20};

    for (is_by_strand = 0; is_by_strand < 2; is_by_strand++)
        for (size_t i = 0; i < 5 * 4 * 3; i++) {
            fill(ROWS_MAX, times[i % 5], strands[i / 5 % 4], others[i / 20]);
            check(ROWS_MAX);
        }
}

TEST(few_rows_are_sorted)
{
    for (is_by_strand = 0; is_by_strand < 2; is_by_strand++)
        for (size_t count = 0; count < 5; count++) {
            fill(count, 3, 2, 2);
            check(count);
        }
}

TEST(rows_that_are_in_order_stay)
{
    for (is_by_strand = 0; is_by_strand < 2; is_by_strand++) {
        for (size_t i = 0; i < ROWS_MAX; i++)
            row[i] = (struct tt_sample_row){i / 2, 1, 0, (uint32_t)i % 2, 7};
        check(ROWS_MAX);
    }
}
