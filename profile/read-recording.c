/* SPDX-License-Identifier: MIT */
/* read-recording.c - from the recording that a process writes to a profile.
 *
 * A recording has a tree for each strand; here they become one, with figures by strand. */
#include "read-recording.h"

#include "building.h"
#include "figures.h"
#include "filled.h"
#include "picture-log.h"
#include "preorder.h"
#include "read-objects.h"
#include "read-series.h"
#include "read-sparse.h"
#include "samples.h"
#include "statistics.h"
#include "stretches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transfer {
    struct tt_builder *b;
    const struct tt_picture *p;
    uint32_t *block, *context; /* the builder's ids */
    uint32_t *by_id, ids;      /* of blocks, by their ids in the recording */
    struct tt_sparse *sparse;  /* of each context, or NULL */
    uint64_t *foreign; /* of each context, if there are arcs: calls of other blocks that
                        * led there */
    uint64_t *calls_here, *self_here,
        *samples_here; /* of each block: the part that is in the tree */
    uint32_t calls, time, samples, metric[TT_METRICS_MAX + 1];
    uint64_t beside[3], elsewhere[3]; /* calls, time, samples */
    int is_new;                   /* no context of the current strand is there so far */
    uint32_t at;                  /* the context whose metrics are taken, or the block */
    const struct tt_trace *trace; /* its strands are called by their numbers; or NULL */
    struct tt_objects_taken objects;
};

/* ── Units ────────────────────────────────────────────────────────────────────────── */

enum { NS = 1000000000 };

static uint64_t scale(const struct tt_header *h, uint64_t ticks)
{
    uint64_t rate = h->ticks_per_second;

    if (!tt_is_in_ns(h) || rate == NS || !rate)
        return ticks;
    return (uint64_t)(((unsigned __int128)ticks * NS + rate / 2) / rate);
}

static struct tt_sum128 scale_square(const struct tt_header *h, const struct tt_square *s)
{
    long double x = (long double)s->high * 18446744073709551616.0L + (long double)s->low;
    unsigned __int128 n;

    if (!tt_is_in_ns(h) || h->ticks_per_second == NS || !h->ticks_per_second)
        return (struct tt_sum128){s->low, s->high};
    x *= (long double)NS / (long double)h->ticks_per_second;
    x *= (long double)NS / (long double)h->ticks_per_second;
    n = x < 0x1p128L ? (unsigned __int128)x : ~(unsigned __int128)0;
    return (struct tt_sum128){(uint64_t)n, (uint64_t)(n >> 64)};
}

/* Converts amounts in the order of a running sum: rounded, they still add up to the
 * rounded sum. */
struct running {
    uint64_t ticks, scaled;
};

static uint64_t scale_next(const struct tt_header *h, struct running *r, uint64_t ticks)
{
    uint64_t before = r->scaled;

    if (!ticks)
        return 0;
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
        const struct tt_picture_block *b = &p->block[i];
        if (!b->self)
            continue;
        if (b->id == TT_BLOCK_OTHER) { /* it may be of any kind */
            sampled |= b->samples != 0;
            continue;
        }
        if (p->header->mode[b->info.kind] != TT_MODE_SAMPLED)
            return 0;
        sampled = 1;
    }
    return sampled;
}

static void add_metrics(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    uint32_t flags = TT_METRIC_TIME |
                     (!t->sparse && is_sampled(t->p) ? TT_METRIC_SAMPLED : 0);

    t->calls = tt_builder_metric(t->b, "calls", "", TT_METRIC_CALLS);
    t->time = tt_is_in_ns(h) || t->trace
                  ? tt_builder_metric(t->b, "time", "ns", flags)
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

static int is_ours(const char *name)
{
    static const char *const ours[] = {"calls", "samples", "ticks", "time"};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i]) == 0)
            return 1;
    return 0;
}

/* Returns a metric of the program's own; it is added with its first figure. */
static uint32_t metric_of(struct transfer *t, const struct tt_metric_record *m)
{
    size_t i = (size_t)(m - t->p->header->metric);
    char name[sizeof m->name + 16];

    if (t->metric[i] != TT_NONE)
        return t->metric[i];
    (void)snprintf(name, sizeof name, "%s%s", m->name,
                   is_ours(m->name) ? " of the program" : "");
    t->metric[i] = tt_builder_metric(t->b, name, m->unit, 0);
    return t->metric[i];
}

