/* SPDX-License-Identifier: MIT */
/* filter.c - filters: profiles from which parts are removed, or moved.
 *
 * A filter reads a path block by block, from the root, and writes another path, or
 * rejects the path.  So any number of filters is applied in one walk over the contexts.
 * Each reads the output of the one before it, with two bits a filter for every open
 * context:
 *
 *      main → parse → list → gc        fold=parse        main → list → gc
 *                                      root=list         list → gc
 *
 * What collapses recursion is the last one of its walk: what is below continues at another
 * context of the path (`same`).  `kept` has the path without what was collapsed, and `last`
 * where a block was put there last, so a search takes one step, however deep the path is.
 *
 * The walk gives each context its place in a builder, which then moves all figures there.
 * Only a prune by size uses figures: it begins a separate walk, over the result of the
 * filters before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "filter.h"
#include "finish.h"
#include "groups.h"
#include "metric-view.h"
#include "pattern.h"
#include "samples.h"
#include "several.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum {
    STAGES = 32,      /* filters of one walk: bits of a level */
    AT_ONCE = 1 << 16 /* contexts between two questions whether the answer is wanted */
};

struct stage {
    enum tt_filter_kind kind;
    unsigned char *match; /* owned; of each block, and of "[pruned]"; NULL: by size */
    const char *missing;  /* of select and root, the pattern that no block is like */
};

struct level {       /* a context that is open, or a push that was dropped */
    uint32_t node;   /* the builder's context; TT_NONE: it has not been made */
    uint32_t block;  /* that it has become; TT_NONE: it is part of its parent */
    uint32_t inside; /* of each stage: is a match at it, or above? */
    uint32_t folded; /* of each stage: is it a block that was spliced out? */
    uint32_t same; /* depth of the level whose context it has become; TT_NONE: its own */
    uint32_t rank; /* how many collapsible ones are on its path, itself included */
    int is_kept;   /* it is one of them, in place of: */
    uint32_t kept_before, last_before;
    int wanted;
};

struct pass {
    const struct tt_profile *p;
    struct tt_query *q;
    struct tt_builder *b;
    struct stage stage[STAGES];
    uint32_t stages;
    struct tt_range range;      /* of time; `to` 0: all of it */
    struct tt_metric_view lens; /* of a prune by size, which is the first stage */
    uint64_t least;
    unsigned char *strand, *used; /* used: a bit a context; both NULL: of all strands */
    uint32_t *block;              /* the builder's, of each block and of "[pruned]" */
    int is_plain;                 /* what is left of a path is the path itself */
    struct level *level;          /* by depth */
    uint32_t open;                /* levels of the path that the walk is at */
    uint32_t *kept; /* of what collapses, depths: of the collapsible ones on the path */
    uint32_t *last; /* of each block, in the last level that put it there; TT_NONE */
    uint32_t *context, *drop, arc;
    unsigned char *muted;
};

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

/* One stage reads a block, or none, and writes one, or none. */
static void read_one(const struct stage *s, uint32_t bit, uint32_t pruned, int is_small,
                     struct level *l)
{
    int is_match = s->match ? l->block != TT_NONE && s->match[l->block] : is_small;
    int was_inside = (l->inside & bit) != 0;

    if (is_match)
        l->inside |= bit;
    switch (s->kind) {
    case TT_FILTER_SELECT:
        l->wanted &= is_match || was_inside;
        break;
    case TT_FILTER_EXCLUDE:
        l->wanted &= !is_match && !was_inside;
        break;
    case TT_FILTER_FOLD:
        if (l->block != TT_NONE)
            l->folded = is_match ? l->folded | bit : l->folded & ~bit;
        if (is_match)
            l->block = TT_NONE;
        break;
    case TT_FILTER_PRUNE:
        l->block = was_inside ? TT_NONE : is_match ? pruned : l->block;
        break;
    case TT_FILTER_COLLAPSE: /* see collapse */
        break;
    default: /* TT_FILTER_ROOT */
        if (!is_match && !was_inside) {
            l->block = TT_NONE;
            l->wanted = 0;
        }
    }
}

static int collapses(const struct pass *f, const struct level *l)
{
    const struct stage *s = f->stages ? &f->stage[f->stages - 1] : NULL;

    return s && s->kind == TT_FILTER_COLLAPSE && l->block != TT_NONE &&
           s->match[l->block];
}

