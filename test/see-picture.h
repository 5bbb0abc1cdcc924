/* SPDX-License-Identifier: MIT */
/* see-picture.h - looks at all of a picture, as reports do: whatever was read it from, all of
 * it is in memory of ours, and refers to what there is. */
#ifndef TEST_SEE_PICTURE_H
#define TEST_SEE_PICTURE_H

#include <string.h>

#include "figures.h"
#include "picture.h"

static uint64_t seen; /* keeps the compiler from dropping reads */

static void see_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                       uint64_t n)
{
    (void)arg;
    seen += strnlen(m->name, sizeof m->name) + strnlen(m->unit, sizeof m->unit) + n +
            (unsigned)elsewhere;
}

static void see_slowest(const struct tt_picture *p, const struct tt_slowest *s)
{
    for (uint32_t i = 0; s && i < s->count && i < s->capacity; i++) {
        const struct tt_slow_row *row = tt_picture_cell(p, s->slot[i].rows);
        for (uint32_t j = 0; j < s->slot[i].count; j++)
            seen += row[j].block + row[j].parent + row[j].self;
    }
}

static void see_space(void *arg, const struct tt_space *row,
                      const struct tt_objects *alive)
{
    seen += row->all.number + alive->bytes + strlen(tt_picture_type(arg, row->key));
}

static void see_details(struct tt_picture *p, uint32_t cell)
{
    const struct tt_histogram *h = tt_picture_extension(p, cell, TT_HISTOGRAM);
    const struct tt_history *history = tt_picture_extension(p, cell, TT_HISTORY);

    for (int i = 0; h && i < TT_HISTOGRAM_BINS; i++)
        seen += h->bin[i];
    for (uint64_t i = 0; history && i < history->capacity && i < history->count; i++)
        seen += history->ring[(history->count - 1 - i) % history->capacity].duration;
    see_slowest(p, tt_picture_extension(p, cell, TT_SLOWEST));
    tt_picture_metrics(p, cell, see_metric, NULL);
    tt_picture_space(p, cell, see_space, p);
}

static void see_holding(void *arg, const struct tt_holding *h, uint32_t cell, int below)
{
    const struct tt_picture *p = arg;

    seen += cell ? p->index[cell] + (unsigned)below : 0;
    for (uint32_t i = 0; i < tt_picture_maxima(p); i++)
        seen += tt_picture_held(p, h, i) + tt_picture_maximum(p, i).most;
}

static void see_bands(const struct tt_picture *p, const struct tt_strand_record *s)
{
    int64_t points[TT_BAND_POINTS];

    for (const struct tt_band *b = NULL; (b = tt_picture_band(p, s, b));)
        seen += tt_band_points(b, points) + (uint64_t)points[TT_BAND_POINTS - 1];
}

static int see_context(struct tt_picture *p, uint32_t i)
{
    const struct tt_picture_context *c = &p->context[i];

    seen += tt_picture_times(p, c) && tt_times_deviation(tt_picture_times(p, c)) > 0;
    see_details(p, c->cell);
    return c->parent == UINT32_MAX || /* parents come first: a way up always ends */
           (c->parent < i && c->block < p->blocks);
}

/* Does all of it refer to what there is? */
static __attribute__((unused)) int see_picture(struct tt_picture *p)
{
    int right = 1;

    for (uint32_t i = 0; i < p->blocks; i++)
        seen += strlen(p->block[i].info.name) + strlen(p->block[i].info.module) +
                strlen(p->block[i].info.file) + (unsigned)p->block[i].info.kind;
    for (uint32_t i = 0; i < p->strands; i++) {
        seen += strlen(p->strand[i]->name) + p->strand_first[i];
        see_bands(p, p->strand[i]);
    }
    for (uint32_t i = 0; i < p->contexts; i++)
        right &= see_context(p, i);
    for (uint32_t i = 0; i < p->arcs; i++) {
        const struct tt_picture_arc *a = &p->arc[i];
        right &= a->from < p->contexts && a->to < p->contexts && a->block < p->blocks;
        see_details(p, a->cell);
    }
    see_bands(p, NULL);
    tt_picture_holdings(p, see_holding, p);
    return right;
}

#endif
