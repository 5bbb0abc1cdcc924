/* SPDX-License-Identifier: MIT */
/* gperftools.c - CPU and heap profiles of gperftools, and of Java and jemalloc in that
 * form: reading.
 *
 *      0 3 0 10000 0                       words: a head, with the period in us,
 *      1 3 55d1 55e2 55f3                  samples: how many, how deep, leaf first,
 *      0 1 0                               and an end;
 *      5626ea885000-5626ea886000 r-xp …    then what lay where, as text
 *
 *      heap profile: 46: 45144 [90: 50490] @ heapprofile
 *      45: 45000 [45: 45000] @ 0x55fe 0x55ff       alive, [allocated] @ stack
 *      #   0x55fd  main.f+0x57  /a/f.go:6          Go's: the functions of that stack
 *      MAPPED_LIBRARIES: …                         or --- Memory map: ---
 *
 *      heap_v2/524288                              jemalloc's
 *      @ 0x55fe 0x55ff                             a stack, and below it its figures, of all
 *        t*: 45: 45000 [0: 0]                      threads together, and of each
 *        t3: 45: 45000 [0: 0]
 *
 * Words have 4 or 8 bytes, of either order.  Addresses are resolved after the mappings,
 * which come last, have been read.  An address of a caller is a return address, one byte
 * after the call. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "maps.h"
#include "naming.h"
#include "pairs.h"
#include "statistics.h"

#define JEMALLOC "heap_v2/" /* the first line, and the rate */
enum { HEAD_WORDS = 5, MOST_DEPTH = 1 << 20 };

struct sample {
    uint64_t figure[4]; /* samples; or alive: number, bytes, allocated: number, bytes */
    size_t first, depth;
    size_t named, names; /* the same as functions, if Go has written them below */
};

struct gperftools {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_vector sample, address; /* struct sample; uint64_t, leaf first */
    struct tt_vector named;           /* uint32_t: blocks, leaf first */
    struct tt_maps maps;
    struct tt_pairs blocks; /* of addresses: index + 1 */
    struct tt_heap_profile heap;
    uint64_t period; /* us */
    double rate;     /* bytes between samples of a heap; 0: every allocation was
                        recorded */
    uint64_t stated[4],
        found[4]; /* the first line's figures of the heap, and their sum */
    int width, is_big, is_java, is_jemalloc;
    int has_figures; /* jemalloc's last stack has them */
};

/* ── Words ────────────────────────────────────────────────────────────────────────── */

static uint64_t word_at(const char *at, int width, int is_big)
{
    uint64_t value = 0;

    for (int i = 0; i < width; i++)
        value |= (uint64_t)(unsigned char)at[i] << 8 * (is_big ? width - 1 - i : i);
    return value;
}

/* Is this the head of a CPU profile?  Sets the size and the order of its words. */
static int is_head(const char *head, size_t size, int *width, int *is_big)
{
    for (int kind = 0; kind < 4; kind++) {
        uint64_t w[HEAD_WORDS];
        *width = kind < 2 ? 8 : 4;
        *is_big = kind & 1;
        if (size < (size_t)*width * HEAD_WORDS)
            continue;
        for (int i = 0; i < HEAD_WORDS; i++)
            w[i] = word_at(head + (ptrdiff_t)i * *width, *width, *is_big);
        if (w[0] == 0 && w[1] == 3 && w[2] <= 1 && w[3] > 0 && w[3] < 1u << 30 &&
            w[4] == 0)
            return 1;
    }
    return 0;
}

static int take_word(struct gperftools *g, uint64_t *word)
{
    int64_t have = tt_source_want(g->s, (size_t)g->width);

    if (have < 0)
        return (int)have;
    if (have < g->width)
        return tt_source_fail(g->s, "the file ends before its samples do");
    *word = word_at(tt_source_at(g->s), g->width, g->is_big);
    tt_source_skip(g->s, (size_t)g->width);
    return 0;
}

/* Reads a sample.  1: it was there; 0: the end. */
static int read_sample(struct gperftools *g)
{
    struct sample s = {.first = g->address.count};
    uint64_t depth = 0, address = 0, before = 0;
    int error = take_word(g, &s.figure[0]);

    error = error ?: take_word(g, &depth);
    if (error)
        return error;
    if (depth == 0 || depth > MOST_DEPTH)
        return tt_source_fail(g->s, "a stack cannot have %llu addresses",
                              (unsigned long long)depth);
    for (uint64_t i = 0; !error && i < depth; i++) {
        error = take_word(g, &address);
        /* The signal's address and the first of the stack may be the same one, written
         * twice. */
        if (error || (i == 1 && depth > 2 && address == before && !g->is_java))
            continue;
        before = address;
        address -= i > 0 && address && !g->is_java;
        error = tt_source_append(g->s, &g->address, &address);
    }
    if (error)
        return error;
    if (!s.figure[0] && depth == 1 && before == 0) {
        g->address.count--;
        return 0;
    }
    s.depth = g->address.count - s.first;
    error = tt_source_append(g->s, &g->sample, &s);
    return error ?: 1;
}

