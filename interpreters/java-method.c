/* SPDX-License-Identifier: MIT */
/* java-method.c - methods of Java: names, files and lines, as HotSpot keeps them.
 *
 *      constant part   [head][byte-code][lines, compressed]...
 *      lines           a byte for each: index and line grow; or 255, and both as numbers */
#include "java-method.h"

#include "foreign-text.h"
#include "java-code.h"

enum {
    HAS_LINES = 1, /* flag */
    LINES = 1 << 16,
    NAME = 1000,
};

static uint32_t short_of(const char *bytes, uint32_t at)
{
    uint16_t v;

    memcpy(&v, bytes + at, sizeof v);
    return v;
}

/* The class of the method leads back to the same constants, which no other memory does. */
int tt_java_method(const struct tt_java *j, const struct tt_peek *peek, uint64_t at,
                   struct tt_java_method *m)
{
    const struct tt_java_layout *l = &j->layout;
    char part[TT_JAVA_PART];
    uint64_t pool;

    if (!tt_safe_word(peek, at + l->method.constant, &m->constant) ||
        !tt_safe_read(peek, m->constant, part, l->constant.size & ~7u))
        return 0;
    m->pool = tt_foreign_word(part, l->constant.pool);
    m->size = short_of(part, l->constant.code_size);
    m->name = short_of(part, l->constant.name);
    m->code = m->constant + l->constant.size;
    return tt_safe_word(peek, m->pool + l->pool.holder, &m->type) &&
           tt_safe_word(peek, m->type + l->type.pool, &pool) && pool == m->pool;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

static uint64_t constant_at(const struct tt_java *j, const struct tt_peek *peek,
                            const struct tt_java_method *m, uint32_t index)
{
    uint64_t symbol;

    return index && tt_safe_word(peek, m->pool + j->layout.pool.size + 8 * index, &symbol)
               ? symbol
               : 0;
}

/* A symbol is made again at the same address, with another text: its length, its last bytes
 * and its random number are what can be compared at once.  Mostly all are in its first two
 * words, or its last bytes are elsewhere. */
static uint64_t print_of_symbol(const struct tt_java *j, const struct tt_peek *peek,
                                uint64_t at)
{
    enum { HEAD = 16 };
    const struct tt_java_layout *l = &j->layout;
    const int has_hash = l->symbol.hash != TT_JAVA_ABSENT;
    uint64_t h = tt_foreign_mix(1, at), word = 0;
    uint32_t length, tail;
    char head[HEAD] = {0};

    if (l->symbol.length > HEAD - 2 || (has_hash && l->symbol.hash > HEAD - 4) ||
        (!tt_java_bytes(peek, at, head, HEAD) &&
         !tt_java_bytes(peek, at, head, HEAD / 2)))
        return 0;
    length = short_of(head, l->symbol.length);
    h = tt_foreign_mix(h, length);
    if (has_hash)
        h = tt_foreign_mix(h, short_of(head, l->symbol.hash + 2));
    tail = length < 8 ? length : 8;
    if (l->symbol.body + length <= HEAD)
        memcpy(&word, head + l->symbol.body + length - tail, tail);
    else
        (void)tt_java_bytes(peek, at + l->symbol.body + length - tail, &word, tail);
    return tt_foreign_mix(h, word);
}

uint64_t tt_java_print(const struct tt_java *j, const struct tt_peek *peek,
                       const struct tt_java_method *m)
{
    const uint64_t name = print_of_symbol(j, peek, constant_at(j, peek, m, m->name));
    uint64_t h = tt_foreign_mix(1 + j->base.salt, m->constant), of, class;

    if (!name || !tt_safe_word(peek, m->type + j->layout.type.name, &of))
        return 0;
    class = print_of_symbol(j, peek, of);
    h = tt_foreign_mix(h, m->pool);
    h = tt_foreign_mix(h, (uint64_t)m->size << 16 | m->name);
    h = tt_foreign_mix(tt_foreign_mix(h, name), class);
    return class ? h | 1 : 0;
}

/* Returns the length; 0: it cannot be read, or is empty. */
static size_t text_of(const struct tt_java *j, const struct tt_peek *peek,
                      uint64_t symbol, char out[NAME + 1])
{
    uint64_t length;

    if (!tt_java_number(peek, symbol + j->layout.symbol.length, 2, &length))
        return 0;
    length = length < NAME ? length : NAME;
    if (!tt_java_bytes(peek, symbol + j->layout.symbol.body, out, length))
        return 0;
    out[length] = '\0';
    return strlen(out);
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

/* The classes of lambdas have numbers and addresses, which differ from run to run. */
static void cut_numbers(char *class)
{
    static const char lambda[] = "$$Lambda";
    char *at = strstr(class, lambda);

    if (at)
        at[sizeof lambda - 1] = '\0';
    at = strstr(class, "+0x");
    if (!at)
        at = strstr(class, "/0x");
    if (at)
        *at = '\0';
}

static void put_dots(char *class)
{
    for (; *class; class ++)
        if (*class == '/')
            *class = '.';
}

static int put_name(const struct tt_java *j, const struct tt_peek *peek,
                    const struct tt_java_method *m, char *class, char *out)
{
    char name[NAME + 1];
    char *end = out + TT_INTERPRETED_TEXT, *at;

    if (!text_of(j, peek, constant_at(j, peek, m, m->name), name))
        return 0;
    put_dots(class);
    at = tt_foreign_put(class, out, end - 2);
    *at++ = '.';
    (void)tt_foreign_put(name, at, end);
    return 1;
}

static uint32_t index_of_file(const struct tt_java *j, const struct tt_peek *peek,
                              const struct tt_java_method *m)
{
    const struct tt_java_layout *l = &j->layout;
    const int is_in_pool = l->pool.file != TT_JAVA_ABSENT;
    const uint64_t at = is_in_pool ? m->pool + l->pool.file : m->type + l->type.file;
    uint64_t index;

    return (is_in_pool || l->type.file != TT_JAVA_ABSENT) &&
                   tt_java_number(peek, at, 2, &index)
               ? (uint32_t)index
               : 0;
}

/* "java/util/List.java": the package is that of the class, before the name of the file. */
static void put_file(const struct tt_java *j, const struct tt_peek *peek,
                     const struct tt_java_method *m, const char *class, char *out)
{
    const char *slash = strrchr(class, '/');
    char name[NAME + 1];
    size_t package = slash ? (size_t)(slash - class) + 1 : 0;

    *out = '\0';
    if (!text_of(j, peek, constant_at(j, peek, m, index_of_file(j, peek, m)), name))
        return;
    if (package + sizeof name < TT_INTERPRETED_TEXT) {
        char *at = out;
        char path[TT_INTERPRETED_TEXT];
        memcpy(path, class, package);
        path[package] = '\0';
        at = tt_foreign_put(path, at, out + TT_INTERPRETED_TEXT);
        (void)tt_foreign_put(name, at, out + TT_INTERPRETED_TEXT);
    }
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

int tt_java_compressed(const uint8_t **at, const uint8_t *end, uint32_t base,
                       uint32_t *out)
{
    enum { HIGH = 192, BITS = 6, MOST = 24 };
    uint32_t n = 0;

    for (uint32_t shift = 0; *at < end; shift += BITS) {
        const uint32_t byte = *(*at)++;
        n += (byte - base) << shift;
        if (byte < HIGH || shift == MOST) {
            *out = n;
            return byte >= base;
        }
    }
    return 0;
}

struct lines { /* a window on the table */
    const struct tt_java *j;
    const struct tt_peek *peek;
    uint64_t address, left;
    uint8_t bytes[32];
    const uint8_t *at, *end;
    uint32_t index, line;
};

static int fill(struct lines *t)
{
    enum { LONGEST = 11 };
    const size_t rest = (size_t)(t->end - t->at);
    uint64_t word;

    if (rest >= LONGEST)
        return 1;
    memmove(t->bytes, t->at, rest);
    t->at = t->bytes;
    t->end = t->bytes + rest;
    while (t->left && (size_t)(t->end - t->bytes) + 8 <= sizeof t->bytes) {
        const size_t within = t->address & 7;
        if (!tt_safe_word(t->peek, t->address - within, &word))
            break;
        memcpy(t->bytes + (t->end - t->bytes), (const char *)&word + within, 8 - within);
        t->end += 8 - within;
        t->address += 8 - within;
        t->left--;
    }
    return t->end > t->at;
}

static int32_t signed_of(uint32_t n) { return (int32_t)(n >> 1) ^ -(int32_t)(n & 1); }

/* The next entry; 0: there is none. */
static int next_line(struct lines *t)
{
    enum { ESCAPE = 255 };
    const uint32_t base = t->j->version >= 20;
    uint32_t index, line, byte;

    if (!fill(t) || !(byte = *t->at++))
        return 0;
    if (byte != ESCAPE) {
        t->index += byte >> 3;
        t->line += byte & 7;
        return 1;
    }
    if (!tt_java_compressed(&t->at, t->end, base, &index) ||
        !tt_java_compressed(&t->at, t->end, base, &line))
        return 0;
    t->index += (uint32_t)signed_of(index);
    t->line += (uint32_t)signed_of(line);
    return 1;
}

static int has_lines(const struct tt_java *j, const struct tt_peek *peek,
                     const struct tt_java_method *m)
{
    uint64_t flags;

    return m->size && j->layout.constant.flags != TT_JAVA_ABSENT &&
           tt_java_number(peek, m->constant + j->layout.constant.flags, 2, &flags) &&
           flags & HAS_LINES;
}

/* The line of a byte-code: that of the last entry at or before it.  0: not known. */
static uint32_t line_at(const struct tt_java *j, const struct tt_peek *peek,
                        const struct tt_java_method *m, uint32_t index)
{
    enum { WORDS = 1 << 14 };
    struct lines t = {.j = j, .peek = peek, .address = m->code + m->size, .left = WORDS};
    uint32_t best = 0, line = 0;

    t.at = t.end = t.bytes;
    if (!has_lines(j, peek, m))
        return 0;
    for (int i = 0; i < LINES && next_line(&t); i++)
        if (t.index <= index && (!line || t.index >= best)) {
            best = t.index;
            line = t.line;
        }
    return line < LINES ? line : 0;
}

/* ── For its interpreter ──────────────────────────────────────────────────────────── */

int tt_java_describe(const struct tt_java *j, const struct tt_interpreted *f,
                     const struct tt_peek *peek, struct tt_interpreted_text *out)
{
    struct tt_java_method m;
    char class[NAME + 1];
    uint64_t name;

    if (!tt_java_method(j, peek, f->code, &m) || tt_java_print(j, peek, &m) != f->print ||
        !tt_safe_word(peek, m.type + j->layout.type.name, &name) ||
        !text_of(j, peek, name, class))
        return 0;
    cut_numbers(class);
    put_file(j, peek, &m, class, out->file);
    out->line = line_at(j, peek, &m, 0);
    return put_name(j, peek, &m, class, out->name);
}

uint32_t tt_java_line(const struct tt_java *j, const struct tt_interpreted *f,
                      const struct tt_peek *peek)
{
    struct tt_java_method m;

    return f->at && tt_java_method(j, peek, f->code, &m)
               ? line_at(j, peek, &m, (uint32_t)f->at - 1)
               : 0;
}
