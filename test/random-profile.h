/* SPDX-License-Identifier: MIT */
/* random-profile.h - small random profiles, and the naive model they were made from.
 *
 *      struct model *m = model_random(seed);
 *      … model_path, model_self, model_inclusive, … say what is true …
 *      struct tt_profile p;
 *      if (model_open(m, shuffle, &p)) … views and filters say what they found …
 *      model_close(&p);  model_free(m);
 *
 * The model is a list of paths, each a list of blocks, with the figures of every strand;
 * nothing in it is in any order, and nothing is summed up.  What is asked of it goes over
 * the whole list.  A filter's oracle takes a model and gives another: it goes over the
 * paths, and adds their figures to those they have become (model_context). */
#ifndef TEST_RANDOM_PROFILE_H
#define TEST_RANDOM_PROFILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "finish.h"

enum { /* of a random profile; a filter may put one more where it was */
       MODEL_MOST_BLOCKS = 8,
       MODEL_DEEPEST = 12,
       MODEL_MOST_PATHS = 48,
       MODEL_BLOCKS = MODEL_MOST_BLOCKS + 1,
       MODEL_DEPTH = MODEL_DEEPEST + 1,
       MODEL_PATHS = MODEL_MOST_PATHS + 12,
       MODEL_ARCS = 12,
       MODEL_STRANDS = 3,
       MODEL_METRICS = 4,
       MODEL_SPACES = 12,
       MODEL_POINTS = 12
};

struct model_figures {
    uint64_t of[MODEL_STRANDS][MODEL_METRICS];
};

struct model_times { /* of the activations through one edge, by one strand */
    uint64_t count, sum, min, max, square, children, recursive;
};

struct model_path { /* a context: the blocks from the outermost on; depth 0: the root */
    int depth;
    int block[MODEL_DEPTH];
    struct model_figures self, elsewhere, own;
    struct model_times times[MODEL_STRANDS];
};

struct model_arc { /* from and to: indices of paths */
    int from, to, block;
    uint64_t calls[MODEL_STRANDS];
    struct model_times times[MODEL_STRANDS];
};

struct model_block {
    struct tt_block_info info; /* strings are literals */
    struct model_figures hidden, beside;
};

struct model_metric {
    const char *name, *unit;
    uint32_t flags;
};

struct model_space {
    int path;
    const char *type;
    uint32_t from, to;
    uint64_t number, bytes, overhead;
};

struct model_point {
    const char *label;
    uint64_t time, amount;
};

struct model {
    struct model_block block[MODEL_BLOCKS]; /* not the root's */
    struct model_metric metric[MODEL_METRICS];
    struct tt_strand_info strand[MODEL_STRANDS];
    struct model_path path[MODEL_PATHS]; /* path[0] is the root */
    struct model_arc arc[MODEL_ARCS];
    struct model_space space[MODEL_SPACES];
    struct model_point point[MODEL_POINTS]; /* of one series, by block */
    int blocks, metrics, strands, paths, arcs, spaces, points;
    int calls;      /* which metric counts calls; -1: none */
    uint64_t state; /* of the random numbers */
};

/* ── Random numbers ───────────────────────────────────────────────────────────────── */

