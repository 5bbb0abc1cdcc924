/* SPDX-License-Identifier: MIT */
/* rust-legacy.c - demangles Rust's symbols as they were before RFC 2603.
 *
 *      _ZN7mycrate3foo3baz17h0123456789abcdefE      mycrate::foo::baz
 *
 * They look like C++'s, except for the hash at the end. */
#include "rust-legacy.h"

#include <stdint.h>
#include <string.h>

#include "demangle.h"
#include "hex.h"
#include "utf8.h"

struct name {
    char *text;
    size_t size, length;
    int failed;
};

static void put_bytes(struct name *n, const char *bytes, size_t count)
{
    if (n->failed || count >= n->size - n->length) {
        n->failed = 1;
        return;
    }
    memcpy(n->text + n->length, bytes, count);
    n->length += count;
}

static void put(struct name *n, const char *text) { put_bytes(n, text, strlen(text)); }

static void put_character(struct name *n, uint32_t c)
{
    char bytes[4];
    size_t count = tt_utf8_put(bytes, c);

    if (count)
        put_bytes(n, bytes, count);
    else
        n->failed = 1;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Decodes $LT$ and the like; returns the bytes read, 0: not an escape. */
static size_t unescape(struct name *n, const char *text, size_t length)
{
    static const struct {
        char code[4], means[2];
    } codes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
                 {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};
    const char *end = length ? memchr(text + 1, '$', length - 1) : NULL;
    size_t inner = end ? (size_t)(end - text) - 1 : 0;
    uint32_t c = 0;

    for (size_t i = 0; end && i < sizeof codes / sizeof *codes; i++)
        if (strlen(codes[i].code) == inner &&
            memcmp(text + 1, codes[i].code, inner) == 0) {
            put(n, codes[i].means);
            return inner + 2;
        }
    if (!end || text[1] != 'u' || inner < 2 || inner > 7)
        return 0;
    for (size_t i = 2; i <= inner; i++) {
        if (tt_hex_small(text[i]) < 0)
            return 0;
        c = c << 4 | (uint32_t)tt_hex_small(text[i]);
    }
    if (c < 0x20)
        return 0;
    put_character(n, c);
    return inner + 2;
}

static void put_legacy(struct name *n, const char *text, size_t length)
{
    if (length > 1 && text[0] == '_' && text[1] == '$') {
        text++;
        length--;
    }
    while (length && !n->failed) {
        size_t taken = *text == '$' ? unescape(n, text, length) : 0;
        if (length > 1 && text[0] == '.' && text[1] == '.') {
            put(n, "::");
            taken = 2;
        }
        if (!taken) {
            put_bytes(n, text, 1);
            taken = 1;
        }
        text += taken;
        length -= taken;
    }
}

static int is_hash(const char *text, size_t length)
{
    if (length != 17 || *text != 'h')
        return 0;
    for (size_t i = 1; i < length; i++)
        if (tt_hex_small(text[i]) < 0)
            return 0;
    return 1;
}

/* Reads a length and as many bytes; returns the text after them, or NULL. */
static const char *read_part(const char *at, const char **part, size_t *length)
{
    *length = 0;
    while (is_digit(*at) && *length < SIZE_MAX / 16)
        *length = *length * 10 + (size_t)(*at++ - '0');
    *part = at;
    return *length && strnlen(at, *length) == *length ? at + *length : NULL;
}

/* It is Rust's when the last of its parts is a hash. */
size_t tt_rust_legacy(const char *symbol, char *text, size_t size)
{
    struct name n = {.text = text, .size = size};
    const char *part = "", *at = symbol;
    size_t length = 0;

    while (at && is_digit(*at)) {
        if (length) {
            put(&n, n.length ? "::" : "");
            put_legacy(&n, part, length);
        }
        at = read_part(at, &part, &length);
    }
    if (!at || n.failed || !n.length || *at != 'E' || !is_hash(part, length) ||
        (at[1] && at[1] != '.'))
        return 0;
    text[n.length] = 0;
    return n.length;
}
