/* SPDX-License-Identifier: MIT */
/* v8-file.c - the profiles that V8 saves itself: reading.
 *
 *      {"nodes": […], "startTime": …, "samples": […], "timeDeltas": […]}     .cpuprofile
 *      {"head": {"callFrame": {…}, "selfSize": 0, "children": [{…}, …]}}     .heapprofile
 *      {"head": {"functionName": …, "id": 1, "children": [{…}, …]},          .cpuprofile
 *       "samples": […], "timestamps": […]}                                   of older ones
 *
 * A tree is as deep as the program's stacks, so open levels are kept in memory, not on
 * the C stack. */
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "v8.h"

struct level {
    uint32_t parent, context; /* context TT_NONE: its callFrame was not read yet */
    uint64_t bytes;
    int is_open; /* its children are being read */
    /* For a CPU profile: */
    uint64_t id, hits;
    uint64_t line, column;    /* from 1; 0: none */
    size_t name, file, names; /* in `text`; where this level's begin */
    int has_id, has_name, has_file;
};

struct file {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_json json;
    struct tt_v8 v8;
    struct tt_heap_profile heap;
    struct tt_vector level, text;
    int has_head, has_frames; /* a heap profile: its nodes have a callFrame */
};

static struct level *top(struct file *f)
{
    return (struct level *)f->level.item + f->level.count - 1;
}

static int open_level(struct file *f, uint32_t parent)
{
    const struct level l = {.parent = parent, .context = TT_NONE, .names = f->text.count};
    int error = tt_source_append(f->s, &f->level, &l);

    return error ? error : tt_json_object(&f->json);
}

static int keep_text(struct file *f, size_t *at, int *is_there)
{
    int result = tt_json_string(&f->json);
    char *to;

    if (result < 0)
        return result;
    *at = f->text.count;
    *is_there = 1;
    to = tt_vector_add(&f->text, f->json.length + 1);
    if (!to)
        return tt_source_no_memory(f->s);
    memcpy(to, f->json.text, f->json.length);
    return 1;
}

/* Reads a number from 1; -1 and 0 are none. */
static int read_place(struct tt_json *j, uint64_t *place)
{
    int64_t n;
    int result = tt_json_scaled(j, 0, &n);

    *place = result > 0 && n > 0 ? (uint64_t)n : 0;
    return result;
}

/* Reads a member of an older CPU profile's node; 0: it is none. */
static int read_cpu_member(struct file *f)
{
    struct tt_json *j = &f->json;
    struct level *l = top(f);

    if (tt_json_is(j, "functionName"))
        return keep_text(f, &l->name, &l->has_name);
    if (tt_json_is(j, "url"))
        return keep_text(f, &l->file, &l->has_file);
    if (tt_json_is(j, "lineNumber"))
        return read_place(j, &l->line);
    if (tt_json_is(j, "columnNumber"))
        return read_place(j, &l->column);
    if (tt_json_is(j, "hitCount"))
        return tt_json_whole(j, &l->hits, NULL);
    if (!tt_json_is(j, "id"))
        return 0;
    l->has_id = 1;
    return tt_json_whole(j, &l->id, NULL);
}

/* Adds a node of an older CPU profile, after all of it was read. */
static int end_cpu_level(struct file *f)
{
    const struct level *l = top(f), *above = l - 1;
    const char *text = f->text.item;
    uint32_t block = tt_v8_block(&f->v8, text + l->name,
                                 l->has_file ? text + l->file : "", (int64_t)l->line,
                                 (int64_t)l->column);
    int has_parent = f->level.count > 1;

    if (has_parent && !above->has_id)
        return tt_json_wrong(&f->json, "the children of a node come before its id");
    if (block == TT_NONE)
        return tt_source_no_memory(f->s);
    f->text.count = l->names;
    f->level.count--;
    return tt_v8_node(&f->v8, l->id, block, has_parent ? &above->id : NULL);
}

