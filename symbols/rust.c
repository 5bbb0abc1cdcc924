/* SPDX-License-Identifier: MIT */
/* rust.c - demangles Rust's symbols: v0 (RFC 2603); legacy ones are in rust-legacy.c.
 *
 *      _RNvMs_NtCs4fqI2P2rA04_7mycrate3fooNtB4_3Bar3baz    <mycrate::foo::Bar>::baz
 *
 * A name is printed while it is read, by a function for each rule of its grammar.  Parts
 * that are only skipped are read with `silent` set.  Back references could make a short
 * name print for ever: both depth and output are limited. */
#include "rust.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "demangle.h"
#include "hex.h"
#include "punycode.h"
#include "rust-legacy.h"
#include "utf8.h"

enum { DEEPEST = 200, MOST_STEPS = 1 << 16 };

struct reading {
    const char *text; /* after the prefix; back references count from here */
    size_t at, end;
    char *out;
    size_t size, length;
    unsigned depth, steps;
    uint64_t lifetimes; /* bound by the binders around */
    int silent, failed;
};

/* ── Output ───────────────────────────────────────────────────────────────────────── */

static void put_bytes(struct reading *r, const char *bytes, size_t count)
{
    if (r->silent || r->failed)
        return;
    if (count >= r->size - r->length) {
        r->failed = 1;
        return;
    }
    memcpy(r->out + r->length, bytes, count);
    r->length += count;
}

static void put(struct reading *r, const char *text) { put_bytes(r, text, strlen(text)); }

static void put_number(struct reading *r, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put(r, text);
}

static void put_character(struct reading *r, uint32_t c)
{
    char bytes[4];
    size_t count = tt_utf8_put(bytes, c);

    if (count)
        put_bytes(r, bytes, count);
    else
        r->failed = 1;
}

/* As a literal shows it between `quote`s. */
static void put_quoted(struct reading *r, uint32_t c, char quote)
{
    static const char plain[] = "\t\r\n\\", named[] = "trn\\";
    const char *found = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
    char text[16];

    if (found)
        (void)snprintf(text, sizeof text, "\\%c", named[found - plain]);
    else if (c == (uint32_t)quote)
        (void)snprintf(text, sizeof text, "\\%c", quote);
    else if (c == 0)
        (void)snprintf(text, sizeof text, "\\0");
    else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
        (void)snprintf(text, sizeof text, "\\u{%x}", c);
    else {
        put_character(r, c);
        return;
    }
    put(r, text);
}

/* ── Letters and numbers ──────────────────────────────────────────────────────────── */

static char peek(const struct reading *r)
{
    if (r->failed || r->at >= r->end)
        return '\0';
    return r->text[r->at];
}

static char next(struct reading *r)
{
    char c = peek(r);

    if (c)
        r->at++;
    else
        r->failed = 1;
    return c;
}

static int eat(struct reading *r, char c)
{
    int is_there = peek(r) == c;

    r->at += (size_t)is_there;
    return is_there;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static int is_lower(char c) { return c >= 'a' && c <= 'z'; }

static uint64_t scaled(struct reading *r, uint64_t value, unsigned base, unsigned digit)
{
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, digit, &value))
        r->failed = 1;
    return value;
}

/* base-62-number: "_" is 0, "0_" 1, and so on. */
static uint64_t read_base62(struct reading *r)
{
    uint64_t value = 0;

    if (eat(r, '_'))
        return 0;
    while (!r->failed && !eat(r, '_')) {
        char c = next(r);
        int digit = is_digit(c)   ? c - '0'
                    : is_lower(c) ? 10 + c - 'a'
                    : is_upper(c) ? 36 + c - 'A'
                                  : -1;
        if (digit < 0)
            r->failed = 1;
        else
            value = scaled(r, value, 62, (unsigned)digit);
    }
    return scaled(r, value, 1, 1);
}