/* Finds the block of a level on the path above it, where each that collapses is once.  If its last
 * level has been cut off from that path, no other is on it: that one would have been continued. */
static int find_same(const struct pass *f, struct level *l)
{
    const uint32_t i = f->last[l->block], rank = i == TT_NONE ? 0 : f->level[i].rank - 1;

    if (i == TT_NONE || rank >= l->rank || f->kept[rank] != i)
        return 0;
    l->same = i;
    l->rank = rank + 1;
    return 1;
}

static void collapse(struct pass *f, uint32_t depth, struct level *l)
{
    if (!collapses(f, l) || find_same(f, l))
        return;
    l->is_kept = 1;
    l->kept_before = f->kept[l->rank];
    l->last_before = f->last[l->block];
    f->kept[l->rank++] = depth;
    f->last[l->block] = depth;
}

/* The walk leaves the levels from a depth on, the deepest first. */
static void leave_levels(struct pass *f, uint32_t depth)
{
    for (; f->open > depth; f->open--) {
        const struct level *l = &f->level[f->open - 1];
        if (l->is_kept) {
            f->kept[l->rank - 1] = l->kept_before;
            f->last[l->block] = l->last_before;
        }
    }
}

static struct level read_block(const struct pass *f, const struct level *above,
                               uint32_t block, int is_small)
{
    struct level l = *above;

    l.node = l.same = TT_NONE;
    l.is_kept = 0;
    l.block = block == TT_BUILDER_ROOT ? TT_NONE : block;
    l.wanted = 1;
    for (uint32_t i = 0; i < f->stages; i++)
        read_one(&f->stage[i], 1u << i, f->p->blocks, is_small, &l);
    return l;
}

/* Two paths may become one, except if they stay as they are. */
static uint32_t context_below(struct pass *f, uint32_t node, uint32_t block)
{
    return f->is_plain ? tt_builder_new_context(f->b, node, f->block[block])
                       : tt_builder_context(f->b, node, f->block[block]);
}

/* Returns the builder's context for the open one at a depth.  It is made only if
 * something is wanted there or below, so rejected paths leave no contexts. */
static uint32_t node_at(struct pass *f, uint32_t depth)
{
    struct level *l = f->level;
    uint32_t i = depth;

    while (l[i].node == TT_NONE)
        i--;
    for (i++; i <= depth; i++)
        l[i].node = l[i].same != TT_NONE    ? l[l[i].same].node
                    : l[i].block == TT_NONE ? l[i - 1].node
                                            : context_below(f, l[i - 1].node, l[i].block);
    return l[depth].node;
}

/* A dropped push is a leaf below the context it came from.  It stays a dropped push,
 * unless it has become part of something that was pruned, or leads back into the path. */
static uint32_t place_drop(struct pass *f, uint32_t depth, uint32_t block)
{
    struct level l = read_block(f, &f->level[depth], block, 0);
    uint32_t from;

    if (!l.wanted || l.folded)
        return TT_NONE;
    from = node_at(f, depth);
    if (collapses(f, &l) && find_same(f, &l))
        return tt_builder_arc(f->b, from, f->level[l.same].node, f->block[block]) |
               TT_ARC_ROW;
    if (l.block == block)
        return tt_builder_arc(f->b, from, from, f->block[block]) | TT_ARC_ROW;
    return l.block == TT_NONE ? from : tt_builder_context(f->b, from, f->block[l.block]);
}

static int is_small(const struct pass *f, uint32_t context)
{
    return f->least && context && tt_metric_view_total(&f->lens, context) < f->least;
}

static int is_used(const struct pass *f, uint32_t context)
{
    return !f->used || f->used[context / 8] >> (context % 8) & 1;
}

