/* SPDX-License-Identifier: MIT */
/* otlp-read.c - OpenTelemetry's profiles, as of version 1.11.0 of its protocol: reading.
 *
 * The dictionary may come after messages that refer to it: one pass finds its rows, the
 * next reads the profiles.  Each stack becomes a context once.  JSON is translated to the
 * same message first; there may be several of them, one after the other. */
#include "otlp-read.h"

#include <stdio.h>
#include <string.h>

#include "frames.h"
#include "otlp-json.h"
#include "pprof.h"
#include "samples.h"

enum { TABLES = 8, MOST_METRICS = 64 };

struct otlp_read {
    struct tt_source *s;
    struct tt_builder *b;
    const unsigned char *bytes;
    int is_json;                    /* bytes are translated, not those of the file */
    struct tt_vector table[TABLES]; /* struct tt_wire, of each part of the dictionary */
    struct tt_vector context;       /* uint32_t: of each stack + 1 */
    struct tt_vector block;         /* uint32_t: of a stack, leaf first */
    struct tt_vector text;          /* char: see text_of */
    uint64_t sum[MOST_METRICS];     /* of the builder's metrics */
};

static int wrong(struct otlp_read *o, const struct tt_wire *m, const char *what)
{
    return tt_source_fail_at(
        o->s, o->is_json || !m->end ? 0 : (uint64_t)(m->at - o->bytes), "%s", what);
}

static int damaged(struct otlp_read *o, const struct tt_wire *m)
{
    return wrong(o, m, "this is damaged, or cut off");
}

/* ── The dictionary ───────────────────────────────────────────────────────────────── */

static int note_dictionary(struct otlp_read *o, struct tt_wire m)
{
    struct tt_wire_field f;
    int more;

    while ((more = tt_wire_next(&m, &f)) > 0) {
        if (f.number >= TABLES || f.wire != TT_WIRE_BYTES)
            continue;
        if (tt_source_append(o->s, &o->table[f.number], &f.inside) != 0)
            return -TT_ERR_MEMORY;
    }
    return more < 0 ? damaged(o, &m) : 0;
}

/* Returns a row of a table; an empty message if there is none. */
static struct tt_wire row_of(const struct otlp_read *o, int table, uint64_t i)
{
    const struct tt_vector *v = &o->table[table];

    return i < v->count ? ((const struct tt_wire *)v->item)[i]
                        : (struct tt_wire){(const unsigned char *)"", NULL};
}

/* Gets the numbers of a row, by field; missing ones are 0. */
static void numbers_of(struct tt_wire m, uint64_t *number, uint32_t count)
{
    struct tt_wire_field f = {0};

    for (uint32_t i = 0; i < count; i++)
        number[i] = 0;
    if (!m.end)
        return;
    while (tt_wire_next(&m, &f) > 0)
        if (f.number < count && f.wire == TT_WIRE_VARINT)
            number[f.number] = f.value;
}

/* Appends a string to o->text and sets its place; it is empty if there is none. */
static int add_text(struct otlp_read *o, uint64_t i, size_t *at)
{
    struct tt_wire m = row_of(o, TT_DICTIONARY_STRINGS, i);
    size_t length = m.end ? (size_t)(m.end - m.at) : 0;
    char *to = tt_vector_add(&o->text, length + 1);

    if (!to)
        return tt_source_no_memory(o->s);
    *at = (size_t)(to - (char *)o->text.item);
    for (size_t k = 0; k < length; k++)
        to[k] = (char)(m.at[k] ? m.at[k] : '?');
    return 0;
}

