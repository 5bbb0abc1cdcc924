/* SPDX-License-Identifier: MIT */
/* ruby-code.c - names, files and lines of Ruby's code, as Ruby 3.1 keeps them. */
#include "ruby-code.h"

#include "foreign-text.h"

enum {
    /* Kinds of objects. */
    CLASS = 2,
    MODULE = 3,
    STRING = 5,
    ARRAY = 7,
    CLASS_IS_OF_ONE = 1 << 12, /* object: a singleton class */
    /* A text, and an array: short ones are in the object. */
    STRING_IS_LONG = 1 << 13,
    STRING_SHORT_SIZE = 14, /* the bit from which on it is the length of a short one */
    STRING_SHORT_MASK = 31,
    STRING_BYTES = 16, /* of a long one: its length, and then their address */
    ARRAY_IS_SHORT = 1 << 13,
    ARRAY_ITEMS = 16,
    ARRAY_LONG_ITEMS = 32,
    /* A class. */
    CLASS_DATA = 24,
    DATA_VARIABLES = 8,
    TABLE_COUNT = 40, /* entries, also those that were removed */
    TABLE_ENTRIES = 48,
    ENTRY_SIZE = 24,
    ENTRY_KEY = 8,
    ENTRY_VALUE = 16,
    ENTRIES_MAX = 4096,
    /* A method, and its definition. */
    METHOD_DEFINITION = 16,
    METHOD_NAME = 24,
    METHOD_CLASS = 32,
    METHOD_SIZE = 40,
    DEFINITION_KIND_MASK = 15,
    DEFINITION_IS_C = 1,
    DEFINITION_FUNCTION = 8,
    DEFINITION_NUMBER = 40,
    DEFINITION_SIZE = 48,
    /* The body of a script's code. */
    BODY_INSTRUCTIONS = 8,
    BODY_FILE = 64,
    BODY_BASE_NAME = 72,
    BODY_NAME = 80,
    BODY_FIRST_LINE = 88,
    BODY_LINES = 120,
    BODY_LINES_COUNT = 136,
    BODY_LINES_INDEX = 144,
    LINE_SIZE = 12,
    LINE_MAX = 1 << 24,
    /* Names, by their number. */
    NAME_FIRST_OF_TEXT = 170, /* smaller ones are operators */
    NAME_SCOPE_MASK = 14,     /* of a name; 0: no variable, constant or other kind */
    NAME_SHIFT = 4,
    NAMES_IN_PART = 512,
    NAMES_WORDS = 2, /* of each: its text, its symbol */
    TEXT_MAX = 512,
};

static uint64_t kind_of(const struct tt_peek *peek, uint64_t object)
{
    uint64_t flags;

    return tt_safe_word(peek, object, &flags) ? flags & TT_RUBY_KIND : 0;
}

static uint32_t internal_of(uint64_t flags)
{
    return (flags & TT_RUBY_KIND) == TT_RUBY_INTERNAL
               ? flags >> TT_RUBY_INTERNAL_SHIFT & 15
               : 0;
}

