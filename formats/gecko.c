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

static void read_schema(struct tt_json *j, const char *const names[COLUMNS],
                        uint64_t at[COLUMNS])
{
    for (tt_json_object(j); tt_json_key(j);)
        if (names[0] && tt_json_is(j, names[0]))
            at[0] = tt_json_whole(j);
        else if (names[1] && tt_json_is(j, names[1]))
            at[1] = tt_json_whole(j);
        else
            tt_json_skip(j);
}

/* A whole number, or NONE for anything else. */
static int64_t read_cell(struct tt_json *j, int shift)
{
    int64_t value;

    return tt_json_plain(j) == TT_JSON_NUMBER && tt_decimal(j->text, shift, &value)
               ? value
               : NONE;
}

static void read_row(struct gecko *x, struct tt_json *j, const uint64_t at[COLUMNS])
{
    int64_t row[COLUMNS] = {NONE, NONE};
    uint64_t n = 0;

    for (tt_json_array(j); tt_json_item(j); n++) {
        const int64_t value = read_cell(j, at[1] == n ? x->digits : 0);
        for (int c = 0; c < COLUMNS; c++)
            if (at[c] == n)
                row[c] = value;
    }
    for (int c = 0; c < COLUMNS; c++)
        tt_source_append(x->s, &x->column[c], &row[c]);
}

/* Finds the columns of a table, and its rows.  The schema may come after the rows. */
static uint64_t find_columns(struct gecko *x, uint64_t place,
                             const char *const names[COLUMNS], uint64_t at[COLUMNS])
{
    struct tt_json_part p;
    uint64_t data = 0;

    tt_json_part_open(&p, x->s, x->text, x->size, place);
    for (tt_json_object(&p.json); tt_json_key(&p.json);)
        if (tt_json_is(&p.json, "schema"))
            read_schema(&p.json, names, at);
        else if (tt_json_is(&p.json, "data"))
            data = tt_json_place(&p.json);
        else
            tt_json_skip(&p.json);
    if (at[0] == UINT64_MAX)
        tt_json_wrong(&p.json, "the columns of a table are not known");
    tt_json_part_close(&p);
    return data;
}

/* `digits`: of the second column's fractions. */
static void read_table(struct gecko *x, uint64_t place, const char *first,
                       const char *second, int digits)
{
    const char *const names[COLUMNS] = {first, second};
    uint64_t at[COLUMNS] = {UINT64_MAX, UINT64_MAX},
             data = find_columns(x, place, names, at);
    struct tt_json_part p;

    x->digits = digits;
    for (int c = 0; c < COLUMNS; c++)
        x->column[c].count = 0;
    if (!data)
        return;
    tt_json_part_open(&p, x->s, x->text, x->size, data);
    for (tt_json_array(&p.json); tt_json_item(&p.json);)
        read_row(x, &p.json, at);
    tt_json_part_close(&p);
}

