/* SPDX-License-Identifier: MIT */
/* heaptrack.c - interpreted files of heaptrack: reading.
 *
 *      s c /usr/bin/app                  a string, with its length from version 3 on
 *      i 5565d 1 f 10 2c                 an address: module, function, file, line, and the
 *                                        functions that it is inlined into, in turn
 *      t 5 4                             a trace: an address, and the trace of its caller
 *      a 3e8 5                           a size that was allocated at a trace
 *      + 0    - 0                        that was allocated; freed
 *      c 1f   R 3d5                      the time in ms; resident pages
 *
 * Numbers are hexadecimal, and count from 1, except those after + and -.  Memory alive at
 * the peak is found in one pass: a trace remembers during which peak it changed last, and
 * how much it had before that change.  A trace that has not changed since the last peak
 * still has it. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "hex.h"
#include "naming.h"

enum { MOST_VERSION = 3, OLD_VERSION = 0x10200, MOST_FRAMES = 64 };

struct range { /* of a string's bytes */
    size_t first, count;
};

struct ip {              /* an address */
    size_t first, count; /* its blocks, outermost first */
    int is_new;          /* the innermost is `operator new` */
};

struct trace {
    uint32_t context;
    uint32_t site;  /* the trace it is charged to: itself, or for `operator new` its
                       caller */
    uint64_t peaks; /* number of peaks when it changed last */
    uint64_t bytes, number, live, live_number, peak, peak_number, temporary;
};

struct kind { /* of allocations */
    uint64_t size;
    uint32_t trace;
};

struct heaptrack {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_heap_profile heap;
    struct tt_vector text, string; /* char; struct range */
    struct tt_vector block, ip;    /* uint32_t; struct ip */
    struct tt_vector trace, kind;  /* struct trace; struct kind */
    struct tt_heap_line line, resident;
    uint64_t version, page, time, live, peak, peaks, bytes;
    uint32_t last; /* the last allocation; TT_NONE: something was freed since */
};

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

/* The next number of a line; 0: there is none, or it is too large. */
static int take(const char **at, uint64_t *n)
{
    const char *c = *at;

    while (*c == ' ')
        c++;
    if (tt_hex_small(*c) < 0)
        return 0;
    for (*n = 0; tt_hex_small(*c) >= 0; c++) {
        if (*n >> 60)
            return 0;
        *n = *n << 4 | (uint64_t)tt_hex_small(*c);
    }
    *at = c;
    return 1;
}

static int wants(struct heaptrack *h, const char *what)
{
    return tt_source_fail(h->s, "%s", what);
}

