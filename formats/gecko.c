/* SPDX-License-Identifier: MIT */
/* gecko.c - raw profiles of Firefox, as the browser itself saves them: reading.
 *
 *      {"meta": {"version": 3, …}, "threads": [
 *          {"name": "GeckoMain", "tid": 7,
 *           "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 0.5], …]},
 *           "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], …]},
 *           "frameTable": {"schema": {"location": 0}, "data": [[0], …]},
 *           "stringTable": ["(root)", "0x1000", "f (a.js:3)"]}],
 *       "processes": [profiles like this one]}
 *
 * A thread may be a text that contains such an object: old versions write the threads of
 * other processes so. */
#include <stdio.h>
#include <stdlib.h>

#include "formats.h"
#include "frames.h"
#include "json-reader.h"
#include "samples.h"

enum { NONE = -1, DEEPEST = 8, COLUMNS = 2, MS_DIGITS = 6 /* to ns */ };
enum table { SAMPLES, STACKS, FRAMES, STRINGS, TABLES };
static const char *const table_names[] = {"samples", "stackTable", "frameTable",
                                          "stringTable"};

struct gecko {
    struct tt_source *s;
    struct tt_builder *b;
    const char *text;
    size_t size;
    struct tt_vector block, context;  /* uint32_t: of each string, of each stack */
    struct tt_vector column[COLUMNS]; /* int64_t: the columns of the table that was read
                                         last */
    int digits;                       /* of fractions, in the second column */
    uint64_t threads;
};

struct thread {
    uint64_t table[TABLES]; /* their places; 0: missing */
    uint64_t id, process_id;
    char *name, *process; /* owned */
};

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

static int read_schema(struct tt_json *j, const char *const names[COLUMNS],
                       uint64_t at[COLUMNS])
{
    uint64_t number = 0;
    int e = tt_json_object(j);

    while (e > 0 && (e = tt_json_key(j)) > 0) {
        int c = names[0] && tt_json_is(j, names[0])   ? 0
                : names[1] && tt_json_is(j, names[1]) ? 1
                                                      : NONE;
        e = c == NONE ? tt_json_skip(j) : tt_json_whole(j, &number, NULL);
        if (e > 0 && c != NONE)
            at[c] = number;
    }
    return e < 0 ? e : 1;
}

/* A whole number, or NONE for anything else. */
static int read_cell(struct tt_json *j, int shift, int64_t *value)
{
    int kind = tt_json_value(j);

    *value = NONE;
    if (kind == TT_JSON_NUMBER && !tt_decimal(j->text, shift, value))
        *value = NONE;
    return kind == TT_JSON_OBJECT || kind == TT_JSON_ARRAY ? tt_json_close(j) : kind;
}

static int read_row(struct gecko *x, struct tt_json *j, const uint64_t at[COLUMNS])
{
    int64_t value, row[COLUMNS] = {NONE, NONE};
    uint64_t n = 0;
    int e = tt_json_array(j);

    for (; e > 0 && (e = tt_json_item(j)) > 0; n++) {
        e = read_cell(j, at[1] == n ? x->digits : 0, &value);
        for (int c = 0; c < COLUMNS; c++)
            if (at[c] == n)
                row[c] = value;
    }
    for (int c = 0; e == 0 && c < COLUMNS; c++)
        e = tt_source_append(x->s, &x->column[c], &row[c]);
    return e < 0 ? e : 1;
}

static int read_rows(struct gecko *x, struct tt_json *j, const uint64_t at[COLUMNS])
{
    int e = tt_json_array(j);

    while (e > 0 && (e = tt_json_item(j)) > 0)
        e = read_row(x, j, at);
    return e < 0 ? e : 1;
}

