/* SPDX-License-Identifier: MIT */
/* view-parallel.c - of each block: how many threads ran while it ran, and for how long it was
 * the only one.
 *
 *      thread 1   a a a a b b b b            while a ran, 2 threads ran on average; b was
 *      thread 2   c c c c ······             alone in all of its time
 *
 * Each stretch of a thread is compared with those of all others at the same time.  Two sums
 * over time, from the beginning on, give the figures of any stretch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "lanes.h"
#include "metric-view.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 60 };

struct change { /* of the number of threads that run, at a time */
    uint64_t time;
    int64_t by;
    double threads, alone; /* sums until then, of thread-ns and ns */
};

struct ran { /* a context, or with what it called */
    double ns, threads, square, alone;
    uint64_t self, samples;
};

struct parallel {
    const struct tt_profile *p;
    struct tt_lanes lanes;
    struct tt_vector change;
    struct ran *at, *of; /* owned; of each context: its own, then all before it; blocks */
};

/* ── How many run at a time ───────────────────────────────────────────────────────── */

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return TT_ORDER(x->time, y->time);
}

static int list_changes(struct parallel *v)
{
    const struct tt_stretch *s = v->lanes.stretch.item;

    for (size_t i = 0; i < v->lanes.stretch.count; i++) {
        struct change *c;
        if (s[i].wait)
            continue;
        c = tt_vector_add(&v->change, 2);
        if (!c)
            return -TT_ERR_MEMORY;
        c[0] = (struct change){.time = s[i].from, .by = 1};
        c[1] = (struct change){.time = s[i].to, .by = -1};
    }
    return 0;
}

static int find_changes(struct parallel *v)
{
    const int error = list_changes(v);
    struct change *c = v->change.item;
    int64_t running = 0;

    if (error || !v->change.count)
        return error;
    qsort(c, v->change.count, sizeof *c, by_time);
    for (size_t i = 0; i + 1 < v->change.count; i++) {
        const double length = (double)(c[i + 1].time - c[i].time);
        running += c[i].by;
        c[i + 1].threads = c[i].threads + length * (double)running;
        c[i + 1].alone = c[i].alone + (running == 1 ? length : 0);
    }
    return 0;
}

/* The sums at a time at which something changes. */
static const struct change *change_at(const struct parallel *v, uint64_t time)
{
    const struct change key = {.time = time},
                        *c = bsearch(&key, v->change.item, v->change.count, sizeof key,
                                     by_time);

    TT_ASSERT(c);
    return c;
}

/* ── Contexts and blocks ──────────────────────────────────────────────────────────── */

static void add_ran(struct ran *to, const struct ran *r)
{
    to->ns += r->ns;
    to->threads += r->threads;
    to->square += r->square;
    to->alone += r->alone;
    to->self += r->self;
    to->samples += r->samples;
}

static void add_stretch(struct parallel *v, const struct tt_stretch *s)
{
    const struct change *from = change_at(v, s->from), *to = change_at(v, s->to);
    const double threads = to->threads - from->threads, ns = (double)(s->to - s->from);
    const struct ran r = {.ns = ns,
                          .threads = threads,
                          .square = threads * threads / ns,
                          .alone = to->alone - from->alone,
                          .self = s->to - s->from,
                          .samples = 1};

    add_ran(&v->at[s->context], &r);
}

/* The sums of contexts before each, and from these the inclusive figures of each block. */
static void sum_blocks(struct parallel *v, uint32_t *until)
{
    const struct tt_profile *p = v->p;
    struct ran before = {0};

    for (uint32_t c = 0; c <= p->contexts; c++) {
        const struct ran own = v->at[c];
        v->at[c] = before;
        add_ran(&before, &own);
        if (c < p->contexts)
            v->of[tt_block_of(p, c)].self += own.self;
    }
    for (uint32_t c = 0; c < p->contexts; c++) {
        const uint32_t block = tt_block_of(p, c), end = tt_end_of(p, c);
        struct ran *r = &v->of[block];
        if (c < until[block])
            continue;
        until[block] = end;
        r->ns += v->at[end].ns - v->at[c].ns;
        r->threads += v->at[end].threads - v->at[c].threads;
        r->square += v->at[end].square - v->at[c].square;
        r->alone += v->at[end].alone - v->at[c].alone;
        r->samples += v->at[end].samples - v->at[c].samples;
    }
}

