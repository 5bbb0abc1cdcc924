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
#include "filled.h"
#include "sorted.h"
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

/* ── A strand's amounts ───────────────────────────────────────────────────────────── */

/* By context; a strand has few of all contexts, so those it has are marked, and so are the words
 * of marks that are not 0.  They are kept for the next strand. */
struct amounts {
    uint64_t *of, *mark, *marks;
};

static int amounts_init(struct tt_builder *b, struct amounts *a)
{
    const size_t contexts = b->context.count, words = contexts / 64 + 1;
    struct tt_vector *v[] = {&b->amount, &b->mark, &b->marks};
    const size_t wanted[] = {contexts, words, words / 64 + 1};

    for (int i = 0; i < 3; i++)
        if (v[i]->count < wanted[i] && !tt_vector_add(v[i], wanted[i] - v[i]->count))
            return -TT_ERR_MEMORY;
    *a = (struct amounts){b->amount.item, b->mark.item, b->marks.item};
    return 0;
}

static void set_bit(uint64_t *bits, size_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }

static void add_amount(const struct amounts *a, size_t context, uint64_t amount)
{
    a->of[context] += amount;
    set_bit(a->mark, context);
    set_bit(a->marks, context / 64);
}

/* Of a word that is not 0. */
static size_t last_bit(const uint64_t *bits, size_t word)
{
    return word * 64 + 63 - (size_t)__builtin_clzll(bits[word]);
}

/* The last bit before this one in its word; SIZE_MAX: there is none. */
static size_t bit_before(const uint64_t *bits, size_t i)
{
    uint64_t word = i % 64 ? bits[i / 64] & (((uint64_t)1 << i % 64) - 1) : 0;

    return word ? i / 64 * 64 + last_bit(&word, 0) : SIZE_MAX;
}

/* The last marked context before this one; SIZE_MAX: there is none. */
static size_t marked_before(const struct amounts *a, size_t context)
{
    size_t found = bit_before(a->mark, context), word = context / 64;

    if (found != SIZE_MAX)
        return found;
    found = bit_before(a->marks, word);
    for (size_t i = word / 64; found == SIZE_MAX && i-- > 0;)
        if (a->marks[i])
            found = last_bit(a->marks, i);
    return found == SIZE_MAX ? SIZE_MAX : last_bit(a->mark, found);
}

/* Children have greater ids than their parents, so one pass down gives all totals. */
static void add_to_parents(const struct tt_builder *b, const struct amounts *a)
{
    const struct tt_grown *g = b->context.item;

    for (size_t i = b->context.count; (i = marked_before(a, i)) != SIZE_MAX && i;)
        add_amount(a, g[i].parent, a->of[i]);
}

static void forget_amounts(const struct tt_builder *b, const struct amounts *a)
{
    for (size_t i = b->context.count; (i = marked_before(a, i)) != SIZE_MAX;) {
        a->of[i] = 0;
        a->mark[i / 64] &= ~((uint64_t)1 << i % 64);
        if (!a->mark[i / 64])
            a->marks[i / 64 / 64] &= ~((uint64_t)1 << i / 64 % 64);
    }
}

static int take_all(struct tt_builder *b, uint32_t strand, uint32_t metric, int of_self,
                    const struct amounts *a)
{
    struct tt_spread *s = tt_spreads_of(b, metric, of_self);
    const struct tt_strand_order order = tt_builder_strand_order(b);

    for (size_t i = b->context.count; s && (i = marked_before(a, i)) != SIZE_MAX;)
        if (a->of[i])
            tt_spread_take(&s[i], strand, a->of[i], &order);
    return s ? 0 : -TT_ERR_MEMORY;
}

/* Takes the entries from `first` on that belong to its strand; returns the index after
 * them. */
static size_t take_strand(struct tt_builder *b, size_t first, uint32_t metric,
                          const struct amounts *a)
{
    const struct tt_entry *e = b->entry.item;
    const uint32_t strand = e[first].strand;
    size_t end = first;
    int any = 0;

    for (; end < b->entry.count && e[end].strand == strand; end++)
        if (e[end].metric == metric && e[end].row >> 32 == TT_ROLE_SELF) {
            add_amount(a, (uint32_t)e[end].row, e[end].amount);
            any = 1;
        }
    if (any && take_all(b, strand, metric, 1, a) != 0)
        b->failed = 1;
    for (size_t i = first; i < end; i++)
        if (e[i].metric == metric && e[i].row >> 32 == TT_ROLE_ELSEWHERE) {
            add_amount(a, (uint32_t)e[i].row, e[i].amount);
            any = 1;
        }
    add_to_parents(b, a);
    if (any && take_all(b, strand, metric, 0, a) != 0)
        b->failed = 1;
    forget_amounts(b, a);
    return end;
}

/* Takes all from `first` on: then they are of all strands. */
static void take_strands(struct tt_builder *b, size_t first)
{
    struct tt_entry *e = b->entry.item;
    struct amounts a;
    size_t end = first;

    b->failed |= amounts_init(b, &a) != 0;
    for (size_t i = first; !b->failed && i < b->entry.count && e[i].strand != TT_NONE;
         i = end)
        for (uint32_t metric = 0; metric < b->metric.count; metric++)
            end = take_strand(b, i, metric, &a);
    for (size_t i = first; i < b->entry.count; i++)
        e[i].strand = TT_NONE;
}

/* ── Tables by edge ───────────────────────────────────────────────────────────────── */

