/* SPDX-License-Identifier: MIT */
/* pstats.c - the files that Python's cProfile and profile save, for pstats: reading.
 *
 *      {("a.py", 12, "f"): (primitive calls, calls, self, cumulative,
 *                           {("b.py", 3, "g"): (calls, primitive calls, self, cumulative),
 *                            …}), …}                     callers; profile has the calls alone
 *
 * as Python's marshal writes it: each value begins with a letter, and repeated values are
 * references to earlier ones.  It is a call graph; the cumulative time of each function
 * is taken from the file.  The root calls functions that have no profiled caller. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arcs.h"
#include "formats.h"
#include "frames.h"

enum kind { NOTHING, NUMBER, REAL, TEXT, TUPLE, DICT, UNFINISHED };

struct value {
    enum kind kind;
    size_t first, count; /* TEXT: bytes of the file; TUPLE, DICT: values in `item` */
    int64_t number;
    double real;
};

struct pstats {
    struct tt_source *s;
    struct tt_builder *b;
    const unsigned char *bytes;
    size_t size, at;
    struct tt_vector item;    /* struct value: of tuples and dicts, keys before values */
    struct tt_vector known;   /* struct value: values that may be referred to, by
                                 number */
    struct tt_vector strings; /* the same for Python 2 */
    struct tt_vector text;    /* char: the names of a function, with a NUL each */
    struct tt_arcs arcs;
    struct tt_vector inclusive; /* uint64_t: of each function */
    uint32_t root;
    int layout; /* of code objects + 1; 0: not known yet */
};

