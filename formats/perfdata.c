/* SPDX-License-Identifier: MIT */
/* perfdata.c - the file that `perf record` writes: reading.
 *
 *      PERFILE2  head ─ attributes, ids ─ data: records ─ features     a file
 *      PERFILE2  16   ─ records, including those of the head           a pipe
 *
 * The records of one processor are in order, but not those of several.  At each mark
 * (FINISHED_ROUND), all records older than the mark before have been written.  So records
 * wait in a queue for two rounds, and are taken in the order of time.  Compressed data
 * (-z) are more records.  Records without a time were written before the recording
 * began. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "perfdata-take.h"
#include "perfdata.h"
#include "sorted.h"
#include "walker.h"

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_RELEASE = 4,
    FEATURE_COMMAND = 11,
    FEATURE_EVENTS = 12
};
enum { MISC_ID_SIZE = 1 << 15 };
enum { HEAD = 104, PIPE_HEAD = 16, RECORD_HEAD = 8 };
enum { MOST_HEAD = 1 << 26, MOST_WAITING = 1 << 26 };

struct waiting {
    uint64_t time, number;
    size_t at; /* of its body, in the bytes */
    uint32_t type, misc;
    size_t size;
};

static uint64_t number(const struct tt_perfdata *p, const char *at, int size)
{
    return tt_perfdata_number(at, size, p->is_big);
}

/* ── The queue ────────────────────────────────────────────────────────────────────── */

static int by_time(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;

    return TT_ORDER(x->time, y->time) ?: TT_ORDER(x->number, y->number);
}

/* Takes the waiting records up to a time, and closes the gap. */
static int take_until(struct tt_perfdata *p, uint64_t time)
{
    struct waiting *w = p->waiting.item;
    size_t taken = 0, end = 0;
    char *bytes;
    int error = 0;

    tt_vector_sort(&p->waiting, by_time);
    for (; !error && taken < p->waiting.count && w[taken].time <= time; taken++)
        error = tt_perfdata_take(
            p, &(struct tt_perfdata_record){w[taken].type, w[taken].misc,
                                            (char *)p->bytes.item + w[taken].at,
                                            w[taken].size});
    if (error || !taken)
        return error;
    p->rest.count = 0;
    for (size_t i = taken; i < p->waiting.count; i++)
        end += w[i].size;
    bytes = end ? tt_vector_add(&p->rest, end) : NULL;
    if (end && !bytes)
        return tt_source_no_memory(p->s);
    end = 0;
    for (size_t i = taken; i < p->waiting.count; i++) {
        memcpy(bytes + end, (char *)p->bytes.item + w[i].at, w[i].size);
        w[i].at = end;
        w[i - taken] = w[i];
        end += w[i].size;
    }
    if (end)
        memcpy(p->bytes.item, bytes, end);
    p->bytes.count = end;
    p->waiting.count -= taken;
    return 0;
}

static int put_off(struct tt_perfdata *p, const struct tt_perfdata_record *r,
                   uint64_t time)
{
    struct waiting *w = tt_vector_add(&p->waiting, 1);
    size_t at = p->bytes.count;
    char *to = r->size ? tt_vector_add(&p->bytes, r->size) : NULL;

    if (!w || (r->size && !to))
        return tt_source_no_memory(p->s);
    if (r->size)
        memcpy(to, r->body, r->size);
    *w = (struct waiting){time, p->number++, at, r->type, r->misc, r->size};
    if (time > p->latest)
        p->latest = time;
    if (p->bytes.count < MOST_WAITING)
        return 0;
    return take_until(p, p->round < time ? p->round + (time - p->round) / 2 : time);
}

static int end_round(struct tt_perfdata *p)
{
    int error = take_until(p, p->round);

    p->round = p->latest;
    return error;
}

/* ── What describes the recording ─────────────────────────────────────────────────── */

/* Returns the text after its length. */
static const char *text_at(const struct tt_perfdata *p, const char *at, size_t size,
                           size_t *length)
{
    uint64_t room = size >= 4 ? number(p, at, 4) : 0;

    if (size < 4 || room > size - 4)
        return NULL;
    *length = strnlen(at + 4, (size_t)room);
    return at + 4;
}

