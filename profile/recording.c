/* SPDX-License-Identifier: MIT */
/* recording.c - from the recording that a process writes to a profile.
 *
 * A recording has a tree for each strand; here they become one, with figures by strand. */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transfer {
    struct tt_builder *b;
    const struct tt_picture *p;
    uint32_t *block, *context; /* the builder's ids */
    uint32_t *by_id, ids;      /* of blocks, by their ids in the recording */
    uint64_t *foreign;         /* of each context: calls of other blocks that led there */
    uint64_t *calls_here, *self_here,
        *samples_here; /* of each block: what is in the tree */
    uint32_t calls, time, samples, metric[TT_METRICS_MAX + 1];
    uint64_t beside[3], elsewhere[3]; /* calls, time, samples */
    uint32_t at;                      /* the context whose metrics are taken */
    const struct tt_trace_strand
        *trace; /* of each strand by its name, a number; or NULL */
    size_t traces;
};

/* ── Units ────────────────────────────────────────────────────────────────────────── */

enum { NS = 1000000000 };

static int is_in_ns(const struct tt_header *h) { return h->clock != TT_CLOCK_CALLER; }

static uint64_t scale(const struct tt_header *h, uint64_t ticks)
{
    uint64_t rate = h->ticks_per_second;

    if (!is_in_ns(h) || rate == NS || !rate)
        return ticks;
    return (uint64_t)(((unsigned __int128)ticks * NS + rate / 2) / rate);
}

static struct tt_sum128 scale_square(const struct tt_header *h, const struct tt_square *s)
{
    long double x = (long double)s->high * 18446744073709551616.0L + (long double)s->low;
    unsigned __int128 n;

    if (!is_in_ns(h) || h->ticks_per_second == NS || !h->ticks_per_second)
        return (struct tt_sum128){s->low, s->high};
    x *= (long double)NS / (long double)h->ticks_per_second;
    x *= (long double)NS / (long double)h->ticks_per_second;
    n = (unsigned __int128)x;
    return (struct tt_sum128){(uint64_t)n, (uint64_t)(n >> 64)};
}

/* Amounts in the order of a running sum: rounded, they still add up to the rounded sum. */
struct running {
    uint64_t ticks, scaled;
};

static uint64_t scale_next(const struct tt_header *h, struct running *r, uint64_t ticks)
{
    uint64_t before = r->scaled;

    r->ticks += ticks;
    r->scaled = scale(h, r->ticks);
    return r->scaled - before;
}

/* ── Blocks and metrics ───────────────────────────────────────────────────────────── */

/* Is all time of this recording an estimate by samples? */
static int is_sampled(const struct tt_picture *p)
{
    int sampled = p->header->source[0] != 0; /* of a process that had no time too */

    for (uint32_t i = 0; i < p->blocks; i++) {
        if (!p->block[i].self)
            continue;
        if (p->header->mode[p->block[i].info.kind] != TT_MODE_SAMPLED)
            return 0;
        sampled = 1;
    }
    return sampled;
}

static void add_metrics(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    uint32_t flags = TT_METRIC_TIME | (is_sampled(t->p) ? TT_METRIC_SAMPLED : 0);

    t->calls = tt_builder_metric(t->b, "calls", "", TT_METRIC_CALLS);
    t->time = is_in_ns(h) || t->trace ? tt_builder_metric(t->b, "time", "ns", flags)
                                      : tt_builder_metric(t->b, "ticks", "ticks", flags);
    t->samples = TT_NONE;
    for (uint32_t i = 0; i < t->p->contexts; i++)
        if (t->p->context[i].samples || t->p->context[i].elsewhere.samples) {
            t->samples = tt_builder_metric(t->b, "samples", "", 0);
            break;
        }
    for (uint32_t i = 0; i <= TT_METRICS_MAX; i++)
        t->metric[i] = TT_NONE;
}

/* A metric of the program's own, known from its first figure on. */
static void take_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                        uint64_t amount)
{
    struct transfer *t = arg;
    size_t i = (size_t)(m - t->p->header->metric);
    char name[TT_NAME_SIZE + 1] = {0}, unit[TT_NAME_SIZE + 1] = {0};

    if (t->metric[i] == TT_NONE) {
        memcpy(name, m->name, TT_NAME_SIZE);
        memcpy(unit, m->unit, TT_NAME_SIZE);
        t->metric[i] = tt_builder_metric(t->b, name, unit, 0);
    }
    tt_builder_add(t->b, elsewhere ? TT_ROLE_ELSEWHERE : TT_ROLE_SELF, t->at,
                   t->metric[i], amount);
}

