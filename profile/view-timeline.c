/* SPDX-License-Identifier: MIT */
/* view-timeline.c - use over time, by strand, process, block or state.
 *
 *      name     self    most   timeline
 *      total   7.2 s    1.98   ▁▃▃▃▇█████▃▃
 *        main  3.9 s    1.00   ▁▃▃▃▄▄▄▄▄▃▃▃
 *
 * The run is cut into buckets of one length.  A bar is the use in its bucket, beside the
 * greatest of all rows.  Figures are of the samples by time, so each row's buckets add up to
 * what the row has.
 *
 *      samples   ··5······9·····6····    of a thread: each has the time before it
 *      buckets  │  2  │   5   │  ...     and is spread over the buckets that it covers
 *
 * A thread does one thing at a time: a sample that overlaps the next one is moved before it,
 * and what was before the range is moved into it.  So one thread uses 1 processor at most.
 * By state, stretches of threads (lanes.h) are spread, so the use is the number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "building.h"
#include "lanes.h"
#include "range.h"
#include "samples.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 20, OWN_BUCKETS = 60, BUCKETS_MAX = 1000, NS = 1000000000 };
enum by { BY_STRAND, BY_PROCESS, BY_BLOCK, BY_STATE };
enum state { RUNNING, WAITING, STATES };
enum column { NAME, SELF, SHARE, MOST, BAR, BUCKETS, FROM, LENGTH };

struct use { /* of one thing */
    const char *name;
    uint64_t total;
    uint64_t *bucket; /* of all: use_of */
};

struct thread {
    uint64_t left, until; /* of samples that are not there yet; where these end */
    int is_one;           /* at a time */
};

struct timeline {
    const struct tt_profile *p;
    struct tt_table *t;
    struct tt_range run;
    uint64_t length; /* of a bucket, rounded */
    uint32_t buckets, things;
    enum by by;
    uint32_t *thing_of;       /* of each strand or block: its number; owned */
    struct use *use;          /* owned */
    struct thread *thread;    /* owned; of each strand */
    int are_begins, are_last; /* times of samples: of their begins, last nanoseconds */
    uint64_t *amounts;        /* owned: of each thing, then of all */
    uint64_t total, most;
};

/* ── Strands, processes, blocks ───────────────────────────────────────────────────── */

static const char *name_process(struct timeline *v, const struct tt_strand_row *s)
{
    const char *name = v->p->strings + s->process;

    return s->pid ? tt_table_text(v->t, "%s %llu", name, (unsigned long long)s->pid)
                  : name;
}

/* Strands of a process are neighbours. */
static void number_processes(struct timeline *v)
{
    const struct tt_profile *p = v->p;

    for (uint32_t i = 0; i < p->strands; i++) {
        if (i == 0 || !tt_is_one_process(p, i - 1, i))
            v->use[v->things++].name = name_process(v, &p->strand[i]);
        v->thing_of[i] = v->things - 1;
    }
}

static void number_things(struct timeline *v)
{
    const struct tt_profile *p = v->p;

    if (v->by == BY_PROCESS) {
        number_processes(v);
        return;
    }
    if (v->by == BY_STATE) {
        v->things = STATES;
        v->use[RUNNING].name = "running";
        v->use[WAITING].name = "waiting";
        return;
    }
    v->things = v->by == BY_STRAND ? p->strands : p->blocks;
    for (uint32_t i = 0; i < v->things; i++) {
        v->thing_of[i] = i;
        v->use[i].name = v->by == BY_STRAND ? tt_strand_name(v->t, p, i)
                                            : tt_block_name(p, i);
    }
}

static uint32_t thing_of(const struct timeline *v, const struct tt_sample_row *s)
{
    if (v->by == BY_BLOCK)
        return tt_block_of(v->p, s->context);
    return s->strand < v->p->strands ? v->thing_of[s->strand] : TT_NONE;
}

/* ── Buckets ──────────────────────────────────────────────────────────────────────── */

/* Lengths of buckets differ by a nanosecond at most, so that edges do not drift. */
static uint64_t edge_of(const struct timeline *v, uint32_t bucket)
{
    const unsigned __int128 length = v->run.to - v->run.from;

    return v->run.from + (uint64_t)(length * bucket / v->buckets);
}

