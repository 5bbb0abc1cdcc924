/* SPDX-License-Identifier: MIT */
/* summary.c - replaces figures by strand by their spread over strands.
 *
 * Ten thousand strands with ten thousand contexts each would be a hundred million
 * figures.  Instead each complete strand is added to a count, a minimum, a maximum, a sum
 * and a sum of squares for each context; then the log holds one figure a context again,
 * for all strands together. */
#include <stdlib.h>
#include <string.h>

#include "building.h"
#include "statistics.h"
#include "sum.h"
#include "summary.h"
#include "trails.h"

/* ── Spreads ──────────────────────────────────────────────────────────────────────── */

/* The spreads of a metric, one for each context there is so far; NULL: no memory. */
struct tt_spread *tt_spreads_of(struct tt_builder *b, uint32_t metric, int of_self)
{
    struct tt_vector *v;

    while (b->spread.count < 2 * b->metric.count) {
        v = tt_vector_add(&b->spread, 1);
        if (!v)
            return NULL;
        tt_vector_init(v, &b->memory, sizeof(struct tt_spread));
    }
    v = (struct tt_vector *)b->spread.item + 2 * metric + (of_self != 0);
    if (v->count < b->context.count && !tt_vector_add(v, b->context.count - v->count))
        return NULL;
    return v->item;
}

/* Children have greater ids than their parents, so one pass down gives all totals. */
static void add_to_parents(const struct tt_builder *b, uint64_t *amount)
{
    const struct tt_grown *g = b->context.item;

    for (size_t i = b->context.count; i-- > 1;)
        amount[g[i].parent] += amount[i];
}

static int take_all(struct tt_builder *b, uint32_t strand, uint32_t metric, int of_self,
                    uint64_t *amount)
{
    struct tt_spread *s = tt_spreads_of(b, metric, of_self);
    const struct tt_strand_order order = tt_builder_strand_order(b);

    for (size_t i = 0; s && i < b->context.count; i++)
        if (amount[i])
            tt_spread_take(&s[i], strand, amount[i], &order);
    return s ? 0 : -TT_ERR_MEMORY;
}

/* Takes the entries from `first` on that belong to its strand; returns the index after
 * them. */
static size_t take_strand(struct tt_builder *b, size_t first, uint32_t metric,
                          uint64_t *amount)
{
    const struct tt_entry *e = b->entry.item;
    const uint32_t strand = e[first].strand;
    size_t end = first, bytes = b->context.count * sizeof *amount;
    int any = 0;

    memset(amount, 0, bytes);
    for (; end < b->entry.count && e[end].strand == strand; end++)
        if (e[end].metric == metric && e[end].row >> 32 == TT_ROLE_SELF) {
            amount[(uint32_t)e[end].row] += e[end].amount;
            any = 1;
        }
    if (any && take_all(b, strand, metric, 1, amount) != 0)
        b->failed = 1;
    for (size_t i = first; i < end; i++)
        if (e[i].metric == metric && e[i].row >> 32 == TT_ROLE_ELSEWHERE) {
            amount[(uint32_t)e[i].row] += e[i].amount;
            any = 1;
        }
    add_to_parents(b, amount);
    if (any && take_all(b, strand, metric, 0, amount) != 0)
        b->failed = 1;
    return end;
}

static void take_strands(struct tt_builder *b)
{
    const size_t bytes = b->context.count * sizeof(uint64_t);
    struct tt_entry *e = b->entry.item;
    uint64_t *amount = tt_memory_get(&b->memory, bytes);
    size_t end = 0;

    b->failed |= !amount;
    for (size_t i = 0; !b->failed && i < b->entry.count && e[i].strand != TT_NONE;
         i = end)
        for (uint32_t metric = 0; metric < b->metric.count; metric++)
            end = take_strand(b, i, metric, amount);
    for (size_t i = 0; i < b->entry.count; i++)
        e[i].strand = TT_NONE;
    tt_memory_put(&b->memory, amount);
}

/* ── Tables by edge ───────────────────────────────────────────────────────────────── */

static int by_strand_and_row(const void *a, const void *b)
{
    const struct tt_times_row *x = a, *y = b;

    if (x->strand != y->strand)
        return x->strand < y->strand ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int are_in_order(const struct tt_times_row *t, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (by_strand_and_row(&t[i - 1], &t[i]) >= 0)
            return 0;
    return 1;
}

void tt_builder_sum_times(struct tt_builder *b)
{
    const struct tt_strand_order order = tt_builder_strand_order(b);
    struct tt_times_row *t = b->times.item;
    size_t kept = 0;

    if (are_in_order(t, b->times.count))
        return;
    qsort(t, b->times.count, sizeof *t, by_strand_and_row);
    for (size_t i = 0; i < b->times.count; i++) {
        if (!kept || by_strand_and_row(&t[kept - 1], &t[i]) != 0)
            t[kept++] = t[i];
        else
            tt_times_add(&t[kept - 1], &t[i], &order);
    }
    b->times.count = kept;
}

static int by_row(const void *a, const void *b)
{
    const struct tt_times_row *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

/* Of all strands together. */
static void sum_times(struct tt_builder *b)
{
    const struct tt_strand_order order = tt_builder_strand_order(b);
    struct tt_times_row *t = b->times.item;
    size_t kept = 0;

    if (b->times.count)
        qsort(t, b->times.count, sizeof *t, by_row);
    for (size_t i = 0; i < b->times.count; i++) {
        if (!kept || t[kept - 1].row != t[i].row)
            t[kept++] = t[i];
        else
            tt_times_add(&t[kept - 1], &t[i], &order);
        t[kept - 1].strand = TT_NONE;
    }
    b->times.count = kept;
}

static int by_bin(const void *a, const void *b)
{
    const struct tt_bin_row *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->bin > y->bin) - (x->bin < y->bin);
}

static void sum_bins(struct tt_builder *b)
{
    struct tt_bin_row *r = b->bin.item;
    size_t kept = 0;

    if (b->bin.count)
        qsort(r, b->bin.count, sizeof *r, by_bin);
    for (size_t i = 0; i < b->bin.count; i++) {
        if (kept && by_bin(&r[kept - 1], &r[i]) == 0)
            r[kept - 1].count += r[i].count;
        else
            r[kept++] = r[i];
    }
    b->bin.count = kept;
}

static int by_length(const void *a, const void *b)
{
    const struct tt_activation_row *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->slow != y->slow)
        return x->slow < y->slow ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Keeps the longest activations of each edge. */
static void keep_longest(struct tt_builder *b)
{
    enum { STAY = 30 };
    struct tt_activation_row *a = b->activation.item;
    size_t kept = 0, same = 0;

    if (b->activation.count)
        qsort(a, b->activation.count, sizeof *a, by_length);
    for (size_t i = 0; i < b->activation.count; i++) {
        int begins = !kept || a[kept - 1].row != a[i].row ||
                     a[kept - 1].slow != a[i].slow;
        same = begins ? 0 : same + 1;
        if (same < STAY)
            a[kept++] = a[i];
    }
    b->activation.count = kept;
}

int tt_builder_summarise(struct tt_builder *b)
{
    b->summary = 1;
    if (!b->failed && tt_entries_sum(&b->entry) != 0)
        b->failed = 1;
    if (!b->failed)
        take_strands(b);
    if (!b->failed && tt_entries_sum(&b->entry) != 0)
        b->failed = 1;
    b->summed = b->entry.count;
    sum_times(b);
    sum_bins(b);
    keep_longest(b);
    tt_trails_summarise(b);
    return b->failed ? -TT_ERR_MEMORY : 0;
}