static int take_build_id(struct tt_perfdata *p, uint32_t misc, const char *at,
                         size_t size)
{
    enum { ID = 4, SIZE = 24, NAME = 28 };
    size_t id_size = TT_PERFDATA_ID;

    if (size <= NAME)
        return 0;
    if (misc & MISC_ID_SIZE)
        id_size = (unsigned char)at[SIZE];
    return tt_perfdata_file_id(&p->tree, at + NAME, strnlen(at + NAME, size - NAME),
                               at + ID, id_size) != 0
               ? tt_source_no_memory(p->s)
               : 0;
}

static int take_build_ids(struct tt_perfdata *p, const char *at, size_t size)
{
    int error = 0;

    while (!error && size >= RECORD_HEAD) {
        size_t length = (size_t)number(p, at + 6, 2);
        if (length < RECORD_HEAD || length > size)
            break;
        error = take_build_id(p, (uint32_t)number(p, at + 4, 2), at + RECORD_HEAD,
                              length - RECORD_HEAD);
        at += length;
        size -= length;
    }
    return error;
}

/* Takes the attributes, ids and name of each event. */
static void take_event_names(struct tt_perfdata *p, const char *at, size_t size)
{
    uint64_t count, attributes;

    if (size < 8)
        return;
    count = number(p, at, 4);
    attributes = number(p, at + 4, 4);
    at += 8;
    size -= 8;
    for (uint64_t i = 0; i < count; i++) {
        struct tt_perfdata_event *e = p->events.event.item;
        uint64_t ids;
        size_t length;
        const char *name;
        if (attributes > size || size - attributes < 4)
            return;
        ids = number(p, at + attributes, 4);
        at += attributes + 4;
        size -= (size_t)attributes + 4;
        name = text_at(p, at, size, &length);
        if (!name)
            return;
        if (i < p->events.event.count)
            tt_perfdata_event_name(e + i, name, length);
        size -= 4 + (size_t)number(p, at, 4);
        at += 4 + number(p, at, 4);
        if (ids > size / 8)
            return;
        at += 8 * ids;
        size -= 8 * (size_t)ids;
    }
}

static void take_command(struct tt_perfdata *p, const char *at, size_t size)
{
    struct tt_vector line;
    uint64_t count = size >= 4 ? number(p, at, 4) : 0;
    const char *text;
    size_t length;

    tt_vector_init(&line, p->s->memory, 1);
    for (at += 4, size -= 4; count && (text = text_at(p, at, size, &length)); count--) {
        char *to = tt_vector_add(&line, length + 1);
        if (!to)
            break;
        memcpy(to, text, length);
        to[length] = ' ';
        size -= 4 + (size_t)number(p, at, 4);
        at += 4 + number(p, at, 4);
    }
    if (line.count) {
        ((char *)line.item)[line.count - 1] = '\0';
        tt_builder_fact(p->b, "command", TT_FACT_EACH, 1, line.item);
    }
    tt_vector_fini(&line);
}

static int take_feature(struct tt_perfdata *p, uint64_t feature, const char *at,
                        size_t size)
{
    size_t length;
    const char *text;

    if (feature == FEATURE_BUILD_ID)
        return take_build_ids(p, at, size);
    if (feature == FEATURE_EVENTS)
        take_event_names(p, at, size);
    if (feature == FEATURE_COMMAND && size >= 4)
        take_command(p, at, size);
    if (feature == FEATURE_RELEASE && (text = text_at(p, at, size, &length)) != NULL)
        (void)snprintf(p->tree.kernel, sizeof p->tree.kernel, "%.*s", (int)length, text);
    return 0;
}

static int take_event_update(struct tt_perfdata *p, const char *at, size_t size)
{
    enum { NAME = 2 };
    struct tt_perfdata_event *e = size > 16 ? tt_perfdata_event_of(&p->events,
                                                                   number(p, at + 8, 8))
                                            : NULL;

    if (e && number(p, at, 8) == NAME)
        tt_perfdata_event_name(e, at + 16, size - 16);
    return 0;
}

