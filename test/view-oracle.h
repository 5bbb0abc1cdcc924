/* SPDX-License-Identifier: MIT */
/* view-oracle.h - the expected answers of views, found by going through every path.
 *
 * A metric is a list of items: a path with its cost.  A dropped call is a separate item,
 * one block longer than where it came from.  Every figure of a block, of a call of one by
 * another, or of a longer sequence is then one of three sums: of items whose path ends in
 * it, of items whose path contains it, and of calls that complete it.  A sequence begins
 * at the root with -1. */
#ifndef TEST_VIEW_ORACLE_H
#define TEST_VIEW_ORACLE_H

#include <stdarg.h>

#include "random-profile.h"
#include "tap.h"
#include "view.h"

struct item {
    int block[MODEL_DEPTH + 2], length; /* block[0]: -1, the root */
    uint64_t self, elsewhere, own;
    int path; /* index in the model; -1: a dropped call */
};

struct oracle {
    const struct model *m;
    int metric, items, many_calls;
    struct item item[MODEL_PATHS + MODEL_ARCS];
    struct item call[MODEL_PATHS + MODEL_ARCS]; /* `self` of them; path -1: by an arc */
    uint64_t total, total_calls;
};

static inline struct item item_of(const struct model *m, int path)
{
    struct item x = {.path = path, .length = m->path[path].depth + 1};

    x.block[0] = -1;
    memcpy(x.block + 1, m->path[path].block,
           (size_t)m->path[path].depth * sizeof *x.block);
    return x;
}

static inline struct item item_of_arc(const struct model *m, const struct model_arc *a)
{
    struct item x = item_of(m, a->from);

    x.block[x.length++] = a->block;
    x.path = -1;
    x.self = model_arc_calls(a);
    return x;
}

static inline uint64_t arrivals_at(const struct model *m, int path)
{
    uint64_t sum = 0;

    for (int i = 0; i < m->arcs; i++)
        if (m->arc[i].to == path && !model_is_dropped(m, &m->arc[i]))
            sum += model_arc_calls(&m->arc[i]);
    return sum;
}

static inline void oracle_init(struct oracle *o, const struct model *m, int metric)
{
    memset(o, 0, sizeof *o);
    o->m = m;
    o->metric = metric;
    for (int i = 0; i < m->paths; i++) {
        struct item x = item_of(m, i);
        if (m->calls >= 0) {
            x.self = model_sum(&m->path[i].self, m->calls) - arrivals_at(m, i);
            o->call[o->many_calls++] = x;
        }
        x.self = model_sum(&m->path[i].self, metric);
        x.elsewhere = model_sum(&m->path[i].elsewhere, metric);
        x.own = model_sum(&m->path[i].own, metric);
        o->item[o->items++] = x;
    }
    for (int i = 0; m->calls >= 0 && i < m->arcs; i++) {
        o->call[o->many_calls++] = item_of_arc(m, &m->arc[i]);
        if (metric == m->calls && model_is_dropped(m, &m->arc[i]))
            o->item[o->items++] = item_of_arc(m, &m->arc[i]);
    }
    o->total = model_grand_total(m, metric);
    o->total_calls = m->calls >= 0 ? model_grand_total(m, m->calls) : 0;
}

/* ── Sequences ────────────────────────────────────────────────────────────────────── */

static inline int is_stretch(const struct item *x, int from, const int *block, int length)
{
    return from >= 0 && from + length <= x->length &&
           memcmp(x->block + from, block, (size_t)length * sizeof *block) == 0;
}

static inline int ends_with(const struct item *x, const int *block, int length)
{
    return is_stretch(x, x->length - length, block, length);
}

static inline int contains(const struct item *x, const int *block, int length)
{
    for (int i = 0; i < x->length; i++)
        if (is_stretch(x, i, block, length))
            return 1;
    return 0;
}

static inline uint64_t true_self(const struct oracle *o, const int *block, int length)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->items; i++)
        if (ends_with(&o->item[i], block, length))
            sum += o->item[i].self;
    return sum;
}

