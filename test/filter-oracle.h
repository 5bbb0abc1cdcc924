/* SPDX-License-Identifier: MIT */
/* filter-oracle.h - the expected result of filters on a random profile: each path of the
 * model, as a list of blocks, is changed by hand, and its figures are added to the
 * resulting path.
 *
 * A dropped arc is a separate path, one block longer than where it came from.  Filters
 * are applied one after the other, each to the whole model. */
#ifndef TEST_FILTER_ORACLE_H
#define TEST_FILTER_ORACLE_H

#include "view-oracle.h"

struct step {
    enum tt_filter_kind kind;
    char text[64];    /* the query's value */
    int metric;       /* of a prune by size; -1: by name */
    uint64_t least;   /* of it */
    unsigned strands; /* a bit for each of the model's that it is for */
    const struct step
        *before; /* of centres in a row, which are one step; NULL: the first */
};

static inline const char *step_key(const struct step *s)
{
    static const char *const keys[TT_FILTERS] = {
        [TT_FILTER_SELECT] = "select", [TT_FILTER_EXCLUDE] = "exclude",
        [TT_FILTER_FOLD] = "fold",     [TT_FILTER_PRUNE] = "prune",
        [TT_FILTER_ROOT] = "root",     [TT_FILTER_STRAND] = "strand",
        [TT_FILTER_CENTRE] = "centre", [TT_FILTER_COLLAPSE] = "collapse",
    };

    return keys[s->kind];
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

/* A name; "x*": what begins so; "/x/": what contains it. */
static inline int is_like(const struct model *m, int block, const char *pattern)
{
    const char *name = m->block[block].info.name;
    size_t length = strlen(pattern);
    char inner[64] = "";

    if (pattern[0] == '/') {
        memcpy(inner, pattern + 1, length - 2);
        return strstr(name, inner) != NULL;
    }
    if (pattern[length - 1] == '*')
        return strncmp(name, pattern, length - 1) == 0;
    return strcmp(name, pattern) == 0;
}

/* Is it spliced out? */
static inline int is_folded(const struct model *m, int block, const struct step *s)
{
    if (s->kind == TT_FILTER_FOLD)
        return is_like(m, block, s->text);
    for (; s; s = s->before)
        if (is_like(m, block, s->text))
            return 0;
    return 1;
}

static inline int pruned_block(const struct model *m)
{
    for (int i = 0; i < m->blocks; i++)
        if (strcmp(m->block[i].info.name, "[pruned]") == 0)
            return i;
    return -1;
}

/* What a path has, with all below; its own dropped pushes are below it. */
static inline uint64_t cost_below(const struct model *m, const struct model_path *above,
                                  int metric)
{
    uint64_t sum = model_total(m, above, metric);

    for (int i = 0; metric == m->calls && i < m->arcs; i++)
        if (model_is_dropped(m, &m->arc[i]) &&
            model_begins_with(&m->path[m->arc[i].from], above))
            sum += model_arc_calls(&m->arc[i]);
    return sum;
}

static inline int is_step_small(const struct model *m, const struct step *s,
                                const struct model_path *p, int depth)
{
    struct model_path above = *p;

    above.depth = depth;
    return cost_below(m, &above, s->metric) < s->least;
}

/* Each block that matches begins again where it was on the path. */
static inline int collapse_path(const struct model *m, const struct step *s,
                                const struct model_path *p, int *block)
{
    int depth = 0;

    for (int i = 0; i < p->depth; i++) {
        int at = 0;
        while (at < depth && block[at] != p->block[i])
            at++;
        if (!is_like(m, p->block[i], s->text))
            at = depth;
        block[at] = p->block[i];
        depth = at + 1;
    }
    return depth;
}

/* Does a dropped push lead back into the path that `from` has become? */
static inline int leads_back(const struct model *m, const struct step *s,
                             const struct model_path *from,
                             const struct model_path *after)
{
    int block[MODEL_DEPTH + 1];

    return s->kind == TT_FILTER_COLLAPSE &&
           after->depth <= collapse_path(m, s, from, block);
}

/* The path that `p` becomes; 0: it is not wanted.  `sized`: its depth as far as it may be
 * too small.  *folded: its last block was spliced out. */
static inline int step_path(const struct model *m, const struct step *s,
                            const struct model_path *p, int sized, struct model_path *to,
                            int *folded)
{
    int first = 0, by_size = s->kind == TT_FILTER_PRUNE && s->metric >= 0;

    *folded = 0;
    *to = (struct model_path){.depth = p->depth};
    memcpy(to->block, p->block, sizeof p->block);
    if (s->kind == TT_FILTER_STRAND)
        return 1;
    if (s->kind == TT_FILTER_COLLAPSE) {
        to->depth = collapse_path(m, s, p, to->block);
        return 1;
    }
    while (first < p->depth &&
           (by_size ? first >= sized || !is_step_small(m, s, p, first + 1)
                    : !is_like(m, p->block[first], s->text)))
        first++;
    switch (s->kind) {
    case TT_FILTER_SELECT:
        return first < p->depth;
    case TT_FILTER_EXCLUDE:
        return first == p->depth;
    case TT_FILTER_FOLD:
    case TT_FILTER_CENTRE:
        to->depth = 0;
        for (int i = 0; i < p->depth; i++) {
            *folded = is_folded(m, p->block[i], s);
            if (!*folded)
                to->block[to->depth++] = p->block[i];
        }
        return 1;
    case TT_FILTER_PRUNE:
        if (first < p->depth) {
            to->block[first] = pruned_block(m);
            to->depth = first + 1;
        }
        return 1;
    default: /* TT_FILTER_ROOT */
        if (first == p->depth)
            return 0;
        to->depth -= first;
        memmove(to->block, p->block + first, (size_t)to->depth * sizeof *p->block);
        return 1;
    }
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static inline void add_figures(struct model_figures *to, const struct model_figures *from,
                               int but)
{
    for (int s = 0; s < MODEL_STRANDS; s++)
        for (int k = 0; k < MODEL_METRICS; k++)
            if (k != but)
                to->of[s][k] += from->of[s][k];
}

static inline void add_times(struct model_times *to, const struct model_times *from)
{
    for (int s = 0; s < MODEL_STRANDS; s++, to++, from++) {
        if (!from->count)
            continue;
        if (!to->count || from->min < to->min)
            to->min = from->min;
        if (from->max > to->max)
            to->max = from->max;
        to->count += from->count;
        to->sum += from->sum;
        to->square += from->square;
        to->children += from->children;
        to->recursive += from->recursive;
    }
}

static inline void add_calls(struct model *m, int path, const struct model_arc *a)
{
    for (int s = 0; m->calls >= 0 && s < MODEL_STRANDS; s++)
        m->path[path].self.of[s][m->calls] += a->calls[s];
}

static inline void add_step_arc(struct model *m, int from, int to,
                                const struct model_arc *a)
{
    struct model_arc *x = m->arc;

    while (x < m->arc + m->arcs &&
           (x->from != from || x->to != to || x->block != a->block))
        x++;
    if (x == m->arc + m->arcs) {
        *x = (struct model_arc){.from = from, .to = to, .block = a->block};
        m->arcs++;
    }
    for (int s = 0; s < MODEL_STRANDS; s++)
        x->calls[s] += a->calls[s];
    add_times(x->times, a->times);
}

static inline void step_dropped(const struct model *m, const struct step *s,
                                const struct model_arc *a, struct model *to)
{
    struct model_path leaf = m->path[a->from], after;
    int folded, at, sized = leaf.depth;

    leaf.block[leaf.depth++] = a->block;
    if (!step_path(m, s, &leaf, sized, &after, &folded) || folded)
        return;
    if (leads_back(m, s, &m->path[a->from], &after)) {
        struct model_path from = {0};
        from.depth = collapse_path(m, s, &m->path[a->from], from.block);
        at = model_context(to, after.block, after.depth);
        add_calls(to, at, a);
        add_step_arc(to, model_context(to, from.block, from.depth), at, a);
        return;
    }
    if (after.block[after.depth - 1] != a->block) {
        at = model_context(to, after.block, after.depth);
        add_calls(to, at, a);
        add_times(to->path[at].times, a->times);
        return;
    }
    at = model_context(to, after.block, after.depth - 1);
    add_step_arc(to, at, at, a);
    if (model_block_at(&to->path[at]) == a->block) /* it leads back now */
        add_calls(to, at, a);
}

static inline void step_arc(const struct model *m, const struct step *s,
                            const struct model_arc *a, struct model *to)
{
    struct model_path from, end;
    int folded, gone, at;

    if (model_is_dropped(m, a)) {
        step_dropped(m, s, a, to);
        return;
    }
    gone = !step_path(m, s, &m->path[a->from], MODEL_DEPTH, &from, &folded);
    gone |= !step_path(m, s, &m->path[a->to], MODEL_DEPTH, &end, &folded);
    if (gone || folded)
        return;
    at = model_context(to, end.block, end.depth);
    if (model_block_at(&end) == a->block)
        add_step_arc(to, model_context(to, from.block, from.depth), at, a);
    else /* it was pruned, and its calls have been */
        add_times(to->path[at].times, a->times);
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

static inline void clear_strand(struct model *m, int s)
{
    for (int i = 0; i < m->paths; i++) {
        memset(m->path[i].self.of[s], 0, sizeof m->path[i].self.of[s]);
        memset(m->path[i].elsewhere.of[s], 0, sizeof m->path[i].elsewhere.of[s]);
        memset(m->path[i].own.of[s], 0, sizeof m->path[i].own.of[s]);
        m->path[i].times[s] = (struct model_times){0};
    }
    for (int i = 0; i < m->arcs; i++) {
        m->arc[i].calls[s] = 0;
        m->arc[i].times[s] = (struct model_times){0};
    }
    for (int i = 0; i < m->blocks; i++) {
        memset(m->block[i].hidden.of[s], 0, sizeof m->block[i].hidden.of[s]);
        memset(m->block[i].beside.of[s], 0, sizeof m->block[i].beside.of[s]);
    }
    m->spaces = m->points = 0; /* they are not by strand */
}

/* ── A step ───────────────────────────────────────────────────────────────────────── */

/* Takes nothing away, and leaves what belongs to blocks alone where it is. */
static inline int is_nothing(const struct model *m, const struct step *s)
{
    if (s->kind == TT_FILTER_SELECT || s->kind == TT_FILTER_ROOT ||
        s->kind == TT_FILTER_CENTRE || s->metric >= 0)
        return 0;
    for (int b = 0; b < m->blocks; b++)
        if (is_like(m, b, s->text))
            return 0;
    return 1;
}

static inline void step_paths(const struct model *m, const struct step *s,
                              struct model *to)
{
    const int root[1] = {0};

    to->paths = to->arcs = to->spaces = 0;
    memset(to->path, 0, sizeof to->path);
    for (int b = 0; b < to->blocks; b++)
        memset(&to->block[b].hidden, 0, 2 * sizeof to->block[b].hidden);
    (void)model_context(to, root, 0);
    for (int i = 0; i < m->paths; i++) {
        const struct model_path *p = &m->path[i];
        struct model_path after;
        int folded, at;
        if (!step_path(m, s, p, MODEL_DEPTH, &after, &folded))
            continue;
        at = model_context(to, after.block, after.depth);
        add_figures(&to->path[at].self, &p->self, folded ? m->calls : -1);
        add_figures(&to->path[at].own, &p->own, folded ? m->calls : -1);
        add_figures(&to->path[at].elsewhere, &p->elsewhere, -1);
        if (!folded)
            add_times(to->path[at].times, p->times);
        for (int j = 0; j < m->spaces; j++)
            if (m->space[j].path == i) {
                to->space[to->spaces] = m->space[j];
                to->space[to->spaces++].path = at;
            }
    }
    for (int i = 0; i < m->arcs; i++)
        step_arc(m, s, &m->arc[i], to);
}

/* What a filter makes of a model, in place of it. */
static inline void step_model(struct model *m, const struct step *s)
{
    struct model *before = model_new();

    if (pruned_block(m) < 0)
        m->block[m->blocks++] = (struct model_block){.info = {.name = "[pruned]"}};
    *before = *m;
    if (s->kind != TT_FILTER_STRAND && !is_nothing(m, s))
        step_paths(before, s, m);
    for (int i = 0; s->kind == TT_FILTER_STRAND && i < m->strands; i++)
        if (!(s->strands >> i & 1))
            clear_strand(m, i);
    model_free(before);
}

#endif
