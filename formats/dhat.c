/* SPDX-License-Identifier: MIT */
/* dhat.c - the JSON of Valgrind's DHAT: reading.
 *
 * The file has an object for each allocation site, and after them the table of frames.
 * The sites refer to frames by number, so they are kept until the table has been read. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "json-reader.h"

enum { VERSION = 2 };

/* The figures of an allocation site. */
static const struct {
    const char *key;
    enum tt_heap_figure figure;
} figures[] = {
    {"tb", TT_HEAP_BYTES},      {"tbk", TT_HEAP_ALLOCATIONS},
    {"gb", TT_HEAP_PEAK_BYTES}, {"gbk", TT_HEAP_PEAK_NUMBER},
    {"eb", TT_HEAP_LIVE_BYTES}, {"ebk", TT_HEAP_LIVE_NUMBER},
};
static const struct {
    const char *key, *name, *unit;
} others[] = {
    {"rb", "bytes read", "bytes"},
    {"wb", "bytes written", "bytes"},
    {"tl", "lifetime", ""},
};
enum { OWN = 6, OTHERS = 3 };

struct place {
    uint64_t figure[OWN], other[OTHERS];
    size_t first, frames; /* in `frame` */
};

struct dhat {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_json json;
    struct tt_heap_profile heap;
    struct tt_frames other[OTHERS];
    struct tt_vector place; /* struct place */
    struct tt_vector frame; /* uint64_t: numbers in the table, innermost first */
    struct tt_vector block; /* uint32_t: the table */
    char unit[32], mode[16];
    uint64_t version;
    int has_places, has_table;
};

/* ── Places ───────────────────────────────────────────────────────────────────────── */

static void read_frames(struct dhat *d, struct place *p)
{
    struct tt_json *j = &d->json;

    p->first = d->frame.count;
    for (tt_json_array(j); tt_json_item(j);) {
        const uint64_t frame = tt_json_whole(j);
        tt_source_append(d->s, &d->frame, &frame);
    }
    p->frames = d->frame.count - p->first;
}

static void read_field(struct dhat *d, struct place *p)
{
    struct tt_json *j = &d->json;
    uint64_t *to = NULL;

    for (int i = 0; i < OWN; i++)
        if (tt_json_is(j, figures[i].key))
            to = &p->figure[i];
    for (int i = 0; i < OTHERS; i++)
        if (tt_json_is(j, others[i].key))
            to = &p->other[i];
    if (to)
        *to = tt_json_whole(j);
    else if (tt_json_is(j, "fs"))
        read_frames(d, p);
    else
        tt_json_skip(j);
}

static void read_places(struct dhat *d)
{
    struct tt_json *j = &d->json;

    if (d->has_places++)
        tt_json_wrong(j, "there is a second list of places");
    for (tt_json_array(j); tt_json_item(j);) {
        struct place p = {0};
        for (tt_json_object(j); tt_json_key(j);)
            read_field(d, &p);
        tt_source_append(d->s, &d->place, &p);
    }
}

