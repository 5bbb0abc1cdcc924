/* SPDX-License-Identifier: MIT */
/* samples.c - the samples of a profile by time, within a cap that merging keeps.
 *
 * When there are too many, those of one strand in one interval become one: the winner of a race
 * stays, with the weight of all.  Each runs for a time that is exponential in chance, and as
 * much shorter as it weighs more; so it wins with a probability proportional to its weight.
 *
 *      time    │ 1 2   3 │   5 6  7│        │       intervals of 2^n ns, from 1970 on
 *      weight  │ 4 1   3 │   2 2  1│        │
 *                   ▼         ▼
 *              │     8   │      5  │        │       sums stay what they are
 *
 * The chance of a sample is a hash of its time, weight and path.  The winner keeps its time run.
 * The winner of all samples has won in each part of them before; intervals lie within longer
 * ones; and more samples never need shorter ones.  So the result does not depend on the order or
 * the grouping of merges. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "add-profile.h"
#include "building.h"
#include "identity.h"
#include "order.h"
#include "sample-sort.h"
#include "samples.h"

enum { ROOM = 2 * TT_SAMPLES_MAX }; /* before they are thinned */
#define UNPLACED TT_SAMPLE_UNPLACED

/* ── The race ─────────────────────────────────────────────────────────────────────── */

/* The paths of contexts do not depend on the order of merges, as their numbers do. */
static void find_paths(struct tt_builder *b)
{
    const struct tt_block_row *block = b->block.item;
    const struct tt_grown *context = b->context.item;
    uint64_t *identity, *path;

    while (b->identity.count < b->block.count) {
        const struct tt_block_row *row = &block[b->identity.count];
        identity = tt_builder_item(b, &b->identity);
        if (!identity)
            return;
        *identity = tt_row_identity(row, tt_builder_text(b, row->name),
                                    tt_builder_text(b, row->module),
                                    tt_builder_text(b, row->file));
    }
    identity = b->identity.item;
    while (b->path.count < b->context.count) {
        const size_t i = b->path.count;
        const struct tt_grown *g = &context[i];
        path = tt_builder_item(b, &b->path);
        if (!path)
            return;
        TT_ASSERT(i == 0 || g->parent < i);
        *path = tt_path_below(i ? path[-(ptrdiff_t)(i - g->parent)] : 0,
                              identity[g->block]);
    }
}

static int is_unplaced(const struct tt_sample_row *s)
{
    return s->strand != TT_NONE && s->strand & UNPLACED;
}

static uint64_t path_of(const struct tt_builder *b, const struct tt_sample_row *s)
{
    return is_unplaced(s) ? s->context : ((const uint64_t *)b->path.item)[s->context];
}