/* The last one whose edge is not after a time in the range. */
static uint32_t bucket_of(const struct timeline *v, uint64_t time)
{
    const unsigned __int128 until = (unsigned __int128)(time - v->run.from) + 1;

    return (uint32_t)((until * v->buckets - 1) / (v->run.to - v->run.from));
}

static void add_use(struct timeline *v, uint32_t thing, uint32_t at, uint64_t weight)
{
    v->amounts[(size_t)v->things * v->buckets + at] += weight;
    v->total += weight;
    if (thing < v->things) {
        v->use[thing].bucket[at] += weight;
        v->use[thing].total += weight;
    }
}

static uint64_t into_range(const struct timeline *v, uint64_t time)
{
    return time < v->run.from ? v->run.from : time > v->run.to ? v->run.to : time;
}

/* The part of [from, to) that is in the range. */
static void spread(struct timeline *v, uint32_t thing, uint64_t from, uint64_t to)
{
    from = into_range(v, from);
    to = into_range(v, to);
    while (from < to) {
        const uint32_t at = bucket_of(v, from);
        const uint64_t end = edge_of(v, at + 1), until = end < to ? end : to;
        add_use(v, thing, at, until - from);
        from = until;
    }
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

static uint64_t end_of(const struct timeline *v, const struct tt_sample_row *s)
{
    const uint64_t after = v->are_begins ? s->weight : (uint64_t)v->are_last;

    return s->time < UINT64_MAX - after ? s->time + after : UINT64_MAX;
}

/* Samples of several threads may overlap; what is outside of the range is at its edge. */
static void add_apart(struct timeline *v, uint32_t thing, const struct tt_sample_row *s)
{
    const uint64_t to = end_of(v, s), from = to > s->weight ? to - s->weight : 0,
                   inside = into_range(v, to) - into_range(v, from),
                   after = to - into_range(v, to), before = s->weight - inside - after;

    spread(v, thing, from, to);
    add_use(v, thing, 0, before);
    add_use(v, thing, v->buckets - 1, after);
}

/* Adds the last sample of a thread that is not there yet: it ends before the next one begins,
 * and leaves room for those before it. */
static void add_last(struct timeline *v, struct thread *t, uint32_t thing,
                     const struct tt_sample_row *s)
{
    const uint64_t least = v->run.from + t->left;
    uint64_t to = end_of(v, s);

    to = to < t->until ? to : t->until;
    to = to > least ? to : least;
    TT_ASSERT(to <= t->until && s->weight <= t->left);
    t->left -= s->weight;
    t->until = to - s->weight;
    spread(v, thing, t->until, to);
}

/* A machine's recording has rows for all processors together, such as [idle]. */
static void count_threads(struct timeline *v)
{
    const uint64_t length = v->run.to - v->run.from;
    const int is_machine = tt_fact_number(v->p, "processors") != 0;

    for (size_t i = 0; i < v->p->samples; i++) {
        const struct tt_sample_row *s = &v->p->sample[i];
        if (s->strand < v->p->strands && tt_range_has(v->p, &v->run, s))
            tt_add_capped(&v->thread[s->strand].left, s->weight);
    }
    for (uint32_t i = 0; i < v->p->strands; i++) {
        struct thread *t = &v->thread[i];
        t->until = v->run.to;
        t->is_one = v->p->strand[i].members <= 1 && t->left <= length &&
                    (!is_machine || v->p->strand[i].pid);
    }
}

/* Weights that are no times are where their samples are. */
static void add_samples(struct timeline *v)
{
    const int have_lengths = tt_lanes_have_lengths(v->p);

    count_threads(v);
    for (size_t i = v->p->samples; i-- > 0;) {
        const struct tt_sample_row *s = &v->p->sample[i];
        struct thread *t = s->strand < v->p->strands ? &v->thread[s->strand] : NULL;
        const uint32_t thing = thing_of(v, s);
        if (!tt_range_has(v->p, &v->run, s))
            continue;
        if (!have_lengths)
            add_use(v, thing, bucket_of(v, s->time), s->weight);
        else if (t && t->is_one)
            add_last(v, t, thing, s);
        else
            add_apart(v, thing, s);
    }
}

/* ── States ───────────────────────────────────────────────────────────────────────── */

static void spread_stretch(struct timeline *v, const struct tt_stretch *s, uint64_t shift)
{
    spread(v, s->wait ? WAITING : RUNNING, s->from < shift ? 0 : s->from - shift,
           s->to < shift ? 0 : s->to - shift);
}

static int add_states(struct timeline *v, const struct tt_query *q)
{
    struct tt_lanes lanes;
    const int error = tt_lanes_init(&lanes, v->p, tt_lanes_are_whole(q), NULL, q->memory);
    const struct tt_stretch *s = lanes.stretch.item;

    for (size_t i = 0; !error && i < lanes.stretch.count; i++)
        spread_stretch(v, &s[i], lanes.shift);
    if (!error && !lanes.has_waits)
        tt_table_note(v->t, "no waits",
                      "waits: they are not in the samples; --wall records them, too");
    tt_lanes_fini(&lanes);
    return error;
}

static int find_buckets(struct timeline *v, const struct tt_query *q)
{
    int error = 0;

    for (uint32_t i = 0; i < v->things; i++)
        v->use[i].bucket = v->amounts + (size_t)i * v->buckets;
    if (v->by != BY_STATE)
        add_samples(v);
    else if (v->p->samples)
        error = add_states(v, q);
    for (uint32_t i = 0; i < v->buckets; i++) {
        uint64_t all = v->amounts[(size_t)v->things * v->buckets + i];
        v->most = all > v->most ? all : v->most;
    }
    return error;
}

static int by_total(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    return TT_ORDER(y->total, x->total) ?: strcmp(x->name, y->name);
}

/* In processors: a bucket may be shorter than others by a nanosecond. */
static double most_at_once(const struct timeline *v, const uint64_t *bucket)
{
    double most = 0;

    for (uint32_t i = 0; i < v->buckets; i++) {
        const uint64_t length = edge_of(v, i + 1) - edge_of(v, i);
        if (length && (double)bucket[i] / (double)length > most)
            most = (double)bucket[i] / (double)length;
    }
    return most;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* Eighths of the greatest bucket of all; a blank is none. */
static const char *draw_bar(struct timeline *v, const uint64_t *bucket)
{
    char text[3 * BUCKETS_MAX + 1];
    size_t at = 0, used = 0; /* used: without blanks at the end */

    for (uint32_t i = 0; i < v->buckets; i++) {
        uint64_t eighths = v->most ? (uint64_t)(((unsigned __int128)bucket[i] * 8 +
                                                 v->most - 1) /
                                                v->most)
                                   : 0;
        if (!eighths) {
            text[at++] = ' ';
            continue;
        }
        memcpy(text + at, "\342\226", 2);
        text[at + 2] = (char)(0x80 + eighths);
        used = at += 3;
    }
    text[used] = '\0';
    return tt_table_text(v->t, "%s", text);
}

static const char *list_buckets(struct timeline *v, const uint64_t *bucket)
{
    char text[21 * BUCKETS_MAX + 1];
    size_t at = 0;

    for (uint32_t i = 0; i < v->buckets; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%llu", i ? " " : "",
                               (unsigned long long)bucket[i]);
    return tt_table_text(v->t, "%s", text);
}

static void add_row(struct timeline *v, enum tt_row_role role, const char *name,
                    const uint64_t *bucket)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < v->buckets; i++)
        total += bucket[i];
    tt_table_row(v->t, role, role != TT_ROW_TOTAL, 0);
    tt_table_string(v->t, NAME, name);
    tt_table_amount(v->t, SELF, total);
    tt_table_real(v->t, SHARE, v->total ? (double)total / (double)v->total : 0);
    tt_table_real(v->t, MOST, most_at_once(v, bucket));
    tt_table_string(v->t, BAR, draw_bar(v, bucket));
    tt_table_string(v->t, BUCKETS, list_buckets(v, bucket));
    tt_table_amount(v->t, FROM, v->run.from);
    tt_table_amount(v->t, LENGTH, v->length);
}