/* Finds the columns of a table.  The schema may come after the rows. */
static int find_columns(struct gecko *x, uint64_t place, const char *const names[COLUMNS],
                        uint64_t at[COLUMNS], uint64_t *data)
{
    struct tt_json_part p;
    int e;

    tt_json_part_open(&p, x->s, x->text, x->size, place);
    for (e = tt_json_object(&p.json); e > 0 && (e = tt_json_key(&p.json)) > 0;)
        if (tt_json_is(&p.json, "schema"))
            e = read_schema(&p.json, names, at);
        else if (tt_json_is(&p.json, "data"))
            e = tt_json_place(&p.json, data);
        else
            e = tt_json_skip(&p.json);
    if (e == 0 && at[0] == UINT64_MAX)
        e = tt_json_wrong(&p.json, "the columns of a table are not known");
    return tt_json_part_close(&p, x->s, e);
}

/* `digits`: of the second column's fractions. */
static int read_table(struct gecko *x, uint64_t place, const char *first,
                      const char *second, int digits)
{
    const char *const names[COLUMNS] = {first, second};
    uint64_t at[COLUMNS] = {UINT64_MAX, UINT64_MAX}, data = 0;
    struct tt_json_part p;
    int e = find_columns(x, place, names, at, &data);
    x->digits = digits;

    for (int c = 0; c < COLUMNS; c++)
        x->column[c].count = 0;
    if (e || !data)
        return e;
    tt_json_part_open(&p, x->s, x->text, x->size, data);
    e = read_rows(x, &p.json, at);
    return tt_json_part_close(&p, x->s, e);
}

static int wrong(struct gecko *x, uint64_t place, const char *what)
{
    return tt_source_fail_at(x->s, place, "%s", what);
}

/* ── Blocks and contexts ──────────────────────────────────────────────────────────── */

/* Returns where ":12" or ":12:3" at the end of a text begins; its end: there is none. */
static char *find_line(char *text, uint32_t *line)
{
    char *end = text + strlen(text), *at = end;
    int times;

    for (times = 0; times < 2; times++) {
        char *colon = at;
        while (colon > text && colon[-1] >= '0' && colon[-1] <= '9')
            colon--;
        if (colon == at || colon == text || colon[-1] != ':')
            break;
        *line = (uint32_t)strtoul(colon, NULL, 10);
        at = colon - 1;
    }
    return at;
}

/* Adds a string.  "f (http://a/b.js:12:3)" becomes a function with file and line; other
 * names are kept unchanged. */
static int add_string(struct gecko *x, char *text)
{
    struct tt_block_info info = {.name = text, .kind = TT_KIND_FUNCTION};
    size_t length = strlen(text);
    char *open = length && text[length - 1] == ')' ? strstr(text, " (") : NULL, *end;
    uint32_t *to = tt_vector_add(&x->block, 1);

    if (!to)
        return tt_source_no_memory(x->s);
    if (open && open > text) {
        text[length - 1] = '\0';
        end = find_line(open + 2, &info.line);
        if (*end && end > open + 2) {
            *open = *end = '\0';
            info.file = open + 2;
        } else {
            info.line = 0;
            text[length - 1] = ')';
        }
    }
    *to = tt_builder_block(x->b, &info);
    return *to == TT_NONE ? tt_source_no_memory(x->s) : 1;
}

static int read_strings(struct gecko *x, uint64_t place)
{
    struct tt_json_part p;
    int e;

    x->block.count = 0;
    tt_json_part_open(&p, x->s, x->text, x->size, place);
    for (e = tt_json_array(&p.json); e > 0 && (e = tt_json_item(&p.json)) > 0;) {
        e = tt_json_string(&p.json);
        if (e > 0)
            e = add_string(x, p.json.text);
    }
    return tt_json_part_close(&p, x->s, e);
}

/* Turns the frames of a thread into blocks, which replace those of the strings. */
static int read_frames(struct gecko *x, uint64_t place, struct tt_vector *frame)
{
    int error = read_table(x, place, "location", NULL, 0);
    const int64_t *location = x->column[0].item;
    const uint32_t *block = x->block.item;

    for (size_t i = 0; !error && i < x->column[0].count; i++) {
        if (location[i] < 0 || (uint64_t)location[i] >= x->block.count)
            return wrong(x, place, "a frame has a location that there is not");
        error = tt_source_append(x->s, frame, &block[location[i]]);
    }
    return error;
}