static int find_all(struct parallel *v, const struct tt_query *q)
{
    const struct tt_profile *p = v->p;
    uint32_t *until = tt_memory_get(q->memory, p->blocks * sizeof *until);
    const struct tt_stretch *s = v->lanes.stretch.item;
    int error = find_changes(v);

    v->at = tt_memory_get(q->memory, ((size_t)p->contexts + 1) * sizeof *v->at);
    v->of = tt_memory_get(q->memory, p->blocks * sizeof *v->of);
    if (!until || !v->at || !v->of)
        error = -TT_ERR_MEMORY;
    if (!error) {
        for (size_t i = 0; i < v->lanes.stretch.count; i++)
            if (!s[i].wait)
                add_stretch(v, &s[i]);
        sum_blocks(v, until);
    }
    tt_memory_put(q->memory, until);
    return error;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

enum column { SELF, INCLUSIVE, THREADS, THREADS_ERROR, ALONE, ALONE_ERROR, ALONE_TIME };

static void add_columns(struct tt_table *t, struct tt_columns *c)
{
    memset(c, 0xff, sizeof *c);
    tt_table_column(t, "self", "self", "ns", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    tt_table_column(t, "inclusive", "ran", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "threads", "threads", "", TT_COLUMN_REAL, 0);
    tt_table_column(t, "threads_error", "±", "", TT_COLUMN_REAL, TT_COLUMN_ERROR);
    tt_table_column(t, "alone", "alone", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "alone_error", "±", "", TT_COLUMN_SHARE, TT_COLUMN_ERROR);
    tt_table_column(t, "alone_time", "alone for", "ns", TT_COLUMN_AMOUNT, 0);
    tt_block_columns(t, c);
}

/* Half of the 95 % interval of the mean over the stretches, weighted by their lengths. */
static double threads_error(const struct ran *r)
{
    const double mean = r->threads / r->ns, variance = r->square / r->ns - mean * mean;

    return variance > 0 ? 1.959964 * sqrt(variance / (double)r->samples) : 0;
}

/* Sums of a damaged file may not fit. */
static uint64_t amount_of(double ns)
{
    return ns <= 0 ? 0 : ns < 0x1p63 ? (uint64_t)(ns + .5) : UINT64_MAX;
}

static void put_figures(struct tt_table *t, const struct ran *r)
{
    tt_table_amount(t, SELF, r->self);
    tt_table_amount(t, INCLUSIVE, amount_of(r->ns));
    tt_table_real(t, THREADS, r->threads / r->ns);
    tt_table_real(t, THREADS_ERROR, threads_error(r));
    tt_table_real(t, ALONE, r->alone / r->ns);
    tt_table_real(t, ALONE_ERROR, tt_share_error(r->alone / r->ns, r->samples));
    tt_table_amount(t, ALONE_TIME, amount_of(r->alone));
}

static void add_rows(const struct parallel *v, struct tt_table *t,
                     const struct tt_columns *c, const unsigned char *wanted)
{
    for (uint32_t b = 1; b < v->p->blocks; b++) {
        if (v->of[b].ns <= 0 || (wanted && !wanted[b]))
            continue;
        tt_table_row(t, TT_ROW_ENTRY, 0, 0);
        put_figures(t, &v->of[b]);
        tt_block_cells(v->p, t, c, b);
    }
}

static uint64_t amount_at(const struct tt_table *t, size_t row, enum column column)
{
    const union tt_value *value = tt_table_value(t, row, column);

    return value ? value->n : 0;
}

/* Keeps the rows up to the limit and above the threshold, and adds up the self figures of
 * the others; then all. */
static void end_rows(const struct parallel *v, const struct tt_query *q,
                     struct tt_table *t, const struct tt_columns *c)
{
    const struct ran *all = &v->at[v->p->contexts];
    const uint64_t least = tt_least_amount(tt_threshold(q, 0), amount_of(all->ns));
    struct tt_row *row = t->row.item;
    uint64_t rest = all->self, more = 0;
    size_t kept = 0;

    for (size_t i = 0; i < tt_table_rows(t); i++)
        if (kept < tt_limit(q, OWN_LIMIT) && amount_at(t, i, INCLUSIVE) >= least) {
            rest -= amount_at(t, i, SELF);
            row[kept++] = row[i];
        } else {
            more++;
        }
    t->row.count = kept;
    if (rest || more) {
        tt_table_row(t, TT_ROW_REMAINDER, 0, 0);
        tt_table_amount(t, SELF, rest);
        tt_table_string(t, c->name,
                        more ? tt_table_text(t, "%llu more", (unsigned long long)more)
                             : "[all else]");
        tt_table_left(t, more);
    }
    tt_table_row(t, TT_ROW_TOTAL, 0, 0);
    if (all->ns > 0)
        put_figures(t, all);
    tt_table_string(t, c->name, "total");
}

static void add_notes(const struct parallel *v, struct tt_table *t)
{
    tt_table_note(
        t, "parallel",
        "parallel: threads that ran meanwhile, with this one; alone: all others "
        "waited; from %zu samples by time",
        v->p->samples);
    if (!v->lanes.has_waits)
        tt_table_note(t, "no waits",
                      "waits: they are not in the samples, so threads are compared by "
                      "their CPU time; --wall records waits, too");
    if (v->lanes.is_shared)
        tt_table_note(t, "shared strands",
                      "strands: some are several threads, whose samples have only their "
                      "own lengths");
}

/* ── The view ─────────────────────────────────────────────────────────────────────── */

/* Filters that remove samples of other threads would change how many ran. */
static int check_filters(struct tt_query *q)
{
    if (tt_lanes_are_whole(q))
        return 0;
    return tt_query_wrong(
        q, "the view 'parallel' counts all threads that ran at a time: show "
           "one function by 'block', and one range by 'time'");
}

static int fill(struct parallel *v, struct tt_query *q, struct tt_table *t)
{
    unsigned char *wanted = NULL;
    struct tt_columns c;
    int error = q->block ? tt_view_blocks(v->p, q, q->block, &wanted) : 0;

    error = error ?: tt_lanes_init(&v->lanes, v->p, 1, NULL, q->memory);
    error = error ?: find_all(v, q);
    if (!error) {
        add_columns(t, &c);
        add_rows(v, t, &c, wanted);
        error = tt_view_sort(q, t, "alone_time");
    }
    if (!error) {
        end_rows(v, q, t, &c);
        add_notes(v, t);
    }
    free(wanted);
    return error;
}

int tt_view_parallel(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct parallel v = {.p = p, .lanes = {.memory = q->memory}};
    int error = tt_lanes_check(p, q);

    error = error ?: check_filters(q);
    if (error)
        return error;
    tt_vector_init(&v.lanes.stretch, q->memory, sizeof(struct tt_stretch));
    tt_vector_init(&v.change, q->memory, sizeof(struct change));
    error = fill(&v, q, t);
    tt_memory_put(q->memory, v.of);
    tt_memory_put(q->memory, v.at);
    tt_vector_fini(&v.change);
    tt_lanes_fini(&v.lanes);
    return error;
}