static uint64_t chance_of(const struct tt_sample_row *s, uint64_t path)
{
    uint64_t x = s->time * 0x9e3779b97f4a7c15u ^ s->weight * 0xff51afd7ed558ccdu;

    x = (x ^ x >> 30 ^ path) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

enum { LOG_DIGITS = 20 };

/* log2 of a number from 2^63 on, less 63, in 2^-20: by squaring, alike on every machine. */
static uint64_t log2_by_squaring(uint64_t x)
{
    uint64_t log = 0;

    for (int i = LOG_DIGITS - 1; i >= 0; i--) {
        unsigned __int128 square = (unsigned __int128)x * x;
        if (square >> 127) {
            log |= (uint64_t)1 << i;
            x = (uint64_t)(square >> 64);
        } else {
            x = (uint64_t)(square >> 63);
        }
    }
    return log;
}

/* The same; log2() errs by less than 2^-44, so it decides unless it is next to a limit. */
static uint64_t log2_of(uint64_t x)
{
    const double log = (log2((double)x) - 63) * (1 << LOG_DIGITS), unsure = 0x1p-20;

    return (int64_t)(log - unsure) == (int64_t)(log + unsure) ? (uint64_t)log
                                                              : log2_by_squaring(x);
}

/* -log2 of a number from 0 to 1, in 2^-20. */
static uint64_t minus_log2(uint64_t chance)
{
    const uint64_t x = chance | 1;
    const int zeros = __builtin_clzll(x);
    const uint64_t log = ((uint64_t)(zeros + 1) << LOG_DIGITS) - log2_of(x << zeros);

    return log ? log : 1;
}

/* Returns the time that a sample runs, as the bits of a double, which have the order of
 * their values. */
static uint64_t time_run(const struct tt_sample_row *s, uint64_t path)
{
    double ran;
    uint64_t bits;

    if (s->ran)
        return s->ran;
    ran = (double)minus_log2(chance_of(s, path)) / (double)(s->weight ? s->weight : 1);
    memcpy(&bits, &ran, sizeof bits);
    return bits;
}

/* ── Thinning ─────────────────────────────────────────────────────────────────────── */

static int is_together(const struct tt_sample_row *x, const struct tt_sample_row *y,
                       uint32_t shift)
{
    return x->strand == y->strand && x->time >> shift == y->time >> shift;
}

static size_t count_intervals(const struct tt_vector *v, uint32_t shift)
{
    const struct tt_sample_row *s = v->item;
    size_t count = v->count != 0;

    for (size_t i = 1; i < v->count; i++)
        count += !is_together(&s[i - 1], &s[i], shift);
    return count;
}

/* Finds the shortest intervals that give few enough samples. */
static uint32_t find_interval(const struct tt_vector *v)
{
    uint32_t low = 0, high = 63;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (count_intervals(v, middle) <= TT_SAMPLES_MAX)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int is_winner(const struct tt_builder *b, const struct tt_sample_row *x,
                     uint64_t ran_x, const struct tt_sample_row *y, uint64_t ran_y)
{
    if (ran_x != ran_y)
        return ran_x < ran_y;
    if (x->time != y->time)
        return x->time < y->time;
    return path_of(b, x) < path_of(b, y);
}

/* Makes the winner of both, with the weight of both. */
static void race(const struct tt_builder *b, struct tt_sample_row *into,
                 const struct tt_sample_row *s)
{
    const uint64_t ran = time_run(into, path_of(b, into));
    const uint64_t ran_s = time_run(s, path_of(b, s));
    uint64_t weight = into->weight;

    tt_add_capped(&weight, s->weight);
    if (is_winner(b, s, ran_s, into, ran))
        *into = *s;
    into->ran = ran_s < ran ? ran_s : ran;
    into->weight = weight;
}

static void thin_samples(struct tt_builder *b)
{
    struct tt_vector *v = &b->sample;
    struct tt_sample_row *s = v->item;
    uint32_t shift;
    size_t kept = 1;

    if (v->count <= TT_SAMPLES_MAX)
        return;
    find_paths(b);
    if (b->failed)
        return;
    tt_sort_samples(s, v->count, 1);
    shift = find_interval(v);
    for (size_t i = 1; i < v->count; i++)
        if (is_together(&s[kept - 1], &s[i], shift))
            race(b, &s[kept - 1], &s[i]);
        else
            s[kept++] = s[i];
    v->count = kept;
}

/* ── The builder's ────────────────────────────────────────────────────────────────── */

void tt_samples_add(struct tt_builder *b, const struct tt_sample_row *row)
{
    if (b->failed || row->context == TT_NONE)
        return;
    if (b->sample.count >= ROOM)
        thin_samples(b);
    if (tt_vector_push(&b->sample, row) != 0)
        b->failed = 1;
}

void tt_builder_expect_samples(struct tt_builder *b, size_t count)
{
    count = count < ROOM - b->sample.count ? count : ROOM - b->sample.count;
    tt_vector_expect(&b->sample, b->sample.count + count);
}

static const char *name_of(const struct tt_builder *b, uint32_t metric)
{
    return tt_builder_text(b,
                           ((const struct tt_metric_row *)b->metric.item)[metric].name);
}

/* Those of another metric; others have no metric so far. */
static void drop_placed(struct tt_builder *b)
{
    struct tt_sample_row *s = b->sample.item;
    size_t kept = 0;

    for (size_t i = 0; i < b->sample.count; i++)
        if (is_unplaced(&s[i]))
            s[kept++] = s[i];
    b->sample.count = kept;
}

/* Numbers of samples, for profiles whose samples have no other weight. */
static const char *const numbers[] = {"samples", "CPU-time samples", "wall samples"};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int rank_of(const struct tt_builder *b, uint32_t metric)
{
    enum { TIME, TICKS, OTHER, NUMBER };
    const char *name = name_of(b, metric);

    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(name, numbers[i]) == 0)
            return NUMBER + i;
    return strcmp(name, "time") == 0 ? TIME : strcmp(name, "ticks") == 0 ? TICKS : OTHER;
}

/* Weights of different metrics cannot be added: samples of the preferred one are kept.  So
 * the order and the grouping of merges do not matter.  Is it this one? */
int tt_samples_prefer(struct tt_builder *b, uint32_t metric)
{
    int order;

    if (metric == b->weighs || metric == TT_NONE)
        return metric != TT_NONE;
    order = b->weighs == TT_NONE ? -1 : rank_of(b, metric) - rank_of(b, b->weighs);
    if (order == 0)
        order = strcmp(name_of(b, metric), name_of(b, b->weighs));
    if (order > 0)
        return 0;
    if (order < 0)
        drop_placed(b);
    b->weighs = metric;
    return 1;
}

void tt_builder_sample(struct tt_builder *b, uint32_t metric, uint32_t context,
                       uint64_t time, uint64_t weight, uint64_t ran)
{
    if (!b->failed && tt_samples_prefer(b, metric))
        tt_samples_add(b,
                       &(struct tt_sample_row){time, weight, ran, context, b->current});
}

void tt_builder_sample_later(struct tt_builder *b, uint32_t context, uint32_t strand,
                             uint64_t time, uint64_t weight)
{
    TT_ASSERT(strand < TT_SAMPLE_STRETCH);
    tt_samples_add(b,
                   &(struct tt_sample_row){time, weight, 0, context, strand | UNPLACED});
}

void tt_builder_place_samples(struct tt_builder *b, uint32_t metric,
                              const uint32_t *context, const uint32_t *strand)
{
    const int is_wanted = context && tt_samples_prefer(b, metric);
    struct tt_sample_row *s = b->sample.item;
    size_t kept = 0;

    for (size_t i = 0; i < b->sample.count; i++) {
        struct tt_sample_row placed = s[i];
        if (is_unplaced(&placed) && !(placed.strand & TT_SAMPLE_STRETCH)) {
            placed.context = is_wanted ? context[placed.context] : TT_NONE;
            placed.strand = is_wanted ? strand[placed.strand & ~UNPLACED] : TT_NONE;
        }
        if (placed.context != TT_NONE)
            s[kept++] = placed;
    }
    b->sample.count = kept;
}

/* ── Samples of a profile ─────────────────────────────────────────────────────────── */

uint32_t tt_samples_metric(const struct tt_profile *p)
{
    uint32_t m = tt_metric_find(p, "time");

    for (uint32_t i = 0; m == TT_NONE && i < p->metrics; i++)
        if (p->metric[i].flags & TT_METRIC_TIME)
            m = i;
    for (int i = 0; m == TT_NONE && i < NUMBERS; i++)
        m = tt_metric_find(p, numbers[i]);
    return m;
}

void tt_samples_gather(struct tt_builder *b, const struct tt_profile *p,
                       const uint32_t *context, const uint32_t *strand, uint32_t metric,
                       const struct tt_range *range)
{
    for (size_t i = 0; i < p->samples && !b->failed; i++) {
        const struct tt_sample_row *s = &p->sample[i];
        if (s->context >= p->contexts || s->strand >= p->strands ||
            strand[s->strand] == TT_NONE || (range && !tt_range_has(p, range, s)))
            continue;
        b->current = strand[s->strand];
        tt_builder_sample(b, metric, context[s->context], s->time, s->weight, s->ran);
    }
}

/* Each entry counts as one sample, whatever its weight: confidence intervals depend on
 * that. */
static void add_figures(struct tt_builder *b, uint32_t time)
{
    const struct tt_sample_row *s = b->sample.item;
    const uint32_t samples = tt_builder_metric(b, "samples", "", 0);
    const int is_samples = time == samples;

    for (size_t i = 0; i < b->sample.count && !b->failed; i++) {
        b->current = s[i].strand;
        tt_builder_add(b, TT_ROLE_SELF, s[i].context, time, s[i].weight);
        if (!is_samples)
            tt_builder_add(b, TT_ROLE_SELF, s[i].context, samples, 1);
    }
}

static void add_range_facts(struct tt_builder *b, const struct tt_range *range,
                            const struct tt_range *run)
{
    const struct tt_range *ends = range->is_outside ? run : range;
    char text[64];

    tt_builder_fact(b, TT_FACT_FROM, TT_FACT_MAX, ends->from, "");
    tt_builder_fact(b, TT_FACT_TO, TT_FACT_MIN, ends->to, "");
    tt_builder_fact(b, TT_FACT_LENGTH, TT_FACT_MIN, tt_range_length(range, run), "");
    (void)snprintf(text, sizeof text, "%.3f s to %.3f s",
                   (double)(range->from - run->from) / 1e9,
                   (double)(range->to - run->from) / 1e9);
    if (range->is_outside)
        tt_builder_fact(b, TT_FACT_WITHOUT, TT_FACT_EACH, 1, text);
}

static void add_facts(struct tt_builder *b, const struct tt_profile *p,
                      const struct tt_range *range, uint32_t of)
{
    const struct tt_range run = tt_range_of_run(p);

    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(p->strings + p->fact[i].name, "cpu") != 0)
            tt_builder_fact(b, p->strings + p->fact[i].name,
                            (enum tt_fact_rule)p->fact[i].rule, p->fact[i].number,
                            p->strings + p->fact[i].text);
    add_range_facts(b, range, &run);
    for (uint32_t i = 0; i < p->metrics; i++)
        if (i != of && strcmp(p->metric[i].name, "samples") != 0 &&
            tt_grand_total(p, &p->metric[i]))
            tt_builder_fact(b, TT_FACT_UNSPLIT, TT_FACT_EACH, 1, p->metric[i].name);
}

