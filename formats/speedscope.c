/* SPDX-License-Identifier: MIT */
/* speedscope.c - speedscope's JSON, read and written.
 *
 * Frames may come after the profiles that refer to them, and a unit after its numbers.
 * So the text is kept, and each part is read when its meaning is known. */
#include <stdio.h>
#include <string.h>

#include "by-time.h"
#include "formats.h"
#include "frames.h"
#include "json-reader.h"
#include "samples.h"
#include "stretches.h"
#include "text-hash.h"
#include "writers.h"

enum { MOST_METRICS = 256 };

/* ── Parts of the text ────────────────────────────────────────────────────────────── */

struct profile { /* the places of its parts; 0: missing */
    uint64_t samples, weights, events, start;
    char type[16], unit[16];
    char *name; /* owned */
};

struct speedscope {
    struct tt_source *s;
    struct tt_builder *b;
    const char *text;
    size_t size;
    struct tt_vector block; /* uint32_t: of each frame */
    struct tt_vector open;  /* uint32_t: contexts, of events */
    struct tt_frames amount, calls;
    uint32_t metric;
    int shift;     /* decimal digits that are read, */
    int64_t worth; /* and how many of these units are one */
    int64_t last, rest;
    int is_time;        /* are weights times? */
    int64_t at;         /* ns: of the next sample; -1: not known */
    uint64_t before;    /* 0: how long the first event is before that, in ns */
    uint32_t stretches; /* the metric of events that are times; TT_NONE: there are none */
    uint64_t total;     /* of all profiles */
    char *exporter;     /* or NULL */
    struct tt_vector name; /* uint64_t: hashes of those of the profiles so far */
};

/* In files of sums of Tallytree, each profile is a metric, the first is the main one; in
 * others each profile is a strand.  Events of Tallytree are not calls. */
#define OURS "tallytree "
#define BY_TIME "tallytree-by-time "

static int is_from(const struct speedscope *x, const char *exporter)
{
    return x->exporter && strncmp(x->exporter, exporter, strlen(exporter)) == 0;
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

/* A place in a file. */
static uint32_t read_place(struct tt_json *j)
{
    int64_t n;

    return tt_json_plain(j) == TT_JSON_NUMBER && tt_decimal(j->text, 0, &n) && n > 0 &&
                   n < UINT32_MAX
               ? (uint32_t)n
               : 0;
}

static void read_frame(struct speedscope *x, struct tt_json *j)
{
    struct tt_block_info info = {.kind = TT_KIND_BLOCK};
    char *name = NULL, *file = NULL;
    uint32_t block;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "name"))
            tt_json_copy(j, &name);
        else if (tt_json_is(j, "file"))
            tt_json_copy_if(j, &file);
        else if (tt_json_is(j, "line"))
            info.line = read_place(j);
        else if (tt_json_is(j, "col"))
            info.column = read_place(j);
        else
            tt_json_skip(j);
    info.name = name;
    info.file = file;
    block = name ? tt_builder_block(x->b, &info) : TT_NONE;
    if (!name)
        tt_json_wrong(j, "this frame has no name");
    tt_source_append(j->s, &x->block, &block);
    tt_memory_put(x->s->memory, name);
    tt_memory_put(x->s->memory, file);
}

static void read_shared(struct speedscope *x, uint64_t at)
{
    struct tt_json_part p;

    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_object(&p.json); tt_json_key(&p.json);)
        if (!tt_json_is(&p.json, "frames"))
            tt_json_skip(&p.json);
        else
            for (tt_json_array(&p.json); tt_json_item(&p.json);)
                read_frame(x, &p.json);
    tt_json_part_close(&p);
}

/* Reads the number of a frame, and returns its block. */
static uint32_t find_block(struct speedscope *x, struct tt_json *j)
{
    const uint64_t frame = tt_json_whole(j);

    if (frame < x->block.count)
        return ((const uint32_t *)x->block.item)[frame];
    tt_json_wrong(j, "the frame before this is not there");
    return TT_BUILDER_ROOT;
}

/* ── Amounts ──────────────────────────────────────────────────────────────────────── */

