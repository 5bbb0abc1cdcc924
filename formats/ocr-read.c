/* SPDX-License-Identifier: MIT */
/* ocr-read.c - the files of OCR's profiler, one a thread: reading.
 *
 *      DEF name id                     of every function
 *      ENTRY i:i = count(c), sum(ms.ns), sumSq(ms²)
 *      ENTRY p:k = …, sumChild(ms.ns), sumSqChild(ms²), sumRecurse(ms.ns), sumSqRecurse(ms²)
 *
 * A file has functions, and pairs of caller and callee, but no paths.  They become a tree
 * of two levels, in which nothing is lost and self and calls are exact: p;k has the cost
 * of k on behalf of p, and i has the rest of i, for calls without a known caller.  The
 * inclusive cost of a function is more than the tree shows below it; the difference is
 * hidden, as it is for recursive code.  The activations of p;k keep the figures of their
 * entry. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "naming.h"
#include "ocr-write.h"
#include "sorted.h"
#include "statistics.h"

struct def {
    uint32_t id, block;
    uint32_t own, context; /* an entry + 1; 0: none */
};

struct entry {
    size_t parent, child; /* defs */
    struct tt_times_row times;
    uint64_t line;
};

struct ocr {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_vector def;   /* struct def, by id */
    struct tt_vector entry; /* struct entry */
    uint32_t time, calls;
    uint64_t all_time, all_calls; /* of all entries */
    uint64_t odd;                 /* figures of pairs that exceed their function's */
};

/* ── Words and numbers ────────────────────────────────────────────────────────────── */

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* Is this "DEF name id"?  Returns where its id is. */
static const char *is_definition(const char *line, const char *end)
{
    const char *c = line + 4;

    if (end - line < 4 || memcmp(line, "DEF ", 4) != 0)
        return NULL;
    while (c < end && is_word(*c))
        c++;
    return c > line + 4 && c + 1 < end && *c == ' ' && c[1] >= '0' && c[1] <= '9' ? c + 1
                                                                                  : NULL;
}

/* Takes `text`, which must be there. */
static int take(const char **at, const char *text)
{
    size_t length = strlen(text);

    if (strncmp(*at, text, length) != 0)
        return -TT_ERR_FORMAT;
    *at += length;
    return 0;
}

static int take_integer(const char **at, uint64_t *n)
{
    char *end;

    *n = 0;
    if (**at < '0' || **at > '9')
        return -TT_ERR_FORMAT;
    *n = strtoull(*at, &end, 10);
    *at = end;
    return *n == ULLONG_MAX ? -TT_ERR_FORMAT : 0;
}

/* Takes "12.000345" in units of its `digits`-th decimal; drops further ones. */
static int take_decimal(const char **at, int digits, unsigned __int128 *n)
{
    uint64_t whole;
    int error = take_integer(at, &whole);

    *n = whole;
    if (!error && **at == '.')
        ++*at;
    else if (!error)
        error = **at == ')' ? 0 : -TT_ERR_FORMAT;
    while (!error && digits-- > 0) {
        *n *= 10;
        if (**at >= '0' && **at <= '9')
            *n += (unsigned)(*(*at)++ - '0');
    }
    while (**at >= '0' && **at <= '9')
        ++*at;
    return error;
}

static int take_time(const char **at, const char *name, uint64_t *ns)
{
    unsigned __int128 n = 0;
    int error = take(at, name);

    error = error ?: take_decimal(at, 6, &n);
    *ns = (uint64_t)n;
    return error || n >> 64 ? -TT_ERR_FORMAT : take(at, ")");
}

static int take_square(const char **at, const char *name, struct tt_sum128 *square)
{
    unsigned __int128 n = 0;
    int error = take(at, name);

    error = error ?: take_decimal(at, 12, &n);
    *square = (struct tt_sum128){(uint64_t)n, (uint64_t)(n >> 64)};
    return error ?: take(at, ")");
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const struct def *)a)->id, y = ((const struct def *)b)->id;

    return TT_ORDER(x, y);
}

static int take_definition(struct ocr *x, char *line, const char *number)
{
    struct def *d;
    uint64_t id;
    int error = take_integer(&number, &id);

    if (error || *number || id > INT_MAX)
        return tt_source_fail(x->s, "a function has no number");
    line[number - line - 1] = '\0';
    for (char *c = line + 4; *c; c++)
        if (*c == ' ')
            *c = '\0';
    d = tt_vector_add(&x->def, 1);
    if (!d)
        return tt_source_no_memory(x->s);
    *d = (struct def){
        .id = (uint32_t)id,
        .block = tt_builder_block(
            x->b, &(struct tt_block_info){.name = line + 4, .kind = TT_KIND_SCOPE})};
    if (x->def.count > 1 && d[-1].id >= d->id)
        return tt_source_fail(x->s, d[-1].id == d->id ? "a function is named twice"
                                                      : "functions are not in order");
    return 0;
}