static int by_strand_and_row(const void *a, const void *b)
{
    const struct tt_times_row *x = a, *y = b;

    return TT_ORDER(x->strand, y->strand) ?: TT_ORDER(x->row, y->row);
}

static size_t count_in_order(const struct tt_times_row *t, size_t count)
{
    size_t i = 1;

    while (i < count && by_strand_and_row(&t[i - 1], &t[i]) < 0)
        i++;
    return i < count ? i : count;
}

/* Merges what is in order before `second` with what is in order from there on, from the end: only
 * the second part needs room beside it. */
static int merge_times(struct tt_builder *b, size_t second)
{
    struct tt_times_row *const t = b->times.item;
    const size_t count = b->times.count - second;
    struct tt_times_row *copy = tt_memory_get(&b->memory, count * sizeof *copy);
    size_t i = second, j = count;

    if (!copy)
        return -TT_ERR_MEMORY;
    memcpy(copy, t + second, count * sizeof *copy);
    for (size_t to = b->times.count; j > 0; to--) {
        if (i > 0 && by_strand_and_row(&copy[j - 1], &t[i - 1]) < 0)
            t[to - 1] = t[--i];
        else
            t[to - 1] = copy[--j];
    }
    tt_memory_put(&b->memory, copy);
    return 0;
}

void tt_builder_sum_times(struct tt_builder *b)
{
    const struct tt_strand_order order = tt_builder_strand_order(b);
    struct tt_times_row *t = b->times.item;
    const size_t sorted = count_in_order(t, b->times.count);
    size_t kept = 0;

    if (sorted == b->times.count)
        return;
    qsort(t + sorted, b->times.count - sorted, sizeof *t, by_strand_and_row);
    if (merge_times(b, sorted) != 0) {
        b->failed = 1;
        return;
    }
    for (size_t i = 0; i < b->times.count; i++) {
        if (!kept || by_strand_and_row(&t[kept - 1], &t[i]) != 0)
            t[kept++] = t[i];
        else
            tt_times_add(&t[kept - 1], &t[i], &order);
    }
    b->times.count = kept;
}

/* Of all strands together. */
static void sum_times(struct tt_builder *b)
{
    struct tt_times_row *t = b->times.item;

    for (size_t i = 0; i < b->times.count; i++)
        t[i].strand = TT_NONE;
    tt_builder_sum_times(b);
}

static int by_bin(const void *a, const void *b)
{
    const struct tt_bin_row *x = a, *y = b;

    return TT_ORDER(x->row, y->row) ?: TT_ORDER(x->bin, y->bin);
}

static void sum_bins(struct tt_builder *b)
{
    struct tt_bin_row *r = b->bin.item;
    size_t kept = 0;

    tt_vector_sort(&b->bin, by_bin);
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

    return TT_ORDER(x->row, y->row) ?: TT_ORDER(x->slow, y->slow)
           ?: TT_ORDER(y->duration, x->duration) ?: TT_ORDER(x->start, y->start);
}

/* Keeps the longest activations of each edge. */
static void keep_longest(struct tt_builder *b)
{
    enum { STAY = 30 };
    struct tt_activation_row *a = b->activation.item;
    size_t kept = 0, same = 0;

    tt_vector_sort(&b->activation, by_length);
    for (size_t i = 0; i < b->activation.count; i++) {
        int begins = !kept || a[kept - 1].row != a[i].row ||
                     a[kept - 1].slow != a[i].slow;
        same = begins ? 0 : same + 1;
        if (same < STAY)
            a[kept++] = a[i];
    }
    b->activation.count = kept;
}

/* Sums up what has come since the last time, and all whenever that has doubled: so the cost of a
 * file does not grow with the number of files before it. */
static void sum_entries(struct tt_builder *b)
{
    const size_t first = b->of_all;

    if (!b->failed && tt_entries_sum(&b->entry, first) != 0)
        b->failed = 1;
    if (!b->failed)
        take_strands(b, first);
    if (!b->failed && tt_entries_sum(&b->entry, first) != 0)
        b->failed = 1;
    if (!b->failed && b->entry.count >= 2 * b->of_all_summed) {
        if (tt_entries_sum(&b->entry, 0) != 0)
            b->failed = 1;
        b->of_all_summed = b->entry.count;
    }
    b->summed = b->of_all = b->entry.count;
}

/* Is a table to be summed up again?  If it has doubled, or in the end. */
static int is_due(const struct tt_vector *v, size_t summed, int is_end)
{
    return is_end || v->count >= 2 * summed;
}

static void sum_tables(struct tt_builder *b, int is_end)
{
    if (is_due(&b->times, b->times_summed, is_end)) {
        sum_times(b);
        b->times_summed = b->times.count;
    }
    if (is_due(&b->bin, b->bins_summed, is_end)) {
        sum_bins(b);
        b->bins_summed = b->bin.count;
    }
    if (is_due(&b->activation, b->longest_kept, is_end)) {
        keep_longest(b);
        b->longest_kept = b->activation.count;
    }
}

static int summarise(struct tt_builder *b, int is_end)
{
    b->summary = 1;
    tt_filled_to_log(b);
    sum_entries(b);
    sum_tables(b, is_end);
    tt_trails_summarise(b);
    return b->failed ? -TT_ERR_MEMORY : 0;
}

int tt_builder_summarise(struct tt_builder *b) { return summarise(b, 0); }

int tt_builder_end_summary(struct tt_builder *b) { return summarise(b, 1); }
