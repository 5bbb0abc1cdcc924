/* SPDX-License-Identifier: MIT */
/* stretches.c - the stretches of a trace of events, as samples by time.
 *
 * Between two events a thread is in one context.  That stretch is one row, with its last
 * nanosecond and its length, and so it is in the log as it was:
 *
 *      events    f▼      g▼  g▲         f▲
 *      rows       └──────6└──2└─────────8       f 6, g 2, f 8
 *      parts      └───4└─2└──2└1└───4└──3       in a grid of 4 ns
 *
 * A range of time has a row or not.  So in the end long stretches are cut where they cross a
 * grid, whose unit is so long that the parts are few.  A range that begins and ends at events
 * or at the grid is exact.  Others are wrong by a part at each end at most; sums stay what
 * they are.
 *
 * Above the cap, rows become fewer as all samples do (samples.c).  The winner may weigh more
 * than its own stretch, by the stretches of its interval: it is cut as if it began earlier. */
#include "stretches.h"

#include "building.h"
#include "samples.h"

enum { PARTS = 1 << 14 }; /* units of the grid in all stretches together */
#define MARKS (TT_SAMPLE_UNPLACED | TT_SAMPLE_STRETCH)

static int is_stretch(const struct tt_sample_row *s)
{
    return s->strand != TT_NONE && (s->strand & MARKS) == MARKS;
}

void tt_builder_stretch(struct tt_builder *b, uint32_t context, uint32_t strand,
                        uint64_t from, uint64_t to)
{
    TT_ASSERT(strand < TT_SAMPLE_STRETCH - 1 && from <= to);
    if (from < to)
        tt_samples_add(
            b, &(struct tt_sample_row){to - 1, to - from, 0, context, strand | MARKS});
}

void tt_builder_move_stretches(struct tt_builder *b,
                               uint32_t (*to)(void *arg, uint32_t context), void *arg)
{
    struct tt_sample_row *s = b->sample.item;

    for (size_t i = 0; i < b->sample.count; i++)
        if (is_stretch(&s[i]))
            s[i].context = to(arg, s[i].context);
}

/* ── Parts ────────────────────────────────────────────────────────────────────────── */

static uint64_t begin_of(const struct tt_sample_row *s)
{
    return s->weight <= s->time ? s->time + 1 - s->weight : 0;
}

/* The bits of a time within a unit of the grid. */
static uint64_t find_unit(const struct tt_vector *v)
{
    const struct tt_sample_row *s = v->item;
    uint64_t all = 0, unit = 0;

    for (size_t i = 0; i < v->count; i++)
        if (is_stretch(&s[i]))
            tt_add_capped(&all, s[i].weight);
    while (all / PARTS > unit)
        unit = unit << 1 | 1;
    return unit;
}

/* Adds the parts of a stretch, the last one first.  Its first part begins at 0 at the
 * earliest. */
static void add_parts(struct tt_builder *b, const struct tt_sample_row *s, uint64_t unit)
{
    struct tt_sample_row part = *s;
    uint64_t left = s->weight;

    if (left <= unit) {
        tt_samples_add(b, s);
        return;
    }
    part.ran = 0;
    while (left) {
        part.weight = (part.time & unit) + 1;
        if (part.weight > left || part.weight > part.time)
            part.weight = left;
        tt_samples_add(b, &part);
        left -= part.weight;
        part.time -= part.weight;
    }
}

static void place_row(struct tt_builder *b, const struct tt_sample_row *s, uint64_t unit,
                      const uint32_t *context, const uint32_t *strand)
{
    struct tt_sample_row placed = *s;

    if (!is_stretch(s)) {
        tt_samples_add(b, s);
        return;
    }
    placed.strand &= ~MARKS;
    if (strand)
        placed.strand = strand[placed.strand];
    if (context)
        placed.context = context[placed.context];
    add_parts(b, &placed, unit);
}

/* When the first of them began; UINT64_MAX: there is none. */
static uint64_t find_begin(const struct tt_vector *v)
{
    const struct tt_sample_row *s = v->item;
    uint64_t began = UINT64_MAX;

    for (size_t i = 0; i < v->count; i++)
        if (is_stretch(&s[i]) && begin_of(&s[i]) < began)
            began = begin_of(&s[i]);
    return began;
}

void tt_builder_place_stretches(struct tt_builder *b, uint32_t metric,
                                const uint32_t *context, const uint32_t *strand)
{
    const uint64_t began = find_begin(&b->sample), unit = find_unit(&b->sample);
    const int is_wanted = began != UINT64_MAX && !b->failed &&
                          tt_samples_prefer(b, metric);
    struct tt_vector rows = b->sample;
    const struct tt_sample_row *s = rows.item;

    if (began == UINT64_MAX)
        return;
    tt_vector_init(&b->sample, &b->memory, sizeof *s);
    for (size_t i = 0; i < rows.count && !b->failed; i++)
        if (is_wanted || !is_stretch(&s[i]))
            place_row(b, &s[i], unit, context, strand);
    tt_vector_fini(&rows);
    if (is_wanted)
        tt_builder_fact(b, TT_FACT_BEGAN, TT_FACT_MIN, began, "");
}
