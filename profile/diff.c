/* SPDX-License-Identifier: MIT */
/* diff.c - two profiles side by side.
 *
 * Both are renamed first, so that a block is its name and its file.  Then blocks, and
 * contexts under one parent, stand in the same order on both sides, and matching them is
 * going along both lists. */
#include "diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "identity.h"
#include "likeness.h"
#include "range.h"
#include "side.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"

/* ── Noise ────────────────────────────────────────────────────────────────────────── */

/* What the mean of many figures like these would vary by; squared. */
static double variance_of_mean(const struct tt_sample *s)
{
    double n = (double)s->count, mean = s->sum / n;
    double variance = (s->square - n * mean * mean) / (n - 1);

    return variance > 0 ? variance / n : 0;
}

/* For one to four degrees, in eighths.  Between them it is nearly a line over 1/degrees. */
static double t_of_few(double degrees)
{
    enum { PARTS = 8 };
    static const double table[] = {
        12.7062, 9.8108, 8.0280, 6.8457, 6.0167, 5.4094, 4.9488, 4.5896, 4.3027,
        4.0690,  3.8755, 3.7129, 3.5747, 3.4558, 3.3525, 3.2622, 3.1824, 3.1116,
        3.0483,  2.9915, 2.9401, 2.8935, 2.8510, 2.8121, 2.7764};
    const int i = degrees > 1 ? (int)((degrees - 1) * PARTS) : 0;
    const double low = 1 + (double)i / PARTS, high = low + 1.0 / PARTS;

    if (degrees <= 1)
        return table[0];
    return table[i] +
           (table[i + 1] - table[i]) * (1 / low - 1 / degrees) / (1 / low - 1 / high);
}

/* Student's t at 97.5 % (both tails: 95 %), by its expansion around the normal one, which is
 * too small for few degrees. */
