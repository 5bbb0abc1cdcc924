/* SPDX-License-Identifier: MIT */
/* json-reader.c - JSON as it arrives: RFC 8259, with only one string of it in memory. */
#include "json-reader.h"

#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "utf8.h"

enum { LONGEST = 1 << 28 };

void tt_json_init(struct tt_json *j, struct tt_source *s)
{
    *j = (struct tt_json){.s = s, .is_first = 1};
    tt_vector_init(&j->bytes, s->memory, 1);
    tt_vector_init(&j->open, s->memory, 1);
}

void tt_json_fini(struct tt_json *j)
{
    tt_vector_fini(&j->bytes);
    tt_vector_fini(&j->open);
}

int tt_json_wrong(struct tt_json *j, const char *what)
{
    j->s->line = 0;
    return tt_source_fail(j->s, "%s", what);
}

/* Returns the next character without taking it; 0: the file ends. */
static int peek(struct tt_json *j)
{
    struct tt_source *s = j->s;

    if (s->at == s->end) {
        int64_t have = tt_source_want(s, 1);
        if (have <= 0)
            return (int)have;
    }
    return (unsigned char)s->buffer[s->at];
}

static int skip_blanks(struct tt_json *j)
{
    int c;

    while ((c = peek(j)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        j->s->at++;
    return c;
}

static int cut_off(struct tt_json *j)
{
    j->is_cut_off = 1;
    return tt_json_wrong(j, "the file ends before it is complete");
}

/* ── Strings ──────────────────────────────────────────────────────────────────────── */

static int append(struct tt_json *j, const char *bytes, size_t count)
{
    char *to = j->bytes.count + count < LONGEST ? tt_vector_add(&j->bytes, count) : NULL;

    if (count && !to)
        return j->bytes.count + count < LONGEST
                   ? tt_source_no_memory(j->s)
                   : tt_json_wrong(j, "this string is longer than 256 MiB");
    if (count)
        memcpy(to, bytes, count);
    return 0;
}

static int read_hex(struct tt_json *j, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const int c = peek(j), digit = tt_hex(c);
        if (c < 0)
            return c;
        if (digit < 0)
            return c ? tt_json_wrong(j, "\\u wants four hexadecimal digits") : cut_off(j);
        *code = *code << 4 | (uint32_t)digit;
        j->s->at++;
    }
    return 0;
}

static int append_character(struct tt_json *j, uint32_t c)
{
    char bytes[4];

    return append(j, bytes, tt_utf8_put(bytes, c));
}

/* Reads the digits after "\u". */
static int read_code(struct tt_json *j)
{
    uint32_t high, low;
    int error = read_hex(j, &high);

    if (error)
        return error;
    if (high < 0xd800 || high > 0xdfff)
        return append_character(j, high);
    if (high > 0xdbff || peek(j) != '\\' || tt_source_want(j->s, 2) < 2 ||
        tt_source_at(j->s)[1] != 'u')
        return append_character(j, 0xfffd);
    j->s->at += 2;
    error = read_hex(j, &low);
    if (error)
        return error;
    if (low < 0xdc00 || low > 0xdfff)
        return append_character(j, 0xfffd);
    return append_character(j, 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00)));
}

static int read_escape(struct tt_json *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c;
    const char *known;

    j->s->at++;
    c = peek(j);
    if (c <= 0)
        return c ? c : cut_off(j);
    j->s->at++;
    if (c == 'u')
        return read_code(j);
    known = strchr(from, c);
    if (!known && j->is_lenient) {
        j->s->at--;
        return append(j, "\\", 1);
    }
    return known ? append(j, &to[known - from], 1)
                 : tt_json_wrong(j, "this escape is not known");
}

static int finish_text(struct tt_json *j)
{
    int error = append(j, "", 1);

    j->length = j->bytes.count - !error;
    j->text = j->bytes.item;
    return error;
}

