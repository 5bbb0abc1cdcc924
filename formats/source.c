/* SPDX-License-Identifier: MIT */
/* source.c - a buffer over a stream. */
#include "source.h"

#include <stdio.h>
#include <string.h>

#include "naming.h"
#include "utf8.h"

enum { FIRST_ROOM = 1 << 16, LONGEST_LINE = 1 << 30 };

static const struct tt_reading plain_reading;

void tt_source_init(struct tt_source *s, const char *name, struct tt_stream *stream,
                    const struct tt_memory *memory)
{
    *s = (struct tt_source){
        .name = name, .reading = &plain_reading, .stream = stream, .whole = s};
    tt_pool_init(&s->pool, memory);
    s->memory = &s->pool.memory;
}

void tt_source_drop(struct tt_source *s)
{
    tt_memory_put(s->memory, s->buffer);
    s->buffer = NULL;
    s->at = s->end = s->room = 0;
}

void tt_source_fini(struct tt_source *s)
{
    tt_source_drop(s);
    tt_pool_fini(&s->pool);
}

struct tt_source *tt_source_beside(const struct tt_source *s, const char *name)
{
    return s->beside ? s->beside(s, name) : NULL;
}

void tt_source_close(struct tt_source *s)
{
    if (s && s->close)
        s->close(s);
}

/* ── Errors ───────────────────────────────────────────────────────────────────────── */

/* Error texts quote the file, which may contain anything; control characters must not
 * reach a terminal. */
static void make_plain(char *text)
{
    uint32_t code;

    for (size_t size; *text; text += size) {
        size = tt_utf8(text, &code);
        if (size && code >= ' ' && (code < 0x7f || code > 0x9f))
            continue;
        *text = '?';
        size = 1;
    }
}

static __attribute__((format(printf, 4, 0))) int fail(struct tt_source *s,
                                                      const char *where, uint64_t number,
                                                      const char *format, va_list list)
{
    struct tt_source *whole = s->whole;
    char what[200];

    if (whole->failed)
        return whole->failed;
    (void)vsnprintf(what, sizeof what, format, list);
    make_plain(what);
    (void)snprintf(whole->error, sizeof whole->error, "%.4000s:%s%llu: %s", s->name,
                   where, (unsigned long long)number, what);
    return whole->failed = -TT_ERR_FORMAT;
}

int tt_source_fail(struct tt_source *s, const char *format, ...)
{
    va_list list;
    int error;

    va_start(list, format);
    error = s->line ? fail(s, "", s->line, format, list)
                    : fail(s, " byte ", tt_source_offset(s), format, list);
    va_end(list);
    return error;
}

int tt_source_fail_at(struct tt_source *s, uint64_t byte, const char *format, ...)
{
    va_list list;
    int error;

    va_start(list, format);
    error = fail(s, " byte ", byte, format, list);
    va_end(list);
    return error;
}

int tt_source_no_memory(struct tt_source *s)
{
    struct tt_source *whole = s->whole;

    if (whole->failed)
        return whole->failed;
    (void)snprintf(whole->error, sizeof whole->error, "%.4000s: no memory", s->name);
    return whole->failed = -TT_ERR_MEMORY;
}

void tt_source_forgive(struct tt_source *s)
{
    s->whole->failed = 0;
    s->whole->error[0] = '\0';
}

/* ── Bytes ────────────────────────────────────────────────────────────────────────── */

/* Makes room after `end` for more, and for a NUL: drops consumed bytes, or doubles the
 * buffer. */
static int make_room(struct tt_source *s)
{
    size_t room = s->room ? s->room * 2 : FIRST_ROOM, have = s->end - s->at;
    char *bigger;

    if (have && s->at)
        memmove(s->buffer, s->buffer + s->at, have);
    s->taken += s->at;
    s->end = have;
    s->at = 0;
    if (s->room && have < s->room / 2)
        return 0;
    bigger = room > s->room ? tt_memory_grow(s->memory, s->buffer, room) : NULL;
    if (!bigger)
        return tt_source_no_memory(s);
    s->buffer = bigger;
    s->room = room;
    return 0;
}