/* A number after a tag; 0 if the tag is not there. */
static uint64_t read_tagged(struct reading *r, char tag)
{
    return eat(r, tag) ? scaled(r, read_base62(r), 1, 1) : 0;
}

static uint64_t read_decimal(struct reading *r)
{
    uint64_t value = 0;

    if (!is_digit(peek(r)))
        r->failed = 1;
    else if (eat(r, '0'))
        return 0;
    while (is_digit(peek(r)))
        value = scaled(r, value, 10, (unsigned)(next(r) - '0'));
    return value;
}

/* ── Identifiers ──────────────────────────────────────────────────────────────────── */

struct identifier {
    const char *text;
    size_t length;
    int is_punycode;
};

static struct identifier read_identifier(struct reading *r)
{
    struct identifier id = {.is_punycode = eat(r, 'u')};
    uint64_t length = read_decimal(r);

    (void)eat(r, '_');
    if (r->failed || length > r->end - r->at) {
        r->failed = 1;
        return (struct identifier){.text = ""};
    }
    id.text = r->text + r->at;
    id.length = (size_t)length;
    r->at += (size_t)length;
    return id;
}

static void put_identifier(struct reading *r, const struct identifier *id)
{
    uint32_t character[128];
    size_t count;

    if (!id->is_punycode) {
        put_bytes(r, id->text, id->length);
        return;
    }
    count = tt_punycode_decode(id->text, id->length, character,
                               sizeof character / sizeof *character);
    if (!count) {
        put(r, "punycode{");
        put_bytes(r, id->text, id->length);
        put(r, "}");
    }
    for (size_t i = 0; i < count; i++)
        put_character(r, character[i]);
}

/* ── The grammar ──────────────────────────────────────────────────────────────────── */

static void read_path(struct reading *r, int in_value);
static void read_type(struct reading *r);
static void read_const(struct reading *r, int in_value);

/* Every rule that may come back to itself begins with this, and ends with r->depth--. */
static int enter(struct reading *r)
{
    if (++r->depth > DEEPEST || ++r->steps > MOST_STEPS)
        r->failed = 1;
    return !r->failed;
}

/* Goes where a back reference leads; the place to return to. */
static size_t follow(struct reading *r)
{
    size_t start = r->at - 1, back;
    uint64_t to = read_base62(r);

    back = r->at;
    if (to >= start)
        r->failed = 1;
    else
        r->at = (size_t)to;
    return back;
}

typedef void item_function(struct reading *);

/* Items up to an "E"; how many. */
static size_t read_list(struct reading *r, item_function *item, const char *separator)
{
    size_t count = 0;

    for (; !r->failed && !eat(r, 'E'); count++) {
        if (count)
            put(r, separator);
        item(r);
    }
    return count;
}

static void put_lifetime(struct reading *r, uint64_t index)
{
    uint64_t depth;
    char letter;

    put(r, "'");
    if (index == 0) {
        put(r, "_");
        return;
    }
    if (index > r->lifetimes) {
        r->failed = 1;
        return;
    }
    depth = r->lifetimes - index;
    if (depth < 26) {
        letter = (char)('a' + depth);
        put_bytes(r, &letter, 1);
    } else {
        put(r, "_");
        put_number(r, depth);
    }
}

/* for<'a, 'b>; the number of lifetimes before, for leave_binder. */
static uint64_t enter_binder(struct reading *r)
{
    uint64_t before = r->lifetimes, count = read_tagged(r, 'G');

    if (count > 4 * DEEPEST)
        r->failed = 1;
    for (uint64_t i = 0; !r->failed && i < count; i++) {
        put(r, i ? ", " : "for<");
        r->lifetimes++;
        put_lifetime(r, 1);
    }
    if (count)
        put(r, "> ");
    return before;
}

static void read_generic(struct reading *r)
{
    if (eat(r, 'L'))
        put_lifetime(r, read_base62(r));
    else if (eat(r, 'K'))
        read_const(r, 0);
    else
        read_type(r);
}

