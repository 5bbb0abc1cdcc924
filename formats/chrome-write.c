/* SPDX-License-Identifier: MIT */
/* chrome-write.c - trace events: each context once, as long as its inclusive cost; or
 * each thread's frames by time.
 *
 * Sums have no order in time, so events follow each other; the self cost of a context
 * comes first.  If the unit is not a time, one unit is a microsecond. */
#include "chrome-write.h"
#include "by-time.h"
#include "chrome.h"
#include "pairs.h"
#include "statistics.h"
#include "writers.h"

struct writing {
    const struct tt_profile *p;
    const struct tt_metric_columns *m;
    struct tt_writer *w;
    uint64_t at, pid, thread;
    int any, is_time;
};

static void put_time(const struct writing *x, uint64_t n)
{
    if (!x->is_time) {
        tt_put_number(x->w, n);
        return;
    }
    tt_put_number(x->w, n / 1000);
    if (n % 1000)
        tt_putf(x->w, ".%03u", (unsigned)(n % 1000));
}

static void put_head(struct writing *x, const char *name, char kind)
{
    tt_put(x->w, x->any ? ",\n{\"name\":" : "\n{\"name\":");
    tt_put_json(x->w, name);
    tt_putf(x->w, ",\"ph\":\"%c\",\"pid\":%llu,\"tid\":%llu", kind,
            (unsigned long long)x->pid, (unsigned long long)x->thread);
    x->any = 1;
}

static void put_event(struct writing *x, const char *name, uint64_t length)
{
    put_head(x, name, 'X');
    tt_put(x->w, ",\"ts\":");
    put_time(x, x->at);
    tt_put(x->w, ",\"dur\":");
    put_time(x, length);
    tt_put_char(x->w, '}');
}

static void put_context(struct writing *x, const struct tt_walk *w)
{
    uint64_t self = tt_self_of(x->m, w->context),
             below = tt_elsewhere_of(x->m, w->context);

    if (w->depth)
        put_event(x, tt_block_name(x->p, tt_block_of(x->p, w->context)),
                  tt_total_of(x->p, x->m, w->context));
    else if (self)
        put_event(x, "[root]", self);
    x->at += self;
    if (below)
        put_event(x, "[elsewhere below]", below);
    x->at += below;
}

static int put_contexts(struct writing *x)
{
    struct tt_walk walk;

    if (tt_walk_init(&walk, x->p, 0) != 0)
        return -TT_ERR_MEMORY;
    x->pid = x->thread = 1;
    while (!x->w->error && tt_walk_next(&walk)) {
        if (tt_total_of(x->p, x->m, walk.context))
            put_context(x, &walk);
        else
            tt_walk_skip(&walk);
    }
    tt_walk_fini(&walk);
    return 0;
}

/* ── By time ──────────────────────────────────────────────────────────────────────── */

struct writing_by_time {
    struct writing x;
    struct tt_by_time by_time;
    struct tt_pairs numbers; /* that are in use: enum number, number */
    uint64_t spare;          /* the next one to try for what has none */
};

enum number { PROCESS, THREAD };

/* Of processes and of threads each has its own number, of 31 bits at most, as Perfetto asks
 * for; those of several runs or machines may be the same, and some have none. */
static int choose_number(struct writing_by_time *y, enum number what, uint64_t own,
                         uint64_t *number)
{
    const uint32_t *known;
    int is_new = 0;

    *number = own && own <= INT32_MAX ? own : y->spare--;
    while ((known = tt_pairs_get(&y->numbers, what, *number, &is_new)) && !is_new)
        *number = y->spare--;
    return known ? 0 : -TT_ERR_MEMORY;
}

static void put_name(struct writing *x, const char *what, const char *name)
{
    put_head(x, what, 'M');
    tt_put(x->w, ",\"args\":{\"name\":");
    tt_put_json(x->w, name);
    tt_put(x->w, "}}");
}

/* Of frames that begin and end at one time, the order says which one is the outer one. */
static void put_edge(struct writing *x, uint32_t context, char kind, uint64_t at)
{
    put_head(x, context ? tt_block_name(x->p, tt_block_of(x->p, context)) : "[root]",
             kind);
    tt_put(x->w, ",\"ts\":");
    put_time(x, at);
    tt_put_char(x->w, '}');
}

static void open_frame(void *arg, uint32_t context, uint64_t at)
{
    put_edge(arg, context, 'B', at);
}

static void close_frame(void *arg, uint32_t context, uint64_t at)
{
    put_edge(arg, context, 'E', at);
}

static int begin_thread(struct writing_by_time *y, uint32_t last, uint32_t strand)
{
    const struct tt_profile *p = y->x.p;
    const struct tt_strand_row *s = &p->strand[strand];
    int error = 0;

    if (last == TT_NONE || !tt_is_one_process(p, last, strand))
        error = choose_number(y, PROCESS, s->pid, &y->x.pid);
    error = error ?: choose_number(y, THREAD, s->thread, &y->x.thread);
    put_name(&y->x, "process_name", p->strings + s->process);
    put_name(&y->x, "thread_name", p->strings + s->name);
    return error;
}

static int put_threads(struct writing_by_time *y)
{
    uint32_t last = TT_NONE;
    int error = 0;

    for (uint32_t i = 0; !error && i < y->x.p->strands && !y->x.w->error; i++) {
        if (!tt_by_time_has(&y->by_time, i))
            continue;
        error = begin_thread(y, last, i);
        error = error ?: tt_by_time_walk(&y->by_time, i, open_frame, close_frame, &y->x);
        last = i;
    }
    return error;
}

static int write_by_time(struct tt_export *e, struct tt_writer *w)
{
    struct writing_by_time y = {.x = {.p = e->profile, .w = w, .is_time = 1},
                                .spare = INT32_MAX};
    int error = tt_by_time_init(&y.by_time, e);

    tt_pairs_init(&y.numbers, y.x.p->memory);
    error = error ?: put_threads(&y);
    tt_pairs_fini(&y.numbers);
    tt_by_time_fini(&y.by_time);
    return error;
}

/* ── All ──────────────────────────────────────────────────────────────────────────── */

static int write_sums(struct tt_export *e, struct tt_writer *w)
{
    const uint32_t metric = tt_export_metric(e);
    struct writing x = {.p = e->profile, .w = w};

    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    x.m = &x.p->metric[metric];
    x.is_time = strcmp(x.m->unit, "ns") == 0;
    return put_contexts(&x);
}

int tt_chrome_write(struct tt_export *e, struct tt_writer *w)
{
    int error;

    tt_put(w, "{\"displayTimeUnit\":\"ns\",");
    if (!e->by_time)
        tt_put(w, "\"otherData\":{\"tallytree\":\"sums\"},");
    tt_put(w, "\"traceEvents\":[");
    error = e->by_time ? write_by_time(e, w) : write_sums(e, w);
    tt_put(w, "\n]}\n");
    return error;
}