/* The rest of a string, from its first quote on. */
static int read_string(struct tt_json *j)
{
    struct tt_source *s = j->s;
    int error = 0, c;

    j->bytes.count = 0;
    s->at++;
    while (!error && (c = peek(j)) != '"') {
        const char *from = s->buffer + s->at;
        size_t have = s->end - s->at, n = 0;
        if (c <= 0 && s->at == s->end)
            return c ? c : cut_off(j);
        while (n < have && from[n] != '"' && from[n] != '\\')
            n++;
        error = n ? append(j, from, n) : read_escape(j);
        s->at += n;
    }
    s->at += !error;
    return error ? error : finish_text(j);
}

/* A number, or a word. */
static int read_word(struct tt_json *j)
{
    int error = 0, c;

    j->bytes.count = 0;
    while (!error && ((c = peek(j)) == '-' || c == '+' || c == '.' ||
                      (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))) {
        char byte = (char)c;
        error = j->bytes.count < 400 ? append(j, &byte, 1)
                                     : tt_json_wrong(j, "this is too long for a number");
        j->s->at++;
    }
    return error ? error : finish_text(j);
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

static int open_level(struct tt_json *j, char kind)
{
    char *open = tt_vector_add(&j->open, 1);

    if (!open)
        return tt_source_no_memory(j->s);
    *open = kind;
    j->is_first = 1;
    j->s->at++;
    return kind == '{' ? TT_JSON_OBJECT : TT_JSON_ARRAY;
}

static int kind_of_word(struct tt_json *j)
{
    int64_t n;

    if (tt_json_is(j, "true"))
        return TT_JSON_TRUE;
    if (tt_json_is(j, "false"))
        return TT_JSON_FALSE;
    if (tt_json_is(j, "null"))
        return TT_JSON_NULL;
    if (tt_decimal(j->text, 0, &n) || (j->text[0] >= '0' && j->text[0] <= '9') ||
        (j->text[0] == '-' && j->text[1] >= '0' && j->text[1] <= '9'))
        return TT_JSON_NUMBER;
    return tt_json_wrong(j, "a value begins with none of { [ \" - or a digit");
}

int tt_json_value(struct tt_json *j)
{
    int c = skip_blanks(j), error;

    if (c <= 0)
        return c ? c : j->s->at == j->s->end ? cut_off(j) : tt_json_wrong(j, "a NUL");
    if (c == '{' || c == '[')
        return open_level(j, (char)c);
    error = c == '"' ? read_string(j) : read_word(j);
    j->is_first = 0;
    if (error)
        return error;
    return c == '"' ? TT_JSON_STRING : kind_of_word(j);
}

int tt_json_object(struct tt_json *j)
{
    int kind = tt_json_value(j);

    if (kind < 0 || kind == TT_JSON_OBJECT)
        return kind < 0 ? kind : 1;
    return tt_json_wrong(j, "an object was wanted before this");
}

int tt_json_array(struct tt_json *j)
{
    int kind = tt_json_value(j);

    if (kind < 0 || kind == TT_JSON_ARRAY)
        return kind < 0 ? kind : 1;
    return tt_json_wrong(j, "an array was wanted before this");
}

/* Takes what is before the next key or item: 1; 0: the level has ended, and is closed. */
static int next(struct tt_json *j, char end)
{
    int c = skip_blanks(j);

    if (c < 0)
        return c;
    if (c == end) {
        j->s->at++;
        j->open.count--;
        j->is_first = 0;
        return 0;
    }
    if (j->is_first) {
        j->is_first = 0;
        return c ? 1 : cut_off(j);
    }
    if (c != ',')
        return c ? tt_json_wrong(j,
                                 "a comma, or the end of what is open, was wanted here")
                 : cut_off(j);
    j->s->at++;
    return 1;
}

int tt_json_key(struct tt_json *j)
{
    int result = next(j, '}'), c;

    if (result <= 0)
        return result;
    c = skip_blanks(j);
    if (c != '"')
        return c < 0 ? c : c ? tt_json_wrong(j, "a key was wanted here") : cut_off(j);
    result = read_string(j);
    if (result)
        return result;
    c = skip_blanks(j);
    if (c != ':')
        return c < 0 ? c : c ? tt_json_wrong(j, "a colon was wanted here") : cut_off(j);
    j->s->at++;
    return 1;
}

int tt_json_item(struct tt_json *j)
{
    int result = next(j, ']');

    if (result <= 0)
        return result;
    result = skip_blanks(j);
    /* Some writers put a comma after the last item. */
    if (result == ']')
        return next(j, ']');
    return result > 0 ? 1 : result < 0 ? result : cut_off(j);
}

/* Skips values until `levels` levels are open. */
static int leave(struct tt_json *j, size_t levels)
{
    while (j->open.count > levels) {
        int is_object = ((const char *)j->open.item)[j->open.count - 1] == '{';
        int result = is_object ? tt_json_key(j) : tt_json_item(j);
        if (result > 0)
            result = tt_json_value(j);
        if (result < 0)
            return result;
    }
    return 1;
}

int tt_json_skip(struct tt_json *j)
{
    size_t levels = j->open.count;
    int kind = tt_json_value(j);

    return kind < 0 ? kind : leave(j, levels);
}

int tt_json_place(struct tt_json *j, uint64_t *at)
{
    *at = tt_source_offset(j->s);
    return tt_json_skip(j);
}

int tt_json_close(struct tt_json *j) { return leave(j, j->open.count - 1); }

int tt_json_end(struct tt_json *j)
{
    int c = skip_blanks(j);

    if (c < 0)
        return c;
    return j->s->at == j->s->end ? 0 : tt_json_wrong(j, "something follows the end");
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
    int kind = tt_json_value(j);

    if (kind < 0 || kind == TT_JSON_STRING)
        return kind < 0 ? kind : 1;
    return tt_json_wrong(j, "a string was wanted before this");
}

static int copy_text(struct tt_json *j, char **text)
{
    char *copy = tt_memory_text(j->s->memory, j->text, strlen(j->text));

    if (!copy)
        return tt_source_no_memory(j->s);
    tt_memory_put(j->s->memory, *text);
    *text = copy;
    return 1;
}

int tt_json_copy(struct tt_json *j, char **text)
{
    int result = tt_json_string(j);

    return result < 0 ? result : copy_text(j, text);
}

int tt_json_copy_if(struct tt_json *j, char **text)
{
    int kind = tt_json_value(j);

    if (kind == TT_JSON_OBJECT || kind == TT_JSON_ARRAY)
        return tt_json_close(j);
    return kind == TT_JSON_STRING ? copy_text(j, text) : kind;
}

int tt_json_scaled(struct tt_json *j, int shift, int64_t *out)
{
    int kind = tt_json_value(j);

    if (kind < 0)
        return kind;
    if (kind != TT_JSON_NUMBER)
        return tt_json_wrong(j, "a number was wanted before this");
    return tt_decimal(j->text, shift, out) ? 1
                                           : tt_json_wrong(j, "this number is too large");
}

int tt_json_whole(struct tt_json *j, uint64_t *out, int *is_null)
{
    int kind = tt_json_value(j);
    int64_t n;

    *out = 0;
    if (kind < 0)
        return kind;
    if (is_null)
        *is_null = kind == TT_JSON_NULL;
    if (is_null && kind == TT_JSON_NULL)
        return 1;
    if (kind != TT_JSON_NUMBER || !tt_decimal(j->text, 0, &n) || n < 0)
        return tt_json_wrong(j, "a whole number was wanted before this");
    *out = (uint64_t)n;
    return 1;
}

/* ── Parts ────────────────────────────────────────────────────────────────────────── */

void tt_json_part_open(struct tt_json_part *p, const struct tt_source *s,
                       const char *text, size_t size, uint64_t at)
{
    tt_bytes_init(&p->bytes, text + at, size - (size_t)at);
    tt_source_init(&p->source, s->name, &p->bytes.stream, s->memory);
    p->source.memory = s->memory; /* what is read is the whole's */
    p->source.taken = at;
    tt_json_init(&p->json, &p->source);
}

int tt_json_part_close(struct tt_json_part *p, struct tt_source *s, int error)
{
    if (error < 0 && p->source.error[0])
        memcpy(s->error, p->source.error, sizeof s->error);
    tt_json_fini(&p->json);
    tt_source_fini(&p->source);
    return error < 0 ? error : 0;
}