static void read_table(struct dhat *d)
{
    struct tt_json *j = &d->json;

    if (d->has_table++)
        tt_json_wrong(j, "there is a second table of frames");
    for (tt_json_array(j); tt_json_item(j);) {
        const uint32_t block = tt_json_string(j)
                                   ? tt_heap_frame(&d->heap, j->text, j->length)
                                   : TT_NONE;
        if (block == TT_NONE)
            tt_source_no_memory(d->s);
        tt_source_append(d->s, &d->block, &block);
    }
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static void read_text(struct dhat *d, char *to, size_t room)
{
    if (tt_json_string(&d->json))
        (void)snprintf(to, room, "%s", d->json.text);
}

static void read_member(struct dhat *d)
{
    struct tt_json *j = &d->json;

    if (tt_json_is(j, "dhatFileVersion")) {
        d->version = tt_json_whole(j);
        if (d->version != VERSION)
            tt_json_wrong(j, "only version 2 is known");
    } else if (tt_json_is(j, "mode")) {
        read_text(d, d->mode, sizeof d->mode);
    } else if (tt_json_is(j, "tu")) {
        read_text(d, d->unit, sizeof d->unit);
    } else if (tt_json_is(j, "cmd")) {
        if (tt_json_string(j))
            tt_builder_fact(d->b, "program", TT_FACT_EACH, 1, j->text);
    } else if (tt_json_is(j, "pps")) {
        read_places(d);
    } else if (tt_json_is(j, "ftbl")) {
        read_table(d);
    } else {
        tt_json_skip(j);
    }
}

static int read_file(struct dhat *d)
{
    for (tt_json_object(&d->json); tt_json_key(&d->json);)
        read_member(d);
    tt_json_end(&d->json);
    if (!d->version || !d->has_places || !d->has_table)
        tt_source_fail(d->s, "it lacks its %s",
                       !d->version      ? "version"
                       : !d->has_places ? "places (pps)"
                                        : "table of frames (ftbl)");
    return tt_source_failed(d->s);
}

static int add_place(struct dhat *d, const struct place *p)
{
    const uint64_t *frame = d->frame.item;
    const uint32_t *block = d->block.item;
    uint32_t context = TT_BUILDER_ROOT;
    int error = 0;

    for (size_t i = p->first + p->frames; i-- > p->first;) {
        if (frame[i] >= d->block.count)
            return tt_source_fail(d->s,
                                  "place %zu of 'pps' has frame %llu, and the table has "
                                  "only %zu",
                                  (size_t)(p - (struct place *)d->place.item),
                                  (unsigned long long)frame[i], d->block.count);
        if (frame[i]) /* the first is the root */
            context = tt_builder_context(d->b, context, block[frame[i]]);
    }
    for (int i = 0; !error && i < OWN; i++)
        if (p->figure[i])
            error = tt_heap_add(&d->heap, figures[i].figure, context, p->figure[i]);
    for (int i = 0; !error && i < OTHERS; i++)
        if (p->other[i])
            error = tt_frames_count(&d->other[i], d->s, context, p->other[i]);
    return error;
}

static int take(struct dhat *d)
{
    int is_heap, error = read_file(d);

    for (size_t i = 0; !error && i < d->place.count; i++)
        error = add_place(d, (const struct place *)d->place.item + i);
    if (error)
        return error;
    is_heap = !d->mode[0] || strcmp(d->mode, "heap") == 0;
    tt_heap_finish(&d->heap, is_heap ? "heap" : NULL);
    for (int i = 0; i < OTHERS; i++)
        if (d->other[i].total)
            tt_frames_flush(&d->other[i],
                            tt_builder_metric(d->b, others[i].name,
                                              *others[i].unit ? others[i].unit : d->unit,
                                              0));
    if (!is_heap)
        tt_builder_fact(d->b, "mode", TT_FACT_EACH, 1, d->mode);
    return 0;
}

static int read_dhat(struct tt_source *s, struct tt_builder *b)
{
    struct dhat d = {.s = s, .b = b};

    tt_json_init(&d.json, s);
    tt_heap_init(&d.heap, s, b);
    for (int i = 0; i < OTHERS; i++)
        tt_frames_init(&d.other[i], b, s->memory);
    tt_vector_init(&d.place, s->memory, sizeof(struct place));
    tt_vector_init(&d.frame, s->memory, sizeof(uint64_t));
    tt_vector_init(&d.block, s->memory, sizeof(uint32_t));
    return take(&d);
}

static enum tt_match detect(const char *head, size_t size)
{
    static const char key[] = "\"dhatFileVersion\"";
    size_t at = 0;

    if (!size || head[at++] != '{')
        return TT_MATCH_NO;
    while (at < size && strchr(" \t\r\n", head[at]))
        at++;
    return tt_match_if(size - at >= sizeof key &&
                       memcmp(head + at, key, sizeof key - 1) == 0);
}

const struct tt_format tt_format_dhat = {
    .name = "dhat",
    .about = "heap profiles of Valgrind's DHAT",
    .detect = detect,
    .read = read_dhat,
};