static int add_event(struct tt_perfdata *p, const char *at, size_t size, const char *ids,
                     size_t ids_size)
{
    int error = tt_perfdata_event_add(&p->events, at, size, ids, ids_size);

    if (error == -TT_ERR_FORMAT)
        return tt_source_fail(p->s, "the attributes of an event are too short");
    return error ? tt_source_no_memory(p->s) : 0;
}

/* In a pipe, the attributes contain their own size. */
static int take_attributes(struct tt_perfdata *p, const char *at, size_t size)
{
    uint64_t length = size >= 8 ? number(p, at + 4, 4) : 0;

    if (!length || length > size)
        return tt_perfdata_short(p);
    return add_event(p, at, (size_t)length, at + length, size - (size_t)length);
}

/* ── Records as they come ─────────────────────────────────────────────────────────── */

static int take_any(struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    uint64_t time;

    switch (r->type) {
    case TT_PERFDATA_ATTRIBUTES:
        return take_attributes(p, r->body, r->size);
    case TT_PERFDATA_BUILD_ID:
        return take_build_id(p, r->misc, r->body, r->size);
    case TT_PERFDATA_FINISHED_ROUND:
        return end_round(p);
    case TT_PERFDATA_EVENT_UPDATE:
        return take_event_update(p, r->body, r->size);
    case TT_PERFDATA_FEATURE:
        return r->size >= 8
                   ? take_feature(p, number(p, r->body, 8), r->body + 8, r->size - 8)
                   : 0;
    default:
        time = tt_perfdata_time(&p->events, r);
        return time && time != UINT64_MAX ? put_off(p, r, time) : tt_perfdata_take(p, r);
    }
}

static struct tt_perfdata_record record_at(const struct tt_perfdata *p, const char *at,
                                           size_t *size)
{
    *size = (size_t)number(p, at + 6, 2);
    return (struct tt_perfdata_record){(uint32_t)number(p, at, 4),
                                       (uint32_t)number(p, at + 4, 2), at + RECORD_HEAD,
                                       *size - RECORD_HEAD};
}

static int bad_record(struct tt_perfdata *p, size_t size)
{
    return tt_source_fail(p->s, "a record says that it has %zu bytes, which is too few",
                          size);
}

static int unpack_records(struct tt_perfdata *p, const char *bytes, size_t size)
{
    struct tt_perfdata_record r;
    const char *at;
    size_t length;
    int error = 0, have;

    if (!p->packed && !(p->packed = tt_perfdata_packed_new(p->s->memory)))
        return tt_source_no_memory(p->s);
    tt_perfdata_packed_put(p->packed, bytes, size);
    while ((have = tt_perfdata_packed_want(p->packed, RECORD_HEAD, &at)) > 0) {
        r = record_at(p, at, &length);
        if (length < RECORD_HEAD)
            return bad_record(p, length);
        have = tt_perfdata_packed_want(p->packed, length, &at);
        if (have <= 0)
            break;
        r.body = at + RECORD_HEAD;
        if (r.type == TT_PERFDATA_PACKED || r.type == TT_PERFDATA_PACKED_2)
            return tt_source_fail(p->s, "a packed record holds another packed record");
        error = take_any(p, &r);
        if (error)
            return error;
        tt_perfdata_packed_skip(p->packed, length);
    }
    return have < 0 ? tt_source_fail(p->s, "a record that zstd has packed is damaged")
                    : 0;
}

static int unpack(struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    uint64_t size;

    if (r->type == TT_PERFDATA_PACKED)
        return unpack_records(p, r->body, r->size);
    size = r->size >= 8 ? number(p, r->body, 8) : 0;
    if (r->size < 8 || size > r->size - 8)
        return tt_perfdata_short(p);
    return unpack_records(p, r->body + 8, (size_t)size);
}

