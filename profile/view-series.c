/* SPDX-License-Identifier: MIT */
/* view-series.c - figures over time, identified by block, type or cost centre.
 *
 * A series is drawn as bands, one for each label.  The largest bands (by the area under
 * them) are kept, and the others become one, so that each time's rows still add up. */
#include <stdlib.h>
#include <string.h>

#include "range.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 20 }; /* bands; as many as hp2ps draws */

struct band {
    uint32_t label; /* a string */
    double area;    /* a sum that need not be exact: it only chooses */
};

struct series {
    const struct tt_profile *p; /* the whole: other filters do not apply to it */
    struct tt_table *t;
    const struct tt_series_row *row;
    const struct tt_point *point;
    size_t points;
    struct tt_vector cut; /* struct tt_point: the points of the ranges of time */
    struct tt_vector band;
    uint32_t many_shown;
};

/* Leaves the points of a range of time.  The last point may be after the run. */
static int cut_to_range(struct series *v, struct tt_query *q, const char *text)
{
    const struct tt_range run = tt_range_of_run(v->p);
    char reason[100];
    struct tt_range r;
    struct tt_point *kept = v->cut.item;
    size_t count = 0;

    if (tt_range_find(v->p, text, &r, reason, sizeof reason) != 0)
        return tt_query_wrong(q, "time: %s", reason);
    for (size_t i = 0; i < v->cut.count; i++) {
        const uint64_t length = run.to - run.from,
                       at = run.from +
                            (kept[i].time < length ? kept[i].time : length - 1);
        if ((at >= r.from && at < r.to) != r.is_outside)
            kept[count++] = kept[i];
    }
    v->cut.count = count;
    return 0;
}

/* Leaves the points that are in all ranges of the query. */
static int cut_to_ranges(struct series *v, struct tt_query *q)
{
    const struct tt_filter *f = q->filter.item;
    int error = 0;

    if (v->points && !tt_vector_add(&v->cut, v->points))
        return -TT_ERR_MEMORY;
    if (v->points)
        memcpy(v->cut.item, v->point, v->points * sizeof *v->point);
    for (size_t i = 0; i < q->filter.count && !error; i++)
        if (f[i].kind == TT_FILTER_TIME)
            error = cut_to_range(v, q, f[i].pattern);
    v->point = v->cut.item;
    v->points = v->cut.count;
    return error;
}

static int choose_series(struct series *v, struct tt_query *q)
{
    const char *name = tt_query_other(q, "series");
    const struct tt_profile *p = v->p;
    uint32_t i = name ? tt_series_find(p, name) : 0;
    size_t first = 0;

    if (!p->many_series)
        return tt_query_wrong(q,
                              "no series was kept: `tallytree record --heap` keeps one");
    if (i == TT_NONE)
        return tt_query_wrong(q, "there is no series '%.40s'; there is '%.40s'", name,
                              p->strings + p->series[0].name);
    v->row = &p->series[i];
    while (first < p->points && p->point[first].series < i)
        first++;
    v->point = p->point + first;
    while (first + v->points < p->points && v->point[v->points].series == i)
        v->points++;
    for (uint32_t j = 0; j < p->many_series; j++)
        if (j != i)
            tt_table_note(v->t, "other series", "series: also '%s'",
                          p->strings + p->series[j].name);
    return cut_to_ranges(v, q);
}

/* ── Bands ────────────────────────────────────────────────────────────────────────── */

static int compare_labels(const void *a, const void *b)
{
    const struct band *x = a, *y = b;

    return TT_ORDER(x->label, y->label);
}

static int compare_areas(const void *a, const void *b)
{
    const struct band *x = a, *y = b;

    return TT_ORDER(y->area, x->area) ?: compare_labels(a, b);
}

static int find_bands(struct series *v, struct tt_query *q)
{
    struct band *band = v->points ? tt_vector_add(&v->band, v->points) : NULL;
    double all = 0, least;
    size_t kept = 0;

    if (v->points && !band)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < v->points; i++)
        band[i] = (struct band){v->point[i].label, (double)v->point[i].amount};
    tt_sort(band, v->points, sizeof *band, compare_labels);
    for (size_t i = 0; i < v->points; i++) {
        all += band[i].area;
        if (kept && band[kept - 1].label == band[i].label)
            band[kept - 1].area += band[i].area;
        else
            band[kept++] = band[i];
    }
    v->band.count = kept;
    tt_sort(band, kept, sizeof *band, compare_areas);
    least = tt_threshold(q, 0) * all;
    v->many_shown = (uint32_t)kept < tt_limit(q, OWN_LIMIT) ? (uint32_t)kept
                                                            : tt_limit(q, OWN_LIMIT);
    while (v->many_shown && band[v->many_shown - 1].area < least)
        v->many_shown--;
    tt_sort(band, v->many_shown, sizeof *band, compare_labels);
    return 0;
}

