/* SPDX-License-Identifier: MIT */
/* ruby-marshal.c - from Ruby's marshal to JSON.
 *
 *      4 8  { 2  : 5 "mode"  I : 4 "wall" …      a letter, and what belongs to it
 *
 * Symbols and objects are written once; after that, a number refers to them.  An object
 * that is referred to is read again at its first place.  Lists and hashes are not,
 * because then a few bytes could expand to any number of values. */
#include "ruby-marshal.h"

#include <stdio.h>
#include <string.h>

struct marshal {
    struct tt_source *s;
    const unsigned char *bytes;
    size_t size, at;
    struct tt_vector symbol, object; /* size_t: where they are */
    struct tt_vector *out;           /* char */
    int is_again;                    /* the value was numbered before */
};

static int wrong(struct marshal *m, const char *what)
{
    return tt_source_fail_at(m->s, m->at, "%s", what);
}

/* ── Out ──────────────────────────────────────────────────────────────────────────── */

static int put(struct marshal *m, const char *text, size_t length)
{
    enum { MOST = 64, LEAST = 1 << 20 }; /* a reference to a name takes only two bytes */
    char *to;

    if (m->out->count > MOST * m->size + LEAST)
        return wrong(m, "texts that come again take too much room");
    to = tt_vector_add(m->out, length);
    if (length && !to)
        return tt_source_no_memory(m->s);
    if (length)
        memcpy(to, text, length);
    return 0;
}

static int put_word(struct marshal *m, const char *text)
{
    return put(m, text, strlen(text));
}

static int put_text(struct marshal *m, const unsigned char *text, size_t length)
{
    char escape[8];
    int error = put(m, "\"", 1);

    for (size_t i = 0; !error && i < length; i++) {
        if (text[i] >= ' ' && text[i] != '"' && text[i] != '\\') {
            error = put(m, (const char *)text + i, 1);
            continue;
        }
        (void)snprintf(escape, sizeof escape, "\\u%04x", text[i] ? text[i] : '?');
        error = put_word(m, escape);
    }
    return error ?: put(m, "\"", 1);
}

/* A key of JSON is a text. */
static int put_number(struct marshal *m, int negative, uint64_t n, int is_key)
{
    char digits[32];

    (void)snprintf(digits, sizeof digits, "%s%s%llu%s", is_key ? "\"" : "",
                   negative ? "-" : "", (unsigned long long)n, is_key ? "\"" : "");
    return put_word(m, digits);
}

/* ── In ───────────────────────────────────────────────────────────────────────────── */

static int take_byte(struct marshal *m, int *byte)
{
    if (m->at == m->size)
        return wrong(m, "the file ends within a value");
    *byte = m->bytes[m->at++];
    return 0;
}

/* Takes 0, or one byte with an offset of 5, or a count of bytes that follow, the least
 * first. */
static int take_number(struct marshal *m, int64_t *n)
{
    int first = 0, size, byte = 0, error = take_byte(m, &first);

    first = (int8_t)first;
    size = first < 0 ? -first : first;
    *n = first == 0 ? 0 : first > 0 ? first - 5 : first + 5;
    if (error || size == 0 || size > 4)
        return error;
    *n = first < 0 ? -1 : 0;
    for (int i = 0; !error && i < size; i++) {
        error = take_byte(m, &byte);
        *n &= ~((int64_t)0xff << 8 * i);
        *n |= (int64_t)byte << 8 * i;
    }
    return error;
}

static int take_length(struct marshal *m, size_t *length)
{
    int64_t n = 0;
    int error = take_number(m, &n);

    *length = (size_t)n;
    if (!error && (n < 0 || (uint64_t)n > m->size - m->at))
        return wrong(m, "something is longer than the file");
    return error;
}

static int note(struct marshal *m, struct tt_vector *places, size_t place)
{
    return m->is_again ? 0 : tt_source_append(m->s, places, &place);
}