/* Adds an amount; a fraction that the metric cannot hold is carried over. */
static void add_amount(struct speedscope *x, struct tt_json *j, uint32_t context,
                       int64_t amount)
{
    if (amount < 0)
        tt_json_wrong(j, "the weight before this is less than 0");
    if (__builtin_add_overflow(x->rest, amount, &x->rest))
        tt_json_wrong(j, TT_TOO_MUCH);
    if (tt_json_failed(j))
        return;
    tt_frames_count(&x->amount, j->s, context, (uint64_t)(x->rest / x->worth));
    x->rest %= x->worth;
}

static void choose_unit(struct speedscope *x, const char *unit)
{
    static const struct {
        const char *name;
        int shift;
    } times[] = {
        {"nanoseconds", 0}, {"microseconds", 3}, {"milliseconds", 6}, {"seconds", 9}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(unit, times[i].name) == 0) {
            x->shift = times[i].shift;
            x->worth = x->is_time = 1;
            x->metric = tt_builder_metric(x->b, "time", "ns", TT_METRIC_TIME);
            return;
        }
    x->shift = 6;
    x->worth = 1000000;
    x->is_time = 0;
    if (strcmp(unit, "bytes") == 0)
        x->metric = tt_builder_metric(x->b, "bytes", "bytes", TT_METRIC_SPACE);
    else if (strcmp(unit, "none") == 0)
        x->metric = tt_builder_metric(x->b, "ticks", "ticks", TT_METRIC_TIME);
    else /* others have no unit, in speedscope too: "samples" */
        x->metric = tt_builder_metric(x->b, unit, unit, TT_METRIC_TIME);
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

static uint32_t read_stack(struct speedscope *x, struct tt_json *j)
{
    uint32_t context = TT_BUILDER_ROOT;

    for (tt_json_array(j); tt_json_item(j);)
        context = tt_builder_context(x->b, context, find_block(x, j));
    return context;
}

/* Only weights that are times say when a sample was. */
static void note_time(struct speedscope *x, uint32_t context, int64_t weight)
{
    if (x->at >= 0)
        tt_builder_sample(x->b, x->metric, context, (uint64_t)x->at, (uint64_t)weight, 0);
    if (x->at >= 0 && __builtin_add_overflow(x->at, weight, &x->at))
        x->at = -1;
}

static void read_start(struct speedscope *x, const struct profile *p)
{
    struct tt_json_part at;
    int64_t start = 0;

    x->at = x->is_time ? 0 : -1;
    if (!p->start || !x->is_time)
        return;
    tt_json_part_open(&at, x->s, x->text, x->size, p->start);
    if (tt_json_value(&at.json) == TT_JSON_NUMBER &&
        tt_decimal(at.json.text, x->shift, &start) && start > 0)
        x->at = start;
    tt_json_part_close(&at);
}

static void read_samples(struct speedscope *x, struct tt_json *stacks,
                         struct tt_json *weights)
{
    tt_json_array(stacks);
    tt_json_array(weights);
    while (tt_json_item(stacks)) {
        const uint32_t context = read_stack(x, stacks);
        int64_t weight;
        if (!tt_json_item(weights))
            tt_json_wrong(weights, "there are fewer weights than samples");
        weight = tt_json_scaled(weights, x->shift);
        add_amount(x, weights, context, weight);
        if (!tt_json_failed(weights))
            note_time(x, context, weight);
    }
    if (tt_json_item(weights))
        tt_json_wrong(weights, "there are more weights than samples");
}

static void read_sampled(struct speedscope *x, const struct profile *p,
                         struct tt_json_part *at)
{
    struct tt_json_part stacks, weights;

    if (!p->samples || !p->weights)
        tt_json_wrong(&at->json, "this profile lacks its samples or its weights");
    read_start(x, p);
    if (x->at >= 0)
        tt_builder_fact(x->b, TT_FACT_BEGINS, TT_FACT_MIN, 1, "");
    tt_json_part_open(&stacks, x->s, x->text, x->size, p->samples);
    tt_json_part_open(&weights, x->s, x->text, x->size, p->weights);
    read_samples(x, &stacks.json, &weights.json);
    tt_json_part_close(&stacks);
    tt_json_part_close(&weights);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

struct event {
    int is_open, has_frame, has_time;
    uint32_t block;
    int64_t at;
};

static struct event read_event(struct speedscope *x, struct tt_json *j)
{
    struct event v = {.is_open = -1};

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "type")) {
            (void)tt_json_string(j);
            v.is_open = tt_json_is(j, "O") ? 1 : tt_json_is(j, "C") ? 0 : -1;
        } else if (tt_json_is(j, "frame")) {
            v.block = find_block(x, j);
            v.has_frame = 1;
        } else if (tt_json_is(j, "at")) {
            v.at = tt_json_scaled(j, x->shift);
            v.has_time = 1;
        } else {
            tt_json_skip(j);
        }
    if (v.is_open < 0 || !v.has_frame || !v.has_time)
        tt_json_wrong(j, "the event before this lacks its type, frame or time");
    return v;
}