static int place_context(struct pass *f, const struct tt_walk *w)
{
    static const struct level top;
    const struct tt_profile *p = f->p;
    const uint32_t c = w->context;
    struct level *l = &f->level[w->depth];

    leave_levels(f, w->depth);
    *l = read_block(f, w->depth ? l - 1 : &top, tt_block_of(p, c), is_small(f, c));
    collapse(f, w->depth, l);
    f->open = w->depth + 1;
    if (w->depth == 0)
        l->node = TT_BUILDER_ROOT;
    if (l->wanted && is_used(f, c)) {
        f->context[c] = node_at(f, w->depth);
        if (f->context[c] == TT_NONE)
            return -TT_ERR_MEMORY;
        if (f->muted)
            f->muted[c] = l->folded != 0;
    }
    for (; !f->range.to && f->arc < p->arcs && p->arc[f->arc].from <= c; f->arc++)
        if (p->arc[f->arc].from == c && tt_arc_is_dropped(p, &p->arc[f->arc]) &&
            is_used(f, c))
            f->drop[f->arc] = place_drop(f, w->depth, p->arc[f->arc].block);
    return 0;
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

static void use(struct pass *f, uint32_t c)
{
    f->used[c / 8] = (unsigned char)(f->used[c / 8] | 1u << (c % 8));
}

static void use_row(struct pass *f, uint64_t row)
{
    const struct tt_profile *p = f->p;
    const uint64_t arcs = (uint64_t)p->contexts + p->arcs,
                   blocks = arcs + 2 * (uint64_t)p->blocks;

    if (row < p->contexts) {
        use(f, (uint32_t)row);
    } else if (row < arcs) {
        use(f, p->arc[row - p->contexts].from);
        use(f, p->arc[row - p->contexts].to);
    } else if (row >= blocks) {
        use(f, (uint32_t)((row - blocks) % p->contexts));
    }
}

/* Contexts that only other strands have are left out. */
static int find_used(struct pass *f)
{
    const struct tt_profile *p = f->p;

    if (!f->range.to && (!f->strand || !p->entries))
        return 0;
    f->used = tt_memory_get(f->q->memory, (size_t)p->contexts / 8 + 1);
    if (!f->used)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; f->range.to && i < p->samples; i++)
        if (tt_range_has(p, &f->range, &p->sample[i]))
            use(f, p->sample[i].context);
    for (size_t i = 0; f->strand && i < p->entries; i++)
        if (f->strand[p->entry[i].strand])
            use_row(f, p->entry[i].row);
    for (size_t i = 0; f->strand && i < p->many_times; i++)
        if (p->times[i].strand != TT_NONE && f->strand[p->times[i].strand])
            use_row(f, p->times[i].row);
    return 0;
}

/* ── One walk ─────────────────────────────────────────────────────────────────────── */

static int has_stage(const struct pass *f, enum tt_filter_kind kind)
{
    for (uint32_t i = 0; i < f->stages; i++)
        if (f->stage[i].kind == kind)
            return 1;
    return 0;
}

/* Do the filters remove figures, and not only move them? */
static int takes_away(const struct pass *f)
{
    return f->strand || f->range.to || has_stage(f, TT_FILTER_SELECT) ||
           has_stage(f, TT_FILTER_EXCLUDE) || has_stage(f, TT_FILTER_ROOT);
}

static int is_plain(const struct pass *f)
{
    return !has_stage(f, TT_FILTER_FOLD) && !has_stage(f, TT_FILTER_PRUNE) &&
           !has_stage(f, TT_FILTER_ROOT) && !has_stage(f, TT_FILTER_COLLAPSE);
}

static size_t levels_of(const struct pass *f) { return (size_t)f->p->depth + 1; }

static int allocate_collapsing(struct pass *f)
{
    const size_t blocks = (size_t)f->p->blocks + 1;

    if (!has_stage(f, TT_FILTER_COLLAPSE))
        return 0;
    f->kept = tt_memory_get(f->q->memory, levels_of(f) * sizeof *f->kept);
    f->last = tt_memory_get(f->q->memory, blocks * sizeof *f->last);
    if (!f->kept || !f->last)
        return -TT_ERR_MEMORY;
    memset(f->last, 0xff, blocks * sizeof *f->last);
    return 0;
}

static int allocate(struct pass *f)
{
    const struct tt_memory *m = f->q->memory;
    const size_t n = f->p->contexts, arcs = f->p->arcs;

    f->is_plain = is_plain(f);
    f->b = tt_builder_new(m);
    if (f->b)
        tt_builder_expect(f->b, f->is_plain ? n : 0);
    f->block = tt_memory_get(m, ((size_t)f->p->blocks + 1) * sizeof *f->block);
    f->level = tt_memory_get(m, levels_of(f) * sizeof *f->level);
    f->context = tt_memory_get(m, n * sizeof *f->context);
    f->drop = tt_memory_get(m, arcs * sizeof *f->drop);
    if (has_stage(f, TT_FILTER_FOLD) && !(f->muted = tt_memory_get(m, n)))
        return -TT_ERR_MEMORY;
    if (!f->b || !f->block || !f->level || !f->context || !f->drop || find_used(f) != 0 ||
        allocate_collapsing(f) != 0)
        return -TT_ERR_MEMORY;
    memset(f->context, 0xff, n * sizeof *f->context);
    memset(f->drop, 0xff, arcs * sizeof *f->drop);
    return 0;
}