static void read_nested(struct reading *r, int in_value)
{
    char space = next(r);
    struct identifier id;
    uint64_t number;

    if (!is_lower(space) && !is_upper(space))
        r->failed = 1;
    read_path(r, in_value);
    number = read_tagged(r, 's');
    id = read_identifier(r);
    if (is_lower(space)) {
        if (id.length)
            put(r, "::");
        put_identifier(r, &id);
        return;
    }
    put(r, "::{");
    if (space == 'C')
        put(r, "closure");
    else if (space == 'S')
        put(r, "shim");
    else
        put_bytes(r, &space, 1);
    if (id.length)
        put(r, ":");
    put_identifier(r, &id);
    put(r, "#");
    put_number(r, number);
    put(r, "}");
}

static void read_impl(struct reading *r, char tag)
{
    if (tag != 'Y') { /* the place of the impl, which its type shows better */
        r->silent++;
        (void)read_tagged(r, 's');
        read_path(r, 0);
        r->silent--;
    }
    put(r, "<");
    read_type(r);
    if (tag != 'M') {
        put(r, " as ");
        read_path(r, 0);
    }
    put(r, ">");
}

static void read_path_of(struct reading *r, char tag, int in_value)
{
    struct identifier id;
    size_t back;

    switch (tag) {
    case 'C':
        (void)read_tagged(r, 's');
        id = read_identifier(r);
        put_identifier(r, &id);
        break;
    case 'N':
        read_nested(r, in_value);
        break;
    case 'M':
    case 'X':
    case 'Y':
        read_impl(r, tag);
        break;
    case 'I':
        read_path(r, in_value);
        put(r, in_value ? "::<" : "<");
        (void)read_list(r, read_generic, ", ");
        put(r, ">");
        break;
    case 'B':
        back = follow(r);
        if (!r->silent) /* or it has been read before */
            read_path(r, in_value);
        r->at = back;
        break;
    default:
        r->failed = 1;
    }
}

static void read_path(struct reading *r, int in_value)
{
    if (enter(r))
        read_path_of(r, next(r), in_value);
    r->depth--;
}