static uint32_t top_of(const struct speedscope *x)
{
    return x->open.count ? ((const uint32_t *)x->open.item)[x->open.count - 2]
                         : (uint32_t)TT_BUILDER_ROOT;
}

/* For each open frame: the context, and after it the block. */
static void open_frame(struct speedscope *x, struct tt_json *j, uint32_t block)
{
    uint32_t context = tt_builder_context(x->b, top_of(x), block);
    uint32_t *open = tt_vector_add(&x->open, 2);

    if (!open || context == TT_NONE || tt_frames_add(&x->calls, context, 1) != 0) {
        tt_source_no_memory(j->s);
        return;
    }
    open[0] = context;
    open[1] = block;
}

/* What was open until an event; Tallytree's sums have no order in time. */
static void note_stretch(struct speedscope *x, int64_t until)
{
    if (!x->is_time || is_from(x, OURS) || until <= x->last)
        return;
    x->stretches = x->metric;
    tt_builder_stretch(x->b, top_of(x), tt_builder_current(x->b),
                       (uint64_t)x->last + x->before, (uint64_t)until + x->before);
}

static void take_event(struct speedscope *x, struct tt_json *j, const struct event *v)
{
    int64_t lasted;

    if (v->at < x->last)
        tt_json_wrong(j, "the event before this is earlier than the one before it");
    if (__builtin_sub_overflow(v->at, x->last, &lasted))
        tt_json_wrong(j, TT_TOO_MUCH);
    if (x->open.count)
        add_amount(x, j, top_of(x), lasted);
    if (tt_json_failed(j))
        return;
    if (x->open.count)
        note_stretch(x, v->at);
    x->last = v->at;
    if (v->is_open)
        open_frame(x, j, v->block);
    else if (x->open.count &&
             ((const uint32_t *)x->open.item)[x->open.count - 1] == v->block)
        x->open.count -= 2;
    else
        tt_json_wrong(j, "the event before this closes what is not open innermost");
}

static void read_events(struct speedscope *x, const struct profile *p,
                        struct tt_json_part *at)
{
    struct tt_json_part events;

    if (!p->events)
        tt_json_wrong(&at->json, "this profile lacks its events");
    tt_json_part_open(&events, x->s, x->text, x->size, p->events);
    x->open.count = 0;
    x->last = INT64_MIN;
    for (tt_json_array(&events.json); tt_json_item(&events.json);) {
        const struct event v = read_event(x, &events.json);
        if (x->last == INT64_MIN) {
            x->last = v.at;
            x->before = v.at < 0 ? -(uint64_t)v.at : 0;
        }
        if (!tt_json_failed(&events.json))
            take_event(x, &events.json, &v);
    }
    if (x->open.count)
        tt_json_wrong(&events.json, "the events end, and frames are still open");
    tt_json_part_close(&events);
}

/* ── Profiles ─────────────────────────────────────────────────────────────────────── */

static void copy_short(struct tt_json *j, char to[16])
{
    if (tt_json_string(j))
        (void)snprintf(to, 16, "%s", j->text);
}

static void scan_profile(struct tt_json *j, struct profile *p)
{
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "type"))
            copy_short(j, p->type);
        else if (tt_json_is(j, "unit"))
            copy_short(j, p->unit);
        else if (tt_json_is(j, "name"))
            tt_json_copy(j, &p->name);
        else if (tt_json_is(j, "samples"))
            p->samples = tt_json_place(j);
        else if (tt_json_is(j, "weights"))
            p->weights = tt_json_place(j);
        else if (tt_json_is(j, "events"))
            p->events = tt_json_place(j);
        else if (tt_json_is(j, "startValue"))
            p->start = tt_json_place(j);
        else
            tt_json_skip(j);
}