static const char *text_at(const struct otlp_read *o, size_t at)
{
    return (const char *)o->text.item + at;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static int add_block(struct otlp_read *o, const struct tt_block_info *info)
{
    const uint32_t block = tt_builder_block(o->b, info);

    return block == TT_NONE ? tt_source_no_memory(o->s)
                            : tt_source_append(o->s, &o->block, &block);
}

/* Adds a place without a function: an address in its file, to be named by symbols
 * later. */
static int add_address(struct otlp_read *o, const uint64_t mapping[5], uint64_t address,
                       size_t module)
{
    const char *path = text_at(o, module), *slash = strrchr(path, '/');
    uint64_t start = mapping[1], offset = address - start + mapping[3];
    char name[300];

    if (!*path || address < start) {
        (void)snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
        return add_block(o,
                         &(struct tt_block_info){.name = name, .kind = TT_KIND_FUNCTION});
    }
    (void)snprintf(name, sizeof name, "%.250s+0x%llx", slash ? slash + 1 : path,
                   (unsigned long long)offset);
    return add_block(
        o, &(struct tt_block_info){
               .name = name, .module = path, .offset = offset, .kind = TT_KIND_NATIVE});
}

static int add_line(struct otlp_read *o, struct tt_wire line, size_t module)
{
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    uint64_t at[4] = {0}, function[5] = {0};
    size_t name = 0, file = 0;
    int error;

    numbers_of(line, at, 4);
    numbers_of(row_of(o, TT_DICTIONARY_FUNCTIONS, at[1]), function, 5);
    error = add_text(o, function[1] ? function[1] : function[2], &name);
    error = error ?: add_text(o, function[3], &file);
    if (error)
        return error;
    info.name = *text_at(o, name) ? text_at(o, name) : "(unknown)";
    info.file = text_at(o, file);
    info.module = text_at(o, module);
    info.line = function[4] < UINT32_MAX ? (uint32_t)function[4] : 0;
    if (info.line && at[2] == function[4] && at[3] < UINT32_MAX)
        info.column = (uint32_t)at[3];
    return add_block(o, &info);
}

/* Adds the frames of a location, the innermost first. */
static int add_location(struct otlp_read *o, uint64_t i)
{
    struct tt_wire m = row_of(o, TT_DICTIONARY_LOCATIONS, i);
    uint64_t location[3] = {0}, mapping[5] = {0};
    struct tt_wire_field f;
    size_t module = 0;
    int lines = 0, error;

    if (!m.end)
        return wrong(o, &m, "a stack has a location that there is not");
    o->text.count = 0;
    numbers_of(m, location, 3);
    numbers_of(row_of(o, TT_DICTIONARY_MAPPINGS, location[1]), mapping, 5);
    error = add_text(o, mapping[4], &module);
    while (!error && tt_wire_next(&m, &f) > 0)
        if (f.number == 3 && f.wire == TT_WIRE_BYTES) {
            lines++;
            error = add_line(o, f.inside, module);
        }
    return error || lines ? error : add_address(o, mapping, location[2], module);
}

static int make_context(struct otlp_read *o, struct tt_wire stack, uint32_t *context)
{
    struct tt_wire_numbers locations = {stack, 1, TT_WIRE_VARINT, {NULL, NULL}};
    uint64_t location = 0;
    int more, error = 0;

    o->block.count = 0;
    while (!error && (more = tt_wire_next_number(&locations, &location)) != 0)
        error = more < 0 ? damaged(o, &locations.message) : add_location(o, location);
    *context = TT_BUILDER_ROOT;
    for (size_t i = o->block.count; !error && i--;)
        *context = tt_builder_context(o->b, *context,
                                      ((const uint32_t *)o->block.item)[i]);
    return error ? error : *context == TT_NONE ? tt_source_no_memory(o->s) : 0;
}

static int context_of(struct otlp_read *o, const struct tt_wire *sample, uint64_t i,
                      uint32_t *context)
{
    uint32_t *known;
    int error = 0;

    if (i >= o->context.count)
        return i ? wrong(o, sample, "a sample has a stack that there is not")
                 : (*context = TT_BUILDER_ROOT, 0);
    known = (uint32_t *)o->context.item + i;
    if (!*known) {
        error = make_context(o, row_of(o, TT_DICTIONARY_STACKS, i), context);
        *known = *context + 1;
    }
    *context = *known - 1;
    return error;
}

/* ── Profiles ─────────────────────────────────────────────────────────────────────── */

/* A metric of a profile; `unit`: what its values are multiplied by. */
struct measure {
    uint32_t metric;
    uint64_t unit;
    int is_timed; /* its samples have places in time */
};

/* The values of a sample: their sum, how many they are, and how many times it has.  Without
 * values, it counts once for each time. */
struct amount {
    uint64_t sum, values, times;
};

static int amount_of(struct otlp_read *o, struct tt_wire m, struct amount *a)
{
    struct tt_wire_numbers values = {m, TT_OTLP_VALUES, TT_WIRE_VARINT, {NULL, NULL}},
                           times = {m, TT_OTLP_TIMES, TT_WIRE_64, {NULL, NULL}};
    uint64_t n;
    int more;

    *a = (struct amount){0, 0, 0};
    for (; (more = tt_wire_next_number(&values, &n)) > 0; a->values++) {
        if (n >> 63)
            return wrong(o, &m, "a value is below 0");
        if (__builtin_add_overflow(a->sum, n, &a->sum))
            return wrong(o, &m, TT_TOO_MUCH);
    }
    while (more >= 0 && (more = tt_wire_next_number(&times, &n)) > 0)
        a->times++;
    if (!a->values)
        a->sum = a->times;
    return more < 0 ? damaged(o, &times.message) : 0;
}

/* Each value of a sample is of one time; or else it is not known which is. */
static void add_times(struct otlp_read *o, struct tt_wire m, const struct measure *to,
                      const struct amount *a, uint32_t context)
{
    struct tt_wire_numbers values = {m, TT_OTLP_VALUES, TT_WIRE_VARINT, {NULL, NULL}},
                           times = {m, TT_OTLP_TIMES, TT_WIRE_64, {NULL, NULL}};
    uint64_t time, value = 1;

    if (!to->is_timed || (a->values && a->values != a->times))
        return;
    while (tt_wire_next_number(&times, &time) > 0) {
        if (a->values)
            (void)tt_wire_next_number(&values, &value);
        tt_builder_sample(o->b, to->metric, context, time, value * to->unit, 0);
    }
}

static int take_sample(struct otlp_read *o, struct tt_wire m, const struct measure *to)
{
    uint64_t number[2], all;
    struct amount amount;
    uint32_t context;
    int error;

    numbers_of(m, number, 2);
    error = context_of(o, &m, number[TT_OTLP_STACK], &context);
    error = error ?: amount_of(o, m, &amount);
    if (error)
        return error;
    if (__builtin_mul_overflow(amount.sum, to->unit, &all) ||
        __builtin_add_overflow(o->sum[to->metric], all, &o->sum[to->metric]))
        return wrong(o, &m, TT_TOO_MUCH);
    if (all)
        tt_builder_add(o->b, TT_ROLE_SELF, context, to->metric, all);
    add_times(o, m, to, &amount, context);
    return 0;
}

/* Makes the metric of a profile from its type. */
static int make_metric(struct otlp_read *o, struct tt_wire type, struct measure *made)
{
    uint64_t number[3];
    size_t name, unit;
    const char *ours, *called;
    uint32_t flags = 0;
    int error;

    numbers_of(type, number, 3);
    o->text.count = 0;
    error = add_text(o, number[1], &name);
    error = error ?: add_text(o, number[2], &unit);
    if (error)
        return error;
    ours = text_at(o, unit);
    called = *text_at(o, name) ? text_at(o, name) : "value";
    made->unit = tt_pprof_read_unit(&ours);
    if (strcmp(ours, "ns") == 0 && strcmp(called, "delay") != 0)
        flags = TT_METRIC_TIME;
    if (strcmp(ours, "bytes") == 0)
        flags = TT_METRIC_SPACE;
    if (strcmp(called, "calls") == 0 && !*ours)
        flags = TT_METRIC_CALLS;
    made->metric = tt_builder_metric(o->b, called, ours, flags);
    made->is_timed = flags == TT_METRIC_TIME ||
                     (!*ours && strcmp(called, "samples") == 0);
    if (made->metric == TT_NONE)
        return tt_source_no_memory(o->s);
    if (made->metric >= MOST_METRICS)
        return wrong(o, &type, "there are too many types of samples");
    return 0;
}

static int take_profile(struct otlp_read *o, struct tt_wire m)
{
    struct tt_wire all = m, type = {(const unsigned char *)"", NULL};
    struct tt_wire_field f;
    struct measure measure = {0, 1, 0};
    int more, error;

    while ((more = tt_wire_next(&m, &f)) > 0)
        if (f.number == TT_OTLP_TYPE && f.wire == TT_WIRE_BYTES)
            type = f.inside;
    error = more < 0 ? damaged(o, &m) : make_metric(o, type, &measure);
    while (!error && tt_wire_next(&all, &f) > 0)
        if (f.number == TT_OTLP_SAMPLES && f.wire == TT_WIRE_BYTES)
            error = take_sample(o, f.inside, &measure);
    return error;
}

/* Calls a function for each message of a field. */
static int each(struct otlp_read *o, struct tt_wire m, uint32_t field,
                int (*call)(struct otlp_read *, struct tt_wire))
{
    struct tt_wire_field f;
    int more, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return damaged(o, &m);
        if (f.number == field && f.wire == TT_WIRE_BYTES)
            error = call(o, f.inside);
    }
    return error;
}