static void add_rest(struct timeline *v, uint32_t first)
{
    uint64_t *sum = v->amounts + (size_t)(v->things + 1) * v->buckets;
    uint32_t more = 0;

    for (uint32_t i = first; i < v->things; i++) {
        more += v->use[i].total != 0;
        for (uint32_t k = 0; k < v->buckets; k++)
            sum[k] += v->use[i].bucket[k];
    }
    if (more)
        add_row(v, TT_ROW_REMAINDER, tt_table_text(v->t, "%u more", more), sum);
}

static void add_rows(struct timeline *v, const struct tt_query *q)
{
    const uint64_t least = tt_least_amount(tt_threshold(q, 0), v->total);
    uint32_t shown = 0;

    qsort(v->use, v->things, sizeof *v->use, by_total);
    while (shown < v->things && shown < tt_limit(q, OWN_LIMIT) && v->use[shown].total &&
           v->use[shown].total >= least)
        shown++;
    for (uint32_t i = 0; i < shown; i++)
        add_row(v, TT_ROW_ENTRY, v->use[i].name, v->use[i].bucket);
    add_rest(v, shown);
    add_row(v, TT_ROW_TOTAL, "total", v->amounts + (size_t)v->things * v->buckets);
}

static void add_columns(struct timeline *v, const char *unit)
{
    struct tt_table *t = v->t;

    tt_table_column(t, "name",
                    v->by == BY_BLOCK     ? "block"
                    : v->by == BY_PROCESS ? "process"
                    : v->by == BY_STATE   ? "threads"
                                          : "strand",
                    "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(t, "self", "self", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "share", "share", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "most", "most at once", "", TT_COLUMN_REAL, 0);
    tt_table_column(t, "timeline", "over time", "", TT_COLUMN_TEXT, 0);
    tt_table_column(t, "buckets", "buckets", unit, TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    tt_table_column(t, "from", "from", "ns", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    tt_table_column(t, "length", "bucket", "ns", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
}

/* ── The view ─────────────────────────────────────────────────────────────────────── */

static int choose_buckets(struct timeline *v, struct tt_query *q)
{
    const char *text = tt_query_other(q, "buckets");
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : OWN_BUCKETS;

    if (text && (*text < '1' || *text > '9' || *end || n > BUCKETS_MAX))
        return tt_query_wrong(q, "'buckets' wants a number from 1 to %d, not '%.40s'",
                              BUCKETS_MAX, text);
    v->buckets = (uint32_t)n;
    return 0;
}

static int fill(struct timeline *v, struct tt_query *q)
{
    const uint32_t things = v->by == BY_BLOCK   ? v->p->blocks
                            : v->by == BY_STATE ? STATES
                                                : v->p->strands;
    const size_t bytes = ((size_t)things + 2) * v->buckets * sizeof *v->amounts;
    int error = -TT_ERR_MEMORY;

    v->thing_of = tt_memory_get(q->memory, things * sizeof *v->thing_of);
    v->use = tt_memory_get(q->memory, things * sizeof *v->use);
    v->amounts = tt_memory_get(q->memory, bytes);
    v->thread = tt_memory_get(q->memory, v->p->strands * sizeof *v->thread);
    if (v->thing_of && v->use && v->amounts && v->thread) {
        number_things(v);
        error = find_buckets(v, q);
        if (!error)
            add_rows(v, q);
    }
    tt_memory_put(q->memory, v->thread);
    tt_memory_put(q->memory, v->amounts);
    tt_memory_put(q->memory, v->use);
    tt_memory_put(q->memory, v->thing_of);
    return error;
}

int tt_view_timeline(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct timeline v = {.p = p, .t = t};
    const int by = tt_view_word(q, "timeline", "by");
    const uint32_t time = tt_samples_metric(p);
    uint64_t length;

    if (by < 0)
        return by;
    if (choose_buckets(&v, q) != 0 || v.buckets == 0)
        return -TT_ERR_OPTION;
    if (q->sort)
        return tt_query_wrong(q, "the view 'timeline' is in the order of use");
    if (!p->samples && !(p->whole && p->whole->samples)) /* a range may have none */
        return tt_query_wrong(q, "there are no samples by time here");
    if (by == BY_STATE && p->samples && tt_lanes_check(p, q) != 0)
        return -TT_ERR_OPTION;
    v.by = (enum by)by;
    v.run = tt_range_shown(p);
    length = v.run.to - v.run.from;
    v.length = (length + v.buckets / 2) / v.buckets;
    v.are_begins = tt_lanes_are_begins(p);
    v.are_last = tt_fact_text(p, TT_FACT_BEGAN) != NULL;
    add_columns(&v, time != TT_NONE ? p->metric[time].unit : "ticks");
    tt_table_note(t, "buckets", "time: %u buckets of %.6g s, %zu samples by time",
                  v.buckets, (double)v.length / NS, p->samples);
    return fill(&v, q);
}
