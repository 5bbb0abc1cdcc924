/* SPDX-License-Identifier: MIT */
/* firefox.c - processed profiles of Firefox's profiler, as samply writes them too:
 * reading.
 *
 * Tables have columns: samples have stacks, a stack is a frame on another stack, a frame
 * is in a function, and the name of a function is a string.  Each thread has its tables,
 * or they are shared: the strings from version 56 on, all tables from 60 on.  The text is
 * kept, as a table may come after rows that refer to it.  Functions that are only an
 * address are places in files of code (`libs`), and symbols name them later. */
#include "firefox-write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "json-reader.h"
#include "samples.h"

enum table { STACKS, FRAMES, FUNCTIONS, RESOURCES, STRINGS, SAMPLES, SOURCES, TABLES };

static const char *const table_names[TABLES] = {
    "stackTable",  "frameTable", "funcTable", "resourceTable",
    "stringArray", "samples",    "sources"};

struct column {
    const char *name, *other; /* other: what it is called too, or NULL */
    struct tt_vector value;   /* int64_t; NONE: null */
    int shift;                /* digits after the decimal point that count */
    int is_there, is_other;
};
#define NONE INT64_MIN

struct place { /* where tables are, 0: they are not there */
    uint64_t table[TABLES];
};

struct lib {
    char *path, *id; /* or NULL; id: the build-id, in hexadecimal */
};

struct firefox {
    struct tt_source *s;
    struct tt_builder *b;
    const char *text;
    size_t size;
    uint64_t version, total;  /* total: of all threads' weights */
    uint64_t started;         /* ns; times of samples are from then on; 0: not known */
    struct tt_vector lib;     /* struct lib: files of code */
    struct tt_vector string;  /* size_t: where each begins in `bytes` */
    struct tt_vector bytes;   /* char */
    struct tt_vector context; /* uint32_t: of each stack */
};

static void wrong(struct firefox *x, uint64_t at, const char *what)
{
    (void)tt_source_fail_at(x->s, at, "%s", what);
}

/* ── Columns ──────────────────────────────────────────────────────────────────────── */

static void read_column(struct tt_json *j, struct column *c)
{
    c->is_there = tt_json_open_if(j, TT_JSON_ARRAY);
    if (!c->is_there)
        return;
    c->value.count = 0;
    while (tt_json_item(j)) {
        int64_t n = NONE;
        if (tt_json_plain(j) == TT_JSON_NUMBER && !tt_decimal(j->text, c->shift, &n))
            tt_json_wrong(j, "the number before this is too large");
        tt_source_append(j->s, &c->value, &n);
    }
}

/* The columns of a table, up to one without a name; others are left out. */
static void read_columns(struct firefox *x, uint64_t at, struct column *column)
{
    struct tt_json_part p;

    for (struct column *c = column; c->name; c++)
        tt_vector_init(&c->value, x->s->memory, sizeof(int64_t));
    if (!at)
        return;
    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_object(&p.json); tt_json_key(&p.json);) {
        struct column *c = column;
        while (c->name && !tt_json_is(&p.json, c->name) &&
               !(c->other && tt_json_is(&p.json, c->other)))
            c++;
        if (c->name) {
            c->is_other = !tt_json_is(&p.json, c->name);
            read_column(&p.json, c);
        } else {
            tt_json_skip(&p.json);
        }
    }
    tt_json_part_close(&p);
}

static void free_columns(struct column *column)
{
    for (; column->name; column++)
        tt_vector_fini(&column->value);
}

/* Returns NONE if there is no such row. */
static int64_t value_of(const struct column *c, int64_t row)
{
    return row >= 0 && (uint64_t)row < c->value.count
               ? ((const int64_t *)c->value.item)[row]
               : NONE;
}

/* ── Strings ──────────────────────────────────────────────────────────────────────── */

static void read_strings(struct firefox *x, uint64_t at)
{
    struct tt_json_part p;

    x->string.count = x->bytes.count = 0;
    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_array(&p.json); tt_json_item(&p.json);) {
        const size_t begin = tt_json_string(&p.json)
                                 ? tt_vector_text(&x->bytes, p.json.text, p.json.length)
                                 : TT_NO_PLACE;
        if (begin == TT_NO_PLACE || tt_source_append(x->s, &x->string, &begin) != 0)
            tt_source_no_memory(x->s);
    }
    tt_json_part_close(&p);
}