static int take_scope(struct otlp_read *o, struct tt_wire m)
{
    return each(o, m, TT_SCOPE_PROFILES, take_profile);
}

/* "service.name": the process of these profiles. */
static int take_attribute(struct otlp_read *o, struct tt_wire m)
{
    static const char service[] = "service.name";
    struct tt_strand_info info = {
        .host = "", .node = "", .name = "", .rank = TT_NONE, .members = 1};
    struct tt_wire_field f, text;
    int is_service = 0;
    char name[256] = "";

    while (tt_wire_next(&m, &f) > 0) {
        if (f.wire != TT_WIRE_BYTES)
            continue;
        if (f.number == 1)
            is_service = f.inside.end - f.inside.at == sizeof service - 1 &&
                         memcmp(f.inside.at, service, sizeof service - 1) == 0;
        if (f.number == 2 && tt_wire_next(&f.inside, &text) > 0 && text.number == 1 &&
            text.wire == TT_WIRE_BYTES)
            (void)snprintf(name, sizeof name, "%.*s",
                           (int)(text.inside.end - text.inside.at < 255
                                     ? text.inside.end - text.inside.at
                                     : 255),
                           (const char *)text.inside.at);
    }
    info.process = name;
    if (is_service && *name)
        (void)tt_builder_strand(o->b, &info);
    return 0;
}