static inline uint64_t true_inclusive(const struct oracle *o, const int *block,
                                      int length)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->items; i++)
        if (contains(&o->item[i], block, length))
            sum += o->item[i].self + o->item[i].elsewhere;
    return sum;
}

/* What measuring may have added to either. */
static inline uint64_t true_own(const struct oracle *o, const int *block, int length,
                                int inclusive)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->items; i++)
        if (inclusive ? contains(&o->item[i], block, length)
                      : ends_with(&o->item[i], block, length))
            sum += o->item[i].own;
    return sum;
}

static inline uint64_t true_calls(const struct oracle *o, const int *block, int length,
                                  int by_arcs_alone)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->many_calls; i++)
        if (ends_with(&o->call[i], block, length) &&
            (!by_arcs_alone || o->call[i].path < 0))
            sum += o->call[i].self;
    return sum;
}

/* A block's figures have parts that are on no path. */
static inline uint64_t beside_of(const struct oracle *o, int block, int metric)
{
    return block < 0 || metric < 0 ? 0 : model_sum(&o->m->block[block].beside, metric);
}

static inline uint64_t hidden_of(const struct oracle *o, int block)
{
    return block < 0 ? 0 : model_sum(&o->m->block[block].hidden, o->metric);
}

static inline uint64_t block_self(const struct oracle *o, int block)
{
    return true_self(o, &block, 1) + beside_of(o, block, o->metric);
}

/* What is beside the tree is in its block's inclusive figure, too. */
static inline uint64_t at_least(uint64_t inclusive, uint64_t self)
{
    return inclusive < self ? self : inclusive;
}

static inline uint64_t block_inclusive(const struct oracle *o, int block)
{
    return at_least(true_inclusive(o, &block, 1) + hidden_of(o, block),
                    block_self(o, block));
}

static inline uint64_t block_self_low(const struct oracle *o, int block)
{
    return block_self(o, block) - true_own(o, &block, 1, 0);
}

static inline uint64_t block_inclusive_low(const struct oracle *o, int block)
{
    return at_least(true_inclusive(o, &block, 1) + hidden_of(o, block) -
                        true_own(o, &block, 1, 1),
                    block_self_low(o, block));
}

static inline uint64_t block_calls(const struct oracle *o, int block)
{
    return true_calls(o, &block, 1, 0) + beside_of(o, block, o->m->calls);
}

/* Is there an edge of the tree, or an arc? */
static inline int has_edge(const struct oracle *o, int caller, int callee)
{
    const int pair[2] = {caller, callee};

    for (int i = 0; i < o->m->paths; i++) {
        struct item x = item_of(o->m, i);
        if (ends_with(&x, pair, 2))
            return 1;
    }
    for (int i = 0; i < o->m->arcs; i++) {
        struct item x = item_of_arc(o->m, &o->m->arc[i]);
        if (ends_with(&x, pair, 2))
            return 1;
    }
    return 0;
}

/* ── Questions and answers ────────────────────────────────────────────────────────── */

struct answer {
    struct tt_query q;
    struct tt_table t;
    int error;
};

__attribute__((format(printf, 3, 4))) static inline int ask(struct answer *a,
                                                            const struct tt_profile *p,
                                                            const char *format, ...)
{
    char text[256];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tt_query_init(&a->q, NULL);
    tt_table_init(&a->t, "", NULL);
    a->error = tt_query_parse(&a->q, text);
    if (!a->error)
        a->error = tt_view(p, &a->q, &a->t);
    if (a->error)
        fprintf(stderr, "# %s: %s\n", text, a->q.error);
    return CHECK_INT(a->error, 0);
}

static inline void answered(struct answer *a)
{
    tt_table_fini(&a->t);
    tt_query_fini(&a->q);
}

static inline int role_of(const struct answer *a, size_t row)
{
    return (int)tt_table_row_at(&a->t, row)->role;
}

