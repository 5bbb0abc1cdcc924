/* SPDX-License-Identifier: MIT */
/* source.h - the source of a reader: lines or bytes, in order.
 *
 *      ─────────┬───────────────┬────────┬─ ─ ─
 *       taken   │ in the buffer │        │  still to come
 *      ─────────┴───────────────┴────────┴─ ─ ─
 *               at              end      room
 *
 * Bytes come from a callback, through any number of stages that decompress them.  The
 * buffer grows only if a caller wants more than it holds, and only as bytes arrive. */
#ifndef TT_SOURCE_H
#define TT_SOURCE_H

#include <stdarg.h>
#include <string.h>

#include "naming.h"
#include "pool.h"
#include "tallytree.h"

/* Gives up to `size` bytes, 0 at the end, less than 0 for an error, with its text in
 * `error`.  There is room for at least one character: TT_STREAM_ROOM. */
enum { TT_STREAM_ROOM = 4 };
struct tt_stream {
    int64_t (*read)(void *arg, void *to, size_t size);
    void *arg;
    char error[120];
};

/* How events become contexts, and facts that the file does not contain. */
struct tt_reading {
    const char *recursion, *budget; /* of event traces, as the flags have it; or NULL */
    const char *executable;         /* of formats that do not name functions; or NULL */
    /* Returns a symbol's name in the language of its program, to be freed; NULL: no
     * memory.  If this is NULL, symbols are kept unchanged. */
    char *(*demangle)(const char *symbol);
    const struct tt_walker *walker; /* of formats that copy stacks (walker.h); or NULL */
};

struct tt_source {
    const char *name;               /* of the file; borrowed */
    const struct tt_memory *memory; /* of its reader: freed with the source */
    struct tt_pool pool;
    const struct tt_reading *reading; /* never NULL */
    /* Opens a file in the same folder ("task.txt"), or returns NULL; to be closed by
     * tt_source_close.  NULL: the source is not in a folder. */
    struct tt_source *(*beside)(const struct tt_source *, const char *name);
    void (*close)(struct tt_source *); /* of one that `beside` opened */
    struct tt_stream *stream;          /* borrowed */
    char *buffer;                      /* owned */
    size_t at, end, room;
    size_t forgotten; /* bytes of the buffer */
    uint64_t taken;   /* bytes before buffer[0] */
    uint64_t line;    /* of the line that was taken last, from 1; 0: bytes are taken */
    int ended;
    struct tt_source *whole; /* of which this is a part, or itself: has the error */
    int failed;              /* the first error: 0, -TT_ERR_FORMAT or -TT_ERR_MEMORY */
    char error[4300];        /* "file:line: what", after a failure */
};

/* The source must not be moved afterwards. */
void tt_source_init(struct tt_source *, const char *name, struct tt_stream *,
                    const struct tt_memory *);
/* Frees all that its readers took from its memory. */
void tt_source_fini(struct tt_source *);
void tt_source_drop(struct tt_source *); /* frees the buffer: all was read */
struct tt_source *tt_source_beside(const struct tt_source *, const char *name);
void tt_source_close(struct tt_source *); /* NULL: nothing */

/* Has at least `size` bytes ready, or all that are left; returns how many.  Less than 0:
 * an error.  They are at tt_source_at until the next call, with a NUL after them. */
int64_t tt_source_want(struct tt_source *, size_t size);
static inline const char *tt_source_at(const struct tt_source *s)
{
    return s->buffer + s->at;
}
static inline uint64_t tt_source_offset(const struct tt_source *s)
{
    return s->taken + s->at;
}
static inline void tt_source_skip(struct tt_source *s, size_t size) { s->at += size; }

/* Takes the next line, without its end (\n or \r\n); it may be written to, and ends with
 * a NUL.  1: there is one; 0: there are no more; less than 0: an error. */
int tt_source_line(struct tt_source *, char **line, size_t *length);
/* Takes all the rest, as one piece that is valid until the source is closed. */
int tt_source_all(struct tt_source *, const char **bytes, size_t *size);
/* The bytes before this place will not be used any more. */
void tt_source_forget(struct tt_source *, const char *before);

/* Note an error and its place: the line that was taken last or, if no line was, the next
 * byte.  The first error stays.  They return it. */
int tt_source_fail(struct tt_source *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int tt_source_fail_at(struct tt_source *, uint64_t byte, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tt_source_no_memory(struct tt_source *);
static inline int tt_source_failed(const struct tt_source *s) { return s->whole->failed; }
void tt_source_forgive(struct tt_source *); /* there was no error */

/* Adds an item to a vector: 0, or -TT_ERR_MEMORY, noted. */
static inline int tt_source_append(struct tt_source *s, struct tt_vector *v,
                                   const void *item)
{
    return tt_vector_push_sized(v, item, v->size) != 0 ? tt_source_no_memory(s) : 0;
}

/* Reads a number of that many bytes, the least first. */
static inline uint64_t tt_number_at(const char *at, int size)
{
    uint64_t n = 0;

    for (int i = 0; i < size; i++)
        n |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return n;
}

/* A clock that counts ticks: its number at a time, which is ns since 1970. */
struct tt_ticks {
    uint64_t began, first, rate; /* rate: ticks a second; 0: unknown */
};
uint64_t tt_ticks_time(const struct tt_ticks *, uint64_t ticks); /* of a known rate */

static inline int tt_is_blank(char c) { return c == ' ' || c == '\t'; }
static inline const char *tt_skip_blanks(const char *at)
{
    while (tt_is_blank(*at))
        at++;
    return at;
}

/* Takes decimal digits: 1; 0: there are none, or the number does not fit 64 bits. */
int tt_take_digits(const char **at, uint64_t *number);
/* The same after blanks. */
static inline int tt_take_number(const char **at, uint64_t *number)
{
    *at = tt_skip_blanks(*at);
    return tt_take_digits(at, number);
}

/* ── A stream of memory ───────────────────────────────────────────────────────────── */

struct tt_bytes {
    struct tt_stream stream;
    const char *bytes;
    size_t size;
};
void tt_bytes_init(struct tt_bytes *, const void *bytes, size_t size);

#endif