/* The metric that a range has; TT_NONE: there are no samples.  In recordings with exact times,
 * samples have another one. */
static uint32_t metric_of_range(const struct tt_profile *p)
{
    const uint32_t of = tt_samples_metric(p), wall = tt_metric_find(p, "wall"),
                   other = wall != TT_NONE ? wall : tt_metric_find(p, "cpu");

    return of != TT_NONE && p->metric[of].flags == TT_METRIC_TIME && other != TT_NONE &&
                   !p->metric[other].flags && tt_fact_number(p, "recordings")
               ? other
               : of;
}

static uint32_t range_metric(struct tt_builder *b, const struct tt_metric_columns *m,
                             uint32_t flags)
{
    flags |= strcmp(m->name, "samples") == 0 ? 0 : TT_METRIC_SAMPLED;
    return tt_builder_metric(b, m->name, m->unit, m->flags | flags);
}

static int add_samples(struct tt_builder *b, const struct tt_profile *p,
                       const struct tt_range *range, const uint32_t *context, uint32_t of)
{
    uint32_t *strand = tt_memory_get(&b->memory, p->strands * sizeof *strand), time;

    if (!strand)
        return -TT_ERR_MEMORY;
    time = range_metric(b, &p->metric[of],
                        of == tt_samples_metric(p) ? 0 : TT_METRIC_TIME);
    for (uint32_t i = 0; i < p->strands; i++)
        strand[i] = tt_builder_strand_of(b, p, i);
    tt_samples_gather(b, p, context, strand, time, range);
    add_figures(b, time);
    tt_memory_put(&b->memory, strand);
    return 0;
}

int tt_builder_range(struct tt_builder *b, const struct tt_profile *p,
                     const struct tt_range *range, const uint32_t *context)
{
    const uint32_t of = metric_of_range(p);

    if (of != TT_NONE && add_samples(b, p, range, context, of) != 0)
        return -TT_ERR_MEMORY;
    add_facts(b, p, range, of);
    return b->failed ? -TT_ERR_MEMORY : 0;
}

int tt_samples_end(struct tt_builder *b)
{
    thin_samples(b);
    tt_vector_fini(&b->identity);
    tt_vector_fini(&b->path);
    return b->failed ? -TT_ERR_MEMORY : 0;
}

void tt_order_samples(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_sample_row *s = b->sample.item;

    for (size_t i = 0; i < b->sample.count; i++) {
        s[i].context = o->context[s[i].context];
        s[i].strand = s[i].strand < b->strand.count ? o->strand[s[i].strand] : TT_NONE;
    }
    tt_sort_samples(s, b->sample.count, 0);
}
