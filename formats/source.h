/* SPDX-License-Identifier: MIT */
/* source.h - what a reader reads from: lines or bytes, one after the other.
 *
 *      ─────────┬───────────────┬────────┬─ ─ ─
 *       taken   │ in the buffer │        │  still to come
 *      ─────────┴───────────────┴────────┴─ ─ ─
 *               at              end      room
 *
 * Bytes come from a callback, through any number of stages that unpack them.  The buffer
 * grows only while somebody wants more than it holds, and by what has really come. */
#ifndef TT_SOURCE_H
#define TT_SOURCE_H

#include <stdarg.h>

#include "memory.h"
#include "tallytree.h"

/* Gives up to `size` bytes, 0 at the end, less than 0 for an error whose text it leaves in
 * `error`.  There is room for a character at the least: TT_STREAM_ROOM. */
enum { TT_STREAM_ROOM = 4 };
struct tt_stream {
    int64_t (*read)(void *arg, void *to, size_t size);
    void *arg;
    char error[120];
};

/* How events become contexts, and what only the user knows. */
struct tt_reading {
    const char *recursion, *budget; /* of event traces, as the flags have it; or NULL */
    const char *executable;         /* of formats that do not name functions; or NULL */
    /* What a symbol is called in its program's language, to be freed; NULL: no memory.  NULL
     * itself: symbols stay as they are. */
    char *(*demangle)(const char *symbol);
    const struct tt_walker *walker; /* of formats that copy stacks (walker.h); or NULL */
};

struct tt_source {
    const char *name; /* of the file; borrowed */
    const struct tt_memory *memory;
    const struct tt_reading *reading; /* never NULL */
    /* Opens a file that lies beside this one ("task.txt"), or NULL; to be closed by
     * tt_source_close.  NULL: nothing lies beside. */
    struct tt_source *(*beside)(const struct tt_source *, const char *name);
    void (*close)(struct tt_source *); /* of one that `beside` opened */
    struct tt_stream *stream;          /* borrowed */
    char *buffer;                      /* owned */
    size_t at, end, room;
    size_t forgotten; /* bytes of the buffer */
    uint64_t taken;   /* bytes before buffer[0] */
    uint64_t line;    /* of the line that was taken last, from 1; 0: bytes are */
    int ended;
    char error[4300]; /* "file:line: what", after a failure */
};

void tt_source_init(struct tt_source *, const char *name, struct tt_stream *,
                    const struct tt_memory *);
void tt_source_fini(struct tt_source *);
struct tt_source *tt_source_beside(const struct tt_source *, const char *name);
void tt_source_close(struct tt_source *); /* NULL: nothing */

/* Has at least `size` bytes ready, or all there are; how many are.  Less than 0: an error.
 * They are at tt_source_at until the next call, and there is a NUL behind them. */
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

/* Takes the next line, without its end (\n or \r\n); it may be written to, and ends with a
 * NUL.  1: there it is; 0: there is no more; less than 0: an error. */
int tt_source_line(struct tt_source *, char **line, size_t *length);
/* Takes all the rest, as one piece that stays until the source is closed. */
int tt_source_all(struct tt_source *, const char **bytes, size_t *size);
/* Nobody will look at what is before this place of it. */
void tt_source_forget(struct tt_source *, const char *before);

/* Notes what is wrong, and where: in the line that was taken last, or where no line was,
 * at the byte that is next.  -TT_ERR_FORMAT. */
int tt_source_fail(struct tt_source *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int tt_source_fail_at(struct tt_source *, uint64_t byte, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tt_source_no_memory(struct tt_source *); /* -TT_ERR_MEMORY */

/* A number of so many bytes, the least first. */
static inline uint64_t tt_number_at(const char *at, int size)
{
    uint64_t n = 0;

    for (int i = 0; i < size; i++)
        n |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return n;
}

static inline int tt_is_blank(char c) { return c == ' ' || c == '\t'; }
static inline const char *tt_skip_blanks(const char *at)
{
    while (tt_is_blank(*at))
        at++;
    return at;
}

/* Takes decimal digits: 1; 0: there are none, or they are more than 64 bits hold. */
int tt_take_digits(const char **at, uint64_t *number);
/* The same behind blanks. */
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