/* ── Contexts and arcs ────────────────────────────────────────────────────────────── */

static void name_trace(const struct transfer *t, const char *number,
                       struct tt_strand_info *info)
{
    size_t i = strtoul(number, NULL, 10);

    info->host = info->process = info->name = "";
    info->pid = info->thread = 0;
    if (i >= t->traces)
        return;
    info->process = t->trace[i].process;
    info->name = t->trace[i].name;
    info->pid = t->trace[i].pid;
    info->thread = t->trace[i].thread;
}

static void add_strand(struct transfer *t, const struct tt_strand_record *s)
{
    const struct tt_header *h = t->p->header;
    char name[TT_NAME_SIZE + 1] = {0}, program[sizeof h->program + 1] = {0},
                             host[sizeof h->host + 1] = {0};
    struct tt_strand_info info = {.host = host,
                                  .process = program,
                                  .name = name,
                                  .pid = h->pid,
                                  .thread = s->thread,
                                  .rank = TT_NONE,
                                  .members = s->members ? s->members : 1};

    memcpy(name, s->name, TT_NAME_SIZE);
    memcpy(program, h->program, sizeof h->program);
    memcpy(host, h->host, sizeof h->host);
    if (s->state == TT_STRAND_MERGED) {
        info.least = scale(h, s->least);
        info.most = scale(h, s->most);
        info.least_thread = s->least_thread;
        info.most_thread = s->most_thread;
        info.square = scale_square(h, &s->square);
        info.thread = 0;
    }
    if (t->trace)
        name_trace(t, name, &info);
    (void)tt_builder_strand(t->b, &info);
}

static void add_times(struct transfer *t, int arc, uint32_t id, uint32_t cell)
{
    const struct tt_header *h = t->p->header;
    const struct tt_times *x = tt_picture_extension(t->p, cell, TT_TIMES);
    struct tt_times_row row;

    if (!x || !x->count)
        return;
    row = (struct tt_times_row){.count = x->count,
                                .sum = scale(h, x->sum),
                                .min = scale(h, x->min),
                                .max = scale(h, x->max),
                                .square = scale_square(h, &x->square),
                                .children = scale(h, x->children),
                                .children_square = scale_square(h, &x->children_square),
                                .recursive = scale(h, x->recursive),
                                .recursive_square = scale_square(h, &x->recursive_square),
                                .weighed = scale(h, x->weighed)};
    tt_builder_times(t->b, arc, id, &row);
}

static void add_slowest(struct transfer *t, int arc, uint32_t id,
                        const struct tt_slowest *s)
{
    const struct tt_header *h = t->p->header;
    struct tt_slow_figure figure[TT_SLOW_ROWS];

    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct tt_slow *slot = &s->slot[i];
        const struct tt_slow_row *row = (const void *)(t->p->image +
                                                       (size_t)slot->rows * TT_CELL_SIZE);
        uint32_t count = 0;
        /* The first row is the activation itself. */
        for (uint32_t j = 1; j < slot->count; j++) {
            uint32_t block = row[j].block & TT_KEY_BLOCK;
            figure[count++] = (struct tt_slow_figure){
                .block = block < t->ids ? t->by_id[block] : 0,
                .parent = row[j].parent ? row[j].parent - 1 : 0,
                .calls = row[j].calls,
                .self = scale(h, row[j].self)};
        }
        tt_builder_slow(t->b, arc, id, scale(h, slot->start), scale(h, slot->duration),
                        figure, count, scale(h, slot->dropped));
    }
}

static void add_details(struct transfer *t, int arc, uint32_t id, uint32_t cell)
{
    const struct tt_header *h = t->p->header;
    const struct tt_histogram *bins = tt_picture_extension(t->p, cell, TT_HISTOGRAM);
    const struct tt_history *last = tt_picture_extension(t->p, cell, TT_HISTORY);

    add_times(t, arc, id, cell);
    for (uint32_t i = 0; bins && i < TT_HISTOGRAM_BINS; i++)
        tt_builder_bin(t->b, arc, id, i, bins->bin[i]);
    for (uint64_t i = 0; last && i < last->count && i < last->capacity; i++)
        tt_builder_activation(t->b, arc, id, scale(h, last->ring[i].start),
                              scale(h, last->ring[i].duration));
    add_slowest(t, arc, id, tt_picture_extension(t->p, cell, TT_SLOWEST));
}

struct strand_sums {
    struct running self, elsewhere, own;
};

