/* SPDX-License-Identifier: MIT */
/* v8-write.c - .cpuprofile, as V8's tools read it: a tree of nodes, and a sample for each
 * stretch in the order of time.
 *
 *      stretch    main;a 3 ms   main 2 ms    gap 4 ms   main 1 ms
 *      samples    a             main         (idle)     main        (root)
 *      deltas     0             3000         2000       4000        1000     µs
 *
 * A sample lasts until the next one, so the last one ends the run.  Sums have no order in
 * time: then each context has one sample, as long as its self cost, and they follow each
 * other.  If the unit is not a time, one unit is a microsecond. */
#include <stdio.h>

#include "by-time.h"
#include "statistics.h"
#include "v8-write.h"
#include "v8.h"
#include "writers.h"

struct writing {
    const struct tt_profile *p;
    const struct tt_metric_columns *m; /* NULL: by time */
    struct tt_by_time *t;              /* NULL: sums */
    uint32_t strand;                   /* of t */
    struct tt_writer *w;
    uint32_t *hits; /* owned; of each context: its samples */
    int has_idle, is_time;
};

/* Called for each sample, with its node and its begin in µs. */
typedef void take_sample(struct writing *, uint64_t node, uint64_t at);

/* Numbers of nodes: contexts from 1 on, time without a sample, what was evicted below each. */
static uint64_t node_of(uint32_t context) { return (uint64_t)context + 1; }

static uint64_t idle_node(const struct writing *x)
{
    return (uint64_t)x->p->contexts + 1;
}