static int is_shown(const struct series *v, uint32_t label)
{
    struct band key = {label, 0};

    return v->many_shown &&
           bsearch(&key, v->band.item, v->many_shown, sizeof key, compare_labels);
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

enum { TIME, AMOUNT, LABEL };

static void add_row(struct series *v, enum tt_row_role role, uint32_t group,
                    uint64_t time, uint64_t amount, const char *label)
{
    tt_table_row(v->t, role, 0, group);
    tt_table_amount(v->t, TIME, time);
    tt_table_amount(v->t, AMOUNT, amount);
    tt_table_string(v->t, LABEL, label);
}

/* Adds the points of one time; returns the first one of another time. */
static size_t add_time(struct series *v, size_t first, uint32_t group, int in_all)
{
    const uint64_t time = v->point[first].time;
    uint64_t rest = 0, sum = 0;
    size_t i, more = 0;

    for (i = first; i < v->points && v->point[i].time == time; i++) {
        const struct tt_point *x = &v->point[i];
        sum += x->amount;
        if (in_all)
            continue;
        if (is_shown(v, x->label)) {
            add_row(v, TT_ROW_ENTRY, group, time, x->amount, v->p->strings + x->label);
            continue;
        }
        rest += x->amount;
        more++;
    }
    if (in_all)
        add_row(v, TT_ROW_ENTRY, group, time, sum, "");
    if (more) {
        add_row(v, TT_ROW_REMAINDER, group, time, rest,
                tt_table_text(v->t, "%zu more", more));
        tt_table_left(v->t, more);
    }
    return i;
}

static void fill(struct series *v, int in_all)
{
    const char *label = v->p->strings + v->row->label;
    const char *clock = tt_fact_text(v->p, TT_SERIES_CLOCK), *unit = clock ? clock : "ns";
    const uint64_t recordings = tt_fact_number(v->p, "recordings");
    uint32_t group = 0;

    tt_table_column(v->t, "time", "time", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(v->t, "amount", v->p->strings + v->row->name,
                    v->p->strings + v->row->unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(v->t, "name", *label ? label : "label", "", TT_COLUMN_TEXT,
                    TT_COLUMN_NAME);
    for (size_t i = 0; i < v->points && !v->t->failed;)
        i = add_time(v, i, ++group, in_all);
    if (v->row->interval)
        tt_table_note(v->t, "series", "series: '%s', a point every %llu %s",
                      v->p->strings + v->row->name, (unsigned long long)v->row->interval,
                      unit);
    if (recordings > 1)
        tt_table_note(v->t, "several series",
                      "several: %llu recordings are put together; a point has those that "
                      "were looked at then, and lacks the others",
                      (unsigned long long)recordings);
}

static int has_other_filters(const struct tt_query *q)
{
    const struct tt_filter *f = q->filter.item;

    for (size_t i = 0; i < q->filter.count; i++)
        if (f[i].kind != TT_FILTER_TIME)
            return 1;
    return 0;
}

int tt_view_series(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct series v = {.p = p->whole ? p->whole : p, .t = t};
    int error, by = tt_view_word(q, "series", "by");

    tt_vector_init(&v.cut, q->memory, sizeof(struct tt_point));
    tt_vector_init(&v.band, q->memory, sizeof(struct band));
    error = choose_series(&v, q);
    if (!error && by < 0)
        error = by;
    if (!error && q->sort)
        error = tt_query_wrong(q, "the view 'series' cannot be sorted");
    error = error ?: find_bands(&v, q);
    if (!error)
        fill(&v, by);
    if (!error && has_other_filters(q))
        tt_table_note(t, "filters", "filters do not apply: a series has no paths");
    tt_vector_fini(&v.band);
    tt_vector_fini(&v.cut);
    return error;
}