static void add_context(struct transfer *t, uint32_t i, struct strand_sums *sums)
{
    const struct tt_header *h = t->p->header;
    const struct tt_picture_context *c = &t->p->context[i];
    uint32_t id = TT_BUILDER_ROOT;

    if (c->block != UINT32_MAX)
        id = tt_builder_context(t->b, t->context[c->parent], t->block[c->block]);
    t->context[i] = id;
    tt_builder_add(t->b, TT_ROLE_SELF, id, t->time, scale_next(h, &sums->self, c->self));
    tt_builder_add(t->b, TT_ROLE_OWN, id, t->time,
                   scale_next(h, &sums->own, c->self - c->self_low));
    tt_builder_add(t->b, TT_ROLE_ELSEWHERE, id, t->time,
                   scale_next(h, &sums->elsewhere, c->elsewhere.self));
    tt_builder_add(t->b, TT_ROLE_SELF, id, t->samples, c->samples);
    tt_builder_add(t->b, TT_ROLE_ELSEWHERE, id, t->samples, c->elsewhere.samples);
    tt_builder_add(t->b, TT_ROLE_ELSEWHERE, id, t->calls, c->elsewhere.calls);
    tt_builder_missed(t->b, id, t->time, scale(h, c->missed));
    t->elsewhere[0] += c->elsewhere.calls;
    t->elsewhere[1] += c->elsewhere.self;
    t->elsewhere[2] += c->elsewhere.samples;
    if (c->block != UINT32_MAX) {
        t->self_here[c->block] += c->self;
        t->samples_here[c->block] += c->samples;
    }
    t->at = id;
    tt_picture_metrics(t->p, c->cell, take_metric, t);
    add_details(t, 0, id, c->cell);
}

/* An arc of another block than its target's, which was dropped there: its calls are not
 * the target's. */
static int is_foreign(const struct tt_picture *p, const struct tt_picture_arc *a)
{
    return a->block != p->context[a->to].block;
}

static void add_arcs(struct transfer *t, uint32_t *arc, uint32_t end)
{
    const struct tt_picture *p = t->p;

    for (; *arc < p->arcs && p->arc[*arc].from < end; ++*arc) {
        const struct tt_picture_arc *a = &p->arc[*arc];
        uint32_t id = tt_builder_arc(t->b, t->context[a->from], t->context[a->to],
                                     t->block[a->block]);
        tt_builder_add(t->b, TT_ROLE_ARC, id, t->calls, a->calls);
        add_details(t, 1, id, a->cell);
        if (is_foreign(p, a)) {
            t->calls_here[a->block] += a->calls;
            t->foreign[a->to] += a->calls;
        }
    }
}

static void add_calls(struct transfer *t, uint32_t i)
{
    const struct tt_picture_context *c = &t->p->context[i];

    tt_builder_add(t->b, TT_ROLE_SELF, t->context[i], t->calls, c->calls - t->foreign[i]);
    if (c->block != UINT32_MAX)
        t->calls_here[c->block] += c->calls - t->foreign[i];
}

static void add_strands(struct transfer *t)
{
    const struct tt_picture *p = t->p;
    uint32_t arc = 0;

    for (uint32_t s = 0; s < p->strands; s++) {
        uint32_t end = s + 1 < p->strands ? p->strand_first[s + 1] : p->contexts;
        struct strand_sums sums = {0};
        add_strand(t, p->strand[s]);
        for (uint32_t i = p->strand_first[s]; i < end; i++)
            add_context(t, i, &sums);
        add_arcs(t, &arc, end);
        for (uint32_t i = p->strand_first[s]; i < end; i++)
            add_calls(t, i);
    }
}

/* ── Beside the tree ──────────────────────────────────────────────────────────────── */

static void add_beside(struct transfer *t, uint32_t block, int which, uint32_t metric,
                       uint64_t all, uint64_t here)
{
    if (all <= here)
        return;
    t->beside[which] += all - here;
    tt_builder_add(t->b, TT_ROLE_BESIDE, t->block[block], metric,
                   metric == t->time ? scale(t->p->header, all - here) : all - here);
}

/* Blocks' figures are exact even where the tree's are not.  They are of all strands
 * together: the first one has them. */