static void wrong(struct gecko *x, uint64_t place, const char *what)
{
    (void)tt_source_fail_at(x->s, place, "%s", what);
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
static void add_string(struct gecko *x, char *text)
{
    struct tt_block_info info = {.name = text, .kind = TT_KIND_FUNCTION};
    size_t length = strlen(text);
    char *open = length && text[length - 1] == ')' ? strstr(text, " (") : NULL, *end;
    uint32_t block;

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
    block = tt_builder_block(x->b, &info);
    if (block == TT_NONE)
        tt_source_no_memory(x->s);
    tt_source_append(x->s, &x->block, &block);
}

static void read_strings(struct gecko *x, uint64_t place)
{
    struct tt_json_part p;

    x->block.count = 0;
    tt_json_part_open(&p, x->s, x->text, x->size, place);
    for (tt_json_array(&p.json); tt_json_item(&p.json);)
        if (tt_json_string(&p.json))
            add_string(x, p.json.text);
    tt_json_part_close(&p);
}

/* Turns the frames of a thread into blocks, which replace those of the strings. */
static void read_frames(struct gecko *x, uint64_t place, struct tt_vector *frame)
{
    const uint32_t *block = x->block.item;
    const int64_t *location;

    read_table(x, place, "location", NULL, 0);
    location = x->column[0].item;
    for (size_t i = 0; !tt_source_failed(x->s) && i < x->column[0].count; i++)
        if (location[i] < 0 || (uint64_t)location[i] >= x->block.count)
            wrong(x, place, "a frame has a location that there is not");
        else
            tt_source_append(x->s, frame, &block[location[i]]);
}

static void read_stacks(struct gecko *x, uint64_t place, const struct tt_vector *frame)
{
    const int64_t *prefix, *at;

    read_table(x, place, "prefix", "frame", 0);
    prefix = x->column[0].item;
    at = x->column[1].item;
    x->context.count = 0;
    for (size_t i = 0; !tt_source_failed(x->s) && i < x->column[0].count; i++) {
        uint32_t context = TT_BUILDER_ROOT;
        if (at[i] < 0 || (uint64_t)at[i] >= frame->count || prefix[i] >= (int64_t)i) {
            wrong(x, place,
                  "a stack has a frame, or a stack above it, that there is not");
            break;
        }
        if (prefix[i] >= 0)
            context = ((uint32_t *)x->context.item)[prefix[i]];
        context = tt_builder_context(x->b, context, ((uint32_t *)frame->item)[at[i]]);
        if (context == TT_NONE)
            tt_source_no_memory(x->s);
        tt_source_append(x->s, &x->context, &context);
    }
}

static void read_samples(struct gecko *x, const struct thread *t)
{
    const uint64_t place = t->table[SAMPLES];
    const struct tt_strand_info strand = {.process = t->process ? t->process : "",
                                          .name = t->name ? t->name : "",
                                          .pid = t->process_id,
                                          .thread = t->id,
                                          .rank = TT_NONE,
                                          .members = 1};
    const uint32_t metric = tt_builder_metric(x->b, "samples", "", 0);
    const int64_t *stack, *time;

    read_table(x, place, "stack", "time", MS_DIGITS);
    stack = x->column[0].item;
    time = x->column[1].item;
    if (tt_builder_strand(x->b, &strand) == TT_NONE)
        tt_source_no_memory(x->s);
    for (size_t i = 0; !tt_source_failed(x->s) && i < x->column[0].count; i++) {
        uint32_t context = TT_BUILDER_ROOT;
        if (stack[i] >= (int64_t)x->context.count) {
            wrong(x, place, "a sample has a stack that there is not");
            break;
        }
        if (stack[i] >= 0)
            context = ((uint32_t *)x->context.item)[stack[i]];
        tt_builder_add(x->b, TT_ROLE_SELF, context, metric, 1);
        if (time[i] >= 0)
            tt_builder_sample(x->b, metric, context, (uint64_t)time[i], 1, 0);
    }
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static uint64_t read_number(struct tt_json *j)
{
    const int64_t value = read_cell(j, 0);

    return value > 0 ? (uint64_t)value : 0;
}

static int table_of(const struct tt_json *j)
{
    int table = 0;

    while (table < TABLES && !tt_json_is(j, table_names[table]))
        table++;
    return table;
}

static void scan_thread(struct tt_json *j, struct thread *t)
{
    for (tt_json_object(j); tt_json_key(j);) {
        const int table = table_of(j);
        if (table < TABLES)
            t->table[table] = tt_json_place(j);
        else if (tt_json_is(j, "name"))
            tt_json_copy_if(j, &t->name);
        else if (tt_json_is(j, "processName") ||
                 (tt_json_is(j, "processType") && !t->process))
            tt_json_copy_if(j, &t->process);
        else if (tt_json_is(j, "tid"))
            t->id = read_number(j);
        else if (tt_json_is(j, "pid"))
            t->process_id = read_number(j);
        else
            tt_json_skip(j);
    }
}

static void add_thread(struct gecko *x, struct tt_json *j, const struct thread *t)
{
    struct tt_vector frame;

    if (!t->table[SAMPLES])
        return;
    for (int i = 0; i < TABLES; i++)
        if (!t->table[i]) {
            tt_json_wrong(j, "the thread before this lacks stacks, frames or strings");
            return;
        }
    tt_vector_init(&frame, x->s->memory, sizeof(uint32_t));
    read_strings(x, t->table[STRINGS]);
    read_frames(x, t->table[FRAMES], &frame);
    read_stacks(x, t->table[STACKS], &frame);
    read_samples(x, t);
    tt_vector_fini(&frame);
    x->threads++;
}

static void read_profile(struct gecko *x, struct tt_json *j, int depth);

/* Reads a text that contains a thread, or a profile with several. */
static void read_text(struct gecko *x, struct tt_json *j, int depth)
{
    struct gecko inner = *x;
    struct tt_json_part p;
    char *copy = NULL;

    tt_json_copy(j, &copy);
    if (!copy)
        return;
    inner.text = copy;
    inner.size = strlen(copy);
    tt_json_part_open(&p, x->s, copy, inner.size, 0);
    read_profile(&inner, &p.json, depth + 1);
    tt_json_part_close(&p);
    inner.text = x->text;
    inner.size = x->size;
    *x = inner; /* with the lists, which may have moved */
    tt_memory_put(x->s->memory, copy);
}

static void read_threads(struct gecko *x, struct tt_json *j, int depth)
{
    for (tt_json_array(j); tt_json_item(j);) {
        struct thread t = {.name = NULL};
        if (*tt_source_at(j->s) == '"') {
            read_text(x, j, depth);
            continue;
        }
        scan_thread(j, &t);
        add_thread(x, j, &t);
        tt_memory_put(x->s->memory, t.name);
        tt_memory_put(x->s->memory, t.process);
    }
}

static void read_profile(struct gecko *x, struct tt_json *j, int depth)
{
    struct thread alone = {.name = NULL};

    if (tt_json_object(j) && depth > DEEPEST)
        tt_json_wrong(j, "processes are too deep within each other");
    while (tt_json_key(j)) {
        const int table = table_of(j);
        if (tt_json_is(j, "threads"))
            read_threads(x, j, depth);
        else if (tt_json_is(j, "processes"))
            for (tt_json_array(j); tt_json_item(j);)
                read_profile(x, j, depth + 1);
        else if (table < TABLES)
            alone.table[table] = tt_json_place(j);
        else if (tt_json_is(j, "name"))
            tt_json_copy_if(j, &alone.name);
        else
            tt_json_skip(j);
    }
    if (depth && !tt_json_failed(j))
        add_thread(x, j, &alone);
    tt_memory_put(x->s->memory, alone.name);
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
    read_profile(&x, &p.json, 0);
    tt_json_end(&p.json);
    if (!x.threads)
        tt_json_wrong(&p.json, "there are no threads with samples");
    tt_json_part_close(&p);
    return tt_source_failed(s);
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
