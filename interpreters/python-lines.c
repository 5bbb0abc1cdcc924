/* SPDX-License-Identifier: MIT */
/* python-lines.c - the line of an instruction, from the table of its code object.
 *
 *      3.8, 3.9   pairs: bytes to advance, lines to advance
 *      3.10       pairs: bytes of a line, lines to advance before it; -128: no line
 *      3.11 -     a first byte (the kind, how many units of two bytes), then by kind:
 *                 columns, which are skipped, and how many lines to advance
 *
 * The table is read from its beginning up to the instruction, some bytes at a time.
 * async-signal-safe */
#include "python-lines.h"
#include "python-code.h"

enum { SIZE_AT = 16, BYTES_AT = 32, NO_LINE = -128, LARGEST = 1 << 20 };

struct table {
    const struct tt_peek *peek;
    uint64_t at, left; /* bytes that are not read yet */
    char bytes[128];
    uint32_t used, have;
};

static int open_table(struct table *t, const struct tt_peek *peek, uint64_t bytes)
{
    *t = (struct table){.peek = peek, .at = bytes + BYTES_AT};
    return tt_safe_word(peek, bytes + SIZE_AT, &t->left) && t->left < LARGEST;
}

/* -1: there are no more. */
static int next_byte(struct table *t)
{
    if (t->used == t->have) {
        t->used = 0;
        t->have = t->left < sizeof t->bytes ? (uint32_t)t->left : sizeof t->bytes;
        if (!t->have || !tt_safe_read(t->peek, t->at, t->bytes, (t->have + 7) & ~7u)) {
            t->have = 0;
            t->left = 0;
            return -1;
        }
        t->at += t->have;
        t->left -= t->have;
    }
    return (unsigned char)t->bytes[t->used++];
}

static int64_t next_number(struct table *t)
{
    int64_t value = 0;
    int byte = 64;

    for (unsigned shift = 0; byte & 64 && shift < 36; shift += 6) {
        byte = next_byte(t);
        if (byte < 0)
            return 0;
        value |= (int64_t)(byte & 63) << shift;
    }
    return value;
}

static int64_t next_signed(struct table *t)
{
    int64_t value = next_number(t);

    return value & 1 ? -(value >> 1) : value >> 1;
}

/* The next byte as a number with a sign. */
static int next_signed_byte(struct table *t)
{
    const int byte = next_byte(t);

    return byte < 128 ? byte : byte - 256;
}

/* ── The three tables ─────────────────────────────────────────────────────────────── */

static int64_t line_of_pairs(struct table *t, int64_t line, int64_t byte)
{
    int64_t end = 0;
    int bytes;

    while ((bytes = next_byte(t)) >= 0) {
        const int lines = next_signed_byte(t);
        end += bytes;
        if (end > byte)
            break;
        line += lines;
    }
    return line;
}

static int64_t line_of_ranges(struct table *t, int64_t line, int64_t byte)
{
    int64_t end = 0;
    int bytes;

    while ((bytes = next_byte(t)) >= 0) {
        const int lines = next_signed_byte(t);
        line += lines == NO_LINE ? 0 : lines;
        end += bytes;
        if (byte < end)
            return lines == NO_LINE ? 0 : line;
    }
    return 0;
}

static int64_t line_of_entries(struct table *t, int64_t line, int64_t unit)
{
    enum { SHORT = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int64_t end = 0;
    int first;

    while ((first = next_byte(t)) >= 0) {
        int kind = first >> 3 & 15;
        if (kind == NO_COLUMNS || kind == LONG)
            line += next_signed(t);
        else if (kind >= SHORT && kind < NO_COLUMNS)
            line += kind - SHORT;
        for (int i = kind == LONG ? 3 : 0; i > 0; i--)
            (void)next_number(t);
        for (int i = kind < SHORT ? 1 : kind < NO_COLUMNS ? 2 : 0; i > 0; i--)
            (void)next_byte(t);
        end += (first & 7) + 1;
        if (unit < end)
            return kind == NONE ? 0 : line;
    }
    return 0;
}

/* ── All ──────────────────────────────────────────────────────────────────────────── */

static int64_t find_line(const struct tt_python *p, struct table *t, int64_t first,
                         const struct tt_interpreted *f)
{
    enum { UNIT = 2 };
    int64_t at = (int32_t)f->at;

    if (p->layout.version >= 0x30b)
        at = ((int64_t)f->at - (int64_t)(f->code + p->layout.code.bytes)) / UNIT;
    if (at < 0)
        return first;
    if (p->layout.version >= 0x30b)
        return line_of_entries(t, first, at);
    return p->layout.version == 0x30a ? line_of_ranges(t, first, at * UNIT)
                                      : line_of_pairs(t, first, at);
}

uint32_t tt_python_line(const struct tt_interpreter *i, const struct tt_interpreted *f,
                        struct tt_peek *peek)
{
    const struct tt_python *p = (const void *)i;
    char head[TT_PYTHON_HEAD];
    struct table t;
    int64_t line;

    if (!tt_python_head(p, peek, f->code, head) ||
        tt_python_print(p, peek, head) != f->print ||
        !open_table(&t, peek, tt_python_field(head, p->layout.code.table)))
        return 0;
    line = find_line(p, &t, (uint32_t)tt_python_field(head, p->layout.code.line), f);
    return line > 0 && line <= INT32_MAX && tt_python_is_alive(p, peek, f)
               ? (uint32_t)line
               : 0;
}