/* Is there a fraction in these events?  They are of Tallytree, whose only strings are the
 * types. */
static int has_point(const struct speedscope *x, uint64_t events)
{
    const char *at = x->text + events, *end = x->text + x->size;
    const char *stop = events && at < end ? memchr(at, ']', (size_t)(end - at)) : NULL;

    return stop && memchr(at, '.', (size_t)(stop - at)) != NULL;
}

static void choose_metric(struct speedscope *x, struct tt_json *j,
                          const struct profile *p, int number)
{
    const char *unit = strcmp(p->unit, "bytes") == 0         ? "bytes"
                       : strcmp(p->unit, "nanoseconds") == 0 ? "ns"
                                                             : "";
    uint32_t flags = strcmp(p->name, "calls") == 0 ? TT_METRIC_CALLS : 0;
    const int has_fractions = !*unit && has_point(x, p->events);

    if (number == MOST_METRICS)
        tt_json_wrong(j, "there are too many metrics");
    if (!number && !flags)
        flags = *unit == 'b' ? TT_METRIC_SPACE : TT_METRIC_TIME;
    x->metric = tt_builder_metric(x->b, p->name,
                                  has_fractions ? TT_UNIT_MILLIONTHS : unit, flags);
    x->shift = has_fractions ? 6 : 0;
    x->worth = 1;
}

/* Its number, if an earlier one has its name, too; else 0. */
static uint64_t number_of(struct speedscope *x, const char *name, int number)
{
    const uint64_t hash = name ? tt_text_hash(name, strlen(name)) : (uint64_t)number;
    const uint64_t *earlier = x->name.item;
    const size_t count = x->name.count;
    size_t i = 0;

    while (i < count && earlier[i] != hash)
        i++;
    if (tt_vector_push(&x->name, &hash) != 0)
        (void)tt_source_no_memory(x->s);
    return i < count ? (uint64_t)number + 1 : 0;
}

static void read_profile(struct speedscope *x, struct tt_json_part *at, int number)
{
    struct profile p = {.unit = "none"};
    int ours;

    scan_profile(&at->json, &p);
    ours = is_from(x, OURS) && p.name;
    if (tt_json_failed(&at->json))
        return;
    if (ours) {
        choose_metric(x, &at->json, &p, number);
    } else {
        choose_unit(x, p.unit);
        (void)tt_builder_strand(
            x->b, &(struct tt_strand_info){.name = p.name,
                                           .thread = number_of(x, p.name, number),
                                           .rank = TT_NONE,
                                           .members = 1});
    }
    x->rest = 0;
    if (strcmp(p.type, "sampled") == 0)
        read_sampled(x, &p, at);
    else if (strcmp(p.type, "evented") == 0)
        read_events(x, &p, at);
    else
        tt_json_wrong(&at->json, "this profile is neither sampled nor evented");
    if (!ours && __builtin_add_overflow(x->total, x->amount.total, &x->total))
        tt_json_wrong(&at->json, TT_TOO_MUCH);
    tt_frames_flush(&x->amount, x->metric);
    if (x->calls.amount.count && !ours && !is_from(x, BY_TIME))
        tt_frames_flush(&x->calls, tt_builder_metric(x->b, "calls", "", TT_METRIC_CALLS));
    tt_memory_put(x->s->memory, p.name);
}

static void read_profiles(struct speedscope *x, uint64_t at)
{
    struct tt_json_part p;
    int number = 0;

    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_array(&p.json); tt_json_item(&p.json);)
        read_profile(x, &p, number++);
    tt_json_part_close(&p);
}

static int read_all(struct speedscope *x)
{
    uint64_t shared = 0, profiles = 0;
    struct tt_json_part p;
    struct tt_json *j = &p.json;

    tt_json_part_open(&p, x->s, x->text, x->size, 0);
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "shared"))
            shared = tt_json_place(j);
        else if (tt_json_is(j, "profiles"))
            profiles = tt_json_place(j);
        else if (tt_json_is(j, "exporter"))
            tt_json_copy_if(j, &x->exporter);
        else
            tt_json_skip(j);
    tt_json_end(j);
    if (!shared || !profiles)
        tt_json_wrong(j, "there are no shared frames, or no profiles");
    tt_json_part_close(&p);
    read_shared(x, shared);
    read_profiles(x, profiles);
    if (!tt_source_failed(x->s) && x->stretches != TT_NONE)
        tt_builder_place_stretches(x->b, x->stretches, NULL, NULL);
    return tt_source_failed(x->s);
}

