/* SPDX-License-Identifier: MIT */
/* since-test.c - what views say has come since another reading.
 *
 * Two random profiles a and b are merged: what a + b has since a is b, as any view of b
 * says it. */
#include <math.h>

#include "add-profile.h"
#include "failing.h"
#include "finish.h"
#include "growth.h"
#include "random-profile.h"
#include "tap.h"
#include "view.h"

enum { ROUNDS = 200 };

static int merge(const struct tt_profile *a, const struct tt_profile *b,
                 struct tt_profile *merged)
{
    struct tt_builder *to = tt_builder_new(NULL);
    void *image;
    size_t size;
    int error = tt_builder_profile(to, a);

    error |= tt_builder_profile(to, b);
    error |= tt_builder_finish(to, &image, &size);
    tt_builder_free(to);
    return !error && tt_profile_open(merged, image, size, NULL) == 0;
}

struct three {
    struct model *m[2];
    struct tt_profile then, more, now;
};

static int make(struct three *x, uint64_t seed)
{
    x->m[0] = model_random(seed);
    x->m[1] = model_random(seed + 100000);
    return CHECK(model_open(x->m[0], 0, &x->then)) &&
           CHECK(model_open(x->m[1], 0, &x->more)) &&
           CHECK(merge(&x->then, &x->more, &x->now));
}

static void unmake(struct three *x)
{
    model_close(&x->then);
    model_close(&x->more);
    model_close(&x->now);
    model_free(x->m[0]);
    model_free(x->m[1]);
}

static int ask(struct tt_table *t, const struct tt_profile *p,
               const struct tt_profile *since, const char *text, const char *metric,
               const struct tt_memory *memory)
{
    struct tt_query q;
    int error;

    tt_query_init(&q, memory);
    error = tt_query_parse(&q, text);
    if (!error && metric)
        error = tt_query_set(&q, "metric", metric);
    q.since = since;
    q.seconds = 2;
    tt_table_init(t, "", memory);
    if (!error)
        error = tt_view(p, &q, t);
    tt_query_fini(&q);
    return error;
}

/* A column's value of a row; `none` where it is missing. */
static uint64_t amount(const struct tt_table *t, size_t row, const char *key,
                       uint64_t none)
{
    uint32_t column = tt_table_find(t, key);
    const union tt_value *v = column == TT_NONE ? NULL : tt_table_value(t, row, column);

    return v ? v->n : none;
}

/* A row's identity: what it is about, below what it is; in a tree with those above it. */
static void name_row(const struct tt_table *t, size_t row, char *name, size_t size)
{
    static const char *const keys[] = {"name",   "module", "file",    "line",
                                       "column", "host",   "process", "node"};
    static const char *const numbers[] = {"pid", "thread", "rank"};
    size_t at = 0;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t c = tt_table_find(t, keys[i]);
        const union tt_value *v = c == TT_NONE ? NULL : tt_table_value(t, row, c);
        if (v && tt_table_column_at(t, c)->type == TT_COLUMN_TEXT)
            at += (size_t)snprintf(name + at, size - at, "%s:", v->text);
        else
            at += (size_t)snprintf(name + at, size - at, "%d:", v ? (int)v->n : -1);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        at += (size_t)snprintf(name + at, size - at,
                               "%d:", (int)amount(t, row, numbers[i], 77));
}

enum { NAME = 160, LONG = NAME * (MODEL_DEPTH + 2) };

static void name_path(const struct tt_table *t, size_t row, char *name)
{
    uint32_t depth = tt_table_row_at(t, row)->depth + 1;
    size_t at = 0;

    for (size_t i = row + 1; i-- > 0 && depth;)
        if (tt_table_row_at(t, i)->depth == depth - 1 &&
            tt_table_row_at(t, i)->role == TT_ROW_ENTRY) {
            name_row(t, i, name + at, LONG - at);
            at += strlen(name + at);
            depth--;
        }
}

/* The row of the same thing, among those that have no double; rows if there is none. */
static size_t find(const struct tt_table *t, const char *name)
{
    char other[LONG];
    size_t found = tt_table_rows(t);

    for (size_t i = 0; i < tt_table_rows(t); i++) {
        if (tt_table_row_at(t, i)->role != TT_ROW_ENTRY)
            continue;
        name_path(t, i, other);
        if (strcmp(name, other) != 0)
            continue;
        if (found < tt_table_rows(t))
            return SIZE_MAX; /* blocks that differ in kind or length alone */
        found = i;
    }
    return found;
}

static int has_metric(const struct tt_profile *p, const char *name)
{
    uint32_t k = tt_metric_find(p, name);

    return k != TT_NONE && strcmp(p->metric[k].name, name) == 0;
}

/* One name may count different things in two random profiles: then they do not add up. */
static int is_one_metric(const struct three *x, const char *name)
{
    const struct tt_profile *p[] = {&x->then, &x->more, &x->now};
    uint32_t flags = 0, seen = 0;

    for (int i = 0; i < 3; i++) {
        uint32_t k = tt_metric_find(p[i], name);
        if (!has_metric(p[i], name))
            continue;
        if (seen++ && flags != p[i]->metric[k].flags)
            return 0;
        flags = p[i]->metric[k].flags;
    }
    return 1;
}