static void add_block_figures(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    const uint32_t metric[3] = {t->calls, t->time, t->samples};

    if (t->p->strands)
        add_strand(t, t->p->strand[0]);
    for (uint32_t i = 0; i < t->p->blocks; i++) {
        const struct tt_picture_block *b = &t->p->block[i];
        tt_builder_add(t->b, TT_ROLE_HIDDEN, t->block[i], t->time, scale(h, b->hidden));
        add_beside(t, i, 0, t->calls, b->calls, t->calls_here[i]);
        add_beside(t, i, 1, t->time, b->self, t->self_here[i]);
        add_beside(t, i, 2, t->samples, b->samples, t->samples_here[i]);
    }
    /* What found no room in the tree either stands somewhere below the root. */
    for (int i = 0; i < 3; i++)
        if (t->beside[i] > t->elsewhere[i])
            tt_builder_add(t->b, TT_ROLE_ELSEWHERE, TT_BUILDER_ROOT, metric[i],
                           i == 1 ? scale(h, t->beside[i] - t->elsewhere[i])
                                  : t->beside[i] - t->elsewhere[i]);
}

static const char *const mode_names[] = {"exact", "calls", "sampled", "every"};
static const char *const kind_names[] = {"block",     "scope",  "function",
                                         "statement", "native", "centre"};
static const char *const policy_names[] = {"edge", "repeat", "block", "cycle",
                                           "drop", "recent", "none"};
static const char *const clock_names[] = {"cycles", "monotonic", "caller"};

static const char *name_in(const char *const *names, uint32_t count, uint32_t i)
{
    return i < count ? names[i] : "?";
}

static void add_text(struct transfer *t, const char *name, const char *text)
{
    tt_builder_fact(t->b, name, TT_FACT_EACH, 1, text);
}

/* The modes of the kinds of block that there are. */
static void add_modes(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    char text[80];

    for (uint32_t kind = 0; kind < TT_KINDS; kind++) {
        int there = 0;
        for (uint32_t i = 0; i < t->p->blocks; i++)
            there |= (uint32_t)t->p->block[i].info.kind == kind &&
                     (t->p->block[i].calls || t->p->block[i].samples);
        if (!there)
            continue;
        (void)snprintf(text, sizeof text, "%s %s", kind_names[kind],
                       name_in(mode_names, 4, h->mode[kind]));
        if (h->mode[kind] == TT_MODE_EVERY)
            (void)snprintf(text, sizeof text, "%s every:%u", kind_names[kind], h->every);
        if (h->mode[kind] == TT_MODE_SAMPLED)
            (void)snprintf(text, sizeof text, "%s sampled at %u Hz", kind_names[kind],
                           h->sample_hz);
        add_text(t, "modes", text);
    }
}

static void add_measures(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    double rate = is_in_ns(h) && h->ticks_per_second ? (double)h->ticks_per_second / NS
                                                     : 1;
    char text[80];

    (void)snprintf(text, sizeof text, "%s", name_in(policy_names, 7, h->recursion));
    if (h->recursion_length)
        (void)snprintf(text, sizeof text, "%s:%u", name_in(policy_names, 7, h->recursion),
                       h->recursion_length);
    add_text(t, "recursion", text);
    if (h->budget_nodes)
        (void)snprintf(text, sizeof text, "%llu nodes",
                       (unsigned long long)h->budget_nodes);
    else
        (void)snprintf(text, sizeof text, "%.4g MiB", (double)h->budget / (1 << 20));
    add_text(t, "budget", text);
    if (h->inside.high || h->outside.high) {
        (void)snprintf(text, sizeof text, "%.1f to %.1f ns an activation",
                       (double)(h->inside.low + h->outside.low) / 1024 / rate,
                       (double)(h->inside.high + h->outside.high) / 1024 / rate);
        add_text(t, "overhead", text);
    }
}

static void add_losses(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    uint64_t evictions = 0;

    for (uint32_t i = 0; i < t->p->strands; i++)
        evictions += t->p->strand[i]->evictions;
    tt_builder_fact(t->b, "recordings", TT_FACT_SUM, 1, "");
    tt_builder_fact(t->b, "open", TT_FACT_SUM, h->state == TT_RECORDING_OPEN, "");
    tt_builder_fact(t->b, "torn", TT_FACT_SUM, h->torn != 0, "");
    tt_builder_fact(t->b, "evictions", TT_FACT_SUM, evictions, "");
    tt_builder_fact(t->b, "evicted", TT_FACT_SUM, scale(h, t->elsewhere[1]), "");
    tt_builder_fact(t->b, "lost.blocks", TT_FACT_SUM, h->lost_blocks, "");
    tt_builder_fact(t->b, "lost.strands", TT_FACT_SUM, h->lost_strands, "");
    tt_builder_fact(t->b, "lost.children", TT_FACT_SUM, h->lost_children, "");
    tt_builder_fact(t->b, "lost.pushes", TT_FACT_SUM, h->lost_pushes, "");
    tt_builder_fact(t->b, "lost.calls", TT_FACT_SUM, h->lost_calls, "");
    tt_builder_fact(t->b, "lost.figures", TT_FACT_SUM, h->lost_figures, "");
    tt_builder_fact(t->b, "lost.pages", TT_FACT_SUM, h->lost_pages, "");
    tt_builder_fact(t->b, "lost.samplers", TT_FACT_SUM, h->lost_samplers, "");
}