static uint64_t elsewhere_node(const struct writing *x, uint32_t context)
{
    return idle_node(x) + 1 + context;
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

static void each_stretch(struct writing *x, take_sample *take)
{
    const struct tt_lane *lane = &x->t->lanes.lane[x->strand];
    const struct tt_stretch *s = x->t->lanes.stretch.item;
    const int is_exact = tt_fact_text(x->p, TT_FACT_BEGAN) != NULL;
    uint64_t end = s[lane->first].from;

    for (size_t i = lane->first; i < lane->end; i++) {
        const int follows = i > lane->first && s[i].from == end;
        if (s[i].from > end)
            take(x, idle_node(x), (end - x->t->start) / 1000);
        if (!is_exact || !follows || s[i].context != s[i - 1].context) /* not a part */
            take(x, node_of(s[i].context), (s[i].from - x->t->start) / 1000);
        end = s[i].to;
    }
    take(x, node_of(0), (end - x->t->start) / 1000);
}

static void each_context(struct writing *x, take_sample *take)
{
    const uint64_t unit = x->is_time ? 1000 : 1;
    uint64_t at = 0;

    for (uint32_t i = 0; i < x->p->contexts; i++) {
        const uint64_t self = tt_self_of(x->m, i), below = tt_elsewhere_of(x->m, i);
        if (self)
            take(x, node_of(i), at / unit);
        at += self;
        if (below)
            take(x, elsewhere_node(x, i), at / unit);
        at += below;
    }
    take(x, node_of(0), at / unit);
}

static void each_sample(struct writing *x, take_sample *take)
{
    if (x->t)
        each_stretch(x, take);
    else
        each_context(x, take);
}

static void count_hit(struct writing *x, uint64_t node, uint64_t at)
{
    (void)at;
    if (node < idle_node(x))
        x->hits[node - 1]++;
    x->has_idle |= node == idle_node(x);
}

/* ── Nodes ────────────────────────────────────────────────────────────────────────── */

static void put_frame(const struct writing *x, uint32_t context)
{
    const struct tt_block_row *row = &x->p->block[tt_block_of(x->p, context)];

    tt_put(x->w, "{\"functionName\":");
    tt_put_json(x->w, context ? tt_profile_string(x->p, row->name) : "(root)");
    tt_put(x->w, ",\"scriptId\":\"0\",\"url\":");
    tt_put_json(x->w, tt_profile_string(x->p, row->file));
    tt_putf(x->w, ",\"lineNumber\":%lld,\"columnNumber\":%lld}", (long long)row->line - 1,
            (long long)row->column - 1);
}

static void put_leaf(const struct writing *x, uint64_t node, const char *name)
{
    tt_putf(x->w,
            ",\n{\"id\":%llu,\"callFrame\":{\"functionName\":\"%s\",\"scriptId\":\"0\","
            "\"url\":\"\",\"lineNumber\":-1,\"columnNumber\":-1},\"hitCount\":1}",
            (unsigned long long)node, name);
}

static int has_elsewhere(const struct writing *x, uint32_t context)
{
    return x->m && tt_elsewhere_of(x->m, context) != 0;
}

static void put_child(const struct writing *x, int *any, uint64_t node)
{
    tt_putf(x->w, "%s%llu", (*any)++ ? "," : "", (unsigned long long)node);
}

static void put_node(const struct writing *x, uint32_t context)
{
    const uint32_t end = tt_end_of(x->p, context);
    int any = 0;

    tt_putf(x->w, "%s{\"id\":%llu,\"callFrame\":", context ? ",\n" : "",
            (unsigned long long)node_of(context));
    put_frame(x, context);
    tt_putf(x->w, ",\"hitCount\":%u,\"children\":[", x->hits[context]);
    for (uint32_t i = context + 1; i < end; i = tt_end_of(x->p, i))
        put_child(x, &any, node_of(i));
    if (has_elsewhere(x, context))
        put_child(x, &any, elsewhere_node(x, context));
    if (!context && x->has_idle)
        put_child(x, &any, idle_node(x));
    tt_put(x->w, "]}");
}

static void put_nodes(const struct writing *x)
{
    for (uint32_t i = 0; i < x->p->contexts && !x->w->error; i++) {
        put_node(x, i);
        if (has_elsewhere(x, i))
            put_leaf(x, elsewhere_node(x, i), "[elsewhere below]");
    }
    if (x->has_idle)
        put_leaf(x, idle_node(x), "(idle)");
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

struct putting {
    struct writing x;
    uint64_t last;
    int any;
};

static struct putting *putting_of(struct writing *x)
{
    return (struct putting *)(void *)x;
}

static void put_sample(struct writing *x, uint64_t node, uint64_t at)
{
    (void)at;
    put_child(x, &putting_of(x)->any, node);
}

static void put_delta(struct writing *x, uint64_t node, uint64_t at)
{
    struct putting *y = putting_of(x);

    (void)node;
    put_child(x, &y->any, at - y->last);
    y->last = at;
}

static int put_all(struct putting *y)
{
    struct writing *x = &y->x;

    x->hits = tt_memory_get(x->p->memory, x->p->contexts * sizeof *x->hits);
    if (!x->hits)
        return -TT_ERR_MEMORY;
    memset(x->hits, 0, x->p->contexts * sizeof *x->hits);
    each_sample(x, count_hit);
    tt_put(x->w, "{\"nodes\":[\n");
    put_nodes(x);
    tt_put(x->w, "],\n\"samples\":[");
    each_sample(x, put_sample);
    tt_put(x->w, "],\n\"timeDeltas\":[");
    y->any = 0;
    each_sample(x, put_delta);
    tt_putf(x->w, "],\n\"startTime\":0,\"endTime\":%llu}\n", (unsigned long long)y->last);
    tt_memory_put(x->p->memory, x->hits);
    return 0;
}

/* The strand of all samples; TT_NONE with e->error: there are several. */
static uint32_t find_thread(struct tt_export *e, const struct tt_by_time *t)
{
    uint32_t found = TT_NONE, count = 0;

    for (uint32_t i = 0; i < t->lanes.lanes; i++)
        if (tt_by_time_has(t, i)) {
            found = i;
            count++;
        }
    if (count == 1)
        return found;
    (void)snprintf(e->error, sizeof e->error,
                   "--by-time: the file has room for one thread, and %u have samples; "
                   "choose one with --strand",
                   count);
    return TT_NONE;
}

static int write_by_time(struct tt_export *e, struct tt_writer *w)
{
    struct tt_by_time t;
    struct putting y = {.x = {.p = e->profile, .w = w, .t = &t}};
    int error = tt_by_time_init(&t, e);

    if (!error) {
        y.x.strand = find_thread(e, &t);
        error = y.x.strand == TT_NONE ? -TT_ERR_OPTION : put_all(&y);
    }
    tt_by_time_fini(&t);
    return error;
}

int tt_v8_write(struct tt_export *e, struct tt_writer *w)
{
    const uint32_t metric = e->by_time ? TT_NONE : tt_export_metric(e);
    struct putting y = {.x = {.p = e->profile, .w = w}};

    if (e->by_time)
        return write_by_time(e, w);
    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    y.x.m = &e->profile->metric[metric];
    y.x.is_time = strcmp(y.x.m->unit, "ns") == 0;
    return put_all(&y);
}