static void release(struct pass *f)
{
    const struct tt_memory *m = f->q->memory;

    for (uint32_t i = 0; i < f->stages; i++)
        free(f->stage[i].match);
    tt_memory_put(m, f->used);
    tt_memory_put(m, f->muted);
    tt_memory_put(m, f->last);
    tt_memory_put(m, f->kept);
    tt_memory_put(m, f->drop);
    tt_memory_put(m, f->context);
    tt_memory_put(m, f->level);
    tt_memory_put(m, f->block);
    tt_memory_put(m, f->strand);
    tt_builder_free(f->b);
    tt_metric_view_fini(&f->lens);
}

/* Is everything below excluded? */
static int is_excluded(const struct pass *f, const struct level *l)
{
    for (uint32_t i = 0; i < f->stages; i++)
        if (f->stage[i].kind == TT_FILTER_EXCLUDE && l->inside >> i & 1)
            return 1;
    return 0;
}

static void place_blocks(struct pass *f)
{
    for (uint32_t i = 0; i < f->p->blocks; i++)
        f->block[i] = tt_builder_block_of(f->b, f->p, i);
    if (has_stage(f, TT_FILTER_PRUNE))
        f->block[f->p->blocks] = tt_builder_block(
            f->b, &(struct tt_block_info){.name = "[pruned]"});
}

static int walk(struct pass *f)
{
    struct tt_walk w;
    int error = 0;

    place_blocks(f);
    if (tt_walk_init(&w, f->p, 0) != 0)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; !error && tt_walk_next(&w); i++) {
        error = i % AT_ONCE ? 0 : tt_query_ask(f->q);
        error = error ?: place_context(f, &w);
        if (is_excluded(f, &f->level[w.depth]))
            tt_walk_skip(&w);
    }
    tt_walk_fini(&w);
    return error;
}

/* Notes patterns that matched nothing: the result is then empty like an empty profile. */
static void add_missing(struct pass *f)
{
    for (uint32_t i = 0; i < f->stages; i++)
        if (f->stage[i].missing)
            tt_builder_fact(f->b, TT_NOTHING_LIKE, TT_FACT_EACH, 1, f->stage[i].missing);
}

/* Makes the result from what was collected in `f`. */
static int run(struct pass *f, struct tt_filtered *next)
{
    int error = allocate(f);

    if (!error)
        add_missing(f);
    error = error ?: walk(f);
    if (!error && f->range.to)
        error = tt_builder_range(f->b, f->p, &f->range, f->context);
    else if (!error)
        error = tt_builder_filtered(f->b, f->p,
                                    &(struct tt_parts){.context = f->context,
                                                       .drop = f->drop,
                                                       .muted = f->muted,
                                                       .strand = f->strand,
                                                       .same_paths = !f->stages,
                                                       .stays = 1,
                                                       .less = takes_away(f)});
    error = error ?: tt_query_ask(f->q);
    error = error ?: tt_builder_finish(f->b, &next->image, &next->size);
    error = error ?: tt_profile_open(&next->own, next->image, next->size, f->q->memory);
    if (error) {
        tt_memory_put(f->q->memory, next->image);
        next->image = NULL;
    }
    return error;
}

/* ── What a walk is to do ─────────────────────────────────────────────────────────── */

static int wrong(struct pass *f, const char *about, const char *what)
{
    (void)snprintf(f->q->error, sizeof f->q->error, "'%.60s': %.90s", about, what);
    return -TT_ERR_OPTION;
}

