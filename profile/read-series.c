/* SPDX-License-Identifier: MIT */
/* read-series.c - from a recording's bands to the series of a profile.
 *
 * A band is a strand's share, as a list of changes; each strand has its own interval.
 * Here they are converted to the longest interval, added up by label, and become
 * amounts. */
#include "read-series.h"
#include "figures.h"
#include "sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATION = TT_BANDS, KINDS }; /* another way to see the bands of types */

struct sum { /* of the bands that have a label in common */
    uint32_t kind, label;
    int64_t change[TT_BAND_POINTS];
};

struct series_taken {
    struct tt_builder *b;
    const struct tt_picture *p;
    struct tt_vector sum; /* struct sum */
    uint32_t shift, last; /* last: the last interval in which anything changed */
    uint32_t only;        /* of the kind that is summed up here: */
    int64_t *total;
    int failed;
};

static const char *const names[KINDS] = {"live by type",        "live by block",
                                         "live by cost centre", "live by use",
                                         "live by retainers",   "live by generation"};
static const char *const labels[KINDS] = {"type", "block",     "cost centre",
                                          "use",  "retainers", "generation"};
static const char *const uses[TT_USES] = {"[other]", "LAG",  "USE",
                                          "DRAG",    "VOID", "INHERENT_USE"};

/* ── Sums ─────────────────────────────────────────────────────────────────────────── */

static struct sum *sum_of(struct series_taken *x, uint32_t kind, uint32_t label)
{
    struct sum *s = x->sum.item;

    for (size_t i = 0; i < x->sum.count; i++)
        if (s[i].kind == kind && s[i].label == label)
            return &s[i];
    s = tt_vector_add(&x->sum, 1);
    if (!s) {
        x->failed = 1;
        return NULL;
    }
    s->kind = kind;
    s->label = label;
    return s;
}