static int read_stacks(struct gecko *x, uint64_t place, const struct tt_vector *frame)
{
    int error = read_table(x, place, "prefix", "frame", 0);
    const int64_t *prefix = x->column[0].item, *at = x->column[1].item;

    x->context.count = 0;
    for (size_t i = 0; !error && i < x->column[0].count; i++) {
        uint32_t context, parent = TT_BUILDER_ROOT;
        if (at[i] < 0 || (uint64_t)at[i] >= frame->count || prefix[i] >= (int64_t)i)
            return wrong(x, place,
                         "a stack has a frame, or a stack above it, that there is not");
        if (prefix[i] >= 0)
            parent = ((uint32_t *)x->context.item)[prefix[i]];
        context = tt_builder_context(x->b, parent, ((uint32_t *)frame->item)[at[i]]);
        if (context == TT_NONE)
            return tt_source_no_memory(x->s);
        error = tt_source_append(x->s, &x->context, &context);
    }
    return error;
}

static int read_samples(struct gecko *x, const struct thread *t)
{
    const uint64_t place = t->table[SAMPLES];
    int error = read_table(x, place, "stack", "time", MS_DIGITS);
    const int64_t *stack = x->column[0].item, *time = x->column[1].item;
    uint32_t metric = tt_builder_metric(x->b, "samples", "", 0), context;

    if (!error && tt_builder_strand(x->b, &(struct tt_strand_info){
                                              .process = t->process ? t->process : "",
                                              .name = t->name ? t->name : "",
                                              .pid = t->process_id,
                                              .thread = t->id,
                                              .rank = TT_NONE,
                                              .members = 1}) == TT_NONE)
        return tt_source_no_memory(x->s);
    for (size_t i = 0; !error && i < x->column[0].count; i++) {
        if (stack[i] >= (int64_t)x->context.count)
            return wrong(x, place, "a sample has a stack that there is not");
        context = stack[i] < 0 ? (uint32_t)TT_BUILDER_ROOT
                               : ((uint32_t *)x->context.item)[stack[i]];
        tt_builder_add(x->b, TT_ROLE_SELF, context, metric, 1);
        if (time[i] >= 0)
            tt_builder_sample(x->b, metric, context, (uint64_t)time[i], 1, 0);
    }
    return error;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static int read_number(struct tt_json *j, uint64_t *n)
{
    int64_t value = 0;
    int e = read_cell(j, 0, &value);

    *n = value > 0 ? (uint64_t)value : 0;
    return e;
}

static int scan_thread(struct tt_json *j, struct thread *t)
{
    int e = tt_json_object(j);

    while (e > 0 && (e = tt_json_key(j)) > 0) {
        int table = 0;
        while (table < TABLES && !tt_json_is(j, table_names[table]))
            table++;
        if (table < TABLES)
            e = tt_json_place(j, &t->table[table]);
        else if (tt_json_is(j, "name"))
            e = tt_json_copy_if(j, &t->name);
        else if (tt_json_is(j, "processName") ||
                 (tt_json_is(j, "processType") && !t->process))
            e = tt_json_copy_if(j, &t->process);
        else if (tt_json_is(j, "tid"))
            e = read_number(j, &t->id);
        else if (tt_json_is(j, "pid"))
            e = read_number(j, &t->process_id);
        else
            e = tt_json_skip(j);
    }
    return e < 0 ? e : 1;
}

static int add_thread(struct gecko *x, struct tt_json *j, const struct thread *t)
{
    struct tt_vector frame;
    int error;

    if (!t->table[SAMPLES])
        return 1;
    for (int i = 0; i < TABLES; i++)
        if (!t->table[i])
            return tt_json_wrong(
                j, "the thread before this lacks stacks, frames or strings");
    tt_vector_init(&frame, x->s->memory, sizeof(uint32_t));
    error = read_strings(x, t->table[STRINGS]);
    error = error ? error : read_frames(x, t->table[FRAMES], &frame);
    error = error ? error : read_stacks(x, t->table[STACKS], &frame);
    error = error ? error : read_samples(x, t);
    tt_vector_fini(&frame);
    x->threads++;
    return error ? error : 1;
}

static int read_profile(struct gecko *x, struct tt_json *j, int depth);

/* Reads a text that contains a thread, or a profile with several. */
static int read_text(struct gecko *x, struct tt_json *j, int depth)
{
    struct gecko inner = *x;
    struct tt_json_part p;
    char *copy = NULL;
    int e = tt_json_copy(j, &copy);

    if (e <= 0)
        return e;
    inner.text = copy;
    inner.size = strlen(copy);
    tt_json_part_open(&p, x->s, copy, inner.size, 0);
    e = read_profile(&inner, &p.json, depth + 1);
    e = tt_json_part_close(&p, x->s, e > 0 ? 0 : e);
    inner.text = x->text;
    inner.size = x->size;
    *x = inner; /* with the lists, which may have moved */
    tt_memory_put(x->s->memory, copy);
    return e ? e : 1;
}

static int read_threads(struct gecko *x, struct tt_json *j, int depth)
{
    int e = tt_json_array(j);

    while (e > 0 && (e = tt_json_item(j)) > 0) {
        struct thread t = {.name = NULL};
        if (*tt_source_at(j->s) == '"') {
            e = read_text(x, j, depth);
            continue;
        }
        e = scan_thread(j, &t);
        if (e > 0)
            e = add_thread(x, j, &t);
        tt_memory_put(x->s->memory, t.name);
        tt_memory_put(x->s->memory, t.process);
    }
    return e < 0 ? e : 1;
}

static int read_processes(struct gecko *x, struct tt_json *j, int depth)
{
    int e = tt_json_array(j);

    while (e > 0 && (e = tt_json_item(j)) > 0)
        e = read_profile(x, j, depth + 1);
    return e < 0 ? e : 1;
}

/* 1: it has been read. */
static int read_profile(struct gecko *x, struct tt_json *j, int depth)
{
    struct thread alone = {.name = NULL};
    int e = tt_json_object(j);

    if (e > 0 && depth > DEEPEST)
        return tt_json_wrong(j, "processes are too deep within each other");
    while (e > 0 && (e = tt_json_key(j)) > 0) {
        int table = 0;
        while (table < TABLES && !tt_json_is(j, table_names[table]))
            table++;
        if (tt_json_is(j, "threads"))
            e = read_threads(x, j, depth);
        else if (tt_json_is(j, "processes"))
            e = read_processes(x, j, depth);
        else if (table < TABLES)
            e = tt_json_place(j, &alone.table[table]);
        else if (tt_json_is(j, "name"))
            e = tt_json_copy_if(j, &alone.name);
        else
            e = tt_json_skip(j);
    }
    if (e == 0 && depth)
        e = add_thread(x, j, &alone);
    tt_memory_put(x->s->memory, alone.name);
    return e < 0 ? e : 1;
}

static int read_gecko(struct tt_source *s, struct tt_builder *b)
{
    struct gecko x = {.s = s, .b = b};
    struct tt_json_part p;
    int error = tt_source_all(s, &x.text, &x.size);

    if (error)
        return error;
    tt_vector_init(&x.block, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.context, s->memory, sizeof(uint32_t));
    for (int c = 0; c < COLUMNS; c++)
        tt_vector_init(&x.column[c], s->memory, sizeof(int64_t));
    tt_json_part_open(&p, s, x.text, x.size, 0);
    error = read_profile(&x, &p.json, 0);
    if (error > 0)
        error = tt_json_end(&p.json);
    if (error == 0 && !x.threads)
        error = tt_json_wrong(&p.json, "there are no threads with samples");
    return tt_json_part_close(&p, s, error);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(tt_head_first(head, size) == '{' &&
                       tt_head_has(head, size, "\"meta\"") &&
                       tt_head_has(head, size, "\"schema\"") &&
                       !tt_head_has(head, size, "\"preprocessedProfileVersion\""));
}

const struct tt_format tt_format_gecko = {
    .name = "gecko",
    .about = "raw profiles of Firefox's profiler",
    .detect = detect,
    .read = read_gecko,
};