static int add_strands(struct pass *f, const struct tt_filter *filter,
                       const struct tt_pattern *pattern)
{
    const struct tt_profile *p = f->p;
    uint32_t count = 0;

    if (!f->strand) {
        f->strand = tt_memory_get(f->q->memory, p->strands);
        if (!f->strand)
            return -TT_ERR_MEMORY;
        memset(f->strand, 1, p->strands);
    }
    for (uint32_t i = 0; i < p->strands; i++) {
        f->strand[i] &= tt_pattern_matches_strand(pattern, p, i) != 0;
        count += f->strand[i];
    }
    if (!count)
        return wrong(f, filter->pattern,
                     "no thread, process or rank matches; by number: "
                     "pid:12, thread:12 or rank:2");
    if (count < p->strands && tt_profile_is_summary(p))
        return wrong(f, filter->pattern, "the profile has no figures by strand");
    if (count == p->strands) { /* nothing is taken away */
        tt_memory_put(f->q->memory, f->strand);
        f->strand = NULL;
    }
    return 0;
}

static int add_blocks(struct pass *f, const struct tt_filter *filter,
                      const struct tt_pattern *pattern)
{
    unsigned char *match = tt_pattern_blocks(pattern, f->p);
    int is_missing;

    if (!match)
        return -TT_ERR_MEMORY;
    match[f->p->blocks] = (unsigned char)tt_pattern_matches(pattern, "[pruned]");
    is_missing = !memchr(match + 1, 1, f->p->blocks);
    if (is_missing && filter->kind != TT_FILTER_SELECT &&
        filter->kind != TT_FILTER_ROOT) {
        free(match); /* nothing is taken away */
        return 0;
    }
    f->stage[f->stages++] = (struct stage){.kind = filter->kind,
                                           .match = match,
                                           .missing = is_missing ? filter->pattern
                                                                 : NULL};
    return 0;
}

/* Charges costs to the nearest of these blocks on the path, as with cost centres; folds
 * all other blocks.  `more`: adds to the centres before. */
static int add_centres(struct pass *f, const struct tt_pattern *pattern, int more)
{
    unsigned char *match = tt_pattern_blocks(pattern, f->p), *others;

    if (!match)
        return -TT_ERR_MEMORY;
    if (!more || !f->stages) {
        for (uint32_t i = 0; i < f->p->blocks; i++)
            match[i] = !match[i];
        match[f->p->blocks] = !tt_pattern_matches(pattern, "[pruned]");
        f->stage[f->stages++] = (struct stage){.kind = TT_FILTER_FOLD, .match = match};
        return 0;
    }
    others = f->stage[f->stages - 1].match;
    for (uint32_t i = 0; i < f->p->blocks; i++)
        others[i] &= !match[i];
    others[f->p->blocks] &= !tt_pattern_matches(pattern, "[pruned]");
    free(match);
    return 0;
}

static int add_pattern(struct pass *f, const struct tt_filter *filter, int more)
{
    char reason[128];
    struct tt_pattern *pattern = tt_pattern_new(filter->pattern, reason, sizeof reason);
    int error;

    if (!pattern)
        return wrong(f, filter->pattern, reason);
    if (filter->kind == TT_FILTER_STRAND)
        error = add_strands(f, filter, pattern);
    else if (filter->kind == TT_FILTER_CENTRE)
        error = add_centres(f, pattern, more);
    else
        error = add_blocks(f, filter, pattern);
    tt_pattern_free(pattern);
    return error;
}

static int add_range(struct pass *f, const struct tt_filter *filter)
{
    char reason[100];

    if (tt_range_find(f->p, filter->pattern, &f->range, reason, sizeof reason) != 0) {
        f->range.to = 0;
        return wrong(f, filter->pattern, reason);
    }
    /* Without samples, the range is for a series. */
    return f->p->samples && tt_samples_metric(f->p) == TT_NONE
               ? tt_query_unknown_metric(f->q, f->p, "time")
               : 0;
}

static int add_size(struct pass *f, const struct tt_filter *filter)
{
    const char *name = filter->metric ? filter->metric : f->q->metric;
    struct tt_metric_choice choice = {tt_metric_find(f->p, name), TT_NONE, TT_NONE, NULL,
                                      0};

    if (choice.main == TT_NONE && name == f->q->metric) {
        struct tt_several several;
        if (tt_several_find(f->p, f->q, &several) != 0)
            return -TT_ERR_OPTION;
        choice.main = several.count ? several.metric[0] : TT_NONE;
    }
    if (choice.main == TT_NONE)
        return tt_query_unknown_metric(f->q, f->p, name);
    choice.column = &f->p->metric[choice.main];
    if (filter->unit && strcmp(filter->unit, choice.column->unit) != 0)
        return wrong(f, filter->pattern, "the metric has another unit");
    choice.total = tt_grand_total(f->p, choice.column);
    f->least = filter->share > 0 ? tt_least_amount(filter->share, choice.total)
                                 : filter->amount;
    f->stage[f->stages++] = (struct stage){.kind = TT_FILTER_PRUNE};
    return tt_metric_view_of_choice(&f->lens, f->p, &choice, f->q->memory);
}