static int read_speedscope(struct tt_source *s, struct tt_builder *b)
{
    struct speedscope x = {.s = s, .b = b, .stretches = TT_NONE};
    int error = tt_source_all(s, &x.text, &x.size);

    if (error)
        return error;
    tt_vector_init(&x.block, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.open, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.name, s->memory, sizeof(uint64_t));
    tt_frames_init(&x.amount, b, s->memory);
    tt_frames_init(&x.calls, b, s->memory);
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    if (tt_head_first(head, size) != '{')
        return TT_MATCH_NO;
    if (tt_head_has(head, size, "speedscope.app/file-format-schema.json"))
        return TT_MATCH_YES;
    return tt_head_has(head, size, "\"profiles\"") &&
                   (tt_head_has(head, size, "\"evented\"") ||
                    tt_head_has(head, size, "\"sampled\""))
               ? TT_MATCH_MAYBE
               : TT_MATCH_NO;
}

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

struct writing {
    const struct tt_profile *p;
    const struct tt_metric_columns *m;
    struct tt_writer *w;
    uint64_t at;
    int any;
};

static void put_frame(struct tt_writer *w, const struct tt_profile *p, uint32_t block)
{
    const struct tt_block_row *row = &p->block[block];

    tt_put(w, "{\"name\":");
    tt_put_json(w, tt_profile_string(p, row->name));
    if (row->file) {
        tt_put(w, ",\"file\":");
        tt_put_json(w, tt_profile_string(p, row->file));
    }
    if (row->line)
        tt_putf(w, ",\"line\":%u", row->line);
    if (row->column)
        tt_putf(w, ",\"col\":%u", row->column);
    tt_put_char(w, '}');
}

static void put_frames(struct tt_writer *w, const struct tt_profile *p)
{
    tt_put(w, "\"shared\":{\"frames\":[");
    for (uint32_t b = 0; b < p->blocks; b++) {
        put_frame(w, p, b);
        tt_put(w, ",\n");
    }
    tt_put(w, "{\"name\":\"[elsewhere below]\"}]}");
}

static void put_event(struct writing *x, char type, uint32_t frame)
{
    tt_put(x->w, x->any ? ",\n{\"type\":\"" : "\n{\"type\":\"");
    tt_put_char(x->w, type);
    tt_put(x->w, "\",\"frame\":");
    tt_put_number(x->w, frame);
    tt_put(x->w, ",\"at\":");
    if (x->m)
        tt_put_figure(x->w, x->m, x->at);
    else
        tt_put_number(x->w, x->at);
    tt_put_char(x->w, '}');
    x->any = 1;
}

/* A context is open for its inclusive cost; its self cost comes first. */
static void put_context(struct writing *x, uint32_t context, uint32_t depth)
{
    uint64_t below = tt_elsewhere_of(x->m, context), self = tt_self_of(x->m, context);

    if (depth || self)
        put_event(x, 'O', tt_block_of(x->p, context));
    x->at += self;
    if (!depth && self)
        put_event(x, 'C', 0);
    if (!below)
        return;
    put_event(x, 'O', x->p->blocks);
    x->at += below;
    put_event(x, 'C', x->p->blocks);
}

static int put_events(struct writing *x)
{
    uint32_t open = 0; /* depth of the open contexts; the root is not open */
    struct tt_walk w;
    int error = tt_walk_init(&w, x->p, 0);
    uint32_t *path;

    if (error)
        return error;
    path = tt_memory_get(x->p->memory, ((size_t)x->p->depth + 1) * sizeof *path);
    while (path && !x->w->error && tt_walk_next(&w)) {
        while (open && open >= w.depth)
            put_event(x, 'C', tt_block_of(x->p, path[open--]));
        if (!tt_total_of(x->p, x->m, w.context)) {
            tt_walk_skip(&w);
            open = w.depth ? w.depth - 1 : 0;
            continue;
        }
        put_context(x, w.context, w.depth);
        path[w.depth] = w.context;
        open = w.depth;
    }
    while (path && open)
        put_event(x, 'C', tt_block_of(x->p, path[open--]));
    tt_memory_put(x->p->memory, path);
    tt_walk_fini(&w);
    return path ? 0 : -TT_ERR_MEMORY;
}

