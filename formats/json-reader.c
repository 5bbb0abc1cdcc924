/* SPDX-License-Identifier: MIT */
/* json-reader.c - JSON as it arrives: RFC 8259, with only one string of it in memory. */
#include "json-reader.h"

#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "hex.h"
#include "utf8.h"

enum { LONGEST = 1 << 28 };
static char nothing[1];

void tt_json_init(struct tt_json *j, struct tt_source *s)
{
    *j = (struct tt_json){.s = s, .text = nothing, .is_first = 1};
    tt_vector_init(&j->bytes, s->memory, 1);
    tt_vector_init(&j->open, s->memory, 1);
}

void tt_json_fini(struct tt_json *j)
{
    tt_vector_fini(&j->bytes);
    tt_vector_fini(&j->open);
}

void tt_json_wrong(struct tt_json *j, const char *what)
{
    j->s->line = 0;
    (void)tt_source_fail(j->s, "%s", what);
}

/* Returns the next character without taking it; 0: the file ends, or is not readable. */
static int peek(struct tt_json *j)
{
    struct tt_source *s = j->s;

    if (s->at == s->end && tt_source_want(s, 1) <= 0)
        return 0;
    return (unsigned char)s->buffer[s->at];
}

static int skip_blanks(struct tt_json *j)
{
    int c;

    while ((c = peek(j)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        j->s->at++;
    return c;
}

/* The next character is not the wanted one; 0: the file ends. */
static void wrong_character(struct tt_json *j, int c, const char *what)
{
    j->is_cut_off |= !c && !tt_json_failed(j);
    tt_json_wrong(j, c ? what : "the file ends before it is complete");
}

/* ── Strings ──────────────────────────────────────────────────────────────────────── */

static void append(struct tt_json *j, const char *bytes, size_t count)
{
    const int is_short = j->bytes.count + count < LONGEST;
    char *to = is_short ? tt_vector_add(&j->bytes, count) : NULL;

    if (to)
        memcpy(to, bytes, count);
    else if (is_short)
        (void)tt_source_no_memory(j->s);
    else
        tt_json_wrong(j, "this string is longer than 256 MiB");
}

static uint32_t read_hex(struct tt_json *j)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++) {
        const int c = peek(j), digit = tt_hex(c);
        if (digit < 0) {
            wrong_character(j, c, "\\u wants four hexadecimal digits");
            return 0;
        }
        code = code << 4 | (uint32_t)digit;
        j->s->at++;
    }
    return code;
}

/* Returns the character of the digits after "\u". */
static uint32_t read_code(struct tt_json *j)
{
    const uint32_t high = read_hex(j);
    uint32_t code;

    if (!tt_utf16_is_half(high))
        return high;
    if (high > 0xdbff || peek(j) != '\\' || tt_source_want(j->s, 2) < 2 ||
        tt_source_at(j->s)[1] != 'u')
        return 0xfffd;
    j->s->at += 2;
    code = tt_utf16_pair(high, read_hex(j));
    return code ? code : 0xfffd;
}

static void read_escape(struct tt_json *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known;
    char bytes[4];
    int c;

    j->s->at++;
    c = peek(j);
    known = c ? strchr(from, c) : NULL;
    if (c && c != 'u' && !known && j->is_lenient) {
        append(j, "\\", 1);
        return;
    }
    j->s->at += c != 0;
    if (c == 'u')
        append(j, bytes, tt_utf8_put(bytes, read_code(j)));
    else if (known)
        append(j, &to[known - from], 1);
    else
        wrong_character(j, c, "this escape is not known");
}

static void finish_text(struct tt_json *j)
{
    append(j, "", 1);
    j->text = tt_json_failed(j) ? nothing : j->bytes.item;
    j->length = tt_json_failed(j) ? 0 : j->bytes.count - 1;
}

/* The rest of a string, from its first quote on. */
static void read_string(struct tt_json *j)
{
    struct tt_source *s = j->s;

    j->bytes.count = 0;
    s->at++;
    while (peek(j) != '"' && !tt_json_failed(j)) {
        const char *from = s->buffer + s->at;
        size_t have = s->end - s->at, n = 0;
        while (n < have && from[n] != '"' && from[n] != '\\')
            n++;
        if (n)
            append(j, from, n);
        else if (have)
            read_escape(j);
        else
            wrong_character(j, 0, NULL);
        s->at += n;
    }
    s->at += !tt_json_failed(j);
    finish_text(j);
}