/* Reads a member of the innermost open node. */
static int read_member(struct file *f)
{
    struct tt_json *j = &f->json;
    uint32_t block;
    int result;

    if (tt_json_is(j, "selfSize"))
        return tt_json_whole(j, &top(f)->bytes, NULL);
    if (!f->has_frames && (result = read_cpu_member(f)) != 0)
        return result;
    if (tt_json_is(j, "callFrame")) {
        result = tt_v8_frame(&f->v8, j, &block);
        if (result < 0)
            return result;
        f->has_frames = 1;
        top(f)->context = block == TT_BUILDER_ROOT
                              ? top(f)->parent
                              : tt_builder_context(f->b, top(f)->parent, block);
        return top(f)->context == TT_NONE ? tt_source_no_memory(f->s) : 1;
    }
    if (!tt_json_is(j, "children"))
        return tt_json_skip(j);
    if (top(f)->context == TT_NONE && !top(f)->has_name)
        return tt_json_wrong(j, "the children of a node come before its callFrame");
    result = tt_json_array(j);
    top(f)->is_open = 1;
    return result;
}

static int end_level(struct file *f)
{
    const struct level *l = top(f);
    int error;

    if (l->context == TT_NONE && l->has_name && l->has_id && !f->has_frames)
        return end_cpu_level(f);
    if (l->context == TT_NONE)
        return tt_json_wrong(&f->json, "the node before this has no callFrame");
    error = l->bytes ? tt_heap_add(&f->heap, TT_HEAP_LIVE_BYTES, l->context, l->bytes)
                     : 0;
    f->level.count--;
    return error ? error : 1;
}

static int read_heap(struct file *f)
{
    int result = open_level(f, TT_BUILDER_ROOT);

    f->has_head = 1;
    while (result > 0 && f->level.count) {
        if (top(f)->is_open) {
            result = tt_json_item(&f->json);
            if (result > 0) {
                result = open_level(f, top(f)->context);
            } else if (result == 0) {
                top(f)->is_open = 0;
                result = 1;
            }
        } else if ((result = tt_json_key(&f->json)) > 0) {
            result = read_member(f);
        } else if (result == 0) {
            result = end_level(f);
        }
    }
    return result;
}

static int read_all(struct file *f)
{
    struct tt_json *j = &f->json;
    int result = tt_json_object(j);

    while (result > 0 && (result = tt_json_key(j)) > 0)
        if (tt_json_is(j, "head") && !f->has_head) {
            result = read_heap(f);
        } else if (tt_json_is(j, "timestamps") && f->v8.elapsed.count == 0) {
            result = tt_v8_times(&f->v8, j);
        } else {
            result = tt_json_is(j, "head") ? 0 : tt_v8_member(&f->v8, j);
            result = result ? result : tt_json_skip(j);
        }
    result = result ? result : tt_json_end(j);
    if (!result && (result = tt_v8_piece(&f->v8, 0, 0, 0)) > 0)
        result = 0;
    if (!result && !f->has_frames && !f->v8.samples)
        result = tt_source_fail(f->s, "there are no samples in it");
    if (!result && f->has_frames)
        tt_heap_finish(&f->heap, NULL);
    if (!result && f->v8.samples)
        result = tt_v8_finish(&f->v8, NULL, 1);
    return result;
}

static int read_v8(struct tt_source *s, struct tt_builder *b)
{
    struct file f = {.s = s, .b = b};

    tt_json_init(&f.json, s);
    tt_v8_init(&f.v8, s, b);
    tt_heap_init(&f.heap, s, b);
    tt_vector_init(&f.level, s->memory, sizeof(struct level));
    tt_vector_init(&f.text, s->memory, 1);
    return read_all(&f);
}

static enum tt_match detect(const char *head, size_t size)
{
    if (!size || *head != '{' || tt_head_has(head, size, "\"traceEvents\""))
        return TT_MATCH_NO;
    if (!tt_head_has(head, size, "\"callFrame\""))
        return tt_match_if(tt_head_has(head, size, "\"head\"") &&
                           tt_head_has(head, size, "\"functionName\"") &&
                           tt_head_has(head, size, "\"hitCount\""));
    return tt_match_if(tt_head_has(head, size, "\"nodes\"") ||
                       tt_head_has(head, size < 40 ? size : 40, "\"head\""));
}

const struct tt_format tt_format_v8 = {
    .name = "v8",
    .about = "CPU and heap profiles of JavaScript",
    .flags = TT_FORMAT_PATHS | TT_FORMAT_BY_TIME,
    .detect = detect,
    .read = read_v8,
    .write = tt_v8_write,
};