/* Takes the number of an existing thing, counted from 1; 0: none. */
static int take_index(const char **at, const struct tt_vector *of, uint32_t *index)
{
    uint64_t n;

    if (!take(at, &n) || n > of->count || n >= TT_NONE)
        return 0;
    *index = (uint32_t)n;
    return 1;
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static int take_string(struct heaptrack *h, const char *at, const char *end)
{
    struct range *r = tt_vector_add(&h->string, 1);
    uint64_t length;
    char *to;

    if (h->version >= 3 &&
        (!take(&at, &length) || at == end || (at++, length != (uint64_t)(end - at))))
        return wants(h, "a string has its length, and is as long");
    if (h->version < 3)
        at += *at == ' ';
    to = r ? tt_vector_add(&h->text, (size_t)(end - at) + 1) : NULL;
    if (!to)
        return tt_source_no_memory(h->s);
    memcpy(to, at, (size_t)(end - at));
    for (char *c = to; c < to + (end - at); c++)
        *c = (char)(*c ? *c : '?');
    *r = (struct range){h->text.count - (size_t)(end - at) - 1, (size_t)(end - at)};
    return 0;
}

static const char *string_of(const struct heaptrack *h, uint32_t index)
{
    return index ? (const char *)h->text.item +
                       ((const struct range *)h->string.item)[index - 1].first
                 : "";
}

static int add_frame(struct heaptrack *h, uint32_t module, uint32_t function,
                     uint32_t file, uint64_t address)
{
    uint32_t *block = tt_vector_add(&h->block, 1);
    char number[24];
    struct tt_block_info info = {.name = string_of(h, function),
                                 .file = string_of(h, file),
                                 .module = string_of(h, module),
                                 .kind = TT_KIND_FUNCTION};

    if (!*info.name) {
        (void)snprintf(number, sizeof number, "0x%llx", (unsigned long long)address);
        info.name = number;
    }
    if (!block || (*block = tt_builder_block(h->b, &info)) == TT_NONE)
        return tt_source_no_memory(h->s);
    return 0;
}

/* Allocations by `operator new` are charged to its caller, as heaptrack's own tools and
 * our recordings do. */
static int is_new(const char *name)
{
    static const char *const names[] = {
        "operator new(unsigned long)", "operator new[](unsigned long)",
        "operator new(unsigned int)", "operator new[](unsigned int)"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

/* "ADDRESS MODULE [FUNCTION FILE LINE…]" */
static int take_ip(struct heaptrack *h, const char *at)
{
    static const char what[] =
        "an address has a module, and functions with file and line";
    uint64_t address, line;
    uint32_t module, pair[MOST_FRAMES][2], count = 0;
    size_t first = h->block.count;
    struct ip ip;
    int error = 0;

    if (!take(&at, &address) || !take_index(&at, &h->string, &module))
        return wants(h, what);
    for (; *at; count++)
        if (count == MOST_FRAMES || !take_index(&at, &h->string, &pair[count][0]))
            return wants(h, what);
        else if (!*at) /* only the function is known */
            pair[count][1] = 0;
        else if (!take_index(&at, &h->string, &pair[count][1]) || !take(&at, &line))
            return wants(h, what);
    if (!count)
        error = add_frame(h, module, 0, 0, address);
    for (uint32_t i = count; !error && i--;)
        error = add_frame(h, module, pair[i][0], pair[i][1], address);
    if (error)
        return error;
    ip = (struct ip){first, h->block.count - first,
                     count && is_new(string_of(h, pair[0][0]))};
    return tt_source_append(h->s, &h->ip, &ip);
}

static int take_trace(struct heaptrack *h, const char *at)
{
    struct trace *t;
    const struct ip *place;
    uint32_t ip, parent, context = TT_BUILDER_ROOT;

    if (!take_index(&at, &h->ip, &ip) || !ip || !take_index(&at, &h->trace, &parent))
        return wants(h, "a trace has an address and the trace of its caller");
    if (!(t = tt_vector_add(&h->trace, 1)))
        return tt_source_no_memory(h->s);
    if (parent)
        context = ((struct trace *)h->trace.item)[parent - 1].context;
    place = (const struct ip *)h->ip.item + ip - 1;
    for (size_t i = 0; i < place->count; i++)
        context = tt_builder_context(h->b, context,
                                     ((const uint32_t *)h->block.item)[place->first + i]);
    t->context = context;
    t->site = place->is_new && parent ? ((struct trace *)h->trace.item)[parent - 1].site
                                      : (uint32_t)h->trace.count - 1;
    return context == TT_NONE ? tt_source_no_memory(h->s) : 0;
}

static int take_kind(struct heaptrack *h, const char *at)
{
    uint32_t trace;
    uint64_t size;
    struct kind k;

    if (!take(&at, &size) || !take_index(&at, &h->trace, &trace) || !trace)
        return wants(h, "an allocation has a size and a trace");
    k = (struct kind){size, ((struct trace *)h->trace.item)[trace - 1].site};
    return tt_source_append(h->s, &h->kind, &k);
}

/* ── What happened ────────────────────────────────────────────────────────────────── */

/* Returns a trace that is about to change. */
static struct trace *trace_of(struct heaptrack *h, const struct kind *k)
{
    struct trace *t = (struct trace *)h->trace.item + k->trace;

    if (t->peaks < h->peaks) {
        t->peak = t->live;
        t->peak_number = t->live_number;
        t->peaks = h->peaks;
    }
    return t;
}

static int allocate(struct heaptrack *h, const struct kind *k)
{
    struct trace *t = trace_of(h, k);

    if (__builtin_add_overflow(h->bytes, k->size, &h->bytes))
        return tt_source_fail(h->s, TT_TOO_MUCH);
    t->bytes += k->size;
    t->number++;
    t->live += k->size;
    t->live_number++;
    h->live += k->size;
    if (h->live > h->peak) {
        h->peak = h->live;
        h->peaks++;
        tt_heap_line_point(&h->line, h->time, h->live);
    }
    return 0;
}

static int release(struct heaptrack *h, const struct kind *k, int was_last)
{
    struct trace *t = trace_of(h, k);

    if (!t->live_number || t->live < k->size)
        return wants(h, "more is freed than was allocated");
    t->live -= k->size;
    t->live_number--;
    t->temporary += was_last != 0;
    h->live -= k->size;
    return 0;
}

static int take_event(struct heaptrack *h, const char *at, int is_free)
{
    uint64_t n;
    const struct kind *k;
    int was_last;

    if (!take(&at, &n) || n >= h->kind.count)
        return wants(h, "no allocation has this number");
    k = (const struct kind *)h->kind.item + n;
    was_last = h->last == n;
    h->last = is_free ? TT_NONE : (uint32_t)n;
    return is_free ? release(h, k, was_last) : allocate(h, k);
}

static int take_time(struct heaptrack *h, const char *at)
{
    uint64_t ms;

    if (!take(&at, &ms) || __builtin_mul_overflow(ms, 1000000, &h->time))
        return wants(h, "this is no time in ms");
    tt_heap_line_point(&h->line, h->time, h->live);
    return 0;
}

static int take_resident(struct heaptrack *h, const char *at)
{
    uint64_t pages;

    if (!take(&at, &pages) || __builtin_mul_overflow(pages, h->page, &pages))
        return wants(h, "this is no number of pages");
    tt_heap_line_point(&h->resident, h->time, pages);
    return 0;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int take_version(struct heaptrack *h, const char *at)
{
    uint64_t program;

    if (!take(&at, &program))
        return wants(h, "a version is due");
    if (!take(&at, &h->version) && program == OLD_VERSION)
        h->version = 1; /* this version is not written in the file */
    if (h->version < 1 || h->version > MOST_VERSION)
        return tt_source_fail(h->s, "version %llu is not known, only 1 to %d are",
                              (unsigned long long)h->version, MOST_VERSION);
    return 0;
}

static int take_line(struct heaptrack *h, const char *line, size_t length)
{
    const char *at = line + (length > 1 ? 2 : length);

    if (!h->version && *line != 'v' && *line != '#' && *line)
        return wants(h, "its version is due");
    switch (*line) {
    case 'v':
        return take_version(h, at);
    case 'X':
        tt_builder_fact(h->b, "program", TT_FACT_EACH, 1, at);
        return 0;
    case 'I':
        return take(&at, &h->page) && h->page ? 0 : wants(h, "this is no size of a page");
    case 's':
        return take_string(h, at - (h->version < 3 && length > 1), line + length);
    case 'i':
        return take_ip(h, at);
    case 't':
        return take_trace(h, at);
    case 'a':
        return take_kind(h, at);
    case '+':
    case '-':
        return take_event(h, at, *line == '-');
    case 'c':
        return take_time(h, at);
    case 'R':
        return take_resident(h, at);
    case '\0':
    case '#':
    case 'A': /* it was attached from here on */
    case 'S': /* suppressed leaks */
        return 0;
    case 'x':
    case 'm':
        return wants(h, "these are raw data, which heaptrack_interpret makes readable");
    default:
        return wants(h, "no line of heaptrack begins like this");
    }
}

static int finish(struct heaptrack *h)
{
    static const char what[] = "temporary allocations";
    struct tt_frames temporary;
    int error = 0;

    tt_frames_init(&temporary, h->b, h->s->memory);
    for (size_t i = 0; !error && i < h->trace.count; i++) {
        struct kind k = {0, (uint32_t)i};
        const struct trace *t = trace_of(h, &k);
        const uint64_t amount[TT_HEAP_FIGURES] = {
            [TT_HEAP_BYTES] = t->bytes,     [TT_HEAP_ALLOCATIONS] = t->number,
            [TT_HEAP_PEAK_BYTES] = t->peak, [TT_HEAP_PEAK_NUMBER] = t->peak_number,
            [TT_HEAP_LIVE_BYTES] = t->live, [TT_HEAP_LIVE_NUMBER] = t->live_number,
        };
        for (int f = 0; !error && f < TT_HEAP_FIGURES; f++)
            if (amount[f])
                error = tt_heap_add(&h->heap, (enum tt_heap_figure)f, t->context,
                                    amount[f]);
        if (!error && t->temporary && tt_frames_add(&temporary, t->context, t->temporary))
            error = tt_source_no_memory(h->s);
    }
    if (!error) {
        tt_heap_finish(&h->heap, "heap");
        if (temporary.total)
            tt_frames_flush(&temporary, tt_builder_metric(h->b, what, "", 0));
        tt_heap_line_finish(&h->line, h->b, "heap", "bytes");
        tt_heap_line_finish(&h->resident, h->b, "resident", "bytes");
        tt_builder_fact(h->b, "lasted", TT_FACT_MAX, h->time, "");
    }
    return error;
}

static int read_lines(struct heaptrack *h)
{
    size_t length;
    char *line;
    int error;

    while ((error = tt_source_line(h->s, &line, &length)) > 0)
        if ((error = take_line(h, line, length)) != 0)
            return error;
    if (!error && !h->version)
        error = wants(h, "there is nothing in it");
    return error ?: finish(h);
}

static int read_heaptrack(struct tt_source *s, struct tt_builder *b)
{
    struct heaptrack h = {.s = s, .b = b, .page = 4096, .last = TT_NONE};
    struct {
        struct tt_vector *v;
        size_t size;
    } all[] = {
        {&h.text, 1},
        {&h.string, sizeof(struct range)},
        {&h.block, sizeof(uint32_t)},
        {&h.ip, sizeof(struct ip)},
        {&h.trace, sizeof(struct trace)},
        {&h.kind, sizeof(struct kind)},
    };

    tt_heap_init(&h.heap, s, b);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_vector_init(all[i].v, s->memory, all[i].size);
    return read_lines(&h);
}

/* A version, then the command line. */
static enum tt_match detect(const char *head, size_t size)
{
    size_t at = 2;

    if (size < 6 || memcmp(head, "v ", 2) != 0)
        return TT_MATCH_NO;
    while (at < size && (tt_hex_small(head[at]) >= 0 || head[at] == ' '))
        at++;
    return tt_match_if(size - at > 2 && at > 2 && head[at] == '\n' &&
                       strchr("Xx", head[at + 1]) && head[at + 2] == ' ');
}

const struct tt_format tt_format_heaptrack = {
    .name = "heaptrack",
    .about = "heap profiles of heaptrack",
    .detect = detect,
    .read = read_heaptrack,
};