static int read_samples(struct gperftools *g)
{
    uint64_t word = 0;
    int error = 0;

    for (int i = 0; !error && i < HEAD_WORDS; i++) {
        error = take_word(g, &word);
        if (i == 2)
            g->is_java = word == 1;
        if (i == 3)
            g->period = word;
    }
    while (!error && (error = read_sample(g)) > 0)
        error = 0;
    return error;
}

/* ── Lines of a heap ──────────────────────────────────────────────────────────────── */

static int take_char(const char **at, char wanted)
{
    const char *c = tt_skip_blanks(*at);

    if (*c != wanted)
        return 0;
    *at = c + 1;
    return 1;
}

/* "46: 45144 [90: 50490]" */
static int take_figures(const char **at, uint64_t figure[4])
{
    return tt_take_number(at, &figure[0]) && take_char(at, ':') &&
           tt_take_number(at, &figure[1]) && take_char(at, '[') &&
           tt_take_number(at, &figure[2]) && take_char(at, ':') &&
           tt_take_number(at, &figure[3]) && take_char(at, ']');
}

/* Scales up sampled figures: the probability that an allocation was sampled depends on
 * its size. */
static void weigh(const struct gperftools *g, uint64_t *number, uint64_t *bytes)
{
    double mean = *number ? (double)*bytes / (double)*number : 0, by;

    if (g->rate <= 1 || mean <= 0)
        return;
    by = 1 / -expm1(-mean / g->rate);
    *number = tt_whole((double)*number * by);
    *bytes = tt_whole((double)*bytes * by);
}

/* Takes the addresses up to the end of the line, for a sample with these figures. */
static int take_stack(struct gperftools *g, const char *at, struct sample *s)
{
    uint64_t address;
    char *end;
    int error = 0;

    s->first = g->address.count;
    weigh(g, &s->figure[0], &s->figure[1]);
    weigh(g, &s->figure[2], &s->figure[3]);
    for (at = tt_skip_blanks(at); !error && *at; at = tt_skip_blanks(end)) {
        address = strtoull(at, &end, 16);
        if (end == at)
            return tt_source_fail(g->s, "an address is due, and not '%.20s'", at);
        address -= address > 0;
        error = tt_source_append(g->s, &g->address, &address);
    }
    s->depth = g->address.count - s->first;
    return error ?: tt_source_append(g->s, &g->sample, s);
}

static int take_heap_line(struct gperftools *g, const char *line)
{
    struct sample s = {.depth = 0};
    const char *at = line;

    if (!take_figures(&at, s.figure) || !take_char(&at, '@'))
        return tt_source_fail(g->s,
                              "a line is 'NUMBER: BYTES [NUMBER: BYTES] @ ADDRESSES'");
    for (int i = 0; i < 4; i++)
        g->found[i] += s.figure[i];
    return take_stack(g, at, &s);
}

/* Takes a line of jemalloc's: a stack, or its figures.  The figures before the first
 * stack are totals. */
static int take_jemalloc_line(struct gperftools *g, const char *line)
{
    struct sample new = {.depth = 0}, *s = g->sample.item;
    const char *at = tt_skip_blanks(line);

    if (take_char(&at, '@')) {
        g->has_figures = 0;
        return take_stack(g, at, &new);
    }
    if (*at == 't' && at[1] != '*' && strchr(at, ':'))
        return 0;
    if (*at++ != 't' || *at++ != '*' || !take_char(&at, ':') ||
        !take_figures(&at, new.figure))
        return tt_source_fail(g->s, "a line is '@ ADDRESSES' or 't*: NUMBER: BYTES "
                                    "[NUMBER: BYTES]'");
    if (!g->sample.count)
        return 0;
    g->has_figures = 1;
    s += g->sample.count - 1;
    memcpy(s->figure, new.figure, sizeof s->figure);
    weigh(g, &s->figure[0], &s->figure[1]);
    weigh(g, &s->figure[2], &s->figure[3]);
    return 0;
}