/* Skips that many bytes: 1; 0: the file ends before; less than 0: an error. */
static int skip(struct tt_perfdata *p, uint64_t size)
{
    while (size) {
        const uint64_t most = 1 << 20;
        int64_t have = tt_source_want(p->s, (size_t)(size < most ? size : most));
        if (have <= 0)
            return (int)have;
        if ((uint64_t)have > size)
            have = (int64_t)size;
        tt_source_skip(p->s, (size_t)have);
        size -= (uint64_t)have;
    }
    return 1;
}

/* Returns the size of the data that follow some records. */
static uint64_t behind(const struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    if (r->type == TT_PERFDATA_AUXTRACE && r->size >= 8)
        return number(p, r->body, 8);
    return r->type == TT_PERFDATA_TRACING_DATA && r->size >= 4 ? number(p, r->body, 4)
                                                               : 0;
}

/* Reads that many bytes of records, or up to the end: 1; 0: the file was cut off. */
static int read_records(struct tt_perfdata *p, uint64_t left)
{
    int error = 0;

    while (left) {
        int64_t have = tt_source_want(p->s, RECORD_HEAD);
        struct tt_perfdata_record r;
        uint64_t more;
        size_t size;
        if (have < RECORD_HEAD)
            return have < 0 ? (int)have : have == 0 && left == UINT64_MAX;
        r = record_at(p, tt_source_at(p->s), &size);
        if (size < RECORD_HEAD || size > left)
            return bad_record(p, size);
        have = tt_source_want(p->s, size);
        if (have < 0 || (size_t)have < size)
            return have < 0 ? (int)have : 0;
        r = record_at(p, tt_source_at(p->s), &size);
        error = r.type == TT_PERFDATA_PACKED || r.type == TT_PERFDATA_PACKED_2
                    ? unpack(p, &r)
                    : take_any(p, &r);
        if (error)
            return error;
        more = behind(p, &r);
        tt_source_skip(p->s, size);
        if (left != UINT64_MAX)
            left -= size;
        if (more > left)
            return tt_source_fail(
                p->s, "a record says that more data follow it than the file has");
        error = skip(p, more);
        if (error <= 0)
            return error;
        if (left != UINT64_MAX)
            left -= more;
    }
    return 1;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

/* Returns a part of the head; NULL: it is outside. */
static const char *part(struct tt_perfdata *p, uint64_t at, uint64_t size, uint64_t whole)
{
    return at <= whole && size <= whole - at ? tt_source_at(p->s) + at : NULL;
}

static int read_events(struct tt_perfdata *p, uint64_t whole)
{
    enum { SIZE = 16, EVENTS = 24 };
    const char *head = tt_source_at(p->s);
    uint64_t each = number(p, head + SIZE, 8), at = number(p, head + EVENTS, 8);
    uint64_t size = number(p, head + EVENTS + 8, 8);
    int error = 0;

    if (each <= 16 || !part(p, at, size, whole))
        return tt_source_fail(p->s, "the header gives a wrong place for the events");
    for (; !error && size >= each; at += each, size -= each) {
        const char *event = part(p, at, each, whole), *ids;
        uint64_t ids_at = number(p, event + each - 16, 8);
        uint64_t ids_size = number(p, event + each - 8, 8);
        ids = part(p, ids_at, ids_size, whole);
        if (!ids)
            return tt_source_fail(p->s, "an event gives a wrong place for its ids");
        error = add_event(p, event, (size_t)each - 16, ids, (size_t)ids_size);
    }
    return error;
}

/* After the data comes a table of where each feature is, in the order of their bits. */
static int read_features(struct tt_perfdata *p, const uint64_t bits[4])
{
    const uint64_t begin = tt_source_offset(p->s);
    const char *bytes;
    size_t size, at = 0;
    int error = tt_source_all(p->s, &bytes, &size);

    for (uint64_t f = 0; !error && f < 256; f++) {
        uint64_t offset, length;
        if (!(bits[f / 64] >> f % 64 & 1))
            continue;
        if (size - at < 16)
            return 0;
        offset = number(p, bytes + at, 8) - begin;
        length = number(p, bytes + at + 8, 8);
        at += 16;
        if (offset <= size && length <= size - offset)
            error = take_feature(p, f, bytes + offset, (size_t)length);
    }
    return error;
}

/* 1; 0: it was cut off. */
static int read_file(struct tt_perfdata *p)
{
    enum { DATA = 40, BITS = 72 };
    int64_t have = tt_source_want(p->s, HEAD);
    uint64_t begin, size, bits[4];
    int whole, error;

    if (have < HEAD)
        return have < 0 ? (int)have
                        : tt_source_fail(p->s, "the file ends within its header");
    begin = number(p, tt_source_at(p->s) + DATA, 8);
    size = number(p, tt_source_at(p->s) + DATA + 8, 8);
    for (int i = 0; i < 4; i++)
        bits[i] = number(p, tt_source_at(p->s) + BITS + 8 * i, 8);
    if (begin < HEAD || begin > MOST_HEAD)
        return tt_source_fail(p->s, "the header gives a wrong place for the data");
    have = tt_source_want(p->s, (size_t)begin);
    if (have < (int64_t)begin)
        return have < 0 ? (int)have
                        : tt_source_fail(p->s, "the file ends within its header");
    error = read_events(p, begin);
    if (error)
        return error;
    tt_source_skip(p->s, (size_t)begin);
    whole = read_records(p, size ? size : UINT64_MAX);
    if (whole <= 0 || !size) /* perf was killed before it wrote the size */
        return whole < 0 ? whole : 0;
    error = read_features(p, bits);
    return error ?: 1;
}

static int read_all(struct tt_perfdata *p)
{
    int64_t have = tt_source_want(p->s, PIPE_HEAD);
    int whole, error;

    if (have < PIPE_HEAD)
        return have < 0 ? (int)have
                        : tt_source_fail(p->s, "the file ends within its header");
    p->is_big = *tt_source_at(p->s) == '2';
    tt_perfdata_events_init(&p->events, p->s->memory, p->is_big);
    if (number(p, tt_source_at(p->s) + 8, 8) == PIPE_HEAD) {
        tt_source_skip(p->s, PIPE_HEAD);
        whole = read_records(p, UINT64_MAX);
    } else {
        whole = read_file(p);
    }
    if (whole < 0)
        return whole;
    error = take_until(p, UINT64_MAX);
    if (!error && !whole)
        tt_builder_fact(p->b, "cut off", TT_FACT_SUM, 1, "");
    if (p->lost < p->lost_samples) /* newer systems count both, and these by event */
        p->lost = p->lost_samples;
    if (!error && p->lost)
        tt_builder_fact(p->b, "lost.records", TT_FACT_SUM, p->lost, "");
    if (!error && p->no_walk)
        tt_builder_fact(p->b, "lost.stacks", TT_FACT_SUM, p->no_walk, "");
    if (error || tt_perfdata_finish(&p->tree, &p->events) == 0)
        return error;
    return tt_source_no_memory(p->s);
}

static int read_perfdata(struct tt_source *s, struct tt_builder *b)
{
    struct tt_perfdata *p = tt_memory_get(s->memory, sizeof *p);
    int error;

    if (!p)
        return tt_source_no_memory(s);
    p->s = s;
    p->b = b;
    tt_vector_init(&p->waiting, s->memory, sizeof(struct waiting));
    tt_vector_init(&p->bytes, s->memory, 1);
    tt_vector_init(&p->rest, s->memory, 1);
    tt_vector_init(&p->regions, s->memory, sizeof(struct tt_walk_region));
    tt_perfdata_tree_init(&p->tree, s, b);
    error = tt_perfdata_spaces_init(&p->spaces, s->memory);
    error = error ? tt_source_no_memory(s) : read_all(p);
    tt_perfdata_packed_free(p->packed);
    return error;
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= PIPE_HEAD && (memcmp(head, "PERFILE2", 8) == 0 ||
                                             memcmp(head, "2ELIFREP", 8) == 0));
}

const struct tt_format tt_format_perfdata = {
    .name = "perfdata",
    .about = "what perf record writes",
    .flags = TT_FORMAT_NATIVE,
    .detect = detect,
    .read = read_perfdata,
};
