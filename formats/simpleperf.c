/* SPDX-License-Identifier: MIT */
/* simpleperf.c - samples of Android's simpleperf, as `report-sample --protobuf` has them:
 * reading.
 *
 *      SIMPLEPERF 1 │ size │ record │ size │ record │ … │ 0
 *
 * A record is a message: a sample (a stack, leaf first, of addresses and numbers of
 * symbols), a file with its symbols, a thread, or the list of events.  Files and threads
 * may come after the samples, so records are read twice. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "pairs.h"
#include "samples.h"
#include "wire.h"

enum { HEAD = 12, MOST_EVENTS = 64 };
enum { SAMPLE = 1, LOST, FILE_INFO, THREAD, META };

struct text { /* within the file */
    const unsigned char *at;
    size_t size;
};

struct thread {
    uint64_t process;
    struct text name;
};

struct event {
    char name[64];
    uint32_t samples, count; /* metrics; count TT_NONE: none so far */
};

struct simpleperf {
    struct tt_source *s;
    struct tt_builder *b;
    const unsigned char *bytes;
    size_t size, at;
    struct tt_pairs files, symbols,
        threads; /* numbers + 1 into the vectors below; a symbol by file */
    struct tt_vector file, symbol, thread; /* struct text, struct text, struct thread */
    struct tt_pairs blocks;                /* file and symbol, or address: block + 1 */
    struct event event[MOST_EVENTS];
    uint32_t events;
    struct tt_vector stack; /* uint32_t: blocks, leaf first */
    uint64_t lost;
    uint64_t total[MOST_EVENTS];
};

static int wrong(struct simpleperf *x, const char *what)
{
    return tt_source_fail_at(x->s, x->at, "%s", what);
}

static int add(struct simpleperf *x, struct tt_vector *to, const void *item, size_t size)
{
    void *at = tt_vector_add(to, 1);

    if (!at)
        return tt_source_no_memory(x->s);
    memcpy(at, item, size);
    return 0;
}

static int note(struct simpleperf *x, struct tt_pairs *pairs, uint64_t a, uint64_t b,
                uint32_t number)
{
    int is_new;
    uint32_t *at = tt_pairs_get(pairs, a, b, &is_new);

    if (!at)
        return tt_source_no_memory(x->s);
    if (is_new)
        *at = number;
    return 0;
}

static struct text text_of(const struct tt_wire_field *f)
{
    return (struct text){f->inside.at, (size_t)(f->inside.end - f->inside.at)};
}

static void copy_text(const struct text *t, char *to, size_t room)
{
    size_t size = t->size < room ? t->size : room - 1;

    if (size)
        memcpy(to, t->at, size);
    for (size_t i = 0; i < size; i++)
        to[i] = (char)(to[i] ? to[i] : '?');
    to[size] = '\0';
}

/* ── What samples refer to ────────────────────────────────────────────────────────── */

static int take_file(struct simpleperf *x, struct tt_wire m)
{
    struct text path = {NULL, 0}, symbol;
    const uint32_t first = (uint32_t)x->symbol.count;
    struct tt_wire_field f;
    uint64_t id = 0;
    int more, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a file is damaged");
        symbol = text_of(&f);
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2 && f.wire == TT_WIRE_BYTES)
            path = symbol;
        else if (f.number == 3 && f.wire == TT_WIRE_BYTES)
            error = add(x, &x->symbol, &symbol, sizeof symbol);
    }
    for (uint32_t i = first; !error && i < x->symbol.count; i++)
        error = note(x, &x->symbols, id, i - first, i + 1);
    error = error ?: add(x, &x->file, &path, sizeof path);
    return error ?: note(x, &x->files, id, 0, (uint32_t)x->file.count);
}

static int take_thread(struct simpleperf *x, struct tt_wire m)
{
    struct thread t = {0};
    struct tt_wire_field f;
    uint64_t id = 0;
    int more, error;

    while ((more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a thread is damaged");
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2)
            t.process = f.value;
        else if (f.number == 3 && f.wire == TT_WIRE_BYTES)
            t.name = text_of(&f);
    }
    error = add(x, &x->thread, &t, sizeof t);
    return error ?: note(x, &x->threads, id, 0, (uint32_t)x->thread.count);
}