static const char *text_of(const struct firefox *x, int64_t string)
{
    return string >= 0 && (uint64_t)string < x->string.count
               ? (const char *)x->bytes.item + ((const size_t *)x->string.item)[string]
               : "";
}

/* ── Files of code ────────────────────────────────────────────────────────────────── */

static void read_lib(struct firefox *x, struct tt_json *j)
{
    struct lib l = {NULL, NULL};
    char *name = NULL;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "path"))
            tt_json_copy_if(j, &l.path);
        else if (tt_json_is(j, "codeId"))
            tt_json_copy_if(j, &l.id);
        else if (tt_json_is(j, "name"))
            tt_json_copy_if(j, &name);
        else
            tt_json_skip(j);
    if (!l.path || !*l.path)
        l.path = name;
    tt_source_append(x->s, &x->lib, &l);
}

static void read_libs(struct firefox *x, uint64_t at)
{
    struct tt_json_part p;

    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_array(&p.json); tt_json_item(&p.json);)
        read_lib(x, &p.json);
    tt_json_part_close(&p);
}

/* Is a name nothing but an address? */
static int is_address(const char *name, uint64_t *address)
{
    char *end;

    if (strncmp(name, "0x", 2) != 0)
        return 0;
    *address = strtoull(name, &end, 16);
    return end > name + 2 && !*end;
}

/* The block of an address in a file; TT_NONE: it is none. */
static uint32_t block_in_lib(struct firefox *x, const char *name, int64_t number)
{
    const struct lib *l = x->lib.item;
    uint64_t address;
    const char *base;
    char text[300];

    if (number < 0 || (uint64_t)number >= x->lib.count || !is_address(name, &address))
        return TT_NONE;
    l += number;
    if (!l->path || !*l->path)
        return TT_NONE;
    base = l->path + strlen(l->path);
    while (base > l->path && base[-1] != '/' && base[-1] != '\\')
        base--;
    (void)snprintf(text, sizeof text, "%.250s+0x%llx", base, (unsigned long long)address);
    return tt_builder_block(x->b, &(struct tt_block_info){.name = text,
                                                          .module = l->path,
                                                          .file = l->id ? l->id : "",
                                                          .offset = address,
                                                          .kind = TT_KIND_NATIVE});
}

/* ── Stacks become contexts ───────────────────────────────────────────────────────── */

enum { NAME, FILE_NAME, LINE, RESOURCE, SOURCE, END };

static struct column function_columns[] = {
    [NAME] = {.name = "name"},       [FILE_NAME] = {.name = "fileName"},
    [LINE] = {.name = "lineNumber"}, [RESOURCE] = {.name = "resource"},
    [SOURCE] = {.name = "source"},   [END] = {.name = NULL},
};

/* The block of each function, appended to `block`. */
static void make_blocks(struct firefox *x, const struct place *at,
                        struct tt_vector *block)
{
    struct column f[END + 1],
        resource[] = {{.name = "name"}, {.name = "lib"}, {.name = NULL}},
        source[] = {{.name = "filename", .other = "fileName"}, {.name = NULL}};

    memcpy(f, function_columns, sizeof f);
    read_columns(x, at->table[FUNCTIONS], f);
    read_columns(x, at->table[RESOURCES], resource);
    read_columns(x, at->table[SOURCES], source);
    for (size_t i = 0; !tt_source_failed(x->s) && i < f[NAME].value.count; i++) {
        int64_t row = (int64_t)i, line = value_of(&f[LINE], row),
                file = value_of(&f[FILE_NAME], row), of = value_of(&f[RESOURCE], row);
        const char *name = text_of(x, value_of(&f[NAME], row));
        uint32_t b = block_in_lib(x, name, value_of(&resource[1], of));
        if (file < 0)
            file = value_of(&source[0], value_of(&f[SOURCE], row));
        if (b == TT_NONE)
            b = tt_builder_block(
                x->b, &(struct tt_block_info){
                          .name = name,
                          .file = text_of(x, file),
                          .module = text_of(x, value_of(&resource[0], of)),
                          .line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0,
                          .kind = TT_KIND_FUNCTION});
        tt_source_append(x->s, block, &b);
    }
    free_columns(f);
    free_columns(resource);
    free_columns(source);
}