static int take_heap_head(struct gperftools *g, const char *line)
{
    const char *at = line + strlen("heap profile:"), *slash;
    uint64_t rate;

    g->is_jemalloc = strncmp(line, JEMALLOC, strlen(JEMALLOC)) == 0;
    if (g->is_jemalloc) {
        at = line + strlen(JEMALLOC);
        if (!tt_take_number(&at, &rate))
            return tt_source_fail(g->s, "the rate of samples is too large");
        g->rate = (double)rate;
        return 0;
    }
    if (!take_figures(&at, g->stated) || !take_char(&at, '@'))
        return tt_source_fail(g->s, "the first line is 'heap profile: NUMBER: BYTES "
                                    "[NUMBER: BYTES] @ KIND'");
    at = tt_skip_blanks(at);
    slash = strchr(at, '/');
    if (slash && strncmp(at, "heap", 4) == 0 && slash[1] >= '0' && slash[1] <= '9') {
        int is_double = strncmp(at, "heap/", 5) == 0; /* as Go writes it */
        slash++;
        if (!tt_take_number(&slash, &rate))
            return tt_source_fail(g->s, "the rate of samples is too large");
        g->rate = (double)(is_double ? rate / 2 : rate);
    }
    return 0;
}

/* Takes a function of the stack before. */
static int take_function(struct gperftools *g, char *line)
{
    struct sample *s = g->sample.item;
    uint32_t block;
    int is_one = g->sample.count ? tt_frames_go(&g->heap.names, line, &block) : 0;

    if (is_one <= 0)
        return is_one ? tt_source_no_memory(g->s) : 0; /* a remark */
    s += g->sample.count - 1;
    if (!s->names)
        s->named = g->named.count;
    s->names++;
    return tt_source_append(g->s, &g->named, &block);
}

/* At the end of a file that has no mappings: has it all that its first line states?
 * gperftools leaves stacks out if there are too many for its buffer, but writes its mappings
 * then, too.  jemalloc's totals are estimates, which the figures of the stacks need not add
 * up to.  Tools leave out stacks of which nothing is alive. */
static int check_whole(const struct gperftools *g)
{
    enum { ALIVE = 2 };
    if (g->is_jemalloc && g->sample.count && !g->has_figures)
        return tt_source_fail(g->s, "the file ends after a stack, before its figures");
    for (int i = 0; i < ALIVE && !g->is_jemalloc; i++)
        if (g->found[i] < g->stated[i])
            return tt_source_fail(g->s,
                                  "the file was cut off: its first line states %llu %s, "
                                  "and its stacks have %llu",
                                  (unsigned long long)g->stated[i],
                                  i % 2 ? "bytes" : "allocations",
                                  (unsigned long long)g->found[i]);
    if (!g->is_jemalloc && g->found[ALIVE] < g->stated[ALIVE])
        tt_builder_fact(g->b, "cut off", TT_FACT_SUM, 1, "");
    return 0;
}

static int read_heap(struct gperftools *g)
{
    size_t length;
    char *line;
    int error = tt_source_line(g->s, &line, &length);

    error = error < 0 ? error : take_heap_head(g, line);
    while (!error && (error = tt_source_line(g->s, &line, &length)) > 0) {
        error = 0;
        if (strncmp(line, "MAPPED_LIBRARIES", 16) == 0 ||
            strncmp(line, "--- Memory map", 14) == 0)
            return 0;
        if (*line == '#')
            error = take_function(g, line);
        else if (*tt_skip_blanks(line))
            error = g->is_jemalloc ? take_jemalloc_line(g, line)
                                   : take_heap_line(g, line);
    }
    return error ?: check_whole(g);
}

/* ── What lay where ───────────────────────────────────────────────────────────────── */

/* Takes " 0x0000006 com.example.function (source.java:6)": the block of an address. */
static int take_name(struct gperftools *g, const char *line)
{
    uint64_t address;
    uint32_t block, *at;
    int is_new;
    char *end;

    line += strspn(line, " \t");
    if (strncmp(line, "0x", 2) != 0)
        return 0;
    address = strtoull(line, &end, 16);
    end += strspn(end, " \t");
    if (!*end)
        return 0;
    block = tt_heap_frame(&g->heap, end, strlen(end));
    at = tt_pairs_get(&g->blocks, address, 0, &is_new);
    if (!at || block == TT_NONE)
        return tt_source_no_memory(g->s);
    *at = block + 1;
    return 0;
}

static int read_rest(struct gperftools *g)
{
    size_t length;
    char *line;
    int more, error = 0;

    while (!error && (more = tt_source_line(g->s, &line, &length)) != 0) {
        if (more < 0)
            return more;
        more = tt_maps_line(&g->maps, line);
        if (more < 0)
            return tt_source_no_memory(g->s);
        if (!more && g->is_java)
            error = take_name(g, line);
    }
    tt_maps_sort(&g->maps);
    return error;
}

