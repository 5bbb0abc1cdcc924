/* SPDX-License-Identifier: MIT */
/* writer.h - the output of a format: a buffer, and a callback that empties it.
 *
 * The first error is kept; after it, nothing more is written. */
#ifndef TT_WRITER_H
#define TT_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TT_WRITER_ROOM = 1 << 16 };

struct tt_writer {
    int (*put)(void *arg, const void *bytes, size_t size); /* 0, or an error */
    void *arg;
    int error;
    uint64_t put_before; /* bytes that have left the buffer */
    size_t count;
    char buffer[TT_WRITER_ROOM];
};

void tt_writer_init(struct tt_writer *, int (*put)(void *, const void *, size_t),
                    void *arg);
int tt_writer_flush(struct tt_writer *); /* the first error of all, or 0 */

void tt_put_bytes(struct tt_writer *, const void *bytes, size_t size);
static inline void tt_put(struct tt_writer *w, const char *text)
{
    tt_put_bytes(w, text, strlen(text));
}
static inline void tt_put_char(struct tt_writer *w, char c)
{
    if (w->count < TT_WRITER_ROOM)
        w->buffer[w->count++] = c;
    else
        tt_put_bytes(w, &c, 1);
}
void tt_put_number(struct tt_writer *, uint64_t);
void tt_putf(struct tt_writer *, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* up to 1000 bytes */
/* Writes a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void tt_put_json(struct tt_writer *, const char *text);

#endif
