/* SPDX-License-Identifier: MIT */
/* text.c - text that grows. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    if (length < 0)
        return;
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

const char *tt_text_string(struct tt_text *t)
{
    char *end = tt_vector_add(&t->bytes, 1);

    if (!end)
        return "";
    *end = '\0';
    t->bytes.count--;
    return t->bytes.item;
}

size_t tt_text_width(const char *s)
{
    size_t width = 0;

    for (; *s; s++)
        width += ((unsigned char)*s & 0xc0) != 0x80; /* but bytes that continue another */
    return width;
}
