/* SPDX-License-Identifier: MIT */
/* dhat.c - the JSON of Valgrind's DHAT: reading.
 *
 * The file has an object for each allocation site, and after them the table of frames.
 * The sites refer to frames by number, so they are kept until the table has been read. */
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

static int read_frames(struct dhat *d, struct place *p)
{
    struct tt_json *j = &d->json;
    int result = tt_json_array(j);
    uint64_t *at;

    p->first = d->frame.count;
    while (result > 0 && (result = tt_json_item(j)) > 0) {
        if (!(at = tt_vector_add(&d->frame, 1)))
            return tt_source_no_memory(d->s);
        result = tt_json_whole(j, at, NULL);
    }
    p->frames = d->frame.count - p->first;
    return result < 0 ? result : 1;
}

static int read_field(struct dhat *d, struct place *p)
{
    struct tt_json *j = &d->json;

    for (int i = 0; i < OWN; i++)
        if (tt_json_is(j, figures[i].key))
            return tt_json_whole(j, &p->figure[i], NULL);
    for (int i = 0; i < OTHERS; i++)
        if (tt_json_is(j, others[i].key))
            return tt_json_whole(j, &p->other[i], NULL);
    return tt_json_is(j, "fs") ? read_frames(d, p) : tt_json_skip(j);
}

static int read_places(struct dhat *d)
{
    struct tt_json *j = &d->json;
    int result = tt_json_array(j);

    d->has_places = 1;
    while (result > 0 && (result = tt_json_item(j)) > 0) {
        struct place p = {0};
        for (result = tt_json_object(j); result > 0 && (result = tt_json_key(j)) > 0;)
            result = read_field(d, &p);
        if (result == 0 && (result = tt_source_append(d->s, &d->place, &p)) == 0)
            result = 1;
    }
    return result < 0 ? result : 1;
}

static int read_table(struct dhat *d)
{
    struct tt_json *j = &d->json;
    int result = tt_json_array(j);
    uint32_t *at;

    d->has_table = 1;
    while (result > 0 && (result = tt_json_item(j)) > 0) {
        result = tt_json_string(j);
        if (result < 0)
            return result;
        if (!(at = tt_vector_add(&d->block, 1)) ||
            (*at = tt_heap_frame(&d->heap, j->text, j->length)) == TT_NONE)
            return tt_source_no_memory(d->s);
    }
    return result < 0 ? result : 1;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int read_text(struct dhat *d, char *to, size_t room)
{
    int result = tt_json_string(&d->json);

    if (result > 0 && room) {
        size_t length = d->json.length < room ? d->json.length : room - 1;
        memcpy(to, d->json.text, length);
        to[length] = '\0';
    }
    return result;
}

static int read_member(struct dhat *d)
{
    struct tt_json *j = &d->json;
    int result;

    if (tt_json_is(j, "dhatFileVersion")) {
        result = tt_json_whole(j, &d->version, NULL);
        return result > 0 && d->version != VERSION
                   ? tt_json_wrong(j, "only version 2 is known")
                   : result;
    }
    if (tt_json_is(j, "mode"))
        return read_text(d, d->mode, sizeof d->mode);
    if (tt_json_is(j, "tu"))
        return read_text(d, d->unit, sizeof d->unit);
    if (tt_json_is(j, "cmd")) {
        result = tt_json_string(j);
        if (result > 0)
            tt_builder_fact(d->b, "program", TT_FACT_EACH, 1, j->text);
        return result;
    }
    if (tt_json_is(j, "pps"))
        return d->has_places ? tt_json_wrong(j, "there is a second list of places")
                             : read_places(d);
    if (tt_json_is(j, "ftbl"))
        return d->has_table ? tt_json_wrong(j, "there is a second table of frames")
                            : read_table(d);
    return tt_json_skip(j);
}

static int read_file(struct dhat *d)
{
    struct tt_json *j = &d->json;
    int result = tt_json_object(j);

    while (result > 0 && (result = tt_json_key(j)) > 0)
        result = read_member(d);
    if (result == 0)
        result = tt_json_end(j);
    if (!result && (!d->version || !d->has_places || !d->has_table))
        result = tt_source_fail(d->s, "it lacks its %s",
                                !d->version      ? "version"
                                : !d->has_places ? "places (pps)"
                                                 : "table of frames (ftbl)");
    return result;
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
        if (p->other[i] &&
            (error = tt_frames_add(&d->other[i], context, p->other[i])) != 0)
            error = error == -TT_ERR_MEMORY ? tt_source_no_memory(d->s)
                                            : tt_source_fail(d->s, TT_TOO_MUCH);
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
    return size - at >= sizeof key && memcmp(head + at, key, sizeof key - 1) == 0
               ? TT_MATCH_YES
               : TT_MATCH_NO;
}

const struct tt_format tt_format_dhat = {
    .name = "dhat",
    .about = "heap profiles of Valgrind's DHAT",
    .detect = detect,
    .read = read_dhat,
};