static int find_function(struct ocr *x, uint64_t id, size_t *found)
{
    struct def key = {.id = (uint32_t)id}, *defs = x->def.item;
    const struct def *d = id > INT_MAX || !x->def.count
                              ? NULL
                              : bsearch(&key, defs, x->def.count, sizeof key, by_id);

    if (!d)
        return tt_source_fail(x->s, "there is no function %llu", (unsigned long long)id);
    *found = (size_t)(d - defs);
    return 0;
}

/* Takes the figures after the names; missing ones of a pair are 0. */
static int take_figures(const char *at, int is_pair, struct tt_times_row *t)
{
    int error = take(&at, " = count(");

    error = error ?: take_integer(&at, &t->count);
    error = error ?: take(&at, ")");
    error = error ?: take_time(&at, ", sum(", &t->sum);
    error = error ?: take_square(&at, ", sumSq(", &t->square);
    if (!error && is_pair)
        error = take_time(&at, ", sumChild(", &t->children);
    if (!error && is_pair)
        error = take_square(&at, ", sumSqChild(", &t->children_square);
    if (!error && is_pair && *at)
        error = take_time(&at, ", sumRecurse(", &t->recursive);
    if (!error && is_pair && *at)
        error = take_square(&at, ", sumSqRecurse(", &t->recursive_square);
    return error || *at ? -TT_ERR_FORMAT : 0;
}

static int take_entry(struct ocr *x, const char *line)
{
    const char *at = line;
    uint64_t parent = 0, child = 0;
    struct entry e = {.line = x->s->line};
    int error = take(&at, "ENTRY ");

    error = error ?: take_integer(&at, &parent);
    error = error ?: take(&at, ":");
    error = error ?: take_integer(&at, &child);
    error = error ?: take_figures(at, parent != child, &e.times);
    if (error)
        return tt_source_fail(x->s, "this is no entry of OCR's profiler");
    if (__builtin_add_overflow(x->all_time, e.times.sum, &x->all_time) ||
        __builtin_add_overflow(x->all_calls, e.times.count, &x->all_calls))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    error = find_function(x, parent, &e.parent);
    error = error ?: find_function(x, child, &e.child);
    if (error)
        return error;
    return tt_source_append(x->s, &x->entry, &e);
}

static int take_lines(struct ocr *x)
{
    char *line;
    size_t length;
    int more, error = 0;

    while (!error && (more = tt_source_line(x->s, &line, &length)) != 0) {
        const char *number = more < 0 ? NULL : is_definition(line, line + length);
        if (more < 0)
            return more;
        if (number)
            error = take_definition(x, line, number);
        else if (length)
            error = take_entry(x, line);
    }
    return error;
}

/* ── The tree ─────────────────────────────────────────────────────────────────────── */

static uint64_t less(struct ocr *x, uint64_t a, uint64_t b)
{
    x->odd += a < b;
    return a < b ? 0 : a - b;
}

static struct tt_sum128 less_square(const struct tt_sum128 *a, const struct tt_sum128 *b)
{
    if (a->high < b->high || (a->high == b->high && a->low < b->low))
        return (struct tt_sum128){0, 0};
    return (struct tt_sum128){a->low - b->low,
                              a->high - b->high - (uint64_t)(a->low < b->low)};
}

static void add_context(struct ocr *x, uint32_t context, const struct tt_times_row *t)
{
    tt_builder_add(x->b, TT_ROLE_SELF, context, x->time, less(x, t->sum, t->children));
    if (!t->count)
        return;
    tt_builder_add(x->b, TT_ROLE_SELF, context, x->calls, t->count);
    tt_builder_times(x->b, 0, context, t);
}

/* The part of a function that no known caller accounts for, its callees, and its
 * recursion. */
struct rest {
    struct tt_times_row times;
    uint64_t below, recursive; /* self time of its callees; time of recursive calls */
    uint64_t self;             /* its self time, on behalf of others */
};

static void take_pair(struct ocr *x, struct rest *rest, const struct entry *e)
{
    const struct tt_times_row *t = &e->times;
    struct rest *parent = &rest[e->parent], *child = &rest[e->child];
    uint64_t self = less(x, t->sum, t->children);

    child->times.count = less(x, child->times.count, t->count);
    child->times.sum = less(x, child->times.sum, t->sum);
    child->times.square = less_square(&child->times.square, &t->square);
    child->times.children = less(x, child->times.children, t->children);
    child->times.children_square = less_square(&child->times.children_square,
                                               &t->children_square);
    child->self += self;
    parent->below += self;
    parent->recursive += t->recursive;
}

/* Takes the functions' own entries first, so that the rest is never below 0 in
 * between. */
