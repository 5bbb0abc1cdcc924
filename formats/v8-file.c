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
#include "v8-write.h"
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

static void open_level(struct file *f, uint32_t parent)
{
    const struct level l = {.parent = parent, .context = TT_NONE, .names = f->text.count};

    if (tt_source_append(f->s, &f->level, &l) == 0)
        tt_json_object(&f->json);
}

static void keep_text(struct file *f, size_t *at, int *is_there)
{
    if (!tt_json_string(&f->json))
        return;
    *at = tt_vector_text(&f->text, f->json.text, f->json.length);
    *is_there = *at != TT_NO_PLACE;
    if (!*is_there)
        tt_source_no_memory(f->s);
}

/* Reads a number from 1; -1 and 0 are none. */
static uint64_t read_place(struct tt_json *j)
{
    const int64_t n = tt_json_scaled(j, 0);

    return n > 0 ? (uint64_t)n : 0;
}

/* Reads a member of an older CPU profile's node; 0: it is none. */
static int read_cpu_member(struct file *f)
{
    struct tt_json *j = &f->json;
    struct level *l = top(f);

    if (tt_json_is(j, "id")) {
        l->has_id = 1;
        l->id = tt_json_whole(j);
    } else if (tt_json_is(j, "functionName"))
        keep_text(f, &l->name, &l->has_name);
    else if (tt_json_is(j, "url"))
        keep_text(f, &l->file, &l->has_file);
    else if (tt_json_is(j, "lineNumber"))
        l->line = read_place(j);
    else if (tt_json_is(j, "columnNumber"))
        l->column = read_place(j);
    else if (tt_json_is(j, "hitCount"))
        l->hits = tt_json_whole(j);
    else
        return 0;
    return 1;
}

/* Adds a node of an older CPU profile, after all of it was read. */
static void end_cpu_level(struct file *f)
{
    const struct level *l = top(f), *above = f->level.count > 1 ? l - 1 : NULL;
    const char *text = f->text.item;
    uint32_t block = tt_v8_block(&f->v8, text + l->name,
                                 l->has_file ? text + l->file : "", (int64_t)l->line,
                                 (int64_t)l->column);

    if (above && !above->has_id)
        tt_json_wrong(&f->json, "the children of a node come before its id");
    tt_v8_node(&f->v8, l->id, block, above ? &above->id : NULL);
    f->text.count = l->names;
}

static void read_frame(struct file *f)
{
    const uint32_t block = tt_v8_frame(&f->v8, &f->json);
    struct level *l = top(f);

    f->has_frames = 1;
    if (block == TT_NONE)
        return;
    l->context = f->level.count == 1 && block == TT_BUILDER_ROOT
                     ? l->parent
                     : tt_builder_context(f->b, l->parent, tt_v8_inner(&f->v8, block));
    if (l->context == TT_NONE)
        tt_source_no_memory(f->s);
}

/* Reads a member of the innermost open node. */
static void read_member(struct file *f)
{
    struct tt_json *j = &f->json;

    if (tt_json_is(j, "selfSize")) {
        top(f)->bytes = tt_json_whole(j);
    } else if (!f->has_frames && read_cpu_member(f)) {
        return;
    } else if (tt_json_is(j, "callFrame")) {
        read_frame(f);
    } else if (!tt_json_is(j, "children")) {
        tt_json_skip(j);
    } else {
        if (top(f)->context == TT_NONE && !top(f)->has_name)
            tt_json_wrong(j, "the children of a node come before its callFrame");
        top(f)->is_open = tt_json_array(j);
    }
}

static void end_level(struct file *f)
{
    const struct level *l = top(f);

    if (l->context == TT_NONE && l->has_name && l->has_id && !f->has_frames)
        end_cpu_level(f);
    else if (l->context == TT_NONE)
        tt_json_wrong(&f->json, "the node before this has no callFrame");
    else if (l->bytes)
        tt_heap_add(&f->heap, TT_HEAP_LIVE_BYTES, l->context, l->bytes);
    f->level.count--;
}

static void read_heap(struct file *f)
{
    struct tt_json *j = &f->json;

    f->has_head = 1;
    open_level(f, TT_BUILDER_ROOT);
    while (!tt_json_failed(j) && f->level.count)
        if (top(f)->is_open && tt_json_item(j))
            open_level(f, top(f)->context);
        else if (top(f)->is_open)
            top(f)->is_open = 0;
        else if (tt_json_key(j))
            read_member(f);
        else if (!tt_json_failed(j))
            end_level(f);
}

static int read_all(struct file *f)
{
    struct tt_json *j = &f->json;
    int error;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "head") && f->has_head)
            tt_json_skip(j);
        else if (tt_json_is(j, "head"))
            read_heap(f);
        else if (f->has_frames && tt_json_is(j, "samples"))
            tt_json_skip(j); /* of a heap: single allocations; its nodes have their sum */
        else if (tt_json_is(j, "timestamps") && f->v8.elapsed.count == 0)
            tt_v8_times(&f->v8, j);
        else
            tt_v8_member(&f->v8, j);
    tt_json_end(j);
    if (!tt_json_failed(j))
        tt_v8_piece(&f->v8, 0, 0, 0);
    if (!f->has_frames && !f->v8.samples)
        tt_source_fail(f->s, "there are no samples in it");
    error = tt_source_failed(f->s);
    if (!error && f->has_frames)
        tt_heap_finish(&f->heap, NULL);
    if (!error && f->v8.samples)
        error = tt_v8_finish(&f->v8, NULL, 1);
    return error;
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