/* splitmix64: every seed gives another profile, and the same one everywhere. */
static inline uint64_t model_number(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int model_below(struct model *m, int n)
{
    return (int)(model_number(&m->state) % (uint64_t)n);
}

static inline int model_chance(struct model *m, int percent)
{
    return model_below(m, 100) < percent;
}

/* Many are 0, most are small, a few are too large for 32 bits. */
static inline uint64_t model_amount(struct model *m)
{
    if (model_chance(m, 30))
        return 0;
    return (uint64_t)model_below(m, 40) << (model_chance(m, 4) ? 33 : 0);
}

/* ── Making one ───────────────────────────────────────────────────────────────────── */

/* The index of a path, which is made, with those above it, when it is not there. */
static inline int model_context(struct model *m, const int *block, int depth)
{
    for (int i = 0; i < m->paths; i++)
        if (m->path[i].depth == depth &&
            memcmp(m->path[i].block, block, (size_t)depth * sizeof *block) == 0)
            return i;
    if (depth > 0)
        (void)model_context(m, block, depth - 1);
    if (m->paths == MODEL_PATHS || depth > MODEL_DEPTH)
        abort();
    m->path[m->paths].depth = depth;
    memcpy(m->path[m->paths].block, block, (size_t)depth * sizeof *block);
    return m->paths++;
}

static inline void model_times_take(struct model_times *t, uint64_t duration,
                                    uint64_t children, int recursive)
{
    if (!t->count || duration < t->min)
        t->min = duration;
    if (!t->count || duration > t->max)
        t->max = duration;
    t->count++;
    t->sum += duration;
    t->square += duration * duration;
    t->children += children;
    t->recursive += recursive ? duration : 0;
}

static inline void model_random_words(struct model *m)
{
    /* Some have one name, and differ in where they are. */
    static const struct tt_block_info blocks[MODEL_MOST_BLOCKS] = {
        {.name = "main", .file = "main.c", .line = 3},
        {.name = "parse", .module = "core", .file = "parse.c", .line = 10, .column = 4},
        {.name = "parse", .module = "core", .file = "parse.c", .line = 10, .column = 9},
        {.name = "parse", .module = "extra", .file = "list.c", .line = 7},
        {.name = "gc", .kind = TT_KIND_CENTRE},
        {.name = "list", .file = "list.c", .line = 7, .offset = 90, .length = 12},
        {.name = "Eval", .file = "eval.c", .line = 1, .kind = TT_KIND_SCOPE},
        {.name = "a;b", .module = "odd", .file = "odd \"file\".c", .line = 12},
    };
    static const struct model_metric metrics[] = {
        {"calls", "", TT_METRIC_CALLS},
        {"time", "ns", TT_METRIC_TIME},
        {"time", "ns", TT_METRIC_TIME | TT_METRIC_SAMPLED},
        {"ticks", "ticks", TT_METRIC_TIME},
        {"samples", "", 0},
        {"heap", "bytes", TT_METRIC_SPACE},
        {"rows", "", 0},
    };
    static const struct tt_strand_info strands[MODEL_STRANDS] = {
        {.host = "h",
         .process = "p",
         .pid = 7,
         .thread = 1,
         .name = "main",
         .members = 1},
        {.host = "h", .process = "p", .pid = 7, .thread = 2, .rank = 1, .members = 1},
        {.host = "i",
         .process = "p",
         .pid = 9,
         .name = "pool",
         .rank = 2,
         .members = 5,
         .least = 3,
         .most = 90,
         .least_thread = 11,
         .most_thread = 14},
    };
    int first = model_chance(m, 85) ? 0 : 1; /* now and then there are no calls */

    m->blocks = 1 + model_below(m, MODEL_MOST_BLOCKS);
    for (int i = 0; i < m->blocks; i++)
        m->block[i].info = blocks[i];
    m->strands = 1 + model_below(m, MODEL_STRANDS);
    for (int i = 0; i < m->strands; i++)
        m->strand[i] = strands[i];
    m->calls = first == 0 ? 0 : -1;
    if (first == 0)
        m->metric[m->metrics++] = metrics[0];
    if (model_chance(m, 80)) {
        int which = 1 + model_below(m, 3);
        m->metric[m->metrics++] = metrics[which];
        if (which == 2)
            m->metric[m->metrics++] = metrics[4];
    }
    if (model_chance(m, 30) || !m->metrics)
        m->metric[m->metrics++] = metrics[5 + model_below(m, 2)];
}

static inline void model_random_paths(struct model *m)
{
    int block[MODEL_DEPTH + 1], wanted = 1 + model_below(m, MODEL_MOST_PATHS - 1);
    int narrow = model_chance(m, 30); /* deep rather than wide */

    (void)model_context(m, block, 0);
    for (int tries = 0; tries < 400 && m->paths < wanted; tries++) {
        int at = narrow ? m->paths - 1 - model_below(m, m->paths < 3 ? m->paths : 3)
                        : model_below(m, m->paths);
        const struct model_path *p = &m->path[at];
        if (p->depth == MODEL_DEEPEST)
            continue;
        memcpy(block, p->block, sizeof p->block);
        block[p->depth] = model_below(m, m->blocks);
        (void)model_context(m, block, p->depth + 1);
    }
}

/* An arc leads to a context on the path of where it comes from, as every policy makes
 * them; one in four is a push that was dropped, of a block on the path. */
static inline void model_random_arc(struct model *m)
{
    struct model_arc a = {.from = model_below(m, m->paths)};
    const struct model_path *from = &m->path[a.from];
    int depth = from->depth ? 1 + model_below(m, from->depth) : 0;

    if (!depth || m->arcs == MODEL_ARCS)
        return;
    a.block = from->block[depth - 1];
    a.to = model_chance(m, 25) ? a.from : model_context(m, from->block, depth);
    for (int i = 0; i < m->arcs; i++)
        if (m->arc[i].from == a.from && m->arc[i].to == a.to &&
            m->arc[i].block == a.block)
            return;
    m->arc[m->arcs++] = a;
}

static inline int model_is_dropped(const struct model *m, const struct model_arc *a)
{
    const struct model_path *to = &m->path[a->to];

    return to->depth == 0 || to->block[to->depth - 1] != a->block;
}

static inline void model_random_figures(struct model *m)
{
    int evicts = model_chance(m, 30), hides = model_chance(m, 40);
    int brackets = model_chance(m, 40), forgets = model_chance(m, 25);

    for (int s = 0; s < m->strands; s++) {
        for (int k = 0; k < m->metrics; k++) {
            for (int i = model_chance(m, 20) ? 0 : 1; i < m->paths; i++) {
                struct model_path *p = &m->path[i];
                uint64_t amount = model_amount(m);
                p->self.of[s][k] = amount;
                if (brackets && k != m->calls && amount && model_chance(m, 50))
                    p->own.of[s][k] = (uint64_t)model_below(m, 5) % (amount + 1);
                if (!evicts || !model_chance(m, 20))
                    continue;
                amount = model_amount(m);
                p->elsewhere.of[s][k] = amount;
                if (!forgets)
                    m->block[model_below(m, m->blocks)].beside.of[s][k] += amount;
            }
            for (int b = 0; hides && b < m->blocks; b++)
                if (model_chance(m, 30))
                    m->block[b].hidden.of[s][k] = model_amount(m);
        }
        for (int i = 0; m->calls >= 0 && i < m->arcs; i++) {
            struct model_arc *a = &m->arc[i];
            a->calls[s] = model_amount(m);
            if (!model_is_dropped(m, a))
                m->path[a->to].self.of[s][m->calls] += a->calls[s];
        }
    }
}

static inline void model_random_times(struct model *m)
{
    for (int i = 0; i < (m->paths + m->arcs) * m->strands; i++) {
        int row = i / m->strands, s = i % m->strands, count = model_below(m, 4);
        struct model_times *t = row < m->paths ? &m->path[row].times[s]
                                               : &m->arc[row - m->paths].times[s];
        while (row != 0 && count-- > 0) {
            uint64_t duration = (uint64_t)model_below(m, 1000);
            model_times_take(t, duration, duration / 3, model_chance(m, 20));
        }
    }
}

static inline void model_random_beside(struct model *m)
{
    static const char *const words[] = {"list", "cell", "main", "(other)"};

    for (int n = model_below(m, MODEL_SPACES); n > 0; n--) {
        int kind = model_below(m, 3);
        uint32_t generation = (uint32_t)model_below(m, 3);
        m->space[m->spaces++] = (struct model_space){
            .path = model_below(m, m->paths),
            .type = words[model_below(m, 3)],
            .from = kind == 0 ? TT_NONE : generation,
            .to = kind == 0   ? 0
                  : kind == 1 ? generation + 1
                              : TT_NONE,
            .number = 1 + (uint64_t)model_below(m, 9),
            .bytes = (uint64_t)model_below(m, 500),
            .overhead = (uint64_t)model_below(m, 50)};
    }
    for (int n = model_below(m, MODEL_POINTS); n > 0; n--)
        m->point[m->points++] = (struct model_point){words[model_below(m, 4)],
                                                     1000 * (uint64_t)model_below(m, 5),
                                                     model_amount(m)};
}

static inline struct model *model_new(void)
{
    struct model *m = calloc(1, sizeof *m);

    if (!m)
        abort();
    return m;
}

static inline struct model *model_random(uint64_t seed)
{
    struct model *m = model_new();

    m->state = seed;
    model_random_words(m);
    model_random_paths(m);
    for (int n = model_chance(m, 50) ? model_below(m, MODEL_ARCS) : 0; n > 0; n--)
        model_random_arc(m);
    model_random_figures(m);
    if (model_chance(m, 40))
        model_random_times(m);
    if (model_chance(m, 30))
        model_random_beside(m);
    return m;
}

static inline void model_free(struct model *m) { free(m); }

/* ── What is true of it ───────────────────────────────────────────────────────────── */

static inline uint64_t model_sum(const struct model_figures *f, int metric)
{
    uint64_t sum = 0;

    for (int s = 0; s < MODEL_STRANDS; s++)
        sum += f->of[s][metric];
    return sum;
}

static inline int model_begins_with(const struct model_path *p,
                                    const struct model_path *above)
{
    return p->depth >= above->depth &&
           memcmp(p->block, above->block, (size_t)above->depth * sizeof *p->block) == 0;
}

static inline int model_has(const struct model_path *p, int block)
{
    for (int i = 0; i < p->depth; i++)
        if (p->block[i] == block)
            return 1;
    return 0;
}

static inline int model_block_at(const struct model_path *p)
{
    return p->depth ? p->block[p->depth - 1] : -1;
}

/* What a path costs: its own, and what was evicted below it. */
static inline uint64_t model_cost(const struct model_path *p, int metric)
{
    return model_sum(&p->self, metric) + model_sum(&p->elsewhere, metric);
}

static inline uint64_t model_total(const struct model *m, const struct model_path *above,
                                   int metric)
{
    uint64_t sum = 0;

    for (int i = 0; i < m->paths; i++)
        if (model_begins_with(&m->path[i], above))
            sum += model_cost(&m->path[i], metric);
    return sum;
}

static inline uint64_t model_arc_calls(const struct model_arc *a)
{
    uint64_t sum = 0;

    for (int s = 0; s < MODEL_STRANDS; s++)
        sum += a->calls[s];
    return sum;
}

static inline uint64_t model_grand_total(const struct model *m, int metric)
{
    uint64_t sum = 0;

    for (int i = 0; i < m->paths; i++)
        sum += model_cost(&m->path[i], metric);
    for (int i = 0; metric == m->calls && i < m->arcs; i++)
        if (model_is_dropped(m, &m->arc[i]))
            sum += model_arc_calls(&m->arc[i]);
    return sum;
}

/* ── The profile made of it ───────────────────────────────────────────────────────── */

static inline void model_build_times(struct tt_builder *b, int arc, uint32_t id,
                                     const struct model_times *t)
{
    tt_builder_times(b, arc, id,
                     &(struct tt_times_row){.count = t->count,
                                            .sum = t->sum,
                                            .min = t->min,
                                            .max = t->max,
                                            .square = {t->square, 0},
                                            .children = t->children,
                                            .recursive = t->recursive,
                                            .weighed = t->sum});
}

struct model_ids { /* the builder's */
    uint32_t block[MODEL_BLOCKS], metric[MODEL_METRICS], path[MODEL_PATHS],
        arc[MODEL_ARCS];
};

static inline void model_build_strand(const struct model *m, struct tt_builder *b,
                                      const struct model_ids *id, int s)
{
    (void)tt_builder_strand(b, &m->strand[s]);
    for (int k = 0; k < m->metrics; k++) {
        uint32_t metric = id->metric[k];
        for (int i = 0; i < m->paths; i++) {
            const struct model_path *p = &m->path[i];
            tt_builder_add(b, TT_ROLE_SELF, id->path[i], metric, p->self.of[s][k]);
            tt_builder_add(b, TT_ROLE_ELSEWHERE, id->path[i], metric,
                           p->elsewhere.of[s][k]);
            tt_builder_add(b, TT_ROLE_OWN, id->path[i], metric, p->own.of[s][k]);
        }
        for (int i = 0; i < m->blocks; i++) {
            tt_builder_add(b, TT_ROLE_HIDDEN, id->block[i], metric,
                           m->block[i].hidden.of[s][k]);
            tt_builder_add(b, TT_ROLE_BESIDE, id->block[i], metric,
                           m->block[i].beside.of[s][k]);
        }
    }
    for (int i = 0; i < m->arcs; i++) {
        tt_builder_add(b, TT_ROLE_ARC, id->arc[i], 0, m->arc[i].calls[s]);
        model_build_times(b, 1, id->arc[i], &m->arc[i].times[s]);
    }
    for (int i = 0; i < m->paths; i++)
        model_build_times(b, 0, id->path[i], &m->path[i].times[s]);
}

/* Adds all of the model, in an order that `shuffle` decides. */
static inline void model_build(const struct model *m, uint64_t shuffle,
                               struct tt_builder *b)
{
    struct model_ids id;
    uint32_t series;
    int order[MODEL_PATHS];

    for (int i = 0; i < m->paths; i++)
        order[i] = i;
    for (int i = m->paths - 1; shuffle && i > 0; i--) {
        int j = (int)(model_number(&shuffle) % (uint64_t)(i + 1)), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < m->blocks; i++) {
        int at = shuffle ? m->blocks - 1 - i : i;
        id.block[at] = tt_builder_block(b, &m->block[at].info);
    }
    for (int i = 0; i < m->metrics; i++)
        id.metric[i] = tt_builder_metric(b, m->metric[i].name, m->metric[i].unit,
                                         m->metric[i].flags);
    for (int i = 0; i < m->paths; i++) {
        const struct model_path *p = &m->path[order[i]];
        uint32_t at = TT_BUILDER_ROOT;
        for (int j = 0; j < p->depth; j++)
            at = tt_builder_context(b, at, id.block[p->block[j]]);
        id.path[order[i]] = at;
    }
    for (int i = 0; i < m->arcs; i++)
        id.arc[i] = tt_builder_arc(b, id.path[m->arc[i].from], id.path[m->arc[i].to],
                                   id.block[m->arc[i].block]);
    for (int s = 0; s < m->strands; s++)
        model_build_strand(m, b, &id, shuffle ? m->strands - 1 - s : s);
    for (int i = 0; i < m->spaces; i++) {
        const struct model_space *s = &m->space[i];
        tt_builder_space(b, id.path[s->path], s->type, s->from, s->to, s->number,
                         s->bytes, s->overhead);
    }
    series = m->points ? tt_builder_series(b, "live", "bytes", "block", 1000) : 0;
    for (int i = 0; i < m->points; i++)
        tt_builder_point(b, series, m->point[i].label, m->point[i].time,
                         m->point[i].amount);
}

/* Makes the profile and opens it, from malloc.  0: it could not be done. */
static inline int model_open(const struct model *m, uint64_t shuffle,
                             struct tt_profile *p)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image = NULL;
    size_t size = 0;
    int error;

    memset(p, 0, sizeof *p);
    if (!b)
        return 0;
    model_build(m, shuffle, b);
    error = tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    if (!error)
        error = tt_profile_open(p, image, size, NULL);
    if (error) {
        fprintf(stderr, "# %s\n", p->error);
        tt_memory_put(NULL, image);
    }
    return error == 0;
}

