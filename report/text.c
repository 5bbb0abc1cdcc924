/* SPDX-License-Identifier: MIT */
/* text.c - text that grows. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

void tt_text_init(struct tt_text *t, const struct tt_memory *m)
{
    *t = (struct tt_text){0};
    tt_vector_init(&t->bytes, m, 1);
}

void tt_text_fini(struct tt_text *t) { tt_vector_fini(&t->bytes); }

void tt_text_bytes(struct tt_text *t, const char *bytes, size_t count)
{
    char *to = count && !t->failed ? tt_vector_add(&t->bytes, count) : NULL;

    if (to)
        memcpy(to, bytes, count);
    else if (count)
        t->failed = 1;
}

void tt_text_put(struct tt_text *t, const char *s) { tt_text_bytes(t, s, strlen(s)); }

void tt_text_repeat(struct tt_text *t, char c, size_t count)
{
    char *to = count && !t->failed ? tt_vector_add(&t->bytes, count) : NULL;

    if (to)
        memset(to, c, count);
    else if (count)
        t->failed = 1;
}

void tt_text_printf(struct tt_text *t, const char *format, ...)
{
    char fits[256], *to;
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(fits, sizeof fits, format, list);
    va_end(list);
    if (length < 0) {
        t->failed = 1;
        return;
    }
    if ((size_t)length < sizeof fits) {
        tt_text_bytes(t, fits, (size_t)length);
        return;
    }
    to = t->failed ? NULL : tt_vector_add(&t->bytes, (size_t)length + 1);
    if (!to) {
        t->failed = 1;
        return;
    }
    va_start(list, format);
    (void)vsnprintf(to, (size_t)length + 1, format, list);
    va_end(list);
    t->bytes.count--; /* the NUL */
}

void tt_text_real(struct tt_text *t, double x)
{
    static const char ours[] = "0123456789+-e";
    char text[64], *s = text;
    size_t length;

    (void)snprintf(text, sizeof text, "%.15g", x);
    for (; *s; s += length) { /* whatever else there is, is the locale's point */
        length = strspn(s, ours);
        tt_text_bytes(t, s, length);
        s += length;
        length = strcspn(s, ours);
        tt_text_repeat(t, '.', length != 0);
    }
}

const char *tt_text_string(struct tt_text *t)
{
    char *end = tt_vector_add(&t->bytes, 1);

    if (!end) {
        t->failed = 1;
        return "";
    }
    *end = '\0';
    t->bytes.count--;
    return t->bytes.item;
}

/* ── Characters ───────────────────────────────────────────────────────────────────── */

struct range {
    uint32_t first, last;
};

/* Unicode's East Asian Width W and F, in few ranges. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
    {0x20000, 0x3fffd},
};

/* Marks that combine with the character before them. */
static const struct range marks[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* Control characters: C0, DEL and C1, and those that change the direction of writing. */
static const struct range controls[] = {
    {0x00, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
};

static int is_in(const struct range *r, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= r[i].first && code <= r[i].last)
            return 1;
    return 0;
}

#define IS_IN(ranges, code) is_in(ranges, sizeof(ranges) / sizeof *(ranges), code)

struct tt_character tt_text_character(const char *s)
{
    struct tt_character c = {.width = 1};

    c.bytes = tt_utf8(s, &c.code);
    if (!c.bytes) {
        c.bytes = 1;
        c.code = 0xfffd;
    } else if (c.code >= marks[0].first) {
        c.width = IS_IN(marks, c.code) ? 0 : 1 + (uint32_t)IS_IN(wide, c.code);
    }
    return c;
}

size_t tt_text_length(const char *s)
{
    size_t length = 0;

    for (; *s; length++)
        s += tt_text_character(s).bytes;
    return length;
}

size_t tt_text_width(const char *s)
{
    size_t width = 0;

    while (*s) {
        struct tt_character c = tt_text_character(s);
        width += c.width;
        s += c.bytes;
    }
    return width;
}

size_t tt_text_plain(const char *s, char out[TT_TEXT_PLAIN + 1])
{
    const struct tt_character c = tt_text_character(s);

    if (*s == '\n' || *s == '\t')
        memcpy(out, *s == '\n' ? "\\n" : "\\t", 3);
    else if (c.bytes == 1 && (c.code == 0xfffd || IS_IN(controls, c.code)))
        (void)snprintf(out, TT_TEXT_PLAIN + 1, "\\x%02x", (unsigned char)*s);
    else if (IS_IN(controls, c.code))
        (void)snprintf(out, TT_TEXT_PLAIN + 1, "\\u%04x", (unsigned)c.code);
    else
        *(char *)mempcpy(out, s, c.bytes) = '\0';
    return c.bytes;
}

/* The replacement of a character takes one column, as the character does. */
static void show_character(struct tt_text *t, const char *s, const struct tt_character *c)
{
    if (c->code == '\t' || c->code == '\n' || c->code == '\r')
        tt_text_bytes(t, " ", 1);
    else if (c->code == 0xfffd || IS_IN(controls, c->code))
        tt_text_put(t, "\xef\xbf\xbd");
    else
        tt_text_bytes(t, s, c->bytes);
}

size_t tt_text_show(struct tt_text *t, const char *s, size_t room)
{
    const size_t width = tt_text_width(s), head = room ? (room - 1) / 2 : 0,
                 tail = room ? room - 1 - head : 0;
    size_t shown = 0;
    int is_cut = 0;

    for (size_t at = 0; *s && room;) {
        struct tt_character c = tt_text_character(s);
        int fits = width <= room || (!is_cut && at + c.width <= head) ||
                   (is_cut && width - at <= tail);
        if (fits)
            show_character(t, s, &c);
        else if (!is_cut)
            tt_text_put(t, "…");
        shown += fits ? c.width : (size_t)!is_cut;
        is_cut |= !fits;
        at += c.width;
        s += c.bytes;
    }
    return shown;
}

/* Writes a word, and returns what follows it. */
static const char *show_word(struct tt_text *t, const char *s, size_t length)
{
    const char *end = s + length;

    while (s < end) {
        struct tt_character c = tt_text_character(s);
        show_character(t, s, &c);
        s += c.bytes;
    }
    return s;
}

static size_t word_width(const char *s, size_t length)
{
    const char *end = s + length;
    size_t width = 0;

    while (s < end) {
        struct tt_character c = tt_text_character(s);
        width += c.width;
        s += c.bytes;
    }
    return width;
}

void tt_text_wrap(struct tt_text *t, const char *s, size_t width)
{
    size_t column = 0;

    while (*s) {
        const size_t blanks = strspn(s, " "), length = strcspn(s + blanks, " "),
                     columns = word_width(s + blanks, length);
        const int breaks = width && column && column + blanks + columns > width;

        if (breaks)
            tt_text_put(t, "\n");
        else
            tt_text_repeat(t, ' ', blanks);
        column = breaks ? columns : column + blanks + columns;
        s = show_word(t, s + blanks, length);
    }
    tt_text_put(t, "\n");
}
