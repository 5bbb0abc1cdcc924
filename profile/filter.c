/* SPDX-License-Identifier: MIT */
/* filter.c - profiles from which something has been taken, or put elsewhere.
 *
 * A filter goes over the contexts once and says for each where its figures go: to the
 * context of the same path, to its caller's, to none.  The builder does the rest.  Each
 * filter works on what the one before it has made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "query.h"

struct filtering {
    const struct tt_profile *p;
    struct tt_builder *b;
    struct tt_query *q;
    const struct tt_filter *f;
    unsigned char *match; /* of each block; NULL when the filter has no pattern */
    const struct tt_metric_columns
        *metric; /* of a prune by size, and the least to stay: */
    uint64_t least;
    uint32_t *map, *node; /* of each context: where its figures go; what it has become */
    unsigned char *muted; /* of each context */
    uint32_t pruned;      /* the block "[pruned]" */
};

static int wrong(struct tt_query *q, const char *about, const char *what)
{
    (void)snprintf(q->error, sizeof q->error, "'%.60s': %.90s", about, what);
    return -TT_ERR_OPTION;
}

static int matches(const struct filtering *f, uint32_t context)
{
    return context && f->match[tt_block_of(f->p, context)];
}

static uint32_t block_of(struct filtering *f, uint32_t context)
{
    return tt_builder_block_of(f->b, f->p, tt_block_of(f->p, context));
}

/* The context that the walk is at, and those above it as far as they are not there yet:
 * only what leads to something that is kept has a place in what comes out. */
static uint32_t keep_path(struct filtering *f, const struct tt_walk *w)
{
    uint32_t from = w->depth;

    while (from && f->node[w->path[from]] == TT_NONE)
        from--;
    for (uint32_t i = from + 1; i <= w->depth; i++)
        f->node[w->path[i]] = tt_builder_context(f->b, f->node[w->path[i - 1]],
                                                 block_of(f, w->path[i]));
    return f->node[w->context];
}

/* What has become of the context above the walk's. */
static uint32_t above(const struct filtering *f, const struct tt_walk *w)
{
    return w->depth ? f->node[w->path[w->depth - 1]] : TT_BUILDER_ROOT;
}

/* ── The filters ──────────────────────────────────────────────────────────────────── */

/* Each says where the figures of the context at hand go. */
typedef void filter_function(struct filtering *, struct tt_walk *);

/* Below a match everything is kept. */
static void select_paths(struct filtering *f, struct tt_walk *w)
{
    uint32_t parent = w->depth ? w->path[w->depth - 1] : 0;

    if (matches(f, w->context) || (w->depth && f->map[parent] != TT_NONE))
        f->map[w->context] = keep_path(f, w);
}

static void exclude_paths(struct filtering *f, struct tt_walk *w)
{
    if (matches(f, w->context))
        tt_walk_skip(w);
    else
        f->map[w->context] = keep_path(f, w);
}

static void fold_blocks(struct filtering *f, struct tt_walk *w)
{
    uint32_t c = w->context;

    if (matches(f, c)) {
        f->node[c] = above(f, w);
        f->muted[c] = 1;
    } else {
        f->node[c] = w->depth ? tt_builder_context(f->b, above(f, w), block_of(f, c))
                              : TT_BUILDER_ROOT;
    }
    f->map[c] = f->node[c];
}

static int is_pruned(const struct filtering *f, uint32_t context)
{
    if (f->match)
        return matches(f, context);
    return context && tt_total_of(f->p, f->metric, context) < f->least;
}

/* What is pruned becomes a row of its own below its caller, with all that it had. */
static void prune_parts(struct filtering *f, struct tt_walk *w)
{
    uint32_t end, row;

    if (!is_pruned(f, w->context)) {
        f->map[w->context] = keep_path(f, w);
        return;
    }
    row = tt_builder_context(f->b, above(f, w), f->pruned);
    end = tt_end_of(f->p, w->context);
    for (uint32_t c = w->context; c < end; c++)
        f->map[c] = f->node[c] = row;
    tt_walk_skip(w);
}

static void begin_paths(struct filtering *f, struct tt_walk *w)
{
    uint32_t c = w->context, parent = w->depth ? w->path[w->depth - 1] : 0;

    if (w->depth && f->map[parent] != TT_NONE)
        f->map[c] = tt_builder_context(f->b, f->map[parent], block_of(f, c));
    else if (matches(f, c))
        f->map[c] = tt_builder_context(f->b, TT_BUILDER_ROOT, block_of(f, c));
}

/* ── One filter ───────────────────────────────────────────────────────────────────── */

static filter_function *const functions[TT_FILTERS] = {
    [TT_FILTER_SELECT] = select_paths, [TT_FILTER_EXCLUDE] = exclude_paths,
    [TT_FILTER_FOLD] = fold_blocks,    [TT_FILTER_PRUNE] = prune_parts,
    [TT_FILTER_ROOT] = begin_paths,
};