static inline const union tt_value *value_at(const struct answer *a, size_t row,
                                             const char *key)
{
    uint32_t column = tt_table_find(&a->t, key);

    return column == TT_NONE ? NULL : tt_table_value(&a->t, row, column);
}

static inline int has(const struct answer *a, size_t row, const char *key)
{
    return value_at(a, row, key) != NULL;
}

/* 0 when it is missing. */
static inline uint64_t amount(const struct answer *a, size_t row, const char *key)
{
    const union tt_value *v = value_at(a, row, key);

    return v ? v->n : 0;
}

static inline double real_at(const struct answer *a, size_t row, const char *key)
{
    const union tt_value *v = value_at(a, row, key);

    return v ? v->real : -1;
}

static inline const char *text_at(const struct answer *a, size_t row, const char *key)
{
    const union tt_value *v = value_at(a, row, key);

    return v ? v->text : "";
}

/* The model's block of a row, -1: the root; -2: it has none. */
static inline int block_at(const struct answer *a, size_t row, const struct model *m,
                           const struct tt_profile *p)
{
    if (!has(a, row, "block"))
        return -2;
    return model_block_of(m, p, (uint32_t)amount(a, row, "block"));
}

/* What self columns are promised to: entries and remainders add up to the total. */
static inline uint64_t sum_of(const struct answer *a, const char *key)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < tt_table_rows(&a->t); i++)
        if (role_of(a, i) == TT_ROW_ENTRY || role_of(a, i) == TT_ROW_REMAINDER)
            sum += amount(a, i, key);
    return sum;
}

static inline int is_near(double got, double want)
{
    double difference = got > want ? got - want : want - got;

    return difference <= 1e-9 * (want > 1 ? want : 1);
}

/* The shared columns of a row. */
static inline void check_figures(const struct answer *a, size_t i, const struct oracle *o,
                                 uint64_t self, uint64_t inclusive)
{
    double whole = o->total ? (double)o->total : 1e30;

    CHECK_INT(amount(a, i, "self"), self);
    CHECK_INT(amount(a, i, "inclusive"), inclusive);
    CHECK(is_near(real_at(a, i, "self_share"), (double)self / whole));
    CHECK(is_near(real_at(a, i, "inclusive_share"), (double)inclusive / whole));
}

/* Brackets: figures without what measuring may have added. */
static inline void check_brackets(const struct answer *a, size_t i, uint64_t self_low,
                                  uint64_t inclusive_low)
{
    if (has(a, i, "self_low"))
        CHECK_INT(amount(a, i, "self_low"), self_low);
    if (has(a, i, "inclusive_low"))
        CHECK_INT(amount(a, i, "inclusive_low"), inclusive_low);
}

/* Each metric of random profiles in turn, from the first seed on. */
struct random_case {
    struct model *m;
    struct tt_profile p;
    struct oracle o;
    uint64_t seed;
    int metric;
};

static inline int next_case(struct random_case *r, uint64_t first, int count)
{
    if (r->m && r->metric + 1 < r->m->metrics) {
        oracle_init(&r->o, r->m, ++r->metric);
        return 1;
    }
    if (r->m) {
        model_close(&r->p);
        model_free(r->m);
        r->seed++;
    } else {
        r->seed = first;
    }
    r->m = NULL;
    if (r->seed == first + (uint64_t)count || tap.failed)
        return 0;
    r->m = model_random(r->seed);
    r->metric = 0;
    oracle_init(&r->o, r->m, 0);
    if (model_open(r->m, r->seed & 1 ? r->seed : 0, &r->p))
        return 1;
    CHECK_STR("a profile that cannot be opened", NULL);
    return 0;
}

static inline const char *metric_name(const struct random_case *r)
{
    return r->m->metric[r->metric].name;
}

/* After a case: which one it was that failed. */
static inline void say_case(const struct random_case *r)
{
    if (tap.failed)
        fprintf(stderr, "# seed %llu, metric %s\n", (unsigned long long)r->seed,
                metric_name(r));
}

#endif