static void take_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                        uint64_t amount)
{
    struct transfer *t = arg;

    tt_builder_add(t->b, elsewhere ? TT_ROLE_ELSEWHERE : TT_ROLE_SELF, t->at,
                   metric_of(t, m), amount);
}

/* The evicted figures of a block are added to the tree too, as elsewhere. */
static void take_block_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                              uint64_t amount)
{
    struct transfer *t = arg;

    tt_builder_add(t->b, elsewhere ? TT_ROLE_BESIDE : TT_ROLE_HIDDEN, t->at,
                   metric_of(t, m), amount);
}

static void add_block_metrics(struct transfer *t)
{
    for (uint32_t i = 0; i < t->p->tallies; i++) {
        const uint32_t cell = t->p->tally[i];
        const struct tt_tally *tally = tt_picture_cell(t->p, cell);
        if (tally->key >= t->ids)
            continue;
        t->at = t->by_id[tally->key];
        tt_picture_metrics(t->p, cell, take_block_metric, t);
    }
}

/* ── Contexts and arcs ────────────────────────────────────────────────────────────── */

static void name_trace(const struct transfer *t, const char *number,
                       struct tt_strand_info *info)
{
    size_t i = strtoul(number, NULL, 10);

    info->host = info->process = info->name = "";
    info->pid = info->thread = 0;
    if (i >= t->trace->strands)
        return;
    info->process = t->trace->strand[i].process;
    info->name = t->trace->strand[i].name;
    info->pid = t->trace->strand[i].pid;
    info->thread = t->trace->strand[i].thread;
}

static int is_labels(const struct tt_block_info *info)
{
    return info->kind == TT_KIND_NATIVE && strcmp(info->module, TT_LABELS) == 0;
}

/* These are few, for all blocks together. */
static const char *labels_of(const struct transfer *t, tt_block id)
{
    const struct tt_picture_block *b = t->p->block;

    for (uint32_t i = 0; id && i < t->p->blocks; i++)
        if (b[i].id == id)
            return is_labels(&b[i].info) ? b[i].info.name : "";
    return "";
}