/* Adds modulo 2^64: figures of a damaged recording may be anything. */
static int64_t sum_of_changes(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_changes(struct series_taken *x, uint32_t kind, uint32_t label,
                        const int64_t *change, uint32_t shift)
{
    struct sum *s = sum_of(x, kind, label);

    for (uint32_t i = 0; s && i < TT_BAND_POINTS; i++) {
        uint32_t at = shift > 31 ? 0 : i >> shift;
        s->change[at] = sum_of_changes(s->change[at], change[i]);
        if (change[i] && at > x->last)
            x->last = at;
    }
}

static void each_band(struct series_taken *x,
                      void (*each)(struct series_taken *, const struct tt_band *))
{
    for (uint32_t i = 0; i <= x->p->strands; i++)
        for (const struct tt_band *b = NULL;
             (b = tt_picture_band(x->p, i ? x->p->strand[i - 1] : NULL, b));)
            each(x, b);
}

static void see_pace(struct series_taken *x, const struct tt_band *b)
{
    int64_t change[TT_BAND_POINTS];
    uint32_t shift = tt_band_points(b, change);

    if (shift > x->shift)
        x->shift = shift;
}

static void take_band(struct series_taken *x, const struct tt_band *b)
{
    int64_t change[TT_BAND_POINTS];
    uint32_t slower = x->shift - tt_band_points(b, change);

    add_changes(x, b->flags, b->key & TT_KEY_BLOCK, change, slower);
    if (b->flags == TT_BAND_TYPE)
        add_changes(x, GENERATION, b->key >> TT_SPACE_FROM_SHIFT, change, slower);
}

/* ── Points ───────────────────────────────────────────────────────────────────────── */

static const char *block_name(const struct tt_picture *p, uint32_t id)
{
    for (uint32_t i = 0; i < p->blocks; i++)
        if (p->block[i].id == id && !p->block[i].type)
            return p->block[i].info.name;
    return "[other]";
}

static const char *label_of(const struct series_taken *x, const struct sum *s,
                            char number[16])
{
    switch (s->kind) {
    case TT_BAND_TYPE:
    case TT_BAND_RETAINERS:
        return *tt_picture_type(x->p, s->label) ? tt_picture_type(x->p, s->label)
                                                : "[other]";
    case TT_BAND_USE:
        return uses[s->label < TT_USES ? s->label : 0];
    case GENERATION:
        (void)snprintf(number, 16, "%u", s->label);
        return number;
    case TT_BAND_CENTRE:
        if (s->label == TT_BLOCK_ROOT)
            return "[none]";
        return block_name(x->p, s->label);
    default:
        return s->label == TT_BLOCK_ROOT ? "[root]" : block_name(x->p, s->label);
    }
}

static uint64_t in_ns(const struct tt_header *h, uint64_t ticks)
{
    uint64_t rate = h->ticks_per_second;

    if (!tt_is_in_ns(h) || !rate)
        return ticks;
    return (uint64_t)((unsigned __int128)ticks * 1000000000u / rate);
}

/* A point is at the end of its interval.  Zeros are written only next to larger
 * points. */
static void add_points(struct series_taken *x, const struct sum *s)
{
    const struct tt_header *h = x->p->header;
    char number[16];
    const char *label = label_of(x, s, number);
    uint32_t series = tt_builder_series(x->b, names[s->kind], "bytes", labels[s->kind],
                                        in_ns(h, 1ull << x->shift));
    int64_t amount = 0, before = 0, after;

    for (uint32_t i = 0; i <= x->last; i++) {
        amount = sum_of_changes(amount, s->change[i]);
        after = i < x->last ? sum_of_changes(amount, s->change[i + 1]) : 0;
        if (amount > 0 || before > 0 || after > 0)
            tt_builder_point(x->b, series, label, in_ns(h, (i + 1ull) << x->shift),
                             amount > 0 ? (uint64_t)amount : 0);
        before = amount;
    }
}

/* ── Maxima ───────────────────────────────────────────────────────────────────────── */

/* A maximum other than the greatest counts if the space alive falls on both sides of it,
 * before any greater one, by at least these parts: of it, and of the greatest.  Of equal
 * ones the first counts. */
enum { FALL = 16, FALL_OF_GREATEST = 64 };

/* Each kind of bands has all live objects, except bands of use if lives are reported
 * late. */
static void see_kind(struct series_taken *x, const struct tt_band *b)
{
    if (b->flags < x->only)
        x->only = b->flags;
}

static void add_total(struct series_taken *x, const struct tt_band *b)
{
    int64_t change[TT_BAND_POINTS];
    uint32_t slower = x->shift - tt_band_points(b, change);

    for (uint32_t i = 0; b->flags == x->only && i < TT_BAND_POINTS; i++) {
        int64_t *to = &x->total[slower > 31 ? 0 : i >> slower];
        *to = sum_of_changes(*to, change[i]);
    }
}

/* Computes the amount alive at the end of each interval; returns their shift. */
static uint32_t total_alive(const struct tt_picture *p, int64_t total[TT_BAND_POINTS])
{
    struct series_taken x = {.p = p, .only = TT_BAND_USE, .total = total};

    memset(total, 0, TT_BAND_POINTS * sizeof *total);
    each_band(&x, see_pace);
    each_band(&x, see_kind);
    each_band(&x, add_total);
    for (uint32_t i = 1; i < TT_BAND_POINTS; i++)
        total[i] = sum_of_changes(total[i], total[i - 1]);
    return x.shift;
}

static int by_time(const void *a, const void *b)
{
    const struct tt_marked_maximum *x = a, *y = b;

    return TT_ORDER(x->time, y->time);
}

/* Returns the least amount between two times. */
static uint64_t least_between(const int64_t *total, uint32_t shift, uint64_t from,
                              uint64_t to)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t i = from >> shift; i < to >> shift && i < TT_BAND_POINTS; i++)
        if (total[i] >= 0 && (uint64_t)total[i] < least)
            least = (uint64_t)total[i];
    return least;
}

