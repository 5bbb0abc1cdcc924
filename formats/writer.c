/* SPDX-License-Identifier: MIT */
/* writer.c - a buffer for text and bytes. */
#include "writer.h"

#include <stdarg.h>
#include <stdio.h>

#include "utf8.h"

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

static void put_escaped(struct tt_writer *w, unsigned char c)
{
    static const char letters[] = "\b\t\n\f\r\"\\";
    const char *known = strchr(letters, c);

    if (known && c)
        tt_put_bytes(w, (const char[]){'\\', "btnfr\"\\"[known - letters]}, 2);
    else
        tt_putf(w, "\\u%04x", c);
}

void tt_put_json(struct tt_writer *w, const char *text)
{
    const unsigned char *c = (const unsigned char *)text, *from = c;

    tt_put_char(w, '"');
    while (*c) {
        uint32_t code;
        size_t size = *c < 0x80 ? 1 : tt_utf8((const char *)c, &code);
        if (size && *c >= 0x20 && *c != '"' && *c != '\\' && *c != 0x7f) {
            c += size;
            continue;
        }
        tt_put_bytes(w, from, (size_t)(c - from));
        if (size)
            put_escaped(w, *c);
        else
            tt_put(w, "\xef\xbf\xbd");
        from = ++c;
    }
    tt_put_bytes(w, from, (size_t)(c - from));
    tt_put_char(w, '"');
}