static void add_strand(struct transfer *t, const struct tt_strand_record *s)
{
    const struct tt_header *h = t->p->header;
    struct tt_strand_info info = {.host = h->host,
                                  .process = h->program,
                                  .name = s->name,
                                  .pid = h->pid,
                                  .thread = s->thread,
                                  .rank = h->rank && !t->trace ? (uint32_t)(h->rank - 1)
                                                               : TT_NONE,
                                  .members = s->members ? s->members : 1};
    char process[TT_NAME_SIZE + 1];

    if (h->processors && !t->trace) {
        (void)snprintf(process, sizeof process, "%.*s", TT_NAME_SIZE, s->owner.process);
        info.process = process;
        info.pid = s->process;
        info.labels = labels_of(t, s->owner.labels);
    } else if (s->process) { /* its main thread has its name */
        info.process = s->process == s->thread ? s->name : "";
        info.pid = s->process;
    }
    if (s->state == TT_STRAND_MERGED) {
        info.least = scale(h, s->least);
        info.most = scale(h, s->most);
        info.least_thread = s->least_thread;
        info.most_thread = s->most_thread;
        info.square = scale_square(h, &s->square);
        info.thread = 0;
    }
    if (t->trace)
        name_trace(t, s->name, &info);
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

/* An estimate below 0 is 0; so is that of a root, which has no activation. */
static uint64_t self_of(const struct transfer *t, uint32_t i)
{
    int64_t change = t->sparse ? (int64_t)t->sparse[i].self : 0;
    uint64_t self = t->p->context[i].self;

    return change < 0 && self < -(uint64_t)change ? 0 : self + (uint64_t)change;
}

/* What measuring may have added to that. */
static uint64_t own_of(const struct transfer *t, uint32_t i)
{
    const struct tt_picture_context *c = &t->p->context[i];

    return c->self - c->self_low + (t->sparse ? t->sparse[i].own : 0);
}

struct strand_sums {
    struct running self, elsewhere, own;
};

static void add_context(struct transfer *t, uint32_t i, struct strand_sums *sums)
{
    const struct tt_header *h = t->p->header;
    const struct tt_picture_context *c = &t->p->context[i];
    uint32_t id = TT_BUILDER_ROOT;
    const uint64_t self = self_of(t, i), own = own_of(t, i);

    if (c->block != UINT32_MAX)
        id = (t->is_new ? tt_builder_new_context : tt_builder_context)(
            t->b, t->context[c->parent], t->block[c->block]);
    t->context[i] = id;
    tt_builder_add(t->b, TT_ROLE_SELF, id, t->time, scale_next(h, &sums->self, self));
    tt_builder_add(t->b, TT_ROLE_OWN, id, t->time,
                   scale_next(h, &sums->own, own < self ? own : self));
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
    if (((const struct tt_node *)tt_picture_cell(t->p, c->cell))->extension)
        tt_picture_metrics(t->p, c->cell, take_metric, t);
    tt_objects_take(&t->objects, id, c->cell);
    if (((const struct tt_node *)tt_picture_cell(t->p, c->cell))->extension)
        add_details(t, 0, id, c->cell);
}

/* An arc whose block is not its target's was dropped there: its calls are not the
 * target's. */
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
    const uint64_t calls = c->calls - (t->p->arcs ? t->foreign[i] : 0);

    tt_builder_add(t->b, TT_ROLE_SELF, t->context[i], t->calls, calls);
    if (c->block != UINT32_MAX)
        t->calls_here[c->block] += calls;
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
        t->is_new = 0;
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

/* Figures of blocks are exact even if the tree's are not.  They are sums over strands:
 * the first strand gets them. */
static void add_block_figures(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    const uint32_t metric[3] = {t->calls, t->time, t->samples};

    if (t->p->strands)
        add_strand(t, t->p->strand[0]);
    for (uint32_t i = 0; i < t->p->blocks; i++) {
        const struct tt_picture_block *b = &t->p->block[i];
        if (b->type)
            continue;
        tt_builder_add(t->b, TT_ROLE_HIDDEN, t->block[i], t->time, scale(h, b->hidden));
        add_beside(t, i, 0, t->calls, b->calls, t->calls_here[i]);
        add_beside(t, i, 1, t->time, b->self, t->self_here[i]);
        add_beside(t, i, 2, t->samples, b->samples, t->samples_here[i]);
    }
    add_block_metrics(t);
    /* Figures for which the tree had no room either are somewhere below the root. */
    for (int i = 0; i < 3; i++)
        if (t->beside[i] > t->elsewhere[i])
            tt_builder_add(t->b, TT_ROLE_ELSEWHERE, TT_BUILDER_ROOT, metric[i],
                           i == 1 ? scale(h, t->beside[i] - t->elsewhere[i])
                                  : t->beside[i] - t->elsewhere[i]);
}

static void add_text(struct transfer *t, const char *name, const char *text)
{
    tt_builder_fact(t->b, name, TT_FACT_EACH, 1, text);
}

/* Is there any block of a kind? */
static int has_kind(const struct transfer *t, uint32_t kind)
{
    for (uint32_t i = 0; i < t->p->blocks; i++)
        if ((uint32_t)t->p->block[i].info.kind == kind &&
            (t->p->block[i].calls || t->p->block[i].samples))
            return 1;
    return 0;
}

/* Lists the modes of the kinds of block that there are. */
static void add_modes(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    char text[80];

    for (uint32_t kind = 0; kind < TT_KINDS; kind++) {
        if (!has_kind(t, kind))
            continue;
        (void)snprintf(text, sizeof text, "%s %s", tt_kind_word(kind),
                       tt_mode_word(h->mode[kind]));
        if (h->mode[kind] == TT_MODE_EVERY)
            (void)snprintf(text, sizeof text, "%s every:%u", tt_kind_word(kind),
                           h->every);
        if (h->mode[kind] == TT_MODE_SAMPLED)
            (void)snprintf(text, sizeof text, "%s sampled at %u Hz", tt_kind_word(kind),
                           h->sample_hz);
        add_text(t, "modes", text);
    }
    if (h->heap_rate) {
        (void)snprintf(text, sizeof text, "memory sampled, one in %llu bytes",
                       (unsigned long long)h->heap_rate);
        add_text(t, "modes", text);
        tt_builder_fact(t->b, TT_FACT_HEAP_RATE, TT_FACT_MAX, h->heap_rate, "");
    }
    if (h->space_rate && h->space) {
        (void)snprintf(text, sizeof text, "objects below %llu bytes sampled",
                       (unsigned long long)h->space_rate);
        add_text(t, "modes", text);
    }
}

/* As Clean's profiles do: the cost of a thousand calls of the profiler. */
static int tells_calls_apart(const struct tt_header *h)
{
    for (int i = 1; i <= TT_METRICS_MAX; i++)
        if (strcmp(h->metric[i].name, "strict calls") == 0 ||
            strcmp(h->metric[i].name, "lazy calls") == 0 ||
            strcmp(h->metric[i].name, "curried calls") == 0)
            return 1;
    return 0;
}

/* Has anything been timed by itself? */
static int has_exact(const struct transfer *t)
{
    for (uint32_t kind = 0; kind < TT_KINDS; kind++)
        if ((t->p->header->mode[kind] == TT_MODE_EXACT ||
             t->p->header->mode[kind] == TT_MODE_EVERY) &&
            has_kind(t, kind))
            return 1;
    return 0;
}

static void add_policy(struct transfer *t, uint64_t policy, uint64_t length,
                       const char *of)
{
    char text[80], number[24] = "";

    if (length)
        (void)snprintf(number, sizeof number, ":%llu", (unsigned long long)length);
    (void)snprintf(text, sizeof text, "%s%s%s", tt_recursion_word((uint32_t)policy),
                   number, of);
    add_text(t, "recursion", text);
}

/* Pushes and unwound stacks may have different policies: adds those that were used. */
static void add_policies(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    int is_apart = h->unwound && (h->unwound != h->recursion + 1u ||
                                  h->unwound_length != h->recursion_length),
        pushed = 0, unwound = 0;

    for (uint32_t i = 0; i < t->p->blocks; i++)
        unwound |= (uint32_t)t->p->block[i].info.kind == TT_KIND_NATIVE;
    for (uint32_t kind = 0; kind < TT_KINDS; kind++)
        pushed |= kind != TT_KIND_NATIVE && kind != TT_KIND_INTERPRETED &&
                  has_kind(t, kind);
    if (pushed || !unwound || !is_apart)
        add_policy(t, h->recursion, h->recursion_length, "");
    if (unwound && is_apart)
        add_policy(t, h->unwound - 1, h->unwound_length,
                   pushed ? " for unwound stacks" : "");
}

static void add_measures(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    double rate = tt_is_in_ns(h) && h->ticks_per_second ? (double)h->ticks_per_second / NS
                                                        : 1;
    char text[80];

    add_policies(t);
    if (h->stacks)
        add_text(t, "stacks", tt_stacks_word((uint32_t)h->stacks));
    if (h->budget_nodes)
        (void)snprintf(text, sizeof text, "%llu nodes",
                       (unsigned long long)h->budget_nodes);
    else
        (void)snprintf(text, sizeof text, "%.4g MiB", (double)h->budget / (1 << 20));
    add_text(t, "budget", text);
    /* In ps, of an activation. */
    if (has_exact(t) && (h->inside.high || h->outside.high)) {
        tt_builder_fact(
            t->b, "overhead.least", TT_FACT_MIN,
            tt_whole((double)(h->inside.low + h->outside.low) * 1000 / 1024 / rate), "");
        tt_builder_fact(
            t->b, "overhead.most", TT_FACT_MAX,
            tt_whole((double)(h->inside.high + h->outside.high) * 1000 / 1024 / rate),
            "");
        if (tells_calls_apart(h)) /* entering is one, and leaving */
            tt_builder_fact(t->b, "overhead.ticks a thousand calls", TT_FACT_MAX,
                            tt_whole(1000.0 / 1024 / 4 / rate *
                                     (double)(h->inside.low + h->inside.high +
                                              h->outside.low + h->outside.high)),
                            "");
    }
    tt_builder_fact(t->b, "memory.bytes", TT_FACT_SUM,
                    h->first + (uint64_t)h->used * TT_PAGE_SIZE, "");
}

static void add_losses(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    uint64_t evictions = 0;

    for (uint32_t i = 0; i < t->p->strands; i++)
        evictions += t->p->strand[i]->evictions;
    tt_builder_fact(t->b, "recordings", TT_FACT_SUM, 1, "");
    tt_builder_fact(t->b, "open", TT_FACT_SUM, !t->trace && h->state == TT_RECORDING_OPEN,
                    "");
    if (h->recorder && h->state == TT_RECORDING_OPEN)
        tt_builder_fact(t->b, "recorder", TT_FACT_MAX, h->recorder, "");
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
    tt_builder_fact(t->b, "lost.samples", TT_FACT_SUM, h->lost_samples, "");
    tt_builder_fact(t->b, "lost.waits", TT_FACT_SUM, h->lost_stacks, "");
}

/* Of blocks that are sampled. */
static void add_up_samples(const struct transfer *t, uint64_t *samples, uint64_t *time)
{
    const struct tt_header *h = t->p->header;
    uint64_t ticks = 0;

    *samples = 0;
    for (uint32_t i = 0; i < t->p->blocks; i++)
        if (!t->p->block[i].type &&
            h->mode[t->p->block[i].info.kind] == TT_MODE_SAMPLED) {
            *samples += t->p->block[i].samples;
            ticks += t->p->block[i].self;
        }
    *time = scale(h, ticks);
}

/* The weights of samples, in µs, and their squares: a merge adds up those of recordings with
 * other rates.  All are equal unless the recording has noted what each had. */
static void add_weights(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    const double unit = (double)tt_look_unit(h->sample_hz) / 1e3;
    double times = (double)h->look_times * unit,
           squares = (double)h->look_squares * unit * unit;
    uint64_t samples = h->looks, time;

    if (!samples) {
        add_up_samples(t, &samples, &time);
        times = (double)time / 1e3;
        squares = samples ? times * times / (double)samples : 0;
    }
    if (!tt_is_in_ns(h) || !samples || squares >= 0x1p63)
        return;
    tt_builder_fact(t->b, "weights.samples", TT_FACT_SUM, samples, "");
    tt_builder_fact(t->b, "weights.times", TT_FACT_SUM, (uint64_t)times, "");
    tt_builder_fact(t->b, "weights.squares", TT_FACT_SUM, (uint64_t)squares, "");
}

/* Samples were requested more often than the system's clock ticks, or than a hundredth of a
 * thread's time allows, and were fewer. */
static void add_rate(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    uint64_t samples, time;
    char text[200];

    if (h->skipped > h->sample_hz && h->skipped > h->looks / 10) {
        (void)snprintf(
            text, sizeof text,
            "%u Hz was asked for; samples were skipped, as long or new stacks would "
            "have taken more than 1 %% of a thread's time",
            h->sample_hz);
        add_text(t, "rate", text);
        return;
    }
    if (!h->tick || h->wall || !tt_is_in_ns(h) || (uint64_t)NS / h->tick >= h->sample_hz)
        return;
    add_up_samples(t, &samples, &time);
    if (!tt_rate_is_missed(samples, time, h->sample_hz))
        return;
    (void)snprintf(
        text, sizeof text,
        "%u Hz was asked for, and at most %u Hz was reached: timers of CPU time "
        "end at the system's ticks; %s",
        h->sample_hz, (uint32_t)(NS / (double)h->tick + 0.5),
        *h->source ? "--kernel takes samples from outside, at any rate"
                   : "sampler=thread takes samples at any rate");
    add_text(t, "rate", text);
}

/* Adds how native stacks were sampled, and how that worked. */
static void add_source(struct transfer *t)
{
    const struct tt_header *h = t->p->header;

    if (!*h->source)
        return;
    add_text(t, "source", h->source);
    if (h->wall)
        add_text(t, "wall", "all time counts, also that in which threads wait");
    tt_builder_fact(t->b, "cpu", TT_FACT_SUM, h->cpu, "");
    tt_builder_fact(t->b, "processors", TT_FACT_MAX, h->processors, "");
    tt_builder_fact(t->b, "stacks.truncated", TT_FACT_SUM, h->truncated, "");
    tt_builder_fact(t->b, "stacks.broken", TT_FACT_SUM, h->broken, "");
    tt_builder_fact(t->b, "stacks.late", TT_FACT_SUM, h->late, "");
    tt_builder_fact(t->b, "stacks.skipped", TT_FACT_SUM, h->skipped, "");
    if (*h->interpreters) {
        add_text(t, "interpreter", h->interpreters);
        tt_builder_fact(t->b, "stacks.interpreted", TT_FACT_SUM, h->interpreted, "");
        tt_builder_fact(t->b, "stacks.unplaced", TT_FACT_SUM, h->unplaced, "");
    }
    tt_builder_fact(t->b, "threads.unseen", TT_FACT_SUM, h->unseen, "");
}

static void add_facts(struct transfer *t)
{
    const struct tt_header *h = t->p->header;
    char began[sizeof TT_FACT_PROGRAM_BEGAN + sizeof h->program];

    if (t->trace) {
        add_measures(t);
        add_losses(t);
        return;
    }
    add_text(t, "program", h->program);
    (void)snprintf(began, sizeof began, TT_FACT_PROGRAM_BEGAN "%s", h->program);
    if (*h->program)
        tt_builder_fact(t->b, began, TT_FACT_MIN, h->start_time, "");
    add_source(t);
    add_text(t, "host", h->host);
    add_text(t, "clock", tt_clock_word(h->clock));
    tt_builder_fact(t->b, "started", TT_FACT_MIN, h->start_time, "");
    if (h->end_ticks > h->start_ticks)
        tt_builder_fact(t->b, "lasted", TT_FACT_MAX,
                        scale(h, h->end_ticks - h->start_ticks), "");
    add_modes(t);
    add_rate(t);
    add_weights(t);
    if (h->preempted)
        tt_builder_fact(t->b, "preempted", TT_FACT_SUM, h->preempted, "");
    add_measures(t);
    add_losses(t);
}

/* ── Samples by time ──────────────────────────────────────────────────────────────── */

/* Contexts of a strand are adjacent. */
static uint32_t strand_of_context(const struct tt_picture *p, uint32_t context)
{
    uint32_t low = 0, high = p->strands;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (p->strand_first[middle] <= context)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct sample_transfer {
    struct transfer *t;
    uint32_t *strand;     /* the builder's ids */
    struct running *sums; /* of each strand: samples add up to its rounded sum */
};

static void take_sample(void *arg, const struct tt_picture_sample *s)
{
    const struct sample_transfer *x = arg;
    const struct transfer *t = x->t;
    const struct tt_header *h = t->p->header;
    const uint32_t of = strand_of_context(t->p, s->context);

    t->b->current = x->strand[of];
    tt_builder_sample(t->b, t->time, t->context[s->context],
                      h->start_time + scale(h, s->time),
                      scale_next(h, &x->sums[of], s->weight), 0);
}

static int take_samples(struct transfer *t)
{
    const struct tt_picture *p = t->p;
    struct sample_transfer x = {.t = t};
    uint64_t lost;
    int error;

    if (!p->header->log || !p->strands)
        return 0;
    x.strand = tt_memory_get(NULL, p->strands * sizeof *x.strand);
    x.sums = tt_memory_get(NULL, p->strands * sizeof *x.sums);
    for (uint32_t i = 0; x.strand && i < p->strands; i++) {
        add_strand(t, p->strand[i]);
        x.strand[i] = t->b->current;
    }
    tt_builder_expect_samples(t->b, tt_picture_log_size(p));
    error = x.strand && x.sums ? tt_picture_log(p, take_sample, &x, &lost)
                               : -TT_ERR_MEMORY;
    if (!error)
        tt_builder_fact(t->b, "lost.timed", TT_FACT_SUM, scale(p->header, lost), "");
    tt_memory_put(NULL, x.sums);
    tt_memory_put(NULL, x.strand);
    return error;
}

/* ── Stretches of a trace ─────────────────────────────────────────────────────────── */

/* Their contexts are cells. */
static void find_cells(const struct transfer *t, uint32_t *context)
{
    for (uint32_t cell = 0; cell < t->p->cells; cell++) {
        const uint32_t at = tt_picture_logged(t->p, cell);
        context[cell] = at == UINT32_MAX ? TT_NONE : t->context[at];
    }
}

/* Their strands are those of the trace. */
static void find_trace_strands(struct transfer *t, uint32_t *strand)
{
    memset(strand, 0xff, (t->trace->strands + 1) * sizeof *strand);
    for (uint32_t i = 0; i < t->p->strands; i++) {
        const uint64_t number = strtoul(t->p->strand[i]->name, NULL, 10);
        if (number >= t->trace->strands)
            continue;
        add_strand(t, t->p->strand[i]);
        strand[number] = tt_builder_current(t->b);
    }
}

static int place_stretches(struct transfer *t)
{
    uint32_t *context, *strand;
    int error = -TT_ERR_MEMORY;

    context = tt_memory_get(NULL, t->p->cells * sizeof *context);
    strand = tt_memory_get(NULL, (t->trace->strands + 1) * sizeof *strand);
    if (context && strand) {
        find_cells(t, context);
        find_trace_strands(t, strand);
        tt_builder_place_stretches(t->b, t->time, context, strand);
        error = 0;
    }
    tt_memory_put(NULL, strand);
    tt_memory_put(NULL, context);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* Sorts by block id, since slow activations refer to blocks by it. */
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
    return tt_builder_trace(b, p, NULL);
}

static uint32_t add_block(const struct transfer *t, uint32_t i)
{
    struct tt_block_info info = t->p->block[i].info;
    const char *name = t->trace && t->trace->long_name
                           ? t->trace->long_name(t->trace->arg, t->p->block[i].id)
                           : NULL;

    if (name)
        info.name = name;
    return tt_builder_block(t->b, &info);
}

/* If each block is a new one, and no two contexts agree, then each context of the first strand
 * is new in an empty builder. */
static void add_blocks(struct transfer *t)
{
    const struct tt_picture *p = t->p;
    uint32_t last = TT_BUILDER_ROOT;

    t->is_new = t->b->context.count == 1 && !p->has_twins;
    for (uint32_t i = 0; i < p->blocks; i++) {
        if (p->block[i].type)
            continue;
        if (!is_labels(&p->block[i].info))
            t->block[i] = add_block(t, i);
        t->is_new &= t->block[i] > last;
        last = t->block[i];
    }
}

static void expect_figures(const struct transfer *t)
{
    const size_t contexts = t->p->contexts;

    if (!t->is_new || t->p->strands != 1)
        return;
    tt_vector_expect(&t->b->context, contexts);
    tt_filled_expect(t->b, TT_ROLE_SELF, t->calls, contexts);
    tt_filled_expect(t->b, TT_ROLE_SELF, t->time, contexts);
    tt_filled_expect(t->b, TT_ROLE_OWN, t->time, contexts);
    tt_filled_expect(t->b, TT_ROLE_SELF, t->samples, contexts);
}

int tt_builder_trace(struct tt_builder *b, const struct tt_picture *p,
                     const struct tt_trace *trace)
{
    struct transfer t = {.b = b, .p = p, .trace = trace};
    const size_t blocks = p->blocks, contexts = p->contexts;
    int error = -TT_ERR_MEMORY;

    t.block = tt_memory_get(NULL, blocks * sizeof *t.block);
    t.context = tt_memory_get(NULL, contexts * sizeof *t.context);
    t.foreign = tt_memory_get(NULL, (p->arcs ? contexts : 0) * sizeof *t.foreign);
    t.calls_here = tt_memory_get(NULL, blocks * sizeof *t.calls_here);
    t.self_here = tt_memory_get(NULL, blocks * sizeof *t.self_here);
    t.samples_here = tt_memory_get(NULL, blocks * sizeof *t.samples_here);
    if (t.block && t.context && t.foreign && t.calls_here && t.self_here &&
        t.samples_here) {
        add_blocks(&t);
        error = index_blocks(&t);
    }
    error = error ?: tt_read_sparse(p, &t.sparse);
    if (!error) {
        tt_objects_init(&t.objects, b, p);
        add_metrics(&t);
        expect_figures(&t);
        add_strands(&t);
        add_block_figures(&t);
        error = t.trace ? place_stretches(&t) : take_samples(&t);
        error = error ?: tt_objects_finish(&t.objects);
        error = error ?: tt_series_take(b, p, &t.objects.maxima);
        add_facts(&t);
    }
    tt_memory_put(NULL, t.by_id);
    tt_memory_put(NULL, t.samples_here);
    tt_memory_put(NULL, t.self_here);
    tt_memory_put(NULL, t.calls_here);
    tt_memory_put(NULL, t.sparse);
    tt_memory_put(NULL, t.foreign);
    tt_memory_put(NULL, t.context);
    tt_memory_put(NULL, t.block);
    return error;
}