uint32_t tt_ruby_internal(const struct tt_peek *peek, uint64_t object)
{
    uint64_t flags;

    return tt_safe_word(peek, object, &flags) ? internal_of(flags) : 0;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

/* Reads bytes at any address. */
static int read_bytes(const struct tt_peek *peek, uint64_t at, uint64_t length,
                      char out[TEXT_MAX + 16], uint32_t *skip)
{
    *skip = at & 7;
    return tt_safe_read(peek, at - *skip, out, (*skip + length + 7) & ~(uint64_t)7);
}

/* Reads a text that may be cut.  0: it is none. */
static int read_text(const struct tt_peek *peek, uint64_t text, char out[TEXT_MAX + 1])
{
    char head[32], bytes[TEXT_MAX + 16];
    uint64_t flags, at = text + STRING_BYTES, length;
    uint32_t skip;

    if (!tt_safe_read(peek, text, head, sizeof head))
        return 0;
    flags = tt_foreign_word(head, 0);
    if ((flags & TT_RUBY_KIND) != STRING)
        return 0;
    length = flags >> STRING_SHORT_SIZE & STRING_SHORT_MASK;
    if (flags & STRING_IS_LONG) {
        length = tt_foreign_word(head, STRING_BYTES);
        at = tt_foreign_word(head, STRING_BYTES + 8);
    }
    length = length < TEXT_MAX ? length : TEXT_MAX;
    if (length && !read_bytes(peek, at, length, bytes, &skip))
        return 0;
    if (length)
        memcpy(out, bytes + skip, length);
    out[length] = '\0';
    return 1;
}

static int is_text(const struct tt_peek *peek, uint64_t text, const char *expected)
{
    char bytes[TEXT_MAX + 1];

    return kind_of(peek, text) == STRING && read_text(peek, text, bytes) &&
           strcmp(bytes, expected) == 0;
}

/* The item of an array; 0: it is none, or has no such one. */
static uint64_t item_of(const struct tt_peek *peek, uint64_t array, uint64_t index)
{
    enum { SHORT_MAX = 3 };
    uint64_t flags, at = array + ARRAY_ITEMS, count = SHORT_MAX, item;

    if (!tt_safe_word(peek, array, &flags) || (flags & TT_RUBY_KIND) != ARRAY)
        return 0;
    if (!(flags & ARRAY_IS_SHORT) && (!tt_safe_word(peek, array + ARRAY_ITEMS, &count) ||
                                      !tt_safe_word(peek, array + ARRAY_LONG_ITEMS, &at)))
        return 0;
    return index < count && tt_safe_word(peek, at + 8 * index, &item) ? item : 0;
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static uint64_t name_text(const struct tt_peek *peek, uint64_t names, uint64_t name)
{
    const uint64_t number = name < NAME_FIRST_OF_TEXT ? name : name >> NAME_SHIFT;
    uint64_t parts;

    if (!tt_safe_word(peek, names, &parts))
        return 0;
    return item_of(peek, item_of(peek, parts, number / NAMES_IN_PART),
                   number % NAMES_IN_PART * NAMES_WORDS);
}

/* Before the array are how many names there are, and the address of a table: other words are
 * no addresses, and a load that faults is slow. */
static int may_be_names(const uint64_t words[3])
{
    enum { MOST = 1 << 28, ALIGNED = 7, LOWEST = 1 << 16 };

    return words[0] >= NAME_FIRST_OF_TEXT && words[0] < MOST && words[1] > LOWEST &&
           words[2] > LOWEST && !((words[1] | words[2]) & ALIGNED);
}

/* Operators of one character have its number. */
uint64_t tt_ruby_names(const struct tt_peek *peek, uint64_t data, uint64_t end)
{
    uint64_t words[3] = {0, 0, 0};

    for (; data + 8 <= end; data += 8) {
        words[0] = words[1];
        words[1] = words[2];
        if (!tt_safe_word(peek, data, &words[2]))
            return 0;
        if (may_be_names(words) && is_text(peek, name_text(peek, data, '+'), "+") &&
            is_text(peek, name_text(peek, data, '%'), "%"))
            return data;
    }
    return 0;
}

/* ── Classes ──────────────────────────────────────────────────────────────────────── */

/* A class keeps its name, and a class of one object that object, as variables that no script
 * can have.  Returns the first of this kind, or 0. */
static uint64_t hidden_variable(const struct tt_peek *peek, uint64_t class,
                                int (*is_kind)(uint64_t))
{
    uint64_t data, table, count, entry;
    char bytes[ENTRY_SIZE];

    if (!tt_safe_word(peek, class + CLASS_DATA, &data) || !data ||
        !tt_safe_word(peek, data + DATA_VARIABLES, &table) || !table ||
        !tt_safe_word(peek, table + TABLE_COUNT, &count) ||
        !tt_safe_word(peek, table + TABLE_ENTRIES, &entry))
        return 0;
    for (uint64_t i = 0; i < count && i < ENTRIES_MAX; i++, entry += ENTRY_SIZE) {
        uint64_t value;
        if (!tt_safe_read(peek, entry, bytes, sizeof bytes))
            return 0;
        value = tt_foreign_word(bytes, ENTRY_VALUE);
        if (tt_foreign_word(bytes, 0) != UINT64_MAX && /* not removed */
            !(tt_foreign_word(bytes, ENTRY_KEY) & NAME_SCOPE_MASK) &&
            is_kind(kind_of(peek, value)))
            return value;
    }
    return 0;
}

static int is_string(uint64_t kind) { return kind == STRING; }
static int is_class(uint64_t kind) { return kind == CLASS || kind == MODULE; }

/* Appends "Class#", or "Class." for a method of the class itself.  A class may have no name,
 * and a single object may have methods. */
static char *put_class(const struct tt_peek *peek, uint64_t class, char *to,
                       const char *end)
{
    char text[TEXT_MAX + 1], *at;
    uint64_t flags;
    int is_of_one;

    if (!tt_safe_word(peek, class, &flags) || !is_class(flags & TT_RUBY_KIND))
        return to;
    is_of_one = (flags & TT_RUBY_KIND) == CLASS && flags & CLASS_IS_OF_ONE;
    if (is_of_one)
        class = hidden_variable(peek, class, is_class);
    if (!class || !read_text(peek, hidden_variable(peek, class, is_string), text))
        return to;
    if (end - to < 3) /* a character, what parts them, and the NUL */
        return to;
    at = tt_foreign_put(text, to, end - 1);
    memcpy(at, is_of_one ? "." : "#", 2);
    return at + 1;
}

/* ── Methods ──────────────────────────────────────────────────────────────────────── */

static int read_method(const struct tt_peek *peek, uint64_t method, char out[METHOD_SIZE])
{
    return tt_safe_read(peek, method, out, METHOD_SIZE) &&
           internal_of(tt_foreign_word(out, 0)) == TT_RUBY_METHOD;
}

uint64_t tt_ruby_function(const struct tt_peek *peek, uint64_t method, uint64_t *print)
{
    char bytes[METHOD_SIZE], definition[DEFINITION_SIZE];

    if (!read_method(peek, method, bytes) ||
        !tt_safe_read(peek, tt_foreign_word(bytes, METHOD_DEFINITION), definition,
                      sizeof definition) ||
        (tt_foreign_word(definition, 0) & DEFINITION_KIND_MASK) != DEFINITION_IS_C)
        return 0;
    *print = tt_foreign_mix(1, tt_foreign_word(bytes, METHOD_CLASS));
    *print = tt_foreign_mix(*print, tt_foreign_word(bytes, METHOD_NAME));
    *print = tt_foreign_mix(*print, tt_foreign_word(definition, DEFINITION_NUMBER));
    return tt_foreign_word(definition, DEFINITION_FUNCTION);
}

static int describe_method(const struct tt_interpreted *f, uint64_t names,
                           const struct tt_peek *peek, struct tt_interpreted_text *out)
{
    char bytes[METHOD_SIZE], name[TEXT_MAX + 1];
    char *const end = out->name + sizeof out->name;
    uint64_t print;

    if (!read_method(peek, f->code, bytes) || !tt_ruby_function(peek, f->code, &print) ||
        print != f->print ||
        !read_text(peek, name_text(peek, names, tt_foreign_word(bytes, METHOD_NAME)),
                   name))
        return 0;
    (void)tt_foreign_put(
        name, put_class(peek, tt_foreign_word(bytes, METHOD_CLASS), out->name, end), end);
    out->file[0] = '\0';
    out->line = 0;
    return 1;
}

/* ── Code of a script ─────────────────────────────────────────────────────────────── */

static int read_body(const struct tt_peek *peek, uint64_t code,
                     char out[TT_RUBY_BODY_SIZE])
{
    char head[TT_RUBY_BODY + 8];

    return tt_safe_read(peek, code, head, sizeof head) &&
           internal_of(tt_foreign_word(head, 0)) == TT_RUBY_CODE &&
           tt_safe_read(peek, tt_foreign_word(head, TT_RUBY_BODY), out,
                        TT_RUBY_BODY_SIZE);
}

uint64_t tt_ruby_print(const struct tt_peek *peek, uint64_t code, uint64_t method)
{
    char body[TT_RUBY_BODY_SIZE], bytes[METHOD_SIZE];
    uint64_t print = 1;

    if (!read_body(peek, code, body))
        return 0;
    print = tt_foreign_mix(print, tt_foreign_word(body, 0));
    print = tt_foreign_mix(print, tt_foreign_word(body, BODY_INSTRUCTIONS));
    for (uint32_t at = BODY_FILE; at < BODY_LINES; at += 8)
        print = tt_foreign_mix(print, tt_foreign_word(body, at));
    if (method && read_method(peek, method, bytes)) {
        print = tt_foreign_mix(print, method);
        print = tt_foreign_mix(print, tt_foreign_word(bytes, METHOD_CLASS));
    }
    return print | 1;
}

static int put_file(const struct tt_peek *peek, uint64_t file, char *to, const char *end)
{
    enum { AS_GIVEN = 0, ABSOLUTE = 1 };
    char text[TEXT_MAX + 1];

    if (!read_text(peek, file, text) &&
        !read_text(peek, item_of(peek, file, ABSOLUTE), text) &&
        !read_text(peek, item_of(peek, file, AS_GIVEN), text))
        return 0;
    (void)tt_foreign_put(text, to, end);
    return 1;
}

/* Of "<main>" or "<class:List>"; "<=>" is a method's. */
static int is_of_no_method(const char *name)
{
    return name[0] == '<' && name[1] >= 'a' && name[1] <= 'z';
}

/* "block in each" of a method of List is "block in List#each". */
static int put_name(const struct tt_peek *peek, const char body[TT_RUBY_BODY_SIZE],
                    uint64_t method, char *to, const char *end)
{
    char name[TEXT_MAX + 1], base[TEXT_MAX + 1], bytes[METHOD_SIZE];
    size_t before;

    if (!read_text(peek, tt_foreign_word(body, BODY_NAME), name) ||
        !read_text(peek, tt_foreign_word(body, BODY_BASE_NAME), base))
        return 0;
    before = strlen(name) >= strlen(base) ? strlen(name) - strlen(base) : 0;
    if (method && !is_of_no_method(base) && strcmp(name + before, base) == 0 &&
        read_method(peek, method, bytes)) {
        name[before] = '\0';
        to = tt_foreign_put(name, to, end);
        to = put_class(peek, tt_foreign_word(bytes, METHOD_CLASS), to, end);
        (void)tt_foreign_put(base, to, end);
    } else
        (void)tt_foreign_put(name, to, end);
    return 1;
}

int tt_ruby_describe(const struct tt_interpreted *f, uint64_t names, struct tt_peek *peek,
                     struct tt_interpreted_text *out)
{
    char body[TT_RUBY_BODY_SIZE];

    if (f->code == f->method)
        return describe_method(f, names, peek, out);
    if (!read_body(peek, f->code, body) ||
        tt_ruby_print(peek, f->code, f->method) != f->print)
        return 0;
    out->line = (uint32_t)(tt_foreign_word(body, BODY_FIRST_LINE) >> 1);
    return put_name(peek, body, f->method, out->name, out->name + sizeof out->name) &&
           put_file(peek, tt_foreign_word(body, BODY_FILE), out->file,
                    out->file + sizeof out->file);
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

/* How many lines begin up to a place.  For the first places their numbers are in words, nine
 * in each; then each block has a number for its begin, and a bit for each place.
 * 0: it cannot be read. */
static uint64_t lines_until(const struct tt_peek *peek, uint64_t index, uint64_t place)
{
    enum {
        FIRST = 54,
        IN_WORD = 9,
        WORD_BITS = 7,
        IN_BLOCK = 512,
        BLOCK_RANKS = 8,
        BLOCK_BITS = 16,
        BLOCK_SIZE = 80,
        RANK_BITS = 9,
    };
    char block[BLOCK_SIZE];
    uint64_t word, rank, bits;

    if (place < FIRST)
        return tt_safe_word(peek, index + 8 * (place / IN_WORD), &word)
                   ? word >> place % IN_WORD * WORD_BITS & ((1 << WORD_BITS) - 1)
                   : 0;
    place -= FIRST;
    if (!tt_safe_read(peek, index + FIRST / IN_WORD * 8 + place / IN_BLOCK * BLOCK_SIZE,
                      block, sizeof block))
        return 0;
    word = place % IN_BLOCK / 64;
    rank = (uint32_t)tt_foreign_word(block, 0);
    if (word)
        rank += tt_foreign_word(block, BLOCK_RANKS) >> (word - 1) * RANK_BITS &
                ((1 << RANK_BITS) - 1);
    bits = tt_foreign_word(block, BLOCK_BITS + (uint32_t)word * 8)
           << (63 - place % IN_BLOCK % 64);
    return rank + (uint32_t)__builtin_popcountll(bits);
}

/* The place is that of the next instruction. */
static uint64_t place_of(const char body[TT_RUBY_BODY_SIZE], uint64_t at)
{
    const uint64_t place = (at - tt_foreign_word(body, BODY_INSTRUCTIONS)) / 8;

    return place ? place - 1 : 0;
}

uint32_t tt_ruby_line(const struct tt_interpreted *f, struct tt_peek *peek)
{
    char body[TT_RUBY_BODY_SIZE];
    uint64_t count, line = 1, at, word;

    if (f->code == f->method || !read_body(peek, f->code, body))
        return 0;
    count = (uint32_t)tt_foreign_word(body, BODY_LINES_COUNT);
    if (count > 1)
        line = lines_until(peek, tt_foreign_word(body, BODY_LINES_INDEX),
                           place_of(body, f->at));
    if (!line || line > count)
        return 0;
    at = tt_foreign_word(body, BODY_LINES) + (line - 1) * LINE_SIZE;
    if (!tt_safe_word(peek, at & ~(uint64_t)7, &word))
        return 0;
    word = at & 4 ? word >> 32 : (uint32_t)word;
    return word < LINE_MAX ? (uint32_t)word : 0;
}