static int choose_strands(struct filtering *f, struct tt_pattern *pattern)
{
    const struct tt_profile *p = f->p;
    unsigned char *chosen = tt_memory_get(f->q->memory, p->strands);
    uint32_t count = 0;
    int error = chosen ? 0 : -TT_ERR_MEMORY;

    for (uint32_t i = 0; chosen && i < p->strands; i++)
        count += chosen[i] = tt_pattern_matches_strand(pattern, p, i) != 0;
    if (!error && !count)
        error = wrong(f->q, f->f->pattern, "no strand is like this");
    else if (!error && count < p->strands && tt_profile_is_summary(p))
        error = wrong(f->q, f->f->pattern, "figures were not kept by strand");
    if (!error)
        error = tt_builder_strands_of(f->b, p, chosen);
    tt_memory_put(f->q->memory, chosen, p->strands);
    return error;
}

static int choose_size(struct filtering *f)
{
    const char *name = f->f->metric ? f->f->metric : f->q->metric;
    uint32_t m = tt_metric_find(f->p, name);

    if (m == TT_NONE)
        return tt_query_unknown_metric(f->q, f->p, name);
    f->metric = &f->p->metric[m];
    if (f->f->unit && strcmp(f->f->unit, f->metric->unit) != 0)
        return wrong(f->q, f->f->pattern, "the metric is of another unit");
    f->least = f->f->amount;
    if (f->f->share > 0)
        f->least = (uint64_t)(f->f->share * (double)tt_grand_total(f->p, f->metric) +
                              0.999999);
    return 0;
}

static int walk_tree(struct filtering *f)
{
    const size_t bytes = (size_t)f->p->contexts * sizeof(uint32_t);
    struct tt_walk w = {0};
    int error = -TT_ERR_MEMORY;

    f->map = tt_memory_get(f->q->memory, bytes);
    f->node = tt_memory_get(f->q->memory, bytes);
    f->muted = tt_memory_get(f->q->memory, f->p->contexts);
    if (f->map && f->node && f->muted && tt_walk_init(&w, f->p, 0) == 0) {
        memset(f->map, 0xff, bytes);
        memset(f->node, 0xff, bytes);
        f->node[0] = TT_BUILDER_ROOT;
        while (tt_walk_next(&w))
            functions[f->f->kind](f, &w);
        tt_walk_fini(&w);
        error = tt_builder_profile(f->b, f->p, f->map, f->muted);
    }
    tt_memory_put(f->q->memory, f->muted, f->p->contexts);
    tt_memory_put(f->q->memory, f->node, bytes);
    tt_memory_put(f->q->memory, f->map, bytes);
    return error;
}

/* By size alone a prune has no pattern. */
static int is_by_size(const struct tt_filter *f)
{
    return f->kind == TT_FILTER_PRUNE && (f->share > 0 || f->amount > 0);
}

static int filter_once(struct filtering *f)
{
    struct tt_pattern *pattern = NULL;
    char reason[128];
    int error;

    f->pruned = f->f->kind == TT_FILTER_PRUNE
                    ? tt_builder_block(f->b, &(struct tt_block_info){.name = "[pruned]"})
                    : 0;
    if (is_by_size(f->f)) {
        error = choose_size(f);
        return error ? error : walk_tree(f);
    }
    pattern = tt_pattern_new(f->f->pattern, reason, sizeof reason);
    if (!pattern)
        return wrong(f->q, f->f->pattern, reason);
    if (f->f->kind == TT_FILTER_STRAND) {
        error = choose_strands(f, pattern);
    } else {
        f->match = tt_pattern_blocks(pattern, f->p);
        error = f->match ? walk_tree(f) : -TT_ERR_MEMORY;
        free(f->match);
    }
    tt_pattern_free(pattern);
    return error;
}

/* ── All of them ──────────────────────────────────────────────────────────────────── */

void tt_filter_close(struct tt_filtered *o, const struct tt_memory *memory)
{
    if (o->image) {
        tt_profile_close(&o->own);
        tt_memory_put(memory, o->image, o->size);
    }
    *o = (struct tt_filtered){0};
}

/* Applies one filter to what `o` has, in place of it. */
static int apply_one(struct tt_filtered *o, struct tt_query *q, const struct tt_filter *f)
{
    struct filtering way = {.p = o->profile, .q = q, .f = f};
    struct tt_filtered next = {0};
    int error;

    way.b = tt_builder_new(q->memory);
    error = way.b ? filter_once(&way) : -TT_ERR_MEMORY;
    if (!error)
        error = tt_builder_finish(way.b, &next.image, &next.size);
    tt_builder_free(way.b);
    if (!error)
        error = tt_profile_open(&next.own, next.image, next.size, q->memory);
    if (error) {
        tt_memory_put(q->memory, next.image, next.size);
        return error;
    }
    tt_filter_close(o, q->memory);
    *o = next;
    o->profile = &o->own;
    return 0;
}

int tt_filter_apply(const struct tt_profile *p, struct tt_query *q, struct tt_filtered *o)
{
    const struct tt_filter *f = q->filter.item;

    *o = (struct tt_filtered){.profile = p};
    for (size_t i = 0; i < q->filter.count; i++) {
        int error = apply_one(o, q, &f[i]);
        if (error) {
            tt_filter_close(o, q->memory);
            return error;
        }
    }
    return 0;
}