static const char *basic_type(char tag)
{
    static const char *const names[26] = {
        "i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
        "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
        "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};

    return is_lower(tag) ? names[tag - 'a'] : NULL;
}

static void read_reference(struct reading *r, char tag)
{
    put(r, "&");
    if (eat(r, 'L')) {
        uint64_t index = read_base62(r);
        if (index) {
            put_lifetime(r, index);
            put(r, " ");
        }
    }
    if (tag == 'Q')
        put(r, "mut ");
    read_type(r);
}

static void put_abi(struct reading *r)
{
    struct identifier id = {.text = "C", .length = 1};

    if (!eat(r, 'C'))
        id = read_identifier(r);
    put(r, "extern \"");
    for (size_t i = 0; i < id.length; i++)
        put_bytes(r, id.text[i] == '_' ? "-" : id.text + i, 1);
    put(r, "\" ");
}

static void read_function(struct reading *r)
{
    uint64_t before = enter_binder(r);

    if (eat(r, 'U'))
        put(r, "unsafe ");
    if (eat(r, 'K'))
        put_abi(r);
    put(r, "fn(");
    (void)read_list(r, read_type, ", ");
    put(r, ")");
    if (!eat(r, 'u')) {
        put(r, " -> ");
        read_type(r);
    }
    r->lifetimes = before;
}

/* The path of a trait whose generics stay open for its associated types; are they? */
static int read_open_path(struct reading *r)
{
    int open = 0;

    if (!enter(r)) {
        r->depth--;
        return 0;
    }
    if (eat(r, 'B')) {
        size_t back = follow(r);
        open = read_open_path(r);
        r->at = back;
    } else if (eat(r, 'I')) {
        read_path(r, 0);
        put(r, "<");
        (void)read_list(r, read_generic, ", ");
        open = 1;
    } else {
        read_path(r, 0);
    }
    r->depth--;
    return open;
}

static void read_trait(struct reading *r)
{
    int open = read_open_path(r);

    while (eat(r, 'p')) {
        struct identifier id = read_identifier(r);
        put(r, open ? ", " : "<");
        open = 1;
        put_identifier(r, &id);
        put(r, " = ");
        read_type(r);
    }
    if (open)
        put(r, ">");
}

static void read_dynamic(struct reading *r)
{
    uint64_t before, index;

    put(r, "dyn ");
    before = enter_binder(r);
    (void)read_list(r, read_trait, " + ");
    r->lifetimes = before;
    if (!eat(r, 'L'))
        r->failed = 1;
    index = read_base62(r);
    if (index) {
        put(r, " + ");
        put_lifetime(r, index);
    }
}

static void read_type_of(struct reading *r, char tag)
{
    const char *basic = basic_type(tag);
    size_t back;

    if (basic) {
        put(r, basic);
        return;
    }
    switch (tag) {
    case 'R':
    case 'Q':
        read_reference(r, tag);
        break;
    case 'P':
    case 'O':
        put(r, tag == 'P' ? "*const " : "*mut ");
        read_type(r);
        break;
    case 'A':
    case 'S':
        put(r, "[");
        read_type(r);
        if (tag == 'A') {
            put(r, "; ");
            read_const(r, 1);
        }
        put(r, "]");
        break;
    case 'T':
        put(r, "(");
        put(r, read_list(r, read_type, ", ") == 1 ? ",)" : ")");
        break;
    case 'F':
        read_function(r);
        break;
    case 'D':
        read_dynamic(r);
        break;
    case 'B':
        back = follow(r);
        if (!r->silent)
            read_type(r);
        r->at = back;
        break;
    default:
        r->at--;
        read_path(r, 0);
    }
}

static void read_type(struct reading *r)
{
    if (enter(r))
        read_type_of(r, next(r));
    r->depth--;
}

/* ── Constants ────────────────────────────────────────────────────────────────────── */

struct digits {
    const char *text;
    size_t length;
};

static struct digits read_digits(struct reading *r)
{
    struct digits d = {.text = r->text + r->at};

    while (tt_hex_small(peek(r)) >= 0) {
        r->at++;
        d.length++;
    }
    if (!eat(r, '_'))
        r->failed = 1;
    return d;
}

/* The value of at most 16 digits after leading zeros; -1 if there are more. */
static int value_of(struct digits d, uint64_t *value)
{
    *value = 0;
    while (d.length && *d.text == '0') {
        d.text++;
        d.length--;
    }
    for (size_t i = 0; d.length <= 16 && i < d.length; i++)
        *value = *value << 4 | (unsigned)tt_hex_small(d.text[i]);
    return d.length <= 16 ? 0 : -1;
}

static void read_number(struct reading *r)
{
    struct digits d = read_digits(r);
    uint64_t value;

    if (value_of(d, &value) == 0) {
        put_number(r, value);
        return;
    }
    put(r, "0x");
    put_bytes(r, d.text, d.length);
}

static void read_boolean(struct reading *r)
{
    uint64_t value;

    if (value_of(read_digits(r), &value) != 0 || value > 1)
        r->failed = 1;
    else
        put(r, value ? "true" : "false");
}

static void read_character(struct reading *r)
{
    uint64_t value;
    char bytes[4];

    if (value_of(read_digits(r), &value) != 0 || value > UINT32_MAX ||
        !tt_utf8_put(bytes, (uint32_t)value)) {
        r->failed = 1;
        return;
    }
    put(r, "'");
    put_quoted(r, (uint32_t)value, '\'');
    put(r, "'");
}

static void read_string(struct reading *r)
{
    struct digits d = read_digits(r);
    char bytes[5];

    if (d.length % 2)
        r->failed = 1;
    put(r, "\"");
    for (size_t i = 0; !r->failed && i < d.length;) {
        size_t count = 0, length;
        uint32_t c;
        for (; count < 4 && i + 2 * count < d.length; count++)
            bytes[count] = (char)(tt_hex_small(d.text[i + 2 * count]) * 16 +
                                  tt_hex_small(d.text[i + 2 * count + 1]));
        bytes[count] = '\0';
        length = tt_utf8(bytes, &c);
        if (!length)
            r->failed = 1;
        else
            put_quoted(r, c, '"');
        i += 2 * length;
    }
    put(r, "\"");
}

static void read_element(struct reading *r) { read_const(r, 1); }

static void read_field(struct reading *r)
{
    struct identifier id;

    (void)read_tagged(r, 's');
    id = read_identifier(r);
    put_identifier(r, &id);
    put(r, ": ");
    read_const(r, 1);
}

static void read_structure(struct reading *r)
{
    read_path(r, 1);
    switch (next(r)) {
    case 'U':
        break;
    case 'T':
        put(r, "(");
        (void)read_list(r, read_element, ", ");
        put(r, ")");
        break;
    case 'S':
        put(r, " { ");
        (void)read_list(r, read_field, ", ");
        put(r, " }");
        break;
    default:
        r->failed = 1;
    }
}

/* Constants that are expressions, in braces among types. */
static void read_expression(struct reading *r, char tag)
{
    switch (tag) {
    case 'e':
        put(r, "*");
        read_string(r);
        break;
    case 'R':
    case 'Q':
        put(r, tag == 'R' ? "&" : "&mut ");
        read_const(r, 1);
        break;
    case 'A':
        put(r, "[");
        (void)read_list(r, read_element, ", ");
        put(r, "]");
        break;
    case 'T':
        put(r, "(");
        put(r, read_list(r, read_element, ", ") == 1 ? ",)" : ")");
        break;
    default:
        read_structure(r);
    }
}

static void read_const_of(struct reading *r, char tag, int in_value)
{
    size_t back;

    if (tag && strchr("aslxni", tag)) {
        if (eat(r, 'n'))
            put(r, "-");
        read_number(r);
    } else if (tag && strchr("htmyoj", tag)) {
        read_number(r);
    } else if (tag == 'p') {
        put(r, "_");
    } else if (tag == 'b') {
        read_boolean(r);
    } else if (tag == 'c') {
        read_character(r);
    } else if (tag == 'R' && eat(r, 'e')) {
        read_string(r);
    } else if (tag == 'B') {
        back = follow(r);
        if (!r->silent)
            read_const(r, in_value);
        r->at = back;
    } else if (tag && strchr("eRQATV", tag)) {
        put(r, in_value ? "" : "{");
        read_expression(r, tag);
        put(r, in_value ? "" : "}");
    } else {
        r->failed = 1;
    }
}

static void read_const(struct reading *r, int in_value)
{
    if (enter(r))
        read_const_of(r, next(r), in_value);
    r->depth--;
}

/* A name, perhaps the crate of this instance, perhaps a suffix of LLVM. */
static size_t read_v0(const char *symbol, char *out, size_t size)
{
    struct reading r = {
        .text = symbol, .end = strcspn(symbol, ".$"), .out = out, .size = size};

    if (!is_upper(*symbol))
        return 0;
    read_path(&r, 1);
    if (is_upper(peek(&r))) {
        r.silent = 1;
        read_path(&r, 0);
    }
    if (r.failed || r.at < r.end)
        return 0;
    out[r.length] = 0;
    return r.length;
}

size_t tt_demangle_rust(const char *symbol, char *text, size_t size)
{
    if (size < 2)
        return 0;
    if (strncmp(symbol, "_R", 2) == 0)
        return read_v0(symbol + 2, text, size);
    if (strncmp(symbol, "_ZN", 3) == 0)
        return tt_rust_legacy(symbol + 3, text, size);
    return 0;
}