static int find_rest(struct ocr *x, struct rest *rest)
{
    struct def *defs = x->def.item;
    const struct entry *entry = x->entry.item;

    for (size_t i = 0; i < x->entry.count; i++) {
        const struct entry *e = &entry[i];
        if (e->parent != e->child) {
            rest[e->parent].times.children += e->times.sum;
            tt_sum128_add(&rest[e->parent].times.children_square, &e->times.square);
            continue;
        }
        if (defs[e->parent].own) {
            x->s->line = e->line;
            return tt_source_fail(x->s, "a function has two entries");
        }
        defs[e->parent].own = (uint32_t)i + 1;
        rest[e->parent].times.count = e->times.count;
        rest[e->parent].times.sum = e->times.sum;
        rest[e->parent].times.square = e->times.square;
    }
    for (size_t i = 0; i < x->entry.count; i++)
        if (entry[i].parent != entry[i].child)
            take_pair(x, rest, &entry[i]);
    return 0;
}

/* A function that is still open when the file is written has callees, but no entry.
 * Squares of pairs wrap around at 2^32 ms², those of functions do not.  If all calls have
 * a known caller, the missing squares go to one pair, so the function's total is
 * right. */
static void build(struct ocr *x, struct rest *rest)
{
    struct def *defs = x->def.item;
    const struct entry *entry = x->entry.item;

    for (size_t i = 0; i < x->def.count; i++) {
        const struct rest *r = &rest[i];
        uint64_t all = 0, shown;
        if (!defs[i].own && !r->below && !r->times.children)
            continue;
        defs[i].context = tt_builder_context(x->b, TT_BUILDER_ROOT, defs[i].block);
        if (!defs[i].own)
            continue;
        add_context(x, defs[i].context, &r->times);
        all = entry[defs[i].own - 1].times.sum;
        all -= all < r->recursive ? all : r->recursive;
        shown = r->below + r->self + (r->times.sum - r->times.children);
        if (r->times.sum >= r->times.children && all > shown)
            tt_builder_add(x->b, TT_ROLE_HIDDEN, defs[i].block, x->time, all - shown);
    }
    for (size_t i = 0; i < x->entry.count; i++) {
        const struct entry *e = &entry[i];
        struct tt_times_row t = e->times;
        if (e->parent == e->child)
            continue;
        if (!rest[e->child].times.count) {
            tt_sum128_add(&t.square, &rest[e->child].times.square);
            rest[e->child].times.square = (struct tt_sum128){0, 0};
        }
        add_context(
            x, tt_builder_context(x->b, defs[e->parent].context, defs[e->child].block),
            &t);
    }
}

static int add_tree(struct ocr *x)
{
    size_t size = x->def.count * sizeof(struct rest);
    struct rest *rest = tt_memory_get(x->s->memory, size);
    int error = rest ? find_rest(x, rest) : tt_source_no_memory(x->s);

    if (!error)
        build(x, rest);
    tt_memory_put(x->s->memory, rest);
    if (x->odd)
        tt_builder_fact(x->b, "unbalanced", TT_FACT_SUM, x->odd, "");
    return error;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

/* "profiler_3-1f" is node 3, thread 1f; other names become the strand's name. */
static void name_strand(struct ocr *x)
{
    const char *slash = strrchr(x->s->name, '/');
    char name[256], base[256], *dash, *node;
    struct tt_strand_info strand = {.rank = TT_NONE, .members = 1};

    (void)snprintf(name, sizeof name, "%s", slash ? slash + 1 : x->s->name);
    strand.process = strand.node = "";
    strand.name = name;
    dash = strrchr(name, '-');
    node = dash;
    while (node && node > name && strchr("0123456789abcdef", node[-1]))
        node--;
    if (dash && node < dash && dash[1] &&
        dash[1 + strspn(dash + 1, "0123456789abcdef")] == '\0') {
        strand.thread = strtoull(dash + 1, NULL, 16);
        (void)snprintf(base, sizeof base, "%.*s", (int)(node - name), name);
        *dash = '\0';
        strand.process = base;
        strand.node = node;
        strand.name = dash + 1;
    }
    tt_builder_strand(x->b, &strand);
}

static enum tt_match detect(const char *head, size_t size)
{
    const char *end = memchr(head, '\n', size);

    if (end && end > head && end[-1] == '\r')
        end--;
    return tt_match_if(end && is_definition(head, end));
}

static int read_ocr(struct tt_source *s, struct tt_builder *b)
{
    struct ocr x = {.s = s, .b = b};
    int error;

    tt_vector_init(&x.def, s->memory, sizeof(struct def));
    tt_vector_init(&x.entry, s->memory, sizeof(struct entry));
    x.calls = tt_builder_metric(b, "calls", "", TT_METRIC_CALLS);
    x.time = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME);
    name_strand(&x);
    error = take_lines(&x);
    error = error ?: add_tree(&x);
    return error;
}

const struct tt_format tt_format_ocr = {
    .name = "ocr",
    .about = "files of OCR's profiler, one a thread: a folder",
    .detect = detect,
    .read = read_ocr,
    .write = tt_ocr_write,
    .part = tt_ocr_part,
};
