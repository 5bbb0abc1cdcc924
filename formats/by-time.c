/* SPDX-License-Identifier: MIT */
/* by-time.c - see by-time.h. */
#include "by-time.h"

#include <stdio.h>

#include "assertion.h"
#include "samples.h"

static int wrong(struct tt_export *e, const char *why)
{
    (void)snprintf(e->error, sizeof e->error, "--by-time: %s", why);
    return -TT_ERR_OPTION;
}

static int is_of_several(const struct tt_profile *p)
{
    for (size_t i = 0; i < p->samples; i++)
        if (p->sample[i].strand < p->strands &&
            p->strand[p->sample[i].strand].members > 1)
            return 1;
    return 0;
}

int tt_by_time_check(struct tt_export *e)
{
    const struct tt_profile *p = e->profile;
    const uint32_t metric = tt_samples_metric(p);

    if (!p->samples || metric == TT_NONE)
        return wrong(e, "this profile has no samples by time");
    if (strcmp(p->metric[metric].unit, "ns") != 0)
        return wrong(e, "the samples by time have no length in time");
    if (is_of_several(p))
        return wrong(e, "a row of threads is several threads, whose samples overlap");
    if (e->metric == TT_NONE || e->metric == metric)
        return 0;
    (void)snprintf(e->error, sizeof e->error,
                   "--by-time: the samples by time are of the metric '%.60s' alone",
                   p->metric[metric].name);
    return -TT_ERR_OPTION;
}

/* Times and weights of samples are rounded.  A sample that begins less than half of its
 * length after the last one follows it at once, and keeps its length. */
static void close_gaps(struct tt_by_time *x, const struct tt_lane *lane)
{
    struct tt_stretch *s = (struct tt_stretch *)x->lanes.stretch.item;

    for (size_t i = lane->first; i + 1 < lane->end; i++) {
        const uint64_t gap = s[i + 1].from - s[i].to;
        TT_ASSERT(s[i + 1].from >= s[i].to && s[i + 1].from < s[i + 1].to);
        if (gap >= (s[i + 1].to - s[i + 1].from) / 2)
            continue;
        s[i + 1].from -= gap;
        s[i + 1].to -= gap;
    }
}

static void set_times(struct tt_by_time *x)
{
    const struct tt_stretch *s = x->lanes.stretch.item;

    x->start = UINT64_MAX;
    for (uint32_t i = 0; i < x->lanes.lanes; i++)
        close_gaps(x, &x->lanes.lane[i]);
    for (size_t i = 0; i < x->lanes.stretch.count; i++)
        if (s[i].from < x->start)
            x->start = s[i].from;
}

int tt_by_time_init(struct tt_by_time *x, struct tt_export *e)
{
    const struct tt_profile *p = e->profile;
    int error;

    *x = (struct tt_by_time){.p = p, .lanes = {.memory = p->memory}};
    tt_vector_init(&x->open, p->memory, sizeof(uint32_t));
    tt_vector_init(&x->path, p->memory, sizeof(uint32_t));
    tt_vector_init(&x->lanes.stretch, p->memory, sizeof(struct tt_stretch));
    error = tt_by_time_check(e);
    if (error)
        return error;
    x->parent = tt_parents_of(p);
    error = x->parent ? tt_lanes_init(&x->lanes, p, 0, p->memory) : -TT_ERR_MEMORY;
    if (!error)
        set_times(x);
    return error;
}

void tt_by_time_fini(struct tt_by_time *x)
{
    tt_lanes_fini(&x->lanes);
    tt_memory_put(x->p->memory, x->parent);
    tt_vector_fini(&x->path);
    tt_vector_fini(&x->open);
}

/* ── A thread's frames ────────────────────────────────────────────────────────────── */

struct walk {
    struct tt_by_time *x;
    tt_by_time_edge *open, *close;
    void *arg;
};

int tt_by_time_path(struct tt_by_time *x, uint32_t context)
{
    x->path.count = 0;
    do {
        uint32_t *next = tt_vector_add(&x->path, 1);
        if (!next)
            return -TT_ERR_MEMORY;
        *next = context;
        context = x->parent[context];
    } while (context);
    return 0;
}

static uint32_t at_depth(const struct tt_vector *path, size_t depth)
{
    return ((const uint32_t *)path->item)[path->count - 1 - depth];
}

static void close_above(struct walk *w, size_t depth, uint64_t until)
{
    const uint32_t *open = w->x->open.item;

    while (w->x->open.count > depth)
        w->close(w->arg, open[--w->x->open.count], until);
}

static int open_path(struct walk *w, uint64_t since)
{
    while (w->x->open.count < w->x->path.count) {
        const uint32_t context = at_depth(&w->x->path, w->x->open.count);
        uint32_t *next = tt_vector_add(&w->x->open, 1);
        if (!next)
            return -TT_ERR_MEMORY;
        *next = context;
        w->open(w->arg, context, since);
    }
    return 0;
}

/* How many open frames are those of the path? */
static size_t in_common(const struct tt_by_time *x)
{
    const uint32_t *open = x->open.item;
    size_t depth = 0;

    while (depth < x->open.count && depth < x->path.count &&
           open[depth] == at_depth(&x->path, depth))
        depth++;
    return depth;
}

int tt_by_time_walk(struct tt_by_time *x, uint32_t strand, tt_by_time_edge *open,
                    tt_by_time_edge *close, void *arg)
{
    const struct tt_lane *lane = &x->lanes.lane[strand];
    struct walk w = {x, open, close, arg};
    uint64_t end = 0;
    int error = 0;

    x->open.count = 0;
    for (size_t i = lane->first; !error && i < lane->end; i++) {
        const struct tt_stretch *s = (const struct tt_stretch *)x->lanes.stretch.item + i;
        const uint64_t from = s->from - x->start;
        TT_ASSERT(from >= end);
        error = tt_by_time_path(x, s->context);
        close_above(&w, !error && from == end ? in_common(x) : 0, end);
        if (!error)
            error = open_path(&w, from);
        end = s->to - x->start;
    }
    close_above(&w, 0, end);
    return error;
}