/* Who looked at native stacks, and how that went. */
static void add_source(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    char source[sizeof h->source + 1] = {0};

    memcpy(source, h->source, sizeof h->source);
    if (!*source)
        return;
    add_text(t, "source", source);
    tt_builder_fact(t->b, "stacks.truncated", TT_FACT_SUM, h->truncated, "");
    tt_builder_fact(t->b, "stacks.broken", TT_FACT_SUM, h->broken, "");
    tt_builder_fact(t->b, "stacks.late", TT_FACT_SUM, h->late, "");
    tt_builder_fact(t->b, "threads.unseen", TT_FACT_SUM, h->unseen, "time");
}

static void add_facts(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    char program[sizeof h->program + 1] = {0}, host[sizeof h->host + 1] = {0};

    if (t->trace) {
        add_measures(t);
        add_losses(t);
        return;
    }
    memcpy(program, h->program, sizeof h->program);
    memcpy(host, h->host, sizeof h->host);
    add_text(t, "program", program);
    add_source(t);
    add_text(t, "host", host);
    add_text(t, "clock", name_in(clock_names, 3, h->clock));
    tt_builder_fact(t->b, "started", TT_FACT_MIN, h->start_time, "");
    if (h->end_ticks > h->start_ticks)
        tt_builder_fact(t->b, "lasted", TT_FACT_MAX,
                        scale(h, h->end_ticks - h->start_ticks), "");
    add_modes(t);
    add_measures(t);
    add_losses(t);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* By block id, since slow activations name blocks by it. */
static int index_blocks(struct transfer *t)
{
    const struct tt_picture *p = t->p;

    for (uint32_t i = 0; i < p->blocks; i++)
        if (p->block[i].id >= t->ids)
            t->ids = p->block[i].id + 1;
    t->by_id = tt_memory_get(NULL, (t->ids + 1) * sizeof *t->by_id);
    for (uint32_t i = 0; t->by_id && i < p->blocks; i++)
        t->by_id[p->block[i].id] = t->block[i];
    return t->by_id ? 0 : -TT_ERR_MEMORY;
}

int tt_builder_recording(struct tt_builder *b, const struct tt_picture *p)
{
    return tt_builder_trace(b, p, NULL, 0);
}

int tt_builder_trace(struct tt_builder *b, const struct tt_picture *p,
                     const struct tt_trace_strand *strand, size_t count)
{
    struct transfer t = {.b = b, .p = p, .trace = strand, .traces = count};
    const size_t blocks = p->blocks, contexts = p->contexts;
    int error = -TT_ERR_MEMORY;

    t.block = tt_memory_get(NULL, blocks * sizeof *t.block);
    t.context = tt_memory_get(NULL, contexts * sizeof *t.context);
    t.foreign = tt_memory_get(NULL, contexts * sizeof *t.foreign);
    t.calls_here = tt_memory_get(NULL, blocks * sizeof *t.calls_here);
    t.self_here = tt_memory_get(NULL, blocks * sizeof *t.self_here);
    t.samples_here = tt_memory_get(NULL, blocks * sizeof *t.samples_here);
    if (t.block && t.context && t.foreign && t.calls_here && t.self_here &&
        t.samples_here) {
        for (uint32_t i = 0; i < blocks; i++)
            t.block[i] = tt_builder_block(b, &p->block[i].info);
        error = index_blocks(&t);
    }
    if (!error) {
        add_metrics(&t);
        add_strands(&t);
        add_block_figures(&t);
        add_facts(&t);
    }
    tt_memory_put(NULL, t.by_id, 0);
    tt_memory_put(NULL, t.samples_here, 0);
    tt_memory_put(NULL, t.self_here, 0);
    tt_memory_put(NULL, t.calls_here, 0);
    tt_memory_put(NULL, t.foreign, 0);
    tt_memory_put(NULL, t.context, 0);
    tt_memory_put(NULL, t.block, 0);
    return error;
}