/* The stack that a stack lies on: NONE for a root; or one that is not before it. */
static int64_t prefix_of(const struct column *prefix, int64_t row)
{
    int64_t n = value_of(prefix, row);

    if (prefix->is_other) /* an offset, 0 for a root */
        return n == 0 ? NONE : n > 0 && n <= row ? row - n : row;
    return n < 0 ? NONE : n;
}

static void make_context(struct firefox *x, const struct column *stack,
                         const struct column *frame, const struct tt_vector *block,
                         int64_t row, uint64_t at)
{
    int64_t prefix = prefix_of(&stack[1], row),
            function = value_of(&frame[0], value_of(&stack[0], row));
    uint32_t context = TT_BUILDER_ROOT;

    if (prefix >= row) {
        wrong(x, at, "a stack lies on one that is not before it");
        return;
    }
    if (prefix >= 0)
        context = ((const uint32_t *)x->context.item)[prefix];
    if (function < 0 || (uint64_t)function >= block->count) {
        wrong(x, at, "a stack has a frame or function that is not there");
        return;
    }
    context = tt_builder_context(x->b, context,
                                 ((const uint32_t *)block->item)[function]);
    if (context == TT_NONE)
        tt_source_no_memory(x->s);
    tt_source_append(x->s, &x->context, &context);
}

static void make_contexts(struct firefox *x, const struct place *at)
{
    struct column frame[] = {{.name = "func"}, {.name = NULL}},
                  stack[] = {{.name = "frame"},
                             {.name = "prefix", .other = "prefixOffset"},
                             {.name = NULL}};
    struct tt_vector block;

    x->context.count = 0;
    tt_vector_init(&block, x->s->memory, sizeof(uint32_t));
    read_strings(x, at->table[STRINGS]);
    make_blocks(x, at, &block);
    read_columns(x, at->table[FRAMES], frame);
    read_columns(x, at->table[STACKS], stack);
    if (!frame[0].is_there || !stack[0].is_there || !stack[1].is_there)
        wrong(x, at->table[STACKS], "stacks lack their frames or what they lie on");
    for (size_t i = 0; !tt_source_failed(x->s) && i < stack[0].value.count; i++)
        make_context(x, stack, frame, &block, (int64_t)i, at->table[STACKS]);
    free_columns(frame);
    free_columns(stack);
    tt_vector_fini(&block);
}

static int has_all(const struct place *at)
{
    return at->table[STACKS] && at->table[FRAMES] && at->table[FUNCTIONS] &&
           at->table[STRINGS];
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

struct thread {
    struct place place;
    char *name, *process; /* owned */
    uint64_t pid, id;
};

/* Reads a number, in quotes or not; ignores other values. */
static void read_id(struct tt_json *j, uint64_t *id)
{
    const enum tt_json_kind kind = tt_json_plain(j);
    int64_t n;

    if ((kind == TT_JSON_STRING || kind == TT_JSON_NUMBER) && tt_decimal(j->text, 0, &n))
        *id = (uint64_t)n;
}

static void note_place(struct tt_json *j, struct place *p)
{
    for (int t = 0; t < TABLES; t++)
        if (tt_json_is(j, table_names[t]) ||
            (t == STRINGS && tt_json_is(j, "stringTable")))
            p->table[t] = tt_source_offset(j->s);
    tt_json_skip(j);
}

static void scan_thread(struct tt_json *j, struct thread *t)
{
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "name"))
            tt_json_copy_if(j, &t->name);
        else if (tt_json_is(j, "processName"))
            tt_json_copy_if(j, &t->process);
        else if (tt_json_is(j, "pid"))
            read_id(j, &t->pid);
        else if (tt_json_is(j, "tid"))
            read_id(j, &t->id);
        else
            note_place(j, &t->place);
}