static inline void model_close(struct tt_profile *p)
{
    void *image = (void *)(uintptr_t)p->image;

    tt_profile_close(p);
    tt_memory_put(NULL, image);
}

/* ── Between the two ──────────────────────────────────────────────────────────────── */

static inline int model_same_text(const char *mine, const char *theirs)
{
    return strcmp(mine ? mine : "", theirs) == 0;
}

/* The model's block of a profile's; -1: the root's. */
static inline int model_block_of(const struct model *m, const struct tt_profile *p,
                                 uint32_t block)
{
    const struct tt_block_row *r = &p->block[block];

    for (int i = 0; i < m->blocks; i++) {
        const struct tt_block_info *b = &m->block[i].info;
        if (model_same_text(b->name, p->strings + r->name) &&
            model_same_text(b->module, p->strings + r->module) &&
            model_same_text(b->file, p->strings + r->file) && b->line == r->line &&
            b->column == r->column && b->offset == r->offset &&
            (uint32_t)b->kind == r->kind)
            return i;
    }
    return -1;
}

/* The profile's block of a model's (-1: the root's); TT_NONE when it is not there. */
static inline uint32_t model_block_in(const struct model *m, const struct tt_profile *p,
                                      int block)
{
    for (uint32_t i = 1; i < p->blocks; i++)
        if (block >= 0 && model_block_of(m, p, i) == block)
            return i;
    return block < 0 ? 0 : TT_NONE;
}

/* The path in the model of a profile's context, found by its names; NULL: none. */
static inline const struct model_path *model_path_of(const struct model *m,
                                                     const struct tt_profile *p,
                                                     uint32_t context)
{
    struct model_path path = {0};
    uint32_t at = 0;

    while (at != context) {
        uint32_t child = at + 1;
        while (tt_end_of(p, child) <= context)
            child = tt_end_of(p, child);
        if (path.depth == MODEL_DEPTH)
            return NULL;
        path.block[path.depth++] = model_block_of(m, p, tt_block_of(p, child));
        at = child;
    }
    for (int i = 0; i < m->paths; i++)
        if (m->path[i].depth == path.depth && model_begins_with(&m->path[i], &path))
            return &m->path[i];
    return NULL;
}

#endif