/* A number, or a word. */
static void read_word(struct tt_json *j)
{
    int c;

    j->bytes.count = 0;
    while (((c = peek(j)) == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9') ||
            ((c | 32) >= 'a' && (c | 32) <= 'z')) &&
           !tt_json_failed(j)) {
        char byte = (char)c;
        if (j->bytes.count < 400)
            append(j, &byte, 1);
        else
            tt_json_wrong(j, "this is too long for a number");
        j->s->at++;
    }
    finish_text(j);
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

static enum tt_json_kind open_level(struct tt_json *j, char kind)
{
    if (tt_source_append(j->s, &j->open, &kind) != 0)
        return TT_JSON_NONE;
    j->is_first = 1;
    j->s->at++;
    return kind == '{' ? TT_JSON_OBJECT : TT_JSON_ARRAY;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static enum tt_json_kind kind_of_word(struct tt_json *j)
{
    int64_t n;

    if (is_digit(j->text[j->text[0] == '-']) || tt_decimal(j->text, 0, &n))
        return TT_JSON_NUMBER;
    if (tt_json_is(j, "true"))
        return TT_JSON_TRUE;
    if (tt_json_is(j, "false"))
        return TT_JSON_FALSE;
    if (tt_json_is(j, "null"))
        return TT_JSON_NULL;
    tt_json_wrong(j, "a value begins with none of { [ \" - or a digit");
    return TT_JSON_NONE;
}

enum tt_json_kind tt_json_value(struct tt_json *j)
{
    const int c = tt_json_failed(j) ? 0 : skip_blanks(j);

    if (c == '{' || c == '[')
        return open_level(j, (char)c);
    if (!c && j->s->at < j->s->end)
        tt_json_wrong(j, "a NUL");
    else if (!c)
        wrong_character(j, 0, NULL);
    else if (c == '"')
        read_string(j);
    else
        read_word(j);
    j->is_first = 0;
    if (tt_json_failed(j))
        return TT_JSON_NONE;
    return c == '"' ? TT_JSON_STRING : kind_of_word(j);
}

/* Is the next value, which is taken, of this kind?  Other kinds are an error. */
static int is_kind(struct tt_json *j, enum tt_json_kind kind, const char *what)
{
    const int is_it = tt_json_value(j) == kind;

    if (!is_it)
        tt_json_wrong(j, what);
    return is_it;
}

int tt_json_object(struct tt_json *j)
{
    return is_kind(j, TT_JSON_OBJECT, "an object was wanted before this");
}

int tt_json_array(struct tt_json *j)
{
    return is_kind(j, TT_JSON_ARRAY, "an array was wanted before this");
}

/* Takes what is before the next key or item: 1; 0: the level has ended, and is closed. */
static int next(struct tt_json *j, char end)
{
    const int c = tt_json_failed(j) ? 0 : skip_blanks(j);

    TT_ASSERT(tt_json_failed(j) || j->open.count);
    if (c == end) {
        j->s->at++;
        j->open.count--;
        j->is_first = 0;
        return 0;
    }
    if (c && (c == ',' || j->is_first)) {
        j->s->at += !j->is_first;
        j->is_first = 0;
        return 1;
    }
    wrong_character(j, c, "a comma, or the end of what is open, was wanted here");
    return 0;
}

static int is_next(struct tt_json *j, int wanted, const char *what)
{
    const int c = tt_json_failed(j) ? 0 : skip_blanks(j);

    if (c != wanted)
        wrong_character(j, c, what);
    return c == wanted;
}

int tt_json_key(struct tt_json *j)
{
    if (!next(j, '}') || !is_next(j, '"', "a key was wanted here"))
        return 0;
    read_string(j);
    if (!is_next(j, ':', "a colon was wanted here"))
        return 0;
    j->s->at++;
    return 1;
}

int tt_json_item(struct tt_json *j)
{
    int c;

    if (!next(j, ']'))
        return 0;
    c = skip_blanks(j);
    /* Some writers put a comma after the last item. */
    if (c == ']')
        return next(j, ']');
    if (!c)
        wrong_character(j, c, NULL);
    return c != 0;
}

/* Skips values until `levels` levels are open. */
static void leave(struct tt_json *j, size_t levels)
{
    while (!tt_json_failed(j) && j->open.count > levels) {
        int is_object = ((const char *)j->open.item)[j->open.count - 1] == '{';
        if (is_object ? tt_json_key(j) : tt_json_item(j))
            (void)tt_json_value(j);
    }
}

void tt_json_skip(struct tt_json *j)
{
    const size_t levels = j->open.count;

    (void)tt_json_value(j);
    leave(j, levels);
}

uint64_t tt_json_place(struct tt_json *j)
{
    const uint64_t at = tt_source_offset(j->s);

    tt_json_skip(j);
    return at;
}

void tt_json_close(struct tt_json *j) { leave(j, j->open.count - 1); }

int tt_json_open_if(struct tt_json *j, enum tt_json_kind wanted)
{
    const enum tt_json_kind kind = tt_json_value(j);

    if (kind != wanted && (kind == TT_JSON_OBJECT || kind == TT_JSON_ARRAY))
        tt_json_close(j);
    return kind == wanted;
}

void tt_json_end(struct tt_json *j)
{
    if (tt_json_failed(j))
        return;
    (void)skip_blanks(j);
    if (j->s->at < j->s->end)
        tt_json_wrong(j, "something follows the end");
}

/* ── Numbers and texts ────────────────────────────────────────────────────────────── */

/* Reads the digits, and the position of the decimal point among them. */
int tt_decimal(const char *text, int shift, int64_t *out)
{
    const char *c = text;
    int negative = *c == '-', digits = 0, point = -1, round = 0, dropped = 0;
    uint64_t n = 0;
    long power = 0;

    c += negative;
    for (; (*c >= '0' && *c <= '9') || (*c == '.' && point < 0); c++) {
        if (*c == '.') {
            point = digits;
            continue;
        }
        digits++;
        if (n <= (UINT64_MAX - 9) / 10 && !dropped)
            n = n * 10 + (uint64_t)(*c - '0');
        else if (!dropped++)
            round = *c >= '5';
        else
            dropped++;
    }
    if (!digits)
        return 0;
    if ((*c | 32) == 'e') {
        char *end;
        power = strtol(c + 1, &end, 10);
        if (end == c + 1 || power > 400 || power < -400)
            return 0;
        c = end;
    }
    if (*c)
        return 0;
    power += shift + dropped - (point < 0 ? 0 : digits - point);
    for (; power > 0 && n; power--)
        if (__builtin_mul_overflow(n, 10, &n))
            return 0;
    if (power < 0 && dropped)
        round = 0;
    for (; power < 0 && (n || round); power++) {
        round = n % 10 >= 5;
        n /= 10;
    }
    n += (uint64_t)round;
    if (n > INT64_MAX)
        return 0;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return 1;
}

int tt_json_string(struct tt_json *j)
{
    return is_kind(j, TT_JSON_STRING, "a string was wanted before this");
}

enum tt_json_kind tt_json_plain(struct tt_json *j)
{
    const enum tt_json_kind kind = tt_json_value(j);

    if (kind != TT_JSON_OBJECT && kind != TT_JSON_ARRAY)
        return kind;
    tt_json_close(j);
    return TT_JSON_NONE;
}

static void copy_text(struct tt_json *j, char **text)
{
    char *copy = tt_memory_text(j->s->memory, j->text, strlen(j->text));

    if (!copy)
        (void)tt_source_no_memory(j->s);
    tt_memory_put(j->s->memory, *text);
    *text = copy;
}

void tt_json_copy(struct tt_json *j, char **text)
{
    if (tt_json_string(j))
        copy_text(j, text);
}

void tt_json_copy_if(struct tt_json *j, char **text)
{
    if (tt_json_plain(j) == TT_JSON_STRING)
        copy_text(j, text);
}

int64_t tt_json_scaled(struct tt_json *j, int shift)
{
    int64_t n = 0;

    if (is_kind(j, TT_JSON_NUMBER, "a number was wanted before this") &&
        !tt_decimal(j->text, shift, &n))
        tt_json_wrong(j, "this number is too large");
    return n;
}

static uint64_t whole(struct tt_json *j, enum tt_json_kind kind)
{
    int64_t n = 0;

    if (kind == TT_JSON_NUMBER && tt_decimal(j->text, 0, &n) && n >= 0)
        return (uint64_t)n;
    tt_json_wrong(j, "a whole number was wanted before this");
    return 0;
}

uint64_t tt_json_whole(struct tt_json *j) { return whole(j, tt_json_value(j)); }

uint64_t tt_json_whole_or(struct tt_json *j, uint64_t null)
{
    const enum tt_json_kind kind = tt_json_value(j);

    return kind == TT_JSON_NULL ? null : whole(j, kind);
}

/* ── Parts ────────────────────────────────────────────────────────────────────────── */

void tt_json_part_open(struct tt_json_part *p, struct tt_source *s, const char *text,
                       size_t size, uint64_t at)
{
    tt_bytes_init(&p->bytes, text + at, size - (size_t)at);
    tt_source_init(&p->source, s->name, &p->bytes.stream, s->memory);
    p->source.memory = s->memory; /* what is read is the whole's */
    p->source.taken = at;
    p->source.whole = s->whole;
    tt_json_init(&p->json, &p->source);
}

void tt_json_part_close(struct tt_json_part *p)
{
    tt_json_fini(&p->json);
    tt_source_fini(&p->source);
}