static int take_meta(struct simpleperf *x, struct tt_wire m)
{
    struct tt_wire_field f;
    struct text text;
    char name[200];
    int more;

    while ((more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "what describes the run is damaged");
        text = text_of(&f);
        if (f.number == 1 && f.wire == TT_WIRE_BYTES) {
            if (x->events == MOST_EVENTS)
                return wrong(x, "there are more than 64 events");
            copy_text(&text, x->event[x->events++].name, sizeof x->event[0].name);
        } else if (f.number == 2 && f.wire == TT_WIRE_BYTES) {
            copy_text(&text, name, sizeof name);
            tt_builder_fact(x->b, "program", TT_FACT_EACH, 1, name);
        }
    }
    return 0;
}

static int take_lost(struct simpleperf *x, struct tt_wire m)
{
    struct tt_wire_field f;
    int more;

    while ((more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a count of lost samples is damaged");
        if (f.number == 2)
            x->lost = f.value;
    }
    return 0;
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

static uint32_t make_block(struct simpleperf *x, const struct text *path,
                           const struct text *symbol, uint64_t address)
{
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    char module[1024] = "", name[4096];
    const char *slash;

    if (path)
        copy_text(path, module, sizeof module);
    info.module = module;
    info.name = name;
    slash = strrchr(module, '/');
    if (symbol) {
        copy_text(symbol, name, sizeof name);
    } else {
        (void)snprintf(name, sizeof name, "%s+0x%llx", slash ? slash + 1 : module,
                       (unsigned long long)address);
        info.offset = address;
        info.kind = TT_KIND_NATIVE;
    }
    return tt_builder_block(x->b, &info);
}

static int take_frame(struct simpleperf *x, struct tt_wire m)
{
    uint64_t address = 0, file = 0, symbol = UINT64_MAX;
    struct tt_wire_field f;
    const uint32_t *path, *name;
    uint32_t *block, made;
    int more, is_new;

    while ((more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a frame is damaged");
        if (f.number == 1)
            address = f.value;
        else if (f.number == 2)
            file = f.value & UINT32_MAX;
        else if (f.number == 3)
            symbol = f.value;
    }
    path = tt_pairs_find(&x->files, file, 0);
    name = tt_pairs_find(&x->symbols, file, symbol);
    block = tt_pairs_get(&x->blocks, name ? file << 1 | 1 : file << 1,
                         name ? symbol : address, &is_new);
    if (!block)
        return tt_source_no_memory(x->s);
    if (is_new) {
        made = make_block(x, path ? (struct text *)x->file.item + *path - 1 : NULL,
                          name ? (struct text *)x->symbol.item + *name - 1 : NULL,
                          address);
        if (made == TT_NONE)
            return tt_source_no_memory(x->s);
        *block = made;
    }
    made = *block;
    return add(x, &x->stack, &made, sizeof made);
}

static int take_strand(struct simpleperf *x, uint64_t id)
{
    const uint32_t *at = tt_pairs_find(&x->threads, id, 0);
    const struct thread *t = at ? (const struct thread *)x->thread.item + *at - 1 : NULL;
    const uint32_t *main = t ? tt_pairs_find(&x->threads, t->process, 0) : NULL;
    char name[200] = "", process[200] = "";

    if (t)
        copy_text(&t->name, name, sizeof name);
    if (main)
        copy_text(&((const struct thread *)x->thread.item)[*main - 1].name, process,
                  sizeof process);
    return tt_builder_strand(x->b, &(struct tt_strand_info){.process = process,
                                                            .name = name,
                                                            .pid = t ? t->process : 0,
                                                            .thread = id,
                                                            .rank = TT_NONE,
                                                            .members = 1}) == TT_NONE
               ? tt_source_no_memory(x->s)
               : 0;
}

static int is_clock(const char *event)
{
    return strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0;
}

/* Metrics have the names that perf's have: "samples" for the first event, and the event's
 * name. */
static int add_figures(struct simpleperf *x, uint32_t context, uint64_t type,
                       uint64_t count, uint64_t time)
{
    struct event *e;
    uint32_t metric;
    char name[100];

    if (type >= (x->events ? x->events : 1))
        return wrong(x, "a sample is of an event that there is not");
    e = &x->event[type];
    (void)snprintf(name, sizeof name, type ? "samples of %s" : "samples", e->name);
    e->samples = tt_builder_metric(x->b, name, "", 0);
    tt_builder_add(x->b, TT_ROLE_SELF, context, e->samples, 1);
    metric = e->samples;
    if (count && *e->name) {
        if (__builtin_add_overflow(x->total[type], count, &x->total[type]))
            return wrong(x, TT_TOO_MUCH);
        e->count = tt_builder_metric(x->b, e->name, is_clock(e->name) ? "ns" : "",
                                     type ? 0 : TT_METRIC_TIME | TT_METRIC_SAMPLED);
        metric = e->count;
        tt_builder_add(x->b, TT_ROLE_SELF, context, metric, count);
    }
    if (!type && time) /* the first event is the main one */
        tt_builder_sample(x->b, metric, context, time, metric == e->count ? count : 1, 0);
    return 0;
}

static int take_sample(struct simpleperf *x, struct tt_wire m)
{
    uint64_t time = 0, thread = 0, count = 0, type = 0;
    uint32_t context = TT_BUILDER_ROOT;
    struct tt_wire_field f;
    int more, error = 0;

    x->stack.count = 0;
    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a sample is damaged");
        if (f.number == 1)
            time = f.value;
        else if (f.number == 2)
            thread = f.value;
        else if (f.number == 3 && f.wire == TT_WIRE_BYTES)
            error = take_frame(x, f.inside);
        else if (f.number == 4)
            count = f.value;
        else if (f.number == 5)
            type = f.value;
    }
    for (size_t i = x->stack.count; !error && i-- > 0;)
        context = tt_builder_context(x->b, context, ((uint32_t *)x->stack.item)[i]);
    if (context == TT_NONE)
        return tt_source_no_memory(x->s);
    error = error ?: take_strand(x, thread);
    return error ?: add_figures(x, context, type, count, time);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int take_record(struct simpleperf *x, struct tt_wire m, int is_second)
{
    struct tt_wire_field f;
    int more, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a record is damaged");
        if (f.wire != TT_WIRE_BYTES)
            continue;
        if (is_second)
            error = f.number == SAMPLE ? take_sample(x, f.inside) : 0;
        else if (f.number == FILE_INFO)
            error = take_file(x, f.inside);
        else if (f.number == THREAD)
            error = take_thread(x, f.inside);
        else if (f.number == META)
            error = take_meta(x, f.inside);
        else if (f.number == LOST)
            error = take_lost(x, f.inside);
    }
    return error;
}

static int read_records(struct simpleperf *x, int is_second)
{
    int error = 0;

    for (x->at = HEAD; !error;) {
        uint64_t size;
        if (x->size - x->at < 4)
            return wrong(x, "the file ends without its last record");
        size = tt_number_at((const char *)x->bytes + x->at, 4);
        x->at += 4;
        if (!size)
            return 0;
        if (size > x->size - x->at)
            return wrong(x, "the file ends within a record");
        error = take_record(
            x, (struct tt_wire){x->bytes + x->at, x->bytes + x->at + size}, is_second);
        x->at += error ? 0 : size;
    }
    return error;
}

static int read_all(struct simpleperf *x)
{
    const char *bytes;
    int error = tt_source_all(x->s, &bytes, &x->size);

    if (error)
        return error;
    x->bytes = (const unsigned char *)bytes;
    if (x->size < HEAD || tt_number_at(bytes + 10, 2) != 1)
        return wrong(x, "this version of simpleperf's reports is not known");
    error = read_records(x, 0);
    error = error ?: read_records(x, 1);
    if (!error && x->lost)
        tt_builder_fact(x->b, "lost.samples", TT_FACT_SUM, x->lost, "");
    return error;
}

static int read_simpleperf(struct tt_source *s, struct tt_builder *b)
{
    struct simpleperf x = {.s = s, .b = b};

    tt_pairs_init(&x.files, s->memory);
    tt_pairs_init(&x.symbols, s->memory);
    tt_pairs_init(&x.threads, s->memory);
    tt_pairs_init(&x.blocks, s->memory);
    tt_vector_init(&x.file, s->memory, sizeof(struct text));
    tt_vector_init(&x.symbol, s->memory, sizeof(struct text));
    tt_vector_init(&x.thread, s->memory, sizeof(struct thread));
    tt_vector_init(&x.stack, s->memory, sizeof(uint32_t));
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= HEAD && memcmp(head, "SIMPLEPERF", 10) == 0);
}

const struct tt_format tt_format_simpleperf = {
    .name = "simpleperf",
    .about = "samples of Android's simpleperf (report-sample --protobuf)",
    .detect = detect,
    .read = read_simpleperf,
};