/* What weights are: "samples", "bytes", "tracing-ms". */
static void weight_type(struct firefox *x, uint64_t at, char type[16])
{
    struct tt_json_part p;

    (void)snprintf(type, 16, "samples");
    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_object(&p.json); tt_json_key(&p.json);)
        if (!tt_json_is(&p.json, "weightType"))
            tt_json_skip(&p.json);
        else if (tt_json_plain(&p.json) == TT_JSON_STRING)
            (void)snprintf(type, 16, "%s", p.json.text);
    tt_json_part_close(&p);
}

enum { MS = 1000000, MS_DIGITS = 6 }; /* ns */

static uint32_t metric_of(struct firefox *x, const char *type, int *shift)
{
    *shift = 0;
    if (strcmp(type, "bytes") == 0)
        return tt_builder_metric(x->b, "bytes", "bytes", TT_METRIC_SPACE);
    if (strcmp(type, "tracing-ms") == 0) {
        *shift = MS_DIGITS;
        return tt_builder_metric(x->b, "time", "ns", TT_METRIC_TIME);
    }
    return tt_builder_metric(x->b, "samples", "", 0);
}

/* When a sample was, in ns; it is after `last`, if its column has only the time between.
 * NONE: not known. */
static int64_t time_of(const struct column *c, size_t i, int64_t last)
{
    const int64_t between = value_of(&c[1], (int64_t)i);
    int64_t time = value_of(&c[0], (int64_t)i);

    if (!c[0].is_there && c[1].is_there &&
        (between < 0 || __builtin_add_overflow(last, between, &time)))
        time = last;
    return time >= 0 ? time : NONE;
}

static void take_samples(struct firefox *x, uint64_t at, const struct column *c,
                         uint32_t metric, int has_time)
{
    struct tt_frames amount;
    int64_t time = 0;
    int error = 0;

    tt_frames_init(&amount, x->b, x->s->memory);
    for (size_t i = 0; !tt_source_failed(x->s) && i < c[0].value.count; i++) {
        int64_t stack = value_of(&c[0], (int64_t)i), weight = c[1].shift ? MS : 1;
        uint32_t context = TT_BUILDER_ROOT;
        if (c[1].is_there && value_of(&c[1], (int64_t)i) != NONE)
            weight = value_of(&c[1], (int64_t)i);
        if (stack >= 0 && (uint64_t)stack >= x->context.count)
            wrong(x, at, "a sample has a stack that is not there");
        else if (weight < 0)
            wrong(x, at, "a sample has a weight below 0, as differences have");
        else if (stack >= 0)
            context = ((const uint32_t *)x->context.item)[stack];
        if (!tt_source_failed(x->s))
            error = tt_frames_add(&amount, context, (uint64_t)weight);
        if (error == -TT_ERR_FORMAT)
            wrong(x, at, TT_TOO_MUCH);
        else if (error)
            tt_source_no_memory(x->s);
        time = time_of(c + 2, i, time);
        if (!tt_source_failed(x->s) && has_time && time != NONE)
            tt_builder_sample(x->b, metric, context, x->started + (uint64_t)time,
                              (uint64_t)weight, 0);
    }
    if (__builtin_add_overflow(x->total, amount.total, &x->total))
        wrong(x, at, TT_TOO_MUCH);
    if (!tt_source_failed(x->s))
        tt_frames_flush(&amount, metric);
    tt_frames_fini(&amount);
}

static void read_samples(struct firefox *x, const struct thread *t)
{
    struct column c[] = {{.name = "stack"},
                         {.name = "weight"},
                         {.name = "time", .shift = MS_DIGITS},
                         {.name = "timeDeltas", .shift = MS_DIGITS},
                         {.name = NULL}};
    const uint64_t at = t->place.table[SAMPLES];
    char type[16];
    uint32_t metric;

    weight_type(x, at, type);
    metric = metric_of(x, type, &c[1].shift);
    read_columns(x, at, c);
    if (!c[0].is_there)
        wrong(x, at, "samples without stacks");
    if (!tt_source_failed(x->s) && c[0].value.count)
        (void)tt_builder_strand(x->b, &(struct tt_strand_info){.process = t->process,
                                                               .name = t->name,
                                                               .pid = t->pid,
                                                               .thread = t->id,
                                                               .rank = TT_NONE,
                                                               .members = 1});
    take_samples(x, at, c, metric, strcmp(type, "bytes") != 0);
    free_columns(c);
}