/* The metric that is looked at first; NULL: it is not one. */
static const char *first_metric(const struct three *x)
{
    const char *name = x->now.metric[tt_metric_find(&x->now, NULL)].name;

    return is_one_metric(x, name) ? name : NULL;
}

static int rows_found, compared, equal;

/* Inclusive figures that are no more than self may be lower bounds, which do not add up. */
static int is_bound(const struct tt_table *t, size_t row)
{
    return row < tt_table_rows(t) &&
           amount(t, row, "inclusive", 0) == amount(t, row, "self", 0);
}

static void compare(const struct tt_table *now, const struct tt_table *more)
{
    char name[LONG];

    for (size_t i = 0; i < tt_table_rows(now); i++) {
        size_t at;
        if (tt_table_row_at(now, i)->role != TT_ROW_ENTRY)
            continue;
        name_path(now, i, name);
        at = find(more, name);
        if (at == SIZE_MAX || find(now, name) != i ||
            (at == tt_table_rows(more) && strncmp(name, "[root]", 6) == 0))
            continue; /* a root without self has no row */
        rows_found += at < tt_table_rows(more);
        CHECK_INT(amount(now, i, "self_since", 99),
                  at < tt_table_rows(more) ? amount(more, at, "self", 0) : 0);
        if (tt_table_find(now, "inclusive") != TT_NONE && !is_bound(now, i) &&
            !is_bound(more, at)) {
            const uint64_t since = amount(now, i, "inclusive_since", 99),
                           truth = at < tt_table_rows(more)
                                       ? amount(more, at, "inclusive", 0)
                                       : 0;
            CHECK(since <= truth); /* less if it was a lower bound then */
            equal += since == truth;
            compared++;
        }
    }
}

static void check_view(const char *text)
{
    rows_found = compared = equal = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct three x;
        if (!make(&x, seed))
            return;
        for (uint32_t k = 0; k < x.more.metrics; k++) {
            const struct tt_metric_columns *m = &x.more.metric[k];
            struct tt_table now, more;
            if (!is_one_metric(&x, m->name))
                continue;
            CHECK_INT(ask(&now, &x.now, &x.then, text, m->name, NULL), 0);
            CHECK_INT(ask(&more, &x.more, NULL, text, m->name, NULL), 0);
            compare(&now, &more);
            tt_table_fini(&more);
            tt_table_fini(&now);
        }
        unmake(&x);
    }
    CHECK(rows_found > tap_times(ROUNDS));
    CHECK(10 * equal >= 9 * compared);
}

TEST(of_blocks_it_is_what_was_added) { check_view("view=flat&limit=all"); }

TEST(of_contexts_it_is_what_was_added) { check_view("view=tree&limit=all&threshold=0"); }

TEST(of_strands_it_is_what_was_added) { check_view("view=strands&limit=all"); }

TEST(nothing_has_come_since_the_same_reading)
{
    static const char *const views[] = {"flat", "tree", "strands"};

    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct three x;
        char text[80];
        struct tt_table t;
        if (!make(&x, seed))
            return;
        snprintf(text, sizeof text, "view=%s&limit=all", views[seed % 3]);
        CHECK_INT(ask(&t, &x.now, &x.now, text, NULL, NULL), 0);
        for (size_t i = 0; i < tt_table_rows(&t); i++)
            if (tt_table_row_at(&t, i)->role != TT_ROW_REMAINDER)
                CHECK_INT(amount(&t, i, "self_since", 99), 0);
        tt_table_fini(&t);
        unmake(&x);
    }
}

/* ── Rows that are cut off, rates, order ──────────────────────────────────────────── */

/* In what there is a word for: seconds by second are a share. */
static void check_rate(const struct tt_table *t, size_t row, const char *key,
                       const char *since)
{
    uint32_t column = tt_table_find(t, key);
    const union tt_value *v = tt_table_value(t, row, column);
    double unit = tt_table_column_at(t, column)->type == TT_COLUMN_SHARE ? 1e9 : 1;
    double n = (double)amount(t, row, since, 0);

    CHECK_INT(v != NULL, tt_table_value(t, row, tt_table_find(t, since)) != NULL);
    if (v)
        CHECK(fabs(v->real * unit * 2 - n) <= 1e-9 * n);
}