static int take_text(struct marshal *m, const unsigned char **text, size_t *length)
{
    int error = take_length(m, length);

    *text = m->bytes + m->at;
    if (!error)
        m->at += *length;
    return error;
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

static int read_value(struct marshal *m, int depth, int is_key);

static int read_text(struct marshal *m)
{
    const unsigned char *text;
    size_t length;
    int error = take_text(m, &text, &length);

    return error ?: put_text(m, text, length);
}

static int read_float(struct marshal *m, int is_key)
{
    const unsigned char *text;
    size_t length;
    int error = take_text(m, &text, &length), is_number;

    if (error)
        return error;
    is_number = length && text[length - 1] >= '0' && text[length - 1] <= '9';
    for (size_t i = 0; i < length; i++)
        is_number &= strchr("0123456789.+-e", text[i]) && text[i];
    if (is_key || !is_number) /* "inf", "nan" */
        return put_text(m, text, length);
    return put(m, (const char *)text, length);
}

/* Reads "l+" and that many 16-bit words. */
static int read_large(struct marshal *m, int is_key)
{
    int sign = 0, byte = 0, error = take_byte(m, &sign);
    uint64_t n = 0;
    size_t count = 0;

    error = error ?: take_length(m, &count);
    for (size_t i = 0; !error && i < 2 * count; i++) {
        error = take_byte(m, &byte);
        if (!error && i >= 8 && byte)
            return wrong(m, "a number is too large");
        n |= i < 8 ? (uint64_t)byte << 8 * i : 0;
    }
    return error ?: put_number(m, sign == '-', n, is_key);
}

/* Reads a repeated value: a symbol, or an object that is no list. */
static int read_again(struct marshal *m, const struct tt_vector *places, int depth,
                      int is_key)
{
    const size_t *place = places->item;
    size_t back;
    int64_t number = 0;
    int error = take_number(m, &number), was = m->is_again;

    if (error)
        return error;
    if (number < 0 || (uint64_t)number >= places->count)
        return wrong(m, "a value refers to one that there is not");
    if (m->bytes[place[number]] == '[' || m->bytes[place[number]] == '{')
        return wrong(m, "a list comes twice");
    back = m->at;
    m->at = place[number];
    m->is_again = 1;
    error = read_value(m, depth + 1, is_key);
    m->is_again = was;
    m->at = error ? m->at : back;
    return error;
}

/* Reads a value with instance variables, such as a text's encoding; drops the
 * variables. */
static int read_dressed(struct marshal *m, int depth, int is_key)
{
    size_t count = 0, kept;
    int error = read_value(m, depth + 1, is_key);

    error = error ?: take_length(m, &count);
    kept = m->out->count;
    for (size_t i = 0; !error && i < 2 * count; i++)
        error = read_value(m, depth + 1, 0);
    m->out->count = error ? m->out->count : kept;
    return error;
}

static int read_list(struct marshal *m, int depth)
{
    size_t count = 0;
    int error = take_length(m, &count);

    error = error ?: put(m, "[", 1);
    for (size_t i = 0; !error && i < count; i++) {
        error = i ? put(m, ",", 1) : 0;
        error = error ?: read_value(m, depth + 1, 0);
    }
    return error ?: put(m, "]", 1);
}

static int read_hash(struct marshal *m, int depth, int has_default)
{
    size_t count = 0, kept;
    int error = take_length(m, &count);

    error = error ?: put(m, "{", 1);
    for (size_t i = 0; !error && i < count; i++) {
        error = i ? put(m, ",", 1) : 0;
        error = error ?: read_value(m, depth + 1, 1);
        error = error ?: put(m, ":", 1);
        error = error ?: read_value(m, depth + 1, 0);
    }
    error = error ?: put(m, "}", 1);
    kept = m->out->count;
    if (!error && has_default)
        error = read_value(m, depth + 1, 0);
    m->out->count = error ? m->out->count : kept;
    return error;
}

static int read_word(struct marshal *m, const char *word, int is_key)
{
    return is_key ? put_text(m, (const unsigned char *)word, strlen(word))
                  : put_word(m, word);
}

static int read_small(struct marshal *m, int is_key)
{
    int64_t n = 0;
    int error = take_number(m, &n);

    return error ? error : put_number(m, n < 0, (uint64_t)(n < 0 ? -n : n), is_key);
}

static int read_value(struct marshal *m, int depth, int is_key)
{
    enum { DEEPEST = 60 };
    const size_t place = m->at;
    int letter = 0, error = take_byte(m, &letter);

    if (error)
        return error;
    if (depth > DEEPEST)
        return wrong(m, "values are too deep within each other");
    if (is_key && (letter == '[' || letter == '{' || letter == '}'))
        return wrong(m, "a key is a list");
    if (strchr("\"[{}fl", letter) && (error = note(m, &m->object, place)))
        return error;
    switch (letter) {
    case '0':
        return read_word(m, "null", is_key);
    case 'T':
        return read_word(m, "true", is_key);
    case 'F':
        return read_word(m, "false", is_key);
    case 'i':
        return read_small(m, is_key);
    case ':':
        error = note(m, &m->symbol, place);
        return error ?: read_text(m);
    case '"':
        return read_text(m);
    case ';':
        return read_again(m, &m->symbol, depth, is_key);
    case '@':
        return read_again(m, &m->object, depth, is_key);
    case 'I':
        return read_dressed(m, depth, is_key);
    case 'f':
        return read_float(m, is_key);
    case 'l':
        return read_large(m, is_key);
    case '[':
        return read_list(m, depth);
    case '{':
    case '}':
        return read_hash(m, depth, letter == '}');
    default:
        m->at--;
        return wrong(m, "no value of a profile begins so");
    }
}

int tt_ruby_json(struct tt_source *s, const char *bytes, size_t size,
                 struct tt_vector *json)
{
    struct marshal m = {
        .s = s, .bytes = (const unsigned char *)bytes, .size = size, .out = json};
    int error;

    tt_vector_init(&m.symbol, s->memory, sizeof(size_t));
    tt_vector_init(&m.object, s->memory, sizeof(size_t));
    m.at = sizeof TT_RUBY_MARSHAL - 1;
    error = m.at > size ? wrong(&m, "the file ends within a value")
                        : read_value(&m, 0, 0);
    tt_vector_fini(&m.object);
    tt_vector_fini(&m.symbol);
    return error;
}