/* Reads once from the stream, and puts a NUL after it; 0 at the end. */
static int fill(struct tt_source *s)
{
    int64_t n;

    if (s->ended)
        return 0;
    if (s->room - s->end < TT_STREAM_ROOM + 1 || s->at > s->room / 2) {
        int error = make_room(s);
        if (error)
            return error;
    }
    n = s->stream->read(s->stream->arg, s->buffer + s->end, s->room - s->end - 1);
    if (n < 0) {
        s->line = 0;
        return tt_source_fail_at(s, s->taken + s->end, "%s", s->stream->error);
    }
    s->end += (size_t)n;
    s->buffer[s->end] = '\0';
    s->ended = n == 0;
    return n > 0;
}

int64_t tt_source_want(struct tt_source *s, size_t size)
{
    while (s->end - s->at < size) {
        int more = fill(s);
        if (more < 0)
            return more;
        if (!more)
            break;
    }
    return (int64_t)(s->end - s->at);
}

int tt_source_all(struct tt_source *s, const char **bytes, size_t *size)
{
    int64_t n = tt_source_want(s, SIZE_MAX);

    *bytes = n < 0 ? NULL : tt_source_at(s);
    *size = n < 0 ? 0 : (size_t)n;
    if (n < 0)
        return (int)n;
    if (!s->buffer && make_room(s) != 0)
        return tt_source_no_memory(s);
    *bytes = tt_source_at(s);
    tt_source_skip(s, *size);
    return 0;
}

void tt_source_forget(struct tt_source *s, const char *before)
{
    enum { AT_ONCE = 1 << 20 };
    size_t at = (size_t)(before - s->buffer);

    if (at - s->forgotten < AT_ONCE)
        return;
    tt_memory_forget(s->memory, s->buffer + s->forgotten, at - s->forgotten);
    s->forgotten = at;
}

/* ── Clocks ────────────────────────────────────────────────────────────────────────── */

uint64_t tt_ticks_time(const struct tt_ticks *c, uint64_t ticks)
{
    const uint64_t ns = 1000000000, since = ticks > c->first ? ticks - c->first : 0;
    const unsigned __int128 time = (unsigned __int128)since * ns / c->rate + c->began;

    return time < UINT64_MAX ? (uint64_t)time : UINT64_MAX;
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

int tt_take_digits(const char **at, uint64_t *number)
{
    const char *c = *at;

    for (*number = 0; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*c - '0'), number))
            return 0;
    if (c == *at)
        return 0;
    *at = c;
    return 1;
}

int tt_source_line(struct tt_source *s, char **line, size_t *length)
{
    size_t seen = 0, count;
    char *end = NULL;

    while (!end) {
        size_t have = s->end - s->at;
        end = have > seen ? memchr(s->buffer + s->at + seen, '\n', have - seen) : NULL;
        if (end)
            break;
        seen = have;
        if (seen > LONGEST_LINE) {
            s->line++;
            return tt_source_fail(s, "this line is longer than a GiB");
        }
        int more = fill(s);
        if (more < 0)
            return more;
        if (!more && s->at == s->end)
            return 0;
        if (!more)
            end = s->buffer + s->end;
    }
    s->line++;
    *line = s->buffer + s->at;
    /* cppcheck-suppress nullPointerArithmeticRedundantCheck */
    count = (size_t)(end - *line);
    s->at += count + (s->at + count < s->end);
    while (count && (*line)[count - 1] == '\r')
        count--;
    (*line)[count] = '\0';
    *length = count;
    return 1;
}

/* ── Memory ───────────────────────────────────────────────────────────────────────── */

static int64_t read_bytes(void *arg, void *to, size_t size)
{
    struct tt_bytes *b = arg;
    size_t n = size < b->size ? size : b->size;

    if (n)
        memcpy(to, b->bytes, n);
    b->bytes += n;
    b->size -= n;
    return (int64_t)n;
}

void tt_bytes_init(struct tt_bytes *b, const void *bytes, size_t size)
{
    *b = (struct tt_bytes){.stream = {.read = read_bytes}, .bytes = bytes, .size = size};
    b->stream.arg = b;
}