static int wrong(struct pstats *p, const char *what)
{
    return tt_source_fail_at(p->s, p->at, "%s", what);
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

static int take(struct pstats *p, size_t size, uint64_t *number)
{
    *number = 0;
    if (size > p->size - p->at)
        return wrong(p, "the file ends within a value");
    *number = tt_number_at((const char *)p->bytes + p->at, (int)size);
    p->at += size;
    return 0;
}

static int read_text(struct pstats *p, size_t width, struct value *v)
{
    uint64_t length;
    int error = take(p, width, &length);

    if (error)
        return error;
    if (length > p->size - p->at)
        return wrong(p, "the file ends within a text");
    *v = (struct value){.kind = TEXT, .first = p->at, .count = (size_t)length};
    p->at += length;
    return 0;
}

/* Reads digits of 15 bits, the least first; for a negative number the count is
 * negative. */
static int read_long(struct pstats *p, struct value *v)
{
    uint64_t count, digit;
    int error = take(p, 4, &count), negative = count >> 31 != 0;
    uint64_t n = negative ? (1ull << 32) - count : count;

    *v = (struct value){.kind = NUMBER};
    for (uint64_t i = 0; !error && i < n; i++) {
        error = take(p, 2, &digit);
        if (!error && (i >= 4 && digit))
            return wrong(p, "a number is too large");
        if (!error && i < 4)
            v->number |= (int64_t)(digit << 15 * i);
    }
    if (negative)
        v->number = -v->number;
    return error;
}

/* Reads a number as text, as old versions have it. */
static int read_old_real(struct pstats *p, struct value *v)
{
    struct value text = {0};
    char copy[64];
    int error = read_text(p, 1, &text);

    if (error)
        return error;
    if (text.count >= sizeof copy)
        return wrong(p, "a number is too long");
    memcpy(copy, p->bytes + text.first, text.count);
    copy[text.count] = '\0';
    *v = (struct value){.kind = REAL, .real = strtod(copy, NULL)};
    return 0;
}

static int read_real(struct pstats *p, struct value *v)
{
    uint64_t bits;
    int error = take(p, 8, &bits);

    *v = (struct value){.kind = REAL};
    if (!error)
        memcpy(&v->real, &bits, sizeof bits);
    return error;
}

static int read_value(struct pstats *p, struct value *v, int depth);

/* Gathers the values of a tuple or dict until all have been read. */
static int keep_items(struct pstats *p, const struct tt_vector *items, struct value *v)
{
    struct value *to;

    v->first = p->item.count;
    v->count = items->count;
    to = items->count ? tt_vector_add(&p->item, items->count) : NULL;
    if (items->count && !to)
        return tt_source_no_memory(p->s);
    if (to)
        memcpy(to, items->item, items->count * sizeof *to);
    return 0;
}

static int read_items(struct pstats *p, uint64_t count, struct value *v, int depth)
{
    struct tt_vector items;
    struct value item;
    int error = 0;

    tt_vector_init(&items, p->s->memory, sizeof item);
    for (; !error && count; count--) {
        error = read_value(p, &item, depth + 1);
        if (!error && v->kind == DICT && item.kind == NOTHING && item.count)
            break; /* its end */
        error = error ?: tt_source_append(p->s, &items, &item);
    }
    if (!error && v->kind == DICT && items.count % 2)
        error = wrong(p, "a dict ends behind a key");
    error = error ?: keep_items(p, &items, v);
    tt_vector_fini(&items);
    return error;
}

static int read_tuple(struct pstats *p, size_t width, struct value *v, int depth)
{
    uint64_t count;
    int error = take(p, width, &count);

    *v = (struct value){.kind = TUPLE};
    if (!error && count > p->size - p->at)
        return wrong(p, "a tuple has more values than the file");
    return error ?: read_items(p, count, v, depth);
}

static int find_known(struct pstats *p, const struct tt_vector *known, struct value *v)
{
    uint64_t number;
    int error = take(p, 4, &number);

    if (error)
        return error;
    if (number >= known->count)
        return wrong(p, "a value refers to one that there is not");
    *v = ((const struct value *)known->item)[number];
    return v->kind == UNFINISHED ? wrong(p, "a value is within itself") : 0;
}

static int read_number(struct pstats *p, int width, struct value *v)
{
    uint64_t number;
    int error = take(p, (size_t)width, &number);

    *v = (struct value){.kind = NUMBER};
    v->number = width == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
    return error;
}

/* `python -m profile` has the program's code object in place of its name.  The layout of
 * code objects depends on Python's version, which the file does not state: numbers,
 * values, a line, and values. */
static const struct layout {
    int numbers, values, name, more;
} layouts[] = {{5, 8, 6, 2}, {6, 8, 7, 1}, {5, 8, 7, 1}, {4, 8, 7, 1}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static int read_code_as(struct pstats *p, const struct layout *l, struct value *v,
                        int depth)
{
    struct value part, name = {.kind = NOTHING}, file = name;
    uint64_t skipped;
    int error = 0;

    for (int i = 0; !error && i < l->numbers; i++)
        error = take(p, 4, &skipped);
    for (int i = 0; !error && i < l->values; i++) {
        error = read_value(p, &part, depth + 1);
        if (i == l->name)
            name = part;
        if (i == l->name - 1)
            file = part;
    }
    error = error ?: take(p, 4, &skipped);
    for (int i = 0; !error && i < l->more; i++)
        error = read_value(p, &part, depth + 1);
    if (!error && (name.kind != TEXT || file.kind != TEXT || part.kind != TEXT))
        error = wrong(p, "this is no code of Python");
    *v = name;
    return error;
}

static int read_code(struct pstats *p, struct value *v, int depth)
{
    const size_t at = p->at, item = p->item.count, known = p->known.count,
                 strings = p->strings.count;
    int error = -TT_ERR_FORMAT;

    if (p->layout)
        return read_code_as(p, &layouts[p->layout - 1], v, depth);
    for (p->layout = 1; p->layout <= LAYOUTS; p->layout++) {
        p->at = at;
        p->item.count = item;
        p->known.count = known;
        p->strings.count = strings;
        error = read_code_as(p, &layouts[p->layout - 1], v, depth);
        if (error != -TT_ERR_FORMAT)
            return error;
    }
    p->layout = LAYOUTS;
    return error;
}

static int read_kind(struct pstats *p, unsigned char letter, struct value *v, int depth)
{
    static const unsigned char utf8[] = "utAas";

    *v = (struct value){.kind = NOTHING};
    switch (letter) {
    case '0': /* the end of a dict */
        v->count = 1;
        return 0;
    case 'N':
    case '.':
        return 0;
    case 'c':
        return read_code(p, v, depth);
    case 'y': /* a complex number */
        p->at += p->size - p->at < 8 ? 0 : 8;
        return read_real(p, v);
    case '>': /* sets */
    case '<':
    case '[':
        return read_tuple(p, 4, v, depth);
    case 'T':
    case 'F':
        *v = (struct value){.kind = NUMBER, .number = letter == 'T'};
        return 0;
    case 'i':
        return read_number(p, 4, v);
    case 'I':
        return read_number(p, 8, v);
    case 'l':
        return read_long(p, v);
    case 'f':
        return read_old_real(p, v);
    case 'g':
        return read_real(p, v);
    case 'z':
    case 'Z':
        return read_text(p, 1, v);
    case ')':
        return read_tuple(p, 1, v, depth);
    case '(':
        return read_tuple(p, 4, v, depth);
    case '{':
        v->kind = DICT;
        return read_items(p, UINT64_MAX, v, depth);
    case 'r':
        return find_known(p, &p->known, v);
    case 'R':
        return find_known(p, &p->strings, v);
    default:
        break;
    }
    if (letter && strchr((const char *)utf8, letter))
        return read_text(p, 4, v);
    p->at--;
    return wrong(p, "no value of a profile begins so");
}

static int read_value(struct pstats *p, struct value *v, int depth)
{
    enum { DEEPEST = 40, MAY_COME_AGAIN = 0x80 };
    const struct value unfinished = {.kind = UNFINISHED};
    uint64_t byte;
    size_t number = p->known.count;
    int error = take(p, 1, &byte);

    if (error)
        return error;
    if (depth > DEEPEST)
        return wrong(p, "values are too deep within each other");
    if (byte & MAY_COME_AGAIN)
        error = tt_source_append(p->s, &p->known, &unfinished);
    error = error ?: read_kind(p, byte & 0x7f, v, depth);
    if (!error && byte & MAY_COME_AGAIN)
        ((struct value *)p->known.item)[number] = *v;
    if (!error && byte == 't')
        error = tt_source_append(p->s, &p->strings, v);
    return error;
}

/* ── Functions ────────────────────────────────────────────────────────────────────── */

static const struct value *items_of(const struct pstats *p, const struct value *v)
{
    return (const struct value *)p->item.item + v->first;
}

/* Appends a text with a NUL after it; NULs within become '?'.  Sets where it begins in
 * p->text. */
static int add_text(struct pstats *p, const struct value *v, size_t *at)
{
    char *to = tt_vector_add(&p->text, v->count + 1);

    if (!to)
        return tt_source_no_memory(p->s);
    *at = (size_t)(to - (char *)p->text.item);
    for (size_t i = 0; i < v->count; i++)
        to[i] = (char)(p->bytes[v->first + i] ? p->bytes[v->first + i] : '?');
    return 0;
}

/* Built-in functions have "~" for a file, and "<…>" for a name: "{built-in method
 * exec}". */
static int find_function(struct pstats *p, const struct value *key, uint32_t *function)
{
    const struct value *part = items_of(p, key);
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    size_t file = 0, name = 0, length;
    char *text;
    int error;

    if (key->kind != TUPLE || key->count != 3 || part[0].kind != TEXT ||
        part[1].kind != NUMBER || part[2].kind != TEXT)
        return wrong(p, "a function is not (file, line, name)");
    p->text.count = 0;
    error = add_text(p, &part[0], &file);
    error = error ?: add_text(p, &part[2], &name);
    if (error)
        return error;
    text = p->text.item;
    length = part[2].count;
    info.name = text + name;
    if (strcmp(text + file, "~") == 0 && part[1].number == 0) {
        if (length > 1 && text[name] == '<' && text[name + length - 1] == '>') {
            text[name] = '{';
            text[name + length - 1] = '}';
        }
    } else {
        info.file = text + file;
        info.line = part[1].number > 0 && part[1].number < UINT32_MAX
                        ? (uint32_t)part[1].number
                        : 0;
    }
    *function = tt_arcs_function(&p->arcs, tt_builder_block(p->b, &info));
    return *function == TT_NONE ? tt_source_no_memory(p->s) : 0;
}

/* Takes seconds, as ns. */
static int take_time(struct pstats *p, const struct value *v, uint64_t *ns)
{
    double x = v->kind == REAL ? v->real : v->kind == NUMBER ? (double)v->number : -1;

    if (!(x < 9e9) || x < -1e-3 || (v->kind != REAL && v->kind != NUMBER))
        return wrong(p, "a time is no number, below 0, or too large");
    *ns = x > 0 ? (uint64_t)llround(x * 1e9) : 0; /* clocks are not exact: below 0 is 0 */
    return 0;
}

/* On Windows, Python counts in 32 bits: counts from 2^31 on are negative. */
static int take_count(struct pstats *p, const struct value *v, uint64_t *count)
{
    if (v->kind != NUMBER || v->number < INT32_MIN)
        return wrong(p, "a number of calls is not a whole number, or too far below 0");
    *count = v->number < 0 ? (uint32_t)v->number : (uint64_t)v->number;
    return 0;
}

static int add_call(struct pstats *p, uint32_t from, uint32_t to, uint64_t calls,
                    uint64_t cost)
{
    uint32_t arc = tt_arcs_arc(&p->arcs, from, to, calls);

    if (arc == TT_NONE)
        return tt_source_no_memory(p->s);
    return tt_arcs_add_cost(&p->arcs, arc, &cost, 1) ? wrong(p, TT_TOO_MUCH) : 0;
}

struct row {
    uint32_t function;
    uint64_t calls, self, cost;
    uint64_t called, came; /* sums over its callers: calls, and their cost */
};

static int take_caller(struct pstats *p, struct row *r, const struct value *key,
                       const struct value *v)
{
    const struct value *part = items_of(p, v);
    uint64_t calls = 0, cost = 0;
    uint32_t from = 0;
    int error = find_function(p, key, &from);

    if (error)
        return error;
    if (v->kind == NUMBER) { /* from `profile`, which does not know the cost of these
                                calls */
        error = take_count(p, v, &calls);
        cost = r->calls ? (uint64_t)((unsigned __int128)r->cost *
                                     (calls < r->calls ? calls : r->calls) / r->calls)
                        : 0;
    } else if (v->kind == TUPLE && v->count == 4) {
        error = take_count(p, &part[0], &calls);
        error = error ?: take_time(p, &part[3], &cost);
    } else {
        return wrong(p, "a caller has no calls");
    }
    if (error)
        return error;
    r->called += calls;
    r->came += from == r->function ? 0 : cost;
    return add_call(p, from, r->function, calls, cost);
}

static int take_function(struct pstats *p, const struct value *key, const struct value *v)
{
    const struct value *part = items_of(p, v), *callers;
    struct row r = {0};
    uint64_t *inclusive;
    int error = find_function(p, key, &r.function);

    if (error)
        return error;
    if (v->kind != TUPLE || v->count != 5 || part[4].kind != DICT)
        return wrong(p, "a function has not (calls, calls, time, time, callers)");
    error = take_count(p, &part[1], &r.calls);
    error = error ?: take_time(p, &part[2], &r.self);
    error = error ?: take_time(p, &part[3], &r.cost);
    if (!error && tt_arcs_add_self(&p->arcs, r.function, &r.self, 1) != 0)
        return wrong(p, TT_TOO_MUCH);
    callers = items_of(p, &part[4]);
    for (size_t i = 0; !error && i < part[4].count; i += 2)
        error = take_caller(p, &r, &callers[i], &callers[i + 1]);
    if (!error && (r.calls > r.called || r.cost > r.came))
        error = add_call(p, p->root, r.function,
                         r.calls > r.called ? r.calls - r.called : 0,
                         r.cost > r.came ? r.cost - r.came : 0);
    if (error)
        return error;
    while (p->inclusive.count <= r.function)
        if (!tt_vector_add(&p->inclusive, 1))
            return tt_source_no_memory(p->s);
    inclusive = (uint64_t *)p->inclusive.item + r.function;
    *inclusive += r.cost;
    return 0;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int read_all(struct pstats *p)
{
    struct value all, *item;
    uint32_t metric, calls;
    const char *bytes;
    int error = tt_source_all(p->s, &bytes, &p->size);

    if (error)
        return error;
    p->bytes = (const unsigned char *)bytes;
    p->root = tt_arcs_namesake(&p->arcs, TT_BUILDER_ROOT);
    if (p->root == TT_NONE)
        return tt_source_no_memory(p->s);
    error = read_value(p, &all, 0);
    if (!error && all.kind != DICT)
        error = wrong(p, "this is no dict of functions");
    if (!error && p->at != p->size)
        error = wrong(p, "something follows the profile");
    item = p->item.item;
    for (size_t i = 0; !error && i < all.count; i += 2)
        error = take_function(p, &item[all.first + i], &item[all.first + i + 1]);
    while (!error && p->inclusive.count < p->arcs.function.count)
        if (!tt_vector_add(&p->inclusive, 1))
            error = tt_source_no_memory(p->s);
    if (error)
        return error;
    metric = tt_builder_metric(p->b, "time", "ns", TT_METRIC_TIME);
    calls = tt_builder_metric(p->b, "calls", "", TT_METRIC_CALLS);
    p->arcs.inclusive = p->inclusive.item;
    return tt_arcs_finish(&p->arcs, &metric, calls) ? tt_source_no_memory(p->s) : 0;
}

static int read_pstats(struct tt_source *s, struct tt_builder *b)
{
    struct pstats p = {.s = s, .b = b};
    int error;

    tt_vector_init(&p.item, s->memory, sizeof(struct value));
    tt_vector_init(&p.known, s->memory, sizeof(struct value));
    tt_vector_init(&p.strings, s->memory, sizeof(struct value));
    tt_vector_init(&p.text, s->memory, 1);
    tt_vector_init(&p.inclusive, s->memory, sizeof(uint64_t));
    error = tt_arcs_init(&p.arcs, b, s->memory, 1);
    return error ? tt_source_no_memory(s) : read_all(&p);
}

/* A dict whose first key is a tuple of three. */
static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size > 6 && (head[0] & 0x7f) == '{' &&
                       (((head[1] & 0x7f) == ')' && head[2] == 3) ||
                        ((head[1] & 0x7f) == '(' && memcmp(head + 2, "\3\0\0", 4) == 0)));
}

const struct tt_format tt_format_pstats = {
    .name = "pstats",
    .about = "what Python's cProfile and profile save",
    .detect = detect,
    .read = read_pstats,
};