/* A prune by size alone has no pattern. */
static int is_by_size(const struct tt_filter *f)
{
    return f->kind == TT_FILTER_PRUNE && (f->share > 0 || f->amount > 0);
}

/* Is it one of several centres in a row, and not the first? */
static int is_further_centre(const struct tt_filter *filter, size_t i)
{
    return i && filter[i].kind == TT_FILTER_CENTRE &&
           filter[i - 1].kind == TT_FILTER_CENTRE;
}

static int is_collapsing(const struct pass *f)
{
    return f->stages && f->stage[f->stages - 1].kind == TT_FILTER_COLLAPSE;
}

/* Collects as many of a query's filters as one walk can do. */
static int collect(struct pass *f, size_t *done)
{
    const struct tt_filter *filter = f->q->filter.item;
    int error = 0;

    for (; !error && *done < f->q->filter.count; ++*done) {
        const int further = is_further_centre(filter, *done),
                  begun = f->stages || f->strand;
        if (f->range.to || is_collapsing(f) || (f->stages >= STAGES && !further) ||
            (begun && filter[*done].kind == TT_FILTER_TIME))
            break;
        if (filter[*done].kind == TT_FILTER_TIME)
            error = add_range(f, &filter[*done]);
        else if (!is_by_size(&filter[*done]))
            error = add_pattern(f, &filter[*done], further);
        else if (f->stages || f->strand)
            break;
        else
            error = add_size(f, &filter[*done]);
    }
    return error;
}

/* ── All of them ──────────────────────────────────────────────────────────────────── */

void tt_filter_close(struct tt_filtered *o, const struct tt_memory *memory)
{
    if (o->image) {
        tt_profile_close(&o->own);
        tt_memory_put(memory, o->image);
    }
    *o = (struct tt_filtered){0};
}

/* Filters do not change the default metric. */
static void keep_usual(struct tt_profile *own, const struct tt_profile *p)
{
    uint32_t metric = tt_metric_find(p, NULL);

    if (metric != TT_NONE)
        metric = tt_metric_find(own, p->metric[metric].name);
    own->usual = metric != TT_NONE ? metric + 1 : 0;
}

int tt_filter_group(const struct tt_query *q)
{
    const char *by = tt_query_other(q, "by");
    const struct tt_named_view *view = tt_view_named(q->view);

    if (!by || (view && tt_view_key_named(view, "by")))
        return -1;
    return tt_group_find(by);
}

static int apply_groups(const struct tt_profile *p, struct tt_query *q,
                        struct tt_filtered *o)
{
    const int group = tt_filter_group(q);
    struct tt_filtered next;
    int error;

    if (group < 0)
        return 0;
    error = tt_groups_apply(o->profile, q, (enum tt_group)group, &next);
    if (error || !next.image)
        return error;
    tt_filter_close(o, q->memory);
    *o = next;
    o->profile = &o->own;
    keep_usual(&o->own, p);
    o->own.whole = p->whole ? p->whole : p;
    return 0;
}

int tt_filter_apply(const struct tt_profile *p, struct tt_query *q, struct tt_filtered *o)
{
    size_t done = 0;
    int error = 0;

    *o = (struct tt_filtered){.profile = p};
    while (!error && done < q->filter.count) {
        struct pass f = {.p = o->profile, .q = q};
        struct tt_filtered next = {0};
        error = collect(&f, &done);
        if (!error && (f.stages || f.strand || f.range.to))
            error = run(&f, &next);
        release(&f);
        if (!next.image)
            continue;
        tt_filter_close(o, q->memory);
        *o = next;
        o->profile = &o->own;
        keep_usual(&o->own, p);
        o->own.whole = p->whole ? p->whole : p;
    }
    error = error ?: apply_groups(p, q, o);
    if (error)
        tt_filter_close(o, q->memory);
    return error;
}