/* ── By time ──────────────────────────────────────────────────────────────────────── */

static void put_edge(struct writing *x, char type, uint32_t context, uint64_t at)
{
    x->at = at;
    put_event(x, type, tt_block_of(x->p, context));
}

static void open_frame_at(void *arg, uint32_t context, uint64_t at)
{
    put_edge(arg, 'O', context, at);
}

static void close_frame_at(void *arg, uint32_t context, uint64_t at)
{
    put_edge(arg, 'C', context, at);
}

static int put_thread(struct writing *x, struct tt_by_time *t, uint32_t strand)
{
    const struct tt_strand_row *s = &x->p->strand[strand];
    const char *process = x->p->strings + s->process;
    char name[400];
    int error;

    (void)snprintf(
        name, sizeof name, s->thread ? "%.180s%s%.180s %llu" : "%.180s%s%.180s", process,
        *process ? ": " : "", x->p->strings + s->name, (unsigned long long)s->thread);
    tt_put(x->w, "{\"type\":\"evented\",\"name\":");
    tt_put_json(x->w, name);
    tt_put(x->w, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"events\":[");
    x->any = 0;
    error = tt_by_time_walk(t, strand, open_frame_at, close_frame_at, x);
    tt_putf(x->w, "],\"endValue\":%llu}", (unsigned long long)x->at);
    return error;
}

static int put_threads(struct tt_export *e, struct tt_writer *w)
{
    struct writing x = {.p = e->profile, .w = w};
    struct tt_by_time t;
    int error = tt_by_time_init(&t, e), any = 0;

    for (uint32_t i = 0; !error && i < x.p->strands && !w->error; i++) {
        if (!tt_by_time_has(&t, i))
            continue;
        tt_put(w, any++ ? ",\n" : "");
        error = put_thread(&x, &t, i);
    }
    tt_by_time_fini(&t);
    return error;
}

/* ── All ──────────────────────────────────────────────────────────────────────────── */

static const char *unit_of(const struct tt_metric_columns *m)
{
    return strcmp(m->unit, "ns") == 0      ? "nanoseconds"
           : strcmp(m->unit, "bytes") == 0 ? "bytes"
                                           : "none";
}

static int put_profile(const struct tt_profile *p, uint32_t metric, struct tt_writer *w)
{
    struct writing x = {.p = p, .m = &p->metric[metric], .w = w};
    int error;

    tt_put(w, "{\"type\":\"evented\",\"name\":");
    tt_put_json(w, x.m->name);
    tt_putf(w, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", unit_of(x.m));
    tt_put_figure(w, x.m,
                  x.m->self[p->contexts] +
                      (x.m->elsewhere ? x.m->elsewhere[p->contexts] : 0));
    tt_put(w, ",\"events\":[");
    error = put_events(&x);
    tt_put(w, "]}");
    return error;
}

static int put_metrics(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_profile *p = e->profile;
    const uint32_t main = tt_export_metric(e);
    int error = put_profile(p, main, w);

    for (uint32_t m = 0; !error && e->metric == TT_NONE && m < p->metrics; m++)
        if (m != main) {
            tt_put(w, ",\n");
            error = put_profile(p, m, w);
        }
    return error;
}

static int write_speedscope(struct tt_export *e, struct tt_writer *w)
{
    int error = e->by_time                       ? tt_by_time_check(e)
                : tt_export_metric(e) == TT_NONE ? -TT_ERR_OPTION
                                                 : 0;

    if (error)
        return error;
    tt_put(w, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
              "\"exporter\":\"");
    tt_put(w, e->by_time ? BY_TIME TT_VERSION "\",\n" : OURS TT_VERSION "\",\n");
    put_frames(w, e->profile);
    tt_put(w, ",\n\"profiles\":[");
    error = e->by_time ? put_threads(e, w) : put_metrics(e, w);
    tt_put(w, "]}\n");
    return error;
}

const struct tt_format tt_format_speedscope = {
    .name = "speedscope",
    .about = "speedscope's JSON",
    .flags = TT_FORMAT_PATHS | TT_FORMAT_BY_TIME,
    .detect = detect,
    .read = read_speedscope,
    .write = write_speedscope,
};
