/* SPDX-License-Identifier: MIT */
/* by-time.c - see by-time.h. */
#include "by-time.h"

#include <stdio.h>

#include "assertion.h"
#include "samples.h"
#include "writers.h"

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
        return wrong(e, "this profile has no samples by time; leave the option out");
    if (strcmp(p->metric[metric].unit, "ns") != 0)
        return wrong(e, "the samples by time have no length in time; leave the option "
                        "out");
    if (is_of_several(p))
        return wrong(e, "some strands are several threads, whose samples overlap; leave "
                        "the option out");
    if (e->metric == TT_NONE || e->metric == metric)
        return 0;
    (void)snprintf(e->error, sizeof e->error,
                   "--by-time: the samples by time are of the metric '%.60s' alone",
                   p->metric[metric].name);
    return -TT_ERR_OPTION;
}

/* Times and weights of samples are rounded, but not those of events.  A sample that begins less than half of its
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
    const int is_exact = tt_fact_text(x->p, TT_FACT_BEGAN) != NULL;

    x->start = UINT64_MAX;
    for (uint32_t i = 0; !is_exact && i < x->lanes.lanes; i++)
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
    x->depth = tt_memory_get(p->memory, p->contexts * sizeof *x->depth);
    error = x->parent && x->depth ? tt_lanes_init(&x->lanes, p, 0, NULL, p->memory)
                                  : -TT_ERR_MEMORY;
    if (!error)
        set_times(x);
    return error;
}

void tt_by_time_fini(struct tt_by_time *x)
{
    tt_lanes_fini(&x->lanes);
    tt_memory_put(x->p->memory, x->depth);
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

static void close_above(struct walk *w, size_t depth, uint64_t until)
{
    const uint32_t *open = w->x->open.item;

    while (w->x->open.count > depth)
        w->close(w->arg, open[--w->x->open.count], until);
}

static int is_open(const struct tt_by_time *x, uint32_t context)
{
    const uint32_t at = x->depth[context];

    return at < x->open.count && ((const uint32_t *)x->open.item)[at] == context;
}

/* Puts the frames of a context that are not open into x->path, the innermost first.  `kept`:
 * how many of the open ones are its.  The root is a frame only if it is alone. */
static int find_missing(struct tt_by_time *x, uint32_t context, size_t *kept)
{
    x->path.count = *kept = 0;
    do {
        if (is_open(x, context)) {
            *kept = x->depth[context] + 1;
            return 0;
        }
        if (tt_vector_push(&x->path, &(uint32_t){context}) != 0)
            return -TT_ERR_MEMORY;
        context = x->parent[context];
    } while (context);
    return 0;
}

static int open_missing(struct walk *w, uint64_t since)
{
    struct tt_by_time *x = w->x;

    while (x->path.count) {
        const uint32_t context = ((const uint32_t *)x->path.item)[--x->path.count];
        if (tt_vector_push(&x->open, &context) != 0)
            return -TT_ERR_MEMORY;
        x->depth[context] = (uint32_t)x->open.count - 1;
        w->open(w->arg, context, since);
    }
    return 0;
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
        size_t kept;
        TT_ASSERT(from >= end);
        if (from > end)
            close_above(&w, 0, end);
        error = find_missing(x, s->context, &kept);
        close_above(&w, kept, end);
        error = error ?: open_missing(&w, from);
        end = s->to - x->start;
    }
    close_above(&w, 0, end);
    return error;
}