static uint32_t block_of(struct gperftools *g, uint64_t address)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&g->blocks, address, 0, &is_new), block;

    if (!at)
        return TT_NONE;
    if (!is_new && *at)
        return *at - 1;
    block = tt_maps_block(&g->maps, g->b, address);
    *at = block + 1;
    return block;
}

/* Drops the library's own functions from the top of jemalloc's stacks. */
static void leave_out_allocator(const struct gperftools *g, struct sample *s)
{
    const uint64_t *address = g->address.item;

    for (; s->depth > 1; s->first++, s->depth--) {
        uint64_t offset;
        const char *file = tt_maps_file(&g->maps, address[s->first], &offset);
        if (!file || !strstr(file, "/libjemalloc"))
            return;
    }
}

static int add_contexts(struct gperftools *g, int is_heap)
{
    static const enum tt_heap_figure figures[] = {TT_HEAP_LIVE_NUMBER, TT_HEAP_LIVE_BYTES,
                                                  TT_HEAP_ALLOCATIONS, TT_HEAP_BYTES};
    struct sample *s = g->sample.item;
    const uint64_t *address = g->address.item;
    const uint32_t *named = g->named.item;
    uint64_t all = 0, time;
    uint32_t samples = 0, metric = 0;
    int error = 0;

    if (!is_heap) {
        samples = tt_builder_metric(g->b, "samples", "", 0);
        metric = tt_builder_metric(g->b, "time", "ns",
                                   TT_METRIC_TIME | TT_METRIC_SAMPLED);
    }
    for (size_t i = 0; !error && i < g->sample.count; i++) {
        uint32_t context = TT_BUILDER_ROOT;
        if (g->is_jemalloc)
            leave_out_allocator(g, &s[i]);
        for (size_t d = s[i].named + s[i].names; d-- > s[i].named;)
            context = tt_builder_context(g->b, context, named[d]);
        for (size_t d = s[i].first + s[i].depth; !s[i].names && d-- > s[i].first;)
            context = tt_builder_context(g->b, context, block_of(g, address[d]));
        if (context == TT_NONE)
            return tt_source_no_memory(g->s);
        for (int f = 0; is_heap && !error && f < 4; f++)
            if (s[i].figure[f])
                error = tt_heap_add(&g->heap, figures[f], context, s[i].figure[f]);
        if (is_heap)
            continue;
        if (__builtin_mul_overflow(s[i].figure[0], g->period * 1000, &time) ||
            __builtin_add_overflow(all, time, &all))
            return tt_source_fail(g->s, TT_TOO_MUCH);
        tt_builder_add(g->b, TT_ROLE_SELF, context, samples, s[i].figure[0]);
        tt_builder_add(g->b, TT_ROLE_SELF, context, metric, time);
    }
    if (!error && is_heap)
        tt_heap_finish(&g->heap, "heap");
    return error;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int read_all(struct gperftools *g)
{
    int64_t have = tt_source_want(g->s, sizeof(uint64_t) * HEAD_WORDS);
    int is_heap, error;

    if (have < 0)
        return (int)have;
    is_heap = have > 0 && *tt_source_at(g->s) == 'h';
    if (!is_heap && !is_head(tt_source_at(g->s), (size_t)have, &g->width, &g->is_big))
        return tt_source_fail(g->s,
                              "this begins like no CPU or heap profile of gperftools");
    error = is_heap ? read_heap(g) : read_samples(g);
    error = error ?: read_rest(g);
    return error ?: add_contexts(g, is_heap);
}

static int read_gperftools(struct tt_source *s, struct tt_builder *b)
{
    struct gperftools g = {.s = s, .b = b};

    tt_vector_init(&g.sample, s->memory, sizeof(struct sample));
    tt_vector_init(&g.address, s->memory, sizeof(uint64_t));
    tt_vector_init(&g.named, s->memory, sizeof(uint32_t));
    tt_maps_init(&g.maps, s->memory);
    tt_pairs_init(&g.blocks, s->memory);
    tt_heap_init(&g.heap, s, b);
    return read_all(&g);
}

static enum tt_match detect(const char *head, size_t size)
{
    static const char heap[] = "heap profile:";
    int width, is_big;

    return tt_match_if((size > sizeof heap && memcmp(head, heap, sizeof heap - 1) == 0) ||
                       (size > sizeof JEMALLOC && head[sizeof JEMALLOC - 1] >= '0' &&
                        head[sizeof JEMALLOC - 1] <= '9' &&
                        memcmp(head, JEMALLOC, sizeof JEMALLOC - 1) == 0) ||
                       is_head(head, size, &width, &is_big));
}

const struct tt_format tt_format_gperftools = {
    .name = "gperftools",
    .about = "CPU and heap profiles of gperftools, heap profiles of jemalloc",
    .detect = detect,
    .read = read_gperftools,
};
