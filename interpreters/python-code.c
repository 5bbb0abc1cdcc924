/* SPDX-License-Identifier: MIT */
/* python-code.c - reads a code object of CPython: its name, its file, its first line.
 *
 * The address of a deleted code object may be reused for another one.  They are
 * distinguished by a print of the head: the addresses of its texts and its table, the
 * line, from 3.12 on a unique number, and before that the hash that is stored with the
 * name. async-signal-safe */
#include "python-code.h"
#include "utf8.h"

enum {
    OBJECT_TYPE = 8,
    TEXT_HASH = 24,
    TEXT_LENGTH = 16,
    TEXT_STATE = 32,
    TEXT_HEAD = 40
};

int tt_python_head(const struct tt_python *p, const struct tt_peek *peek, uint64_t code,
                   char head[TT_PYTHON_HEAD])
{
    return tt_safe_read(peek, code, head, TT_PYTHON_HEAD) &&
           tt_python_field(head, OBJECT_TYPE) == p->code_type;
}

static uint64_t mix(uint64_t h, uint64_t n) { return (h ^ n) * 0x9e3779b97f4a7c15u; }

uint64_t tt_python_print(const struct tt_python *p, const struct tt_peek *peek,
                         const char head[TT_PYTHON_HEAD])
{
    const struct tt_python_layout *l = &p->layout;
    uint64_t h = mix(1 + p->base.salt, tt_python_field(head, l->code.file)), hash = 0;

    h = mix(h, tt_python_field(head, l->code.name));
    h = mix(h, tt_python_field(head, l->code.table));
    h = mix(h, (uint32_t)tt_python_field(head, l->code.line));
    if (l->code.version)
        return mix(h, (uint32_t)tt_python_field(head, l->code.version));
    (void)tt_safe_word(peek, tt_python_field(head, l->code.name) + TEXT_HASH, &hash);
    return mix(h, hash);
}

/* From outside, a code object may be deleted before its texts are read, which are then
 * arbitrary.  Python keeps the address of other free memory where the count of references
 * was: that has more than 32 bits. */
int tt_python_is_alive(const struct tt_python *p, const struct tt_peek *peek,
                       const struct tt_interpreted *f)
{
    enum { MORE_THAN_A_COUNT = 0xffff };
    char head[TT_PYTHON_HEAD];
    uint64_t count;

    if (!peek->elsewhere)
        return 1;
    if (!tt_python_head(p, peek, f->code, head) ||
        tt_python_print(p, peek, head) != f->print)
        return 0;
    count = tt_python_field(head, 0);
    return (uint32_t)count && !(count >> 32 & MORE_THAN_A_COUNT);
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

static uint32_t character(const char *bytes, uint32_t kind, uint32_t i)
{
    uint16_t two;
    uint32_t four;

    if (kind == 1)
        return (unsigned char)bytes[i];
    if (kind == 2) {
        memcpy(&two, bytes + 2 * i, 2);
        return two;
    }
    memcpy(&four, bytes + 4 * i, 4);
    return four;
}

/* Shows characters that cannot be in a name as '?'. */
static uint32_t printable(uint32_t c)
{
    return c < ' ' || c == 0x7f || c > 0x10ffff || tt_utf16_is_half(c) ? '?' : c;
}

/* A str whose characters follow its head, as all names do. */
static int read_text(const struct tt_python *p, const struct tt_peek *peek, uint64_t str,
                     char out[TT_INTERPRETED_TEXT])
{
    enum { BYTES = 1024, LONGEST = 4 };
    char head[TEXT_HEAD], bytes[BYTES], *at = out;
    uint32_t state, kind;
    uint64_t length, start;

    if (!tt_safe_read(peek, str, head, sizeof head))
        return 0;
    state = (uint32_t)tt_python_field(head, TEXT_STATE);
    kind = state >> 2 & 7;
    if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    start = str + (state >> 6 & 1 ? p->layout.text.ascii : p->layout.text.compact);
    length = tt_python_field(head, TEXT_LENGTH);
    if (length > BYTES / kind)
        length = BYTES / kind;
    if (!tt_safe_read(peek, start, bytes, (length * kind + 7) & ~(uint64_t)7))
        return 0;
    for (uint32_t i = 0; i < length && at + LONGEST < out + TT_INTERPRETED_TEXT; i++)
        at += tt_utf8_put(at, printable(character(bytes, kind, i)));
    *at = '\0';
    return 1;
}

int tt_python_describe(const struct tt_interpreter *i, const struct tt_interpreted *f,
                       struct tt_peek *peek, struct tt_interpreted_text *out)
{
    const struct tt_python *p = (const void *)i;
    const struct tt_python_layout *l = &p->layout;
    uint32_t name = l->code.qualname ? l->code.qualname : l->code.name;
    char head[TT_PYTHON_HEAD];

    if (!tt_python_head(p, peek, f->code, head) ||
        tt_python_print(p, peek, head) != f->print)
        return 0;
    out->line = (uint32_t)tt_python_field(head, l->code.line);
    return read_text(p, peek, tt_python_field(head, name), out->name) &&
           read_text(p, peek, tt_python_field(head, l->code.file), out->file) &&
           tt_python_is_alive(p, peek, f);
}