static int take_owner(struct otlp_read *o, struct tt_wire m)
{
    return each(o, m, 1, take_attribute);
}

static int take_resource(struct otlp_read *o, struct tt_wire m)
{
    int error;

    tt_builder_no_strand(o->b);
    error = each(o, m, TT_RESOURCE_RESOURCE, take_owner);
    return error ?: each(o, m, TT_RESOURCE_SCOPES, take_scope);
}

static int take_data(struct otlp_read *o, struct tt_wire all)
{
    size_t stacks;
    int error;

    for (int i = 0; i < TABLES; i++)
        o->table[i].count = 0;
    o->context.count = 0;
    error = each(o, all, TT_DATA_DICTIONARY, note_dictionary);
    stacks = o->table[TT_DICTIONARY_STACKS].count;
    if (!error && stacks && !tt_vector_add(&o->context, stacks))
        return tt_source_no_memory(o->s);
    if (!error && stacks)
        memset(o->context.item, 0, stacks * sizeof(uint32_t));
    return error ?: each(o, all, TT_DATA_RESOURCE, take_resource);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

/* The first byte of a message of protocol buffers is a line feed, and a bracket may
 * follow. */
static int is_text(const char *head, size_t size)
{
    size_t at = 0;

    while (at < size && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    return at < size && head[at] == '{' &&
           memmem(head, size, "\"resourceProfiles\"", 18) != NULL;
}

static int skip_blanks(struct tt_source *s)
{
    int64_t have;

    while ((have = tt_source_want(s, 1)) > 0 && strchr(" \t\r\n", *tt_source_at(s)) &&
           *tt_source_at(s))
        tt_source_skip(s, 1);
    return have < 0 ? (int)have : have > 0;
}

static int read_json(struct otlp_read *o)
{
    int error = 0, failed = 0;

    o->is_json = 1;
    while (!error && (error = skip_blanks(o->s)) > 0) {
        struct tt_message m;
        struct tt_json j;
        tt_json_init(&j, o->s);
        tt_message_init(&m, o->s->memory, &failed);
        tt_otlp_json(&j, &m);
        error = tt_source_failed(o->s);
        o->bytes = m.bytes.item;
        if (!error && m.bytes.count)
            error = take_data(o, (struct tt_wire){o->bytes, o->bytes + m.bytes.count});
        tt_message_fini(&m);
        tt_json_fini(&j);
    }
    return error;
}

static int read_all(struct otlp_read *o)
{
    enum { HEAD = 1 << 16 };
    int64_t have = tt_source_want(o->s, HEAD);
    const char *bytes;
    size_t size;
    int error;

    if (have > 0 && is_text(tt_source_at(o->s), (size_t)have))
        return read_json(o);
    error = have < 0 ? (int)have : tt_source_all(o->s, &bytes, &size);
    if (error)
        return error;
    o->bytes = (const unsigned char *)bytes;
    return take_data(o, (struct tt_wire){o->bytes, o->bytes + size});
}

int tt_otlp_read(struct tt_source *s, struct tt_builder *b)
{
    struct otlp_read o = {.s = s, .b = b};

    for (int i = 0; i < TABLES; i++)
        tt_vector_init(&o.table[i], s->memory, sizeof(struct tt_wire));
    tt_vector_init(&o.context, s->memory, sizeof(uint32_t));
    tt_vector_init(&o.block, s->memory, sizeof(uint32_t));
    tt_vector_init(&o.text, s->memory, 1);
    return read_all(&o);
}

/* Returns the available part of the message in this field; empty: it is another field. */
static struct tt_wire enter(struct tt_wire m, uint32_t field)
{
    uint64_t tag, size;

    while (m.at && m.at < m.end && tt_wire_varint(&m, &tag) &&
           (tag & 7) == TT_WIRE_BYTES && tt_wire_varint(&m, &size)) {
        const uint64_t left = (uint64_t)(m.end - m.at);
        if (tag >> 3 == field)
            return (struct tt_wire){m.at, m.at + (size < left ? size : left)};
        if (tag >> 3 > 3 || size > left)
            break;
        m.at += size;
    }
    return (struct tt_wire){NULL, NULL};
}

/* Detects a profile within a scope within a resource, whose first field is a type of two
 * numbers.  In a pprof file, the first field is such a type itself. */
enum tt_match tt_otlp_detect(const char *head, size_t size)
{
    const unsigned char *at = (const unsigned char *)head;
    struct tt_wire m = {at, at + size};
    struct tt_wire_field f;

    if (is_text(head, size))
        return TT_MATCH_YES;
    m = enter(m, TT_DATA_RESOURCE);
    m = enter(m, TT_RESOURCE_SCOPES);
    m = enter(m, TT_SCOPE_PROFILES);
    m = enter(m, TT_OTLP_TYPE);
    if (!m.at || m.at == m.end)
        return TT_MATCH_NO;
    while (m.at < m.end)
        if (tt_wire_next(&m, &f) <= 0 || f.number > 3 || f.wire != TT_WIRE_VARINT)
            return TT_MATCH_NO;
    return TT_MATCH_YES;
}