TEST(what_is_cut_off_and_the_total_have_it_too_and_rates_are_by_second)
{
    int cut = 0;

    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct three x;
        struct tt_table all, t;
        uint64_t sum = 0, rows = 0, last = UINT64_MAX;
        const char *metric;
        if (!make(&x, seed))
            return;
        if (!(metric = first_metric(&x))) {
            unmake(&x);
            continue;
        }
        CHECK_INT(ask(&all, &x.now, &x.then, "view=flat&limit=all", metric, NULL), 0);
        CHECK_INT(
            ask(&t, &x.now, &x.then, "view=flat&limit=2&sort=self_rate", metric, NULL),
            0);
        for (size_t i = 0; i < tt_table_rows(&all); i++)
            if (tt_table_row_at(&all, i)->role == TT_ROW_ENTRY)
                sum += amount(&all, i, "self_since", 0);
        for (size_t i = 0; i < tt_table_rows(&t); i++) {
            uint64_t n = amount(&t, i, "self_since", 0);
            check_rate(&t, i, "self_rate", "self_since");
            check_rate(&t, i, "inclusive_rate", "inclusive_since");
            if (tt_table_row_at(&t, i)->role == TT_ROW_TOTAL)
                continue;
            rows += n;
            cut += tt_table_row_at(&t, i)->role == TT_ROW_REMAINDER && n;
            if (tt_table_row_at(&t, i)->role == TT_ROW_ENTRY) {
                CHECK(amount(&t, i, "self_since", UINT64_MAX) == n && n <= last);
                last = n;
            }
        }
        CHECK_INT(rows, sum);
        tt_table_fini(&t);
        tt_table_fini(&all);
        unmake(&x);
    }
    CHECK(cut > 0);
}

TEST(without_another_reading_there_are_no_such_columns)
{
    struct three x;
    struct tt_table t;

    if (!make(&x, 1))
        return;
    CHECK_INT(ask(&t, &x.now, NULL, "view=flat", NULL, NULL), 0);
    CHECK(tt_table_find(&t, "self_rate") == TT_NONE);
    CHECK(tt_table_find(&t, "self_since") == TT_NONE);
    tt_table_fini(&t);
    unmake(&x);
}

/* ── What there was no more of ────────────────────────────────────────────────────── */

TEST(a_figure_that_fell_is_not_known)
{
    int fell = 0;

    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct three x;
        struct tt_table t, then;
        const char *metric;
        if (!make(&x, seed))
            return;
        if (!(metric = first_metric(&x)) || !has_metric(&x.then, metric)) {
            unmake(&x);
            continue;
        }
        CHECK_INT(ask(&t, &x.then, &x.now, "view=flat&limit=all", metric, NULL), 0);
        CHECK_INT(ask(&then, &x.now, NULL, "view=flat&limit=all", metric, NULL), 0);
        for (size_t i = 0; i < tt_table_rows(&t); i++) {
            char name[LONG];
            size_t at;
            if (tt_table_row_at(&t, i)->role != TT_ROW_ENTRY)
                continue;
            name_path(&t, i, name);
            at = find(&then, name);
            if (at >= tt_table_rows(&then) || find(&t, name) != i ||
                amount(&t, i, "self", 0) >= amount(&then, at, "self", 0))
                continue;
            CHECK(amount(&t, i, "self_since", 99) == 99);
            fell++;
        }
        tt_table_fini(&then);
        tt_table_fini(&t);
        unmake(&x);
    }
    CHECK(fell > 0);
}

TEST(every_allocation_may_fail)
{
    static const char *const texts[] = {"view=flat&limit=all", "view=tree",
                                        "view=strands"};

    for (int i = 0; i < 3; i++) {
        struct three x;
        int error = -TT_ERR_MEMORY;
        long n;
        if (!make(&x, 7 + (uint64_t)i))
            return;
        for (n = 0; error && n < 1000; n++) {
            struct tt_table t;
            failing_after = n;
            error = ask(&t, &x.now, &x.then, texts[i], NULL, &failing);
            CHECK(error == 0 || error == -TT_ERR_MEMORY);
            tt_table_fini(&t);
            CHECK_INT(failing_pieces, 0);
        }
        CHECK(n > 5 && error == 0);
        unmake(&x);
    }
}

/* ── As a profile ─────────────────────────────────────────────────────────────────── */

static const char *own_name(const struct tt_profile *p, const struct tt_metric_columns *m)
{
    (void)p;
    return m->name;
}

static int grow(const struct tt_profile *now, const struct tt_profile *then,
                struct tt_profile *growth)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image = NULL;
    size_t size;
    int error = tt_growth(b, now, then, own_name);

    if (!error)
        error = tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    return !error && tt_profile_open(growth, image, size, NULL) == 0;
}

/* Nothing is in p that is not in q. */
static void check_within(const struct tt_profile *p, const struct tt_profile *q)
{
    struct tt_profile more;

    if (!CHECK(grow(p, q, &more)))
        return;
    for (uint32_t m = 0; m < more.metrics; m++)
        CHECK_INT(tt_sum_of(more.metric[m].self, 0, more.contexts), 0);
    model_close(&more);
}

TEST(what_a_and_b_have_more_than_a_is_b_as_a_profile)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(ROUNDS); seed++) {
        struct three x;
        struct tt_profile growth, b;
        if (!make(&x, seed))
            return;
        if (CHECK(grow(&x.now, &x.then, &growth)) && CHECK(grow(&x.more, NULL, &b))) {
            check_within(&growth, &b);
            check_within(&b, &growth);
            CHECK_INT(b.contexts, x.more.contexts);
            check_within(&b, &x.more);
            model_close(&growth);
            model_close(&b);
        }
        unmake(&x);
    }
}