/* Tables that a thread lacks are the shared ones. */
static void take_shared(struct place *own, const struct place *shared)
{
    for (int t = 0; t < TABLES; t++)
        if (!own->table[t] && t != SAMPLES)
            own->table[t] = shared->table[t];
}

static void read_thread(struct firefox *x, struct tt_json *j, const struct place *shared)
{
    const int is_shared = has_all(shared);
    struct thread t = {.name = NULL};

    scan_thread(j, &t);
    take_shared(&t.place, shared);
    if (t.place.table[SAMPLES]) { /* else it has only markers */
        if (!has_all(&t.place))
            tt_json_wrong(j, "the thread before this lacks stacks, frames, functions or "
                             "strings");
        if (!is_shared)
            make_contexts(x, &t.place);
        read_samples(x, &t);
    }
    tt_memory_put(x->s->memory, t.name);
    tt_memory_put(x->s->memory, t.process);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static void read_threads(struct firefox *x, uint64_t at, const struct place *shared)
{
    struct tt_json_part p;

    if (has_all(shared))
        make_contexts(x, shared);
    tt_json_part_open(&p, x->s, x->text, x->size, at);
    for (tt_json_array(&p.json); tt_json_item(&p.json);)
        read_thread(x, &p.json, shared);
    tt_json_part_close(&p);
}

static void read_meta(struct firefox *x, struct tt_json *j)
{
    char *product = NULL;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "preprocessedProfileVersion")) {
            read_id(j, &x->version);
        } else if (tt_json_is(j, "product")) {
            tt_json_copy_if(j, &product);
        } else if (tt_json_is(j, "startTime")) {
            const int64_t ns = tt_json_scaled(j, 6);
            if (ns > 0) {
                x->started = (uint64_t)ns;
                tt_builder_fact(x->b, "started", TT_FACT_MIN, x->started, "");
            }
        } else {
            tt_json_skip(j);
        }
    if (product)
        tt_builder_fact(x->b, "program", TT_FACT_EACH, 1, product);
}

static int read_all(struct firefox *x)
{
    struct place shared = {{0}};
    uint64_t threads = 0, libs = 0;
    struct tt_json_part p;
    struct tt_json *j = &p.json;

    tt_json_part_open(&p, x->s, x->text, x->size, 0);
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "meta"))
            read_meta(x, j);
        else if (tt_json_is(j, "shared"))
            for (tt_json_object(j); tt_json_key(j);)
                note_place(j, &shared);
        else if (tt_json_is(j, "threads"))
            threads = tt_json_place(j);
        else if (tt_json_is(j, "libs"))
            libs = tt_json_place(j);
        else
            tt_json_skip(j);
    tt_json_end(j);
    if (!threads || !x->version)
        tt_json_wrong(j, "there are no threads, or no version of the profile");
    tt_json_part_close(&p);
    if (libs)
        read_libs(x, libs);
    read_threads(x, threads, &shared);
    return tt_source_failed(x->s);
}

static int read_firefox(struct tt_source *s, struct tt_builder *b)
{
    struct firefox x = {.s = s, .b = b};
    int error = tt_source_all(s, &x.text, &x.size);

    if (error)
        return error;
    tt_vector_init(&x.lib, s->memory, sizeof(struct lib));
    tt_vector_init(&x.string, s->memory, sizeof(size_t));
    tt_vector_init(&x.bytes, s->memory, 1);
    tt_vector_init(&x.context, s->memory, sizeof(uint32_t));
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(tt_head_first(head, size) == '{' &&
                       tt_head_has(head, size, "\"preprocessedProfileVersion\""));
}

const struct tt_format tt_format_firefox = {
    .name = "firefox",
    .about = "processed profiles of Firefox's profiler",
    .flags = TT_FORMAT_PACKED | TT_FORMAT_PATHS | TT_FORMAT_BY_TIME,
    .detect = detect,
    .read = read_firefox,
    .write = tt_firefox_write,
};