static double t_at_95(double degrees)
{
    const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

    if (degrees < 4)
        return t_of_few(degrees);
    return z + (z3 + z) / (4 * degrees) +
           (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

static enum tt_verdict verdict_of(double change, double reach)
{
    if (fabs(change) <= reach)
        return TT_VERDICT_NOISE;
    return change > 0 ? TT_VERDICT_MORE : TT_VERDICT_LESS;
}

static enum tt_verdict compare_means(const struct tt_sample *a, const struct tt_sample *b)
{
    double va, vb, degrees, change;

    if (a->count < 2 || b->count < 2)
        return TT_VERDICT_UNKNOWN;
    va = variance_of_mean(a);
    vb = variance_of_mean(b);
    change = b->sum / (double)b->count - a->sum / (double)a->count;
    degrees = va * va / (double)(a->count - 1) + vb * vb / (double)(b->count - 1);
    degrees = degrees > 0 ? (va + vb) * (va + vb) / degrees : 1e9;
    return verdict_of(change, t_at_95(degrees) * sqrt(va + vb));
}

/* ── Matching ─────────────────────────────────────────────────────────────────────── */

struct pair { /* rows; TT_NONE: only in the other */
    uint32_t a, b, depth;
    double change; /* of what rows are sorted by */
};

struct diff {
    struct tt_side a, b;
    struct tt_vector pair;
    const struct tt_diff_options *options;
};

static int add_pair(struct diff *d, uint32_t a, uint32_t b, uint32_t depth)
{
    return tt_vector_push(&d->pair, &(struct pair){a, b, depth, 0});
}

static int match_blocks(struct diff *d)
{
    uint32_t a = 0, b = 0;
    int error = 0;

    while (!error && (a < d->a.p.blocks || b < d->b.p.blocks)) {
        int order = a == d->a.p.blocks   ? 1
                    : b == d->b.p.blocks ? -1
                    : a == 0 || b == 0   ? (a != 0) - (b != 0)
                                         : tt_block_compare(&d->a.p, a, &d->b.p, b);
        error = add_pair(d, order <= 0 ? a : TT_NONE, order >= 0 ? b : TT_NONE, 0);
        a += order <= 0;
        b += order >= 0;
    }
    return error;
}

struct level { /* the children that are still to be matched, of one pair */
    uint32_t a, a_end, b, b_end;
};

static int push_level(struct diff *d, struct tt_vector *stack, uint32_t a, uint32_t b)
{
    struct level *l = tt_vector_add(stack, 1);

    if (!l)
        return -TT_ERR_MEMORY;
    *l = (struct level){.a = a + 1, .b = b + 1};
    l->a_end = a == TT_NONE ? (l->a = 0) : tt_end_of(&d->a.p, a);
    l->b_end = b == TT_NONE ? (l->b = 0) : tt_end_of(&d->b.p, b);
    return 0;
}

static int match_contexts(struct diff *d)
{
    struct tt_vector stack;
    int error;

    tt_vector_init(&stack, d->a.memory, sizeof(struct level));
    error = add_pair(d, 0, 0, 0) || push_level(d, &stack, 0, 0);
    while (!error && stack.count) {
        struct level *l = (struct level *)stack.item + stack.count - 1;
        int in_a = l->a < l->a_end, in_b = l->b < l->b_end, order;
        uint32_t a, b;
        if (!in_a && !in_b) {
            stack.count--;
            continue;
        }
        order = !in_a   ? 1
                : !in_b ? -1
                        : tt_block_compare(&d->a.p, tt_block_of(&d->a.p, l->a), &d->b.p,
                                           tt_block_of(&d->b.p, l->b));
        a = order <= 0 ? l->a : TT_NONE;
        b = order >= 0 ? l->b : TT_NONE;
        if (a != TT_NONE)
            l->a = tt_end_of(&d->a.p, a);
        if (b != TT_NONE)
            l->b = tt_end_of(&d->b.p, b);
        error = add_pair(d, a, b, (uint32_t)stack.count) || push_level(d, &stack, a, b);
    }
    tt_vector_fini(&stack);
    return error ? -TT_ERR_MEMORY : 0;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* As far as that has a number. */
static int64_t change_of(double from, double to)
{
    const uint64_t a = tt_whole(from), b = tt_whole(to);

    if (a > b)
        return a - b > INT64_MAX ? INT64_MIN : -(int64_t)(a - b);
    return b - a > INT64_MAX ? INT64_MAX : (int64_t)(b - a);
}

static double shown(const struct tt_side *s, const struct tt_figure *f, uint32_t row)
{
    return row == TT_NONE ? 0 : (double)f[row].sum * s->scale;
}

static struct tt_sample sample_of(const struct tt_side *s, const struct tt_figure *f,
                                  uint32_t row)
{
    struct tt_sample x = {.count = s->total[0].sample.count};

    if (row != TT_NONE)
        x = f[row].sample;
    /* what is shown is a sum over units, or a mean over runs: scaled alike */
    x.sum *= s->scale * (double)(s->by_run ? s->runs : x.count);
    x.square *= s->scale * s->scale * (double)(s->by_run ? s->runs : x.count) *
                (double)(s->by_run ? s->runs : x.count);
    return x;
}

static int is_sampled(const struct diff *d) { return d->a.samples && d->b.samples; }

static double in_a_sample(const struct tt_side *s)
{
    return (double)s->whole * s->scale / (double)s->samples;
}

/* Of figures that samples estimate: as their counts vary where both sides have the same
 * figure.  It is estimated by all samples of both; one side alone may have none. */
static enum tt_verdict compare_samples(const struct diff *d, double a, double b)
{
    double by_a, by_b, both;

    if (!is_sampled(d) || a + b <= 0)
        return TT_VERDICT_UNKNOWN;
    by_a = in_a_sample(&d->a);
    by_b = in_a_sample(&d->b);
    both = (a / by_a + b / by_b) / (1 / by_a + 1 / by_b);
    return verdict_of(b - a, 1.959964 * sqrt(both * (by_a + by_b)));
}

/* Threads that do equal work are like repeated measurements, and no others are: what differs
 * between threads with other work is no noise.  What equal ones differ by, squared: at most a
 * fifth, beside twice what their samples vary by. */
static double variance_of_equals(const struct tt_side *s, const struct tt_figure *f)
{
    const double mean = f->sample.sum / (double)f->sample.count,
                 by = s->samples ? (double)s->whole / (double)s->samples : 0;

    return 4 * mean * by + mean * mean / 25;
}

static int are_equals(const struct tt_side *s, const struct tt_figure *f, uint32_t row)
{
    const double n = row == TT_NONE ? 0 : (double)f[row].sample.count;

    return n < 2 ||
           variance_of_mean(&f[row].sample) * n <= variance_of_equals(s, &f[row]);
}

static double variance_of_sum(const struct tt_side *s, const struct tt_figure *f,
                              uint32_t row)
{
    if (row == TT_NONE)
        return 0;
    return s->scale * s->scale * (double)f[row].sample.count *
           variance_of_equals(s, &f[row]);
}

/* The spread of a few may be large by chance: a change is no noise that is larger than equal
 * threads differ by. */
static enum tt_verdict compare_strands(const struct diff *d, const struct tt_figure *a,
                                       const struct tt_figure *b, const struct pair *p)
{
    const struct tt_sample x = sample_of(&d->a, a, p->a), y = sample_of(&d->b, b, p->b);
    const double change = shown(&d->b, b, p->b) - shown(&d->a, a, p->a),
                 most = 1.959964 * sqrt(variance_of_sum(&d->a, a, p->a) +
                                        variance_of_sum(&d->b, b, p->b));

    if (!are_equals(&d->a, a, p->a) || !are_equals(&d->b, b, p->b) || fabs(change) > most)
        return TT_VERDICT_UNKNOWN;
    return compare_means(&x, &y);
}

static enum tt_verdict compare_units(const struct diff *d, const struct tt_figure *a,
                                     const struct tt_figure *b, const struct pair *p)
{
    const struct tt_sample x = sample_of(&d->a, a, p->a), y = sample_of(&d->b, b, p->b);

    return d->a.by_run ? compare_means(&x, &y) : compare_strands(d, a, b, p);
}

/* Few units may have the same count by chance, so that nothing seems to differ between
 * them.  So the change has to be more than the samples alone vary by, too. */
static enum tt_verdict compare(const struct diff *d, const struct tt_figure *a,
                               const struct tt_figure *b, const struct pair *p)
{
    enum tt_verdict v = d->options->rest ? TT_VERDICT_UNKNOWN : compare_units(d, a, b, p),
                    w;

    w = compare_samples(d, shown(&d->a, a, p->a), shown(&d->b, b, p->b));
    return v == TT_VERDICT_UNKNOWN || w == TT_VERDICT_NOISE ? w : v;
}

/* What a range of time lacks may be in the rest by chance; what a side has no samples of
 * may have run there. */
static const char *verdict_text(const struct diff *d, const struct tt_figure *a,
                                const struct tt_figure *b, const struct pair *p)
{
    static const char *const texts[] = {NULL, "noise", "more", "less"};
    const enum tt_verdict v = compare(d, a, b, p);
    const int by_chance = compare_samples(d, shown(&d->a, a, p->a),
                                          shown(&d->b, b, p->b)) == TT_VERDICT_NOISE;

    if (p->a == TT_NONE && !d->options->rest && !by_chance)
        return "new";
    if (p->b == TT_NONE && !d->options->rest && !by_chance)
        return "gone";
    return texts[v];
}

enum column {
    SELF_A,
    SELF_B,
    SELF_CHANGE,
    SELF_VERDICT,
    TOTAL_A,
    TOTAL_B,
    TOTAL_CHANGE,
    TOTAL_SHARE,
    TOTAL_VERDICT,
    NAME
};

static void add_name_columns(struct tt_table *t)
{
    tt_table_column(t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(t, "file", "file", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    tt_table_column(t, "module", "module", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    tt_table_column(t, "id", "id", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    tt_table_column(t, "apart", "apart", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
}

static void add_columns(struct tt_table *t, const char *unit, int rest)
{
    tt_table_column(t, "self.a", rest ? "self else" : "self", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "self.b", "then", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "self.change", "change", unit, TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "self.verdict", "", "", TT_COLUMN_TEXT, 0);
    tt_table_column(t, "total.a", rest ? "total else" : "total", unit, TT_COLUMN_AMOUNT,
                    0);
    tt_table_column(t, "total.b", "then", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "total.change", "change", unit, TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "change", "by", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "total.verdict", "", "", TT_COLUMN_TEXT, 0);
    add_name_columns(t);
}

static void put_name(struct diff *d, struct tt_table *t, const struct pair *p,
                     uint32_t name)
{
    const struct tt_side *s = p->a == TT_NONE ? &d->b : &d->a;
    uint32_t row = p->a == TT_NONE ? p->b : p->a;
    uint32_t block = s->by_context ? tt_block_of(&s->p, row) : row;
    char id[TT_IDENTITY_SIZE], apart[256];

    tt_table_string(t, name, tt_table_text(t, "%s", tt_block_name(&s->p, block)));
    tt_table_string(t, name + 1,
                    tt_table_text(t, "%s", s->p.strings + s->p.block[block].file));
    tt_table_string(t, name + 2,
                    tt_table_text(t, "%s", s->p.strings + s->p.block[block].module));
    tt_identity_text(tt_block_identity(&s->p, block), id);
    tt_table_string(t, name + 3, tt_table_text(t, "%s", id));
    if (tt_block_apart(&s->p, block, apart, sizeof apart))
        tt_table_string(t, name + 4, tt_table_text(t, "%s", apart));
}

static void put_sides(struct diff *d, struct tt_table *t, const struct pair *p,
                      const struct tt_figure *fa, const struct tt_figure *fb,
                      uint32_t first)
{
    double a = shown(&d->a, fa, p->a), b = shown(&d->b, fb, p->b);

    if (p->a != TT_NONE)
        tt_table_amount(t, first, tt_whole(a));
    if (p->b != TT_NONE)
        tt_table_amount(t, first + 1, tt_whole(b));
    tt_table_change(t, first + 2, change_of(a, b));
}

static void put_totals(struct diff *d, struct tt_table *t, const struct pair *p)
{
    const char *verdict = verdict_text(d, d->a.total, d->b.total, p);
    double a = shown(&d->a, d->a.total, p->a);

    put_sides(d, t, p, d->a.total, d->b.total, TOTAL_A);
    if (a > 0)
        tt_table_real(t, TOTAL_SHARE, shown(&d->b, d->b.total, p->b) / a - 1);
    if (verdict)
        tt_table_string(t, TOTAL_VERDICT, verdict);
}

static void put_row(struct diff *d, struct tt_table *t, const struct pair *p)
{
    const char *self = verdict_text(d, d->a.self, d->b.self, p);

    tt_table_row(t, TT_ROW_ENTRY, p->depth, 0);
    put_sides(d, t, p, d->a.self, d->b.self, SELF_A);
    put_totals(d, t, p);
    if (self)
        tt_table_string(t, SELF_VERDICT, self);
    put_name(d, t, p, NAME);
}

static int by_change(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;

    return TT_ORDER(fabs(b->change), fabs(a->change)) ?: TT_ORDER(a->a, b->a)
           ?: TT_ORDER(a->b, b->b);
}

static int is_empty(const struct diff *d, const struct pair *p)
{
    return shown(&d->a, d->a.total, p->a) <= 0 && shown(&d->b, d->b.total, p->b) <= 0 &&
           shown(&d->a, d->a.self, p->a) <= 0 && shown(&d->b, d->b.self, p->b) <= 0;
}

static void put_sum(struct tt_table *t, enum tt_row_role role, uint64_t a, uint64_t b)
{
    tt_table_row(t, role, 0, 0);
    tt_table_amount(t, SELF_A, a);
    tt_table_amount(t, SELF_B, b);
    tt_table_change(t, SELF_CHANGE, change_of((double)a, (double)b));
}

/* What the rows that were cut off hold, so that columns still add up. */
static void put_remainder(struct tt_table *t, uint64_t a, uint64_t b, size_t more)
{
    put_sum(t, TT_ROW_REMAINDER, a, b);
    tt_table_left(t, more);
    tt_table_string(t, NAME, tt_table_text(t, "%zu more", more));
}

/* What all rows add up to; with all that is below it, that is the root. */
static void put_all(struct diff *d, struct tt_table *t)
{
    const struct pair *p = d->pair.item, root = {0, 0, 0, 0};
    double a = 0, b = 0;

    for (size_t i = 0; i < d->pair.count; i++) {
        a += shown(&d->a, d->a.self, p[i].a);
        b += shown(&d->b, d->b.self, p[i].b);
    }
    put_sum(t, TT_ROW_TOTAL, tt_whole(a), tt_whole(b));
    put_totals(d, t, &root);
    tt_table_string(t, NAME, "total");
}

static void add_rest(struct diff *d, struct tt_table *t, size_t first)
{
    const struct pair *p = d->pair.item;
    double a = 0, b = 0;
    size_t more = 0;

    for (size_t i = first; i < d->pair.count; i++) {
        a += shown(&d->a, d->a.self, p[i].a);
        b += shown(&d->b, d->b.self, p[i].b);
        more += !is_empty(d, &p[i]);
    }
    if (more)
        put_remainder(t, tt_whole(a), tt_whole(b), more);
}

static void put_rows(struct diff *d, uint32_t limit, struct tt_table *t)
{
    struct pair *p = d->pair.item;
    size_t shown_rows = 0, i = 0;

    for (; i < d->pair.count && shown_rows < limit; i++) {
        if (is_empty(d, &p[i]))
            continue;
        put_row(d, t, &p[i]);
        shown_rows++;
    }
    add_rest(d, t, i);
}

/* ── Scaling ──────────────────────────────────────────────────────────────────────── */

enum scaling_column { SCALING_A, SCALING_B, LOST, EFFICIENCY, BALANCE_A, BALANCE_B, WHO };

static void add_scaling_columns(struct tt_table *t, const char *unit)
{
    tt_table_column(t, "a", "before", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "b", "then", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "lost", "lost", unit, TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "efficiency", "efficiency", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "balance.a", "balance", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "balance.b", "then", "", TT_COLUMN_SHARE, 0);
    add_name_columns(t);
}

static double strands_of(const struct tt_side *s)
{
    return s->busy ? (double)s->busy : 1;
}

/* What the second would take if nothing was lost by there being more strands. */
static double ideal(const struct diff *d, double a)
{
    if (d->options->scaling == TT_SCALING_WEAK)
        return a * strands_of(&d->b) / strands_of(&d->a);
    return a;
}

static void put_balance(struct tt_table *t, uint32_t column, const struct tt_side *s,
                        uint32_t row)
{
    if (row != TT_NONE && s->total[row].most)
        tt_table_real(t, column,
                      (double)s->total[row].sum / strands_of(s) /
                          (double)s->total[row].most);
}

static void put_scaling_row(struct diff *d, struct tt_table *t, const struct pair *p)
{
    double a = shown(&d->a, d->a.total, p->a), b = shown(&d->b, d->b.total, p->b);

    tt_table_row(t, TT_ROW_ENTRY, p->depth, 0);
    if (p->a != TT_NONE)
        tt_table_amount(t, SCALING_A, tt_whole(a));
    if (p->b != TT_NONE)
        tt_table_amount(t, SCALING_B, tt_whole(b));
    tt_table_change(t, LOST, change_of(ideal(d, a), b));
    if (b > 0)
        tt_table_real(t, EFFICIENCY, ideal(d, a) / b);
    put_balance(t, BALANCE_A, &d->a, p->a);
    put_balance(t, BALANCE_B, &d->b, p->b);
    put_name(d, t, p, WHO);
}

static void put_scaling(struct diff *d, uint32_t limit, struct tt_table *t)
{
    const struct pair *p = d->pair.item;
    size_t rows = 0;

    for (size_t i = 0; i < d->pair.count && rows < limit; i++) {
        if (is_empty(d, &p[i]))
            continue;
        put_scaling_row(d, t, &p[i]);
        rows++;
    }
    tt_table_note(t, "strands compared", "%u strands, then %u", d->a.busy, d->b.busy);
    if (d->a.longest && d->b.longest)
        tt_table_note(t, "speedup",
                      "the longest strand: %.4g times as fast, of %.4g possible",
                      (double)d->a.longest / (double)d->b.longest,
                      d->options->scaling == TT_SCALING_WEAK
                          ? 1.0
                          : strands_of(&d->b) / strands_of(&d->a));
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int is_in(const struct tt_profile *p, const char *name)
{
    const uint32_t m = tt_metric_find(p, name);

    return m != TT_NONE && tt_is_measured(p, &p->metric[m]);
}

/* What is looked at in the first; or, where that is empty or the second does not have it, in the
 * second; or calls, if only they are in both. */
static const char *usual_metric(const struct tt_profile *a, const struct tt_profile *b)
{
    const uint32_t in_a = tt_metric_find(a, NULL), in_b = tt_metric_find(b, NULL);
    const char *const names[] = {in_a == TT_NONE || !tt_grand_total(a, &a->metric[in_a])
                                     ? NULL
                                     : a->metric[in_a].name,
                                 in_b == TT_NONE ? NULL : b->metric[in_b].name, "calls"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && is_in(a, names[i]) && is_in(b, names[i]))
            return names[i];
    return names[0] ? names[0] : in_a == TT_NONE ? names[1] : a->metric[in_a].name;
}

static int choose_metric(struct diff *d, struct tt_query *q, const char *name)
{
    struct tt_side *sides[] = {&d->a, &d->b};

    for (int i = 0; i < 2; i++) {
        struct tt_side *s = sides[i];
        const char *which = i ? "second" : "first";
        s->metric = tt_metric_find(&s->p, name);
        if (s->metric == TT_NONE)
            return tt_query_wrong(q, "there is no metric '%s' in the %s",
                                  name ? name : "", which);
        s->m = &s->p.metric[s->metric];
        if (!tt_is_measured(&s->p, s->m))
            return tt_query_wrong(
                q,
                "the %s was recorded without %s; --metric NAME compares "
                "another metric, or record both in one mode",
                which, s->m->name);
    }
    if (strcmp(d->a.m->unit, d->b.m->unit) != 0)
        return tt_query_wrong(q, "%s in '%s' cannot be compared to '%s'", d->a.m->name,
                              d->a.m->unit, d->b.m->unit);
    return 0;
}

static double length_of(const struct tt_side *s)
{
    return (double)tt_fact_number(&s->p, TT_FACT_LENGTH);
}

/* Scales a side to the total of another. */
static void scale_to(struct tt_side *s, const struct tt_side *other)
{
    const double total = (double)tt_grand_total(&s->p, s->m),
                 wanted = (double)tt_grand_total(&other->p, other->m) * other->scale;

    if (total > 0)
        s->scale = wanted / total;
}

static void choose_units(struct diff *d)
{
    d->a.by_run = d->b.by_run = !d->options->scaling && !d->options->rest &&
                                (d->a.runs > 1 || d->b.runs > 1);
    d->a.scale = d->a.by_run ? 1 / (double)d->a.runs : 1;
    d->b.scale = d->b.by_run ? 1 / (double)d->b.runs : 1;
    if (d->options->rest && length_of(&d->a) > 0)
        d->a.scale = length_of(&d->b) / length_of(&d->a);
    if (d->options->normalise && d->options->rest)
        scale_to(&d->a, &d->b);
    else if (d->options->normalise)
        scale_to(&d->b, &d->a);
}

static void sort_pairs(struct diff *d)
{
    struct pair *p = d->pair.item;
    int scaling = d->options->scaling != TT_SCALING_NONE;

    for (size_t i = 0; i < d->pair.count; i++) {
        double a = scaling ? ideal(d, shown(&d->a, d->a.total, p[i].a))
                           : shown(&d->a, d->a.self, p[i].a);
        double b = scaling ? shown(&d->b, d->b.total, p[i].b)
                           : shown(&d->b, d->b.self, p[i].b);
        p[i].change = b - a;
    }
    if (!d->a.by_context)
        tt_vector_sort(&d->pair, by_change);
}

static int match(struct diff *d, struct tt_query *q, const char *metric)
{
    int error = choose_metric(d, q, metric);

    if (error)
        return error;
    choose_units(d);
    error = tt_side_read(&d->a);
    error = error ?: tt_side_read(&d->b);
    if (!error)
        error = d->a.by_context ? match_contexts(d) : match_blocks(d);
    if (!error)
        sort_pairs(d);
    return error;
}

static void add_notes(const struct diff *d, struct tt_table *t)
{
    const char *unlike = tt_unlikeness(&d->a.p, d->a.m, &d->b.p, d->b.m, t);

    if (unlike)
        tt_table_note(t, "unlike", "not alike: %s", unlike);
    if (d->a.by_run)
        tt_table_note(t, "means", "means of %u run%-s, then of %u", d->a.runs,
                      d->a.runs == 1 ? "" : "s", d->b.runs);
    if (d->options->normalise && !d->options->rest)
        tt_table_note(t, "scaled", "the second is scaled by %.4g to the first's total",
                      d->b.scale * (d->b.by_run ? (double)d->b.runs : 1));
    if (d->a.m->elsewhere || d->b.m->elsewhere)
        tt_table_note(
            t, "evicted between",
            "contexts were evicted: a context that is gone or new may have been evicted");
}

/* The whole: that of a side has no samples by time. */
static void note_rest(const struct diff *d, const struct tt_profile *b,
                      struct tt_table *t)
{
    tt_table_note(t, "rest", "time: %-s; else: the other %.3f s, scaled to %-s",
                  tt_view_range(b, t), length_of(&d->a) / 1e9,
                  d->options->normalise ? "the same total" : "as long a time");
}

/* Rows that have been sorted are cut off then. */
static void cut_rows(const struct diff *d, uint32_t limit, struct tt_table *t)
{
    const size_t rows = tt_table_rows(t);
    uint64_t a = 0, b = 0;

    if (rows <= limit)
        return;
    for (size_t i = limit; i < rows && !d->options->scaling; i++) {
        const union tt_value *in_a = tt_table_value(t, i, SELF_A),
                             *in_b = tt_table_value(t, i, SELF_B);
        a += in_a ? in_a->n : 0;
        b += in_b ? in_b->n : 0;
    }
    t->row.count = limit;
    if (!d->options->scaling)
        put_remainder(t, a, b, rows - limit);
}

/* In the order of their changes, or of a column: then of all of them. */
static int fill(struct diff *d, struct tt_query *q, struct tt_table *t)
{
    const uint32_t limit = tt_limit(q, 0), first = q->sort ? TT_NONE : limit;
    const char *unit = tt_table_text(t, "%s", d->a.m->unit);
    int error;

    if (d->options->scaling) {
        add_scaling_columns(t, unit);
        put_scaling(d, first, t);
    } else {
        add_columns(t, unit, d->options->rest);
        put_rows(d, first, t);
    }
    error = q->sort ? tt_view_sort_tree(q, t, "name") : 0;
    if (!error && q->sort)
        cut_rows(d, limit, t);
    if (!error && !d->options->scaling)
        put_all(d, t);
    return error;
}

int tt_diff(const struct tt_profile *a, const struct tt_profile *b, struct tt_query *q,
            const struct tt_diff_options *options, struct tt_table *t)
{
    struct diff d = {
        .a = {.memory = q->memory}, .b = {.memory = q->memory}, .options = options};
    int error;

    tt_table_init(t, "diff", q->memory);
    tt_vector_init(&d.pair, q->memory, sizeof(struct pair));
    d.a.by_context = d.b.by_context = q->view && strcmp(q->view, "tree") == 0;
    error = tt_side_open(&d.a, a, b);
    error = error ?: tt_query_ask(q);
    error = error ?: tt_side_open(&d.b, b, a);
    error = error ?: tt_query_ask(q);
    if (!error)
        error = match(&d, q, q->metric ? q->metric : usual_metric(a, b));
    error = error ?: fill(&d, q, t);
    if (!error)
        add_notes(&d, t);
    if (!error && options->rest)
        note_rest(&d, b, t);
    tt_vector_fini(&d.pair);
    tt_side_fini(&d.b);
    tt_side_fini(&d.a);
    return error ? error : t->failed ? -TT_ERR_MEMORY : 0;
}