static int is_local(const struct tt_maxima *x, uint32_t i, uint64_t greatest,
                    const int64_t *total, uint32_t shift)
{
    const struct tt_marked_maximum *m = &x->one[i];
    const uint64_t own = m->most / FALL, least = greatest / FALL_OF_GREATEST,
                   fall = own > least ? own : least, low = m->most - fall;

    if (fall > m->most)
        return 0;
    for (uint32_t j = i; j-- > 0;)
        if (x->one[j].most >= m->most) {
            if (least_between(total, shift, x->one[j].time, m->time) > low)
                return 0;
            break;
        }
    for (uint32_t j = i + 1; j < x->count; j++)
        if (x->one[j].most > m->most)
            return least_between(total, shift, m->time, x->one[j].time) <= low;
    return 1;
}

/* Drops unmarked ones. */
static void drop_others(const struct tt_picture *p, struct tt_maxima *x,
                        uint32_t greatest)
{
    int64_t total[TT_BAND_POINTS];
    unsigned char is_kept[TT_PARTS + 1];
    uint32_t shift = total_alive(p, total), kept = 0;

    for (uint32_t i = 0; i < x->count; i++)
        is_kept[i] = i == greatest || is_local(x, i, x->one[greatest].most, total, shift);
    for (uint32_t i = 0; i < x->count; i++)
        if (is_kept[i])
            x->one[kept++] = x->one[i];
    x->count = kept;
}

void tt_maxima_take(struct tt_builder *b, const struct tt_picture *p, struct tt_maxima *x)
{
    const uint32_t flags = TT_METRIC_SPACE | TT_METRIC_PEAK;
    uint32_t greatest = 0, locals = 0;
    uint64_t most = 0;

    x->count = tt_picture_maxima(p);
    for (uint32_t i = 0; i < x->count; i++) {
        struct tt_maximum m = tt_picture_maximum(p, i);
        x->one[i] = (struct tt_marked_maximum){
            .index = i, .time = m.time, .most = m.most};
        most = m.most > most ? m.most : most;
    }
    qsort(x->one, x->count, sizeof *x->one, by_time);
    while (greatest < x->count && x->one[greatest].most < most)
        greatest++;
    drop_others(p, x, greatest);
    for (uint32_t i = 0, is_found = 0; i < x->count; i++) {
        struct tt_marked_maximum *m = &x->one[i];
        if (m->most == most && !is_found)
            (void)snprintf(m->name, sizeof m->name, "peak");
        else
            (void)snprintf(m->name, sizeof m->name, "maximum-%u", ++locals);
        is_found |= m->most == most;
        m->metric = tt_builder_metric(b, m->name, "bytes", flags);
    }
}

static void add_maxima(struct series_taken *x, const struct tt_maxima *m)
{
    uint32_t series = x->sum.count && m->count
                          ? tt_builder_series(x->b, "maxima", "bytes", "metric", 0)
                          : TT_NONE;

    for (uint32_t i = 0; i < m->count; i++)
        tt_builder_point(x->b, series, m->one[i].name,
                         in_ns(x->p->header, m->one[i].time), m->one[i].most);
}

int tt_series_take(struct tt_builder *b, const struct tt_picture *p,
                   const struct tt_maxima *maxima)
{
    struct series_taken x = {.b = b, .p = p};
    const struct sum *s;

    tt_vector_init(&x.sum, NULL, sizeof *s);
    each_band(&x, see_pace);
    each_band(&x, take_band);
    s = x.sum.item;
    if (x.sum.count && !tt_is_in_ns(p->header))
        tt_builder_fact(b, TT_SERIES_CLOCK, TT_FACT_EACH, 0, "ticks");
    for (size_t i = 0; i < x.sum.count; i++)
        add_points(&x, &s[i]);
    add_maxima(&x, maxima);
    tt_vector_fini(&x.sum);
    return x.failed ? -TT_ERR_MEMORY : 0;
}
