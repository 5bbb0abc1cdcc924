/* SPDX-License-Identifier: MIT */
/* writer.c - a buffer for text and bytes. */
#include "writer.h"

#include <stdarg.h>
#include <stdio.h>

#include "json-text.h"

void tt_writer_init(struct tt_writer *w, int (*put)(void *, const void *, size_t),
                    void *arg)
{
    w->put = put;
    w->arg = arg;
    w->error = 0;
    w->put_before = 0;
    w->count = 0;
}

static void hand_on(struct tt_writer *w, const void *bytes, size_t size)
{
    if (!w->error && size)
        w->error = w->put(w->arg, bytes, size);
    w->put_before += size;
}

int tt_writer_flush(struct tt_writer *w)
{
    hand_on(w, w->buffer, w->count);
    w->count = 0;
    return w->error;
}

void tt_put_bytes(struct tt_writer *w, const void *bytes, size_t size)
{
    if (size > TT_WRITER_ROOM - w->count)
        (void)tt_writer_flush(w);
    if (size > TT_WRITER_ROOM) {
        hand_on(w, bytes, size);
        return;
    }
    if (size)
        memcpy(w->buffer + w->count, bytes, size);
    w->count += size;
}

void tt_put_number(struct tt_writer *w, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    tt_put_bytes(w, digits + at, sizeof digits - at);
}

void tt_putf(struct tt_writer *w, const char *format, ...)
{
    char text[1000];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (n > 0)
        tt_put_bytes(w, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* ── JSON ─────────────────────────────────────────────────────────────────────────── */

void tt_put_json(struct tt_writer *w, const char *text)
{
    char escape[TT_JSON_ESCAPE];
    size_t taken;

    tt_put_char(w, '"');
    do {
        tt_put_bytes(w, text, tt_json_text(text, escape, &taken));
        tt_put(w, escape);
        text += taken;
    } while (*text);
    tt_put_char(w, '"');
}
