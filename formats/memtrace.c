/* SPDX-License-Identifier: MIT */
/* memtrace.c - allocations that OCaml's memtrace sampled: reading.
 *
 *      packet ─┬ head: magic, size, times, process, domain, a check, ids of allocations
 *              └ events: location │ alloc │ promote │ collect, each after code and time
 *
 * A stack is encoded as the length that it shares with the stack before it, root first,
 * and codewords for the rest.  These refer to a table of 16384 frames, which the writer
 * has, too: each entry knows which frame followed it last, so that runs of known frames
 * take one byte.  Names of files and functions are codes in move-to-front tables.  So the
 * reader repeats what the writer did, domain by domain. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "pairs.h"

enum { MAGIC = (int)0xc1fc1fc1, MOST_VERSION = 3, CACHE = 1 << 14, TABLE = 31 };
enum { MOST_DOMAINS = 1024, MOST_DEPTH = 1 << 22, MOST_PACKET = 1 << 28 };
enum { TIME_BITS = 25, HEAD_MOST = 76 };
enum {
    INFO,
    LOCATION,
    ALLOC,
    PROMOTE,
    COLLECT,
    SHORT = 100,
    SHORTEST = 101,
    LONGEST = 116
};

struct names { /* the last used is first; the functions of a file, by its `table` */
    uint32_t text[TABLE], table[TABLE], count;
};

struct domain {
    uint64_t frame[CACHE];
    uint16_t next[CACHE];
    struct names files, functions[TABLE];
    struct tt_vector stack, context; /* uint64_t frames; uint32_t: of each */
};

struct head {
    uint64_t begin, end, first, last, pid, value;
    uint32_t size, version, domain, ix, next; /* size: of the rest */
};

struct object {
    uint64_t bytes, number;
    uint32_t context;
    int generation; /* -1: it was collected */
};

/* The fates of objects: from one generation to another. */
enum { TO_MINOR, TO_MAJOR, PROMOTED, FROM_MINOR, FROM_MAJOR, FATES };
static const struct {
    uint32_t from, to;
} fates[FATES] = {{TT_NONE, 0}, {TT_NONE, 1}, {0, 1}, {0, TT_NONE}, {1, TT_NONE}};

struct memtrace {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_heap_profile heap;
    struct tt_frames samples, bytes[FATES], number[FATES];
    struct tt_pairs domains, locations, objects; /* id: index + 1 */
    struct tt_vector domain;                     /* struct domain *, owned */
    struct tt_vector location;                   /* struct { first, count } in `block` */
    struct tt_vector block;                      /* uint32_t, outermost first */
    struct tt_vector object;                     /* struct object */
    struct tt_vector text;                       /* char */
    struct tt_heap_line line;
    const char *at, *end; /* of the packet that is read */
    uint64_t offset;      /* of its first byte */
    const char *first;
    struct head head;
    struct domain *now;
    uint64_t started, pid, id, live, lost;
    double rate, carry; /* samples a word */
    uint32_t word;      /* bytes */
    int has_info;
};

struct range {
    size_t first, count;
};

static int fail(struct memtrace *m, const char *what)
{
    return tt_source_fail_at(m->s, m->offset + (uint64_t)(m->at - m->first), "%s", what);
}

/* ── Pieces ───────────────────────────────────────────────────────────────────────── */

/* A number of so many bytes; 0, or an error. */
static int take(struct memtrace *m, int size, uint64_t *n)
{
    *n = 0;
    if (m->end - m->at < size)
        return fail(m, "the packet ends within an event");
    *n = tt_number_at(m->at, size);
    m->at += size;
    return 0;
}

static int take_varied(struct memtrace *m, uint64_t *n)
{
    int error = take(m, 1, n);

    return error || *n < 253 ? error : take(m, 1 << (*n - 252), n);
}

static int take_text(struct memtrace *m, const char **text)
{
    const char *stop = memchr(m->at, '\0', (size_t)(m->end - m->at));

    if (!stop)
        return fail(m, "the packet ends within a name");
    *text = m->at;
    m->at = stop + 1;
    return 0;
}

/* ── Locations ────────────────────────────────────────────────────────────────────── */

static int note_text(struct memtrace *m, uint32_t *offset)
{
    const char *text = NULL;
    int error = take_text(m, &text);
    size_t at = error ? 0 : tt_vector_text(&m->text, text, strlen(text));

    *offset = (uint32_t)at;
    return error                                             ? error
           : m->text.count > UINT32_MAX || at == TT_NO_PLACE ? tt_source_no_memory(m->s)
                                                             : 0;
}

/* Moves an entry to the front. */
static void use(struct names *n, uint32_t i)
{
    uint32_t text = n->text[i], table = n->table[i];

    memmove(n->text + 1, n->text, i * sizeof *n->text);
    memmove(n->table + 1, n->table, i * sizeof *n->table);
    n->text[0] = text;
    n->table[0] = table;
}

/* Returns the text of a code, and moves it to the front; the code `TABLE` is a new text,
 * which replaces the last one and its table. */
static int take_code(struct memtrace *m, struct names *n, uint32_t code)
{
    int error;

    if (code < TABLE && code >= n->count)
        return fail(m, "no name has this code");
    if (code == TABLE) {
        code = n->count < TABLE ? n->count++ : TABLE - 1;
        error = note_text(m, &n->text[code]);
        if (error)
            return error;
    }
    use(n, code);
    return 0;
}

static int take_place(struct memtrace *m)
{
    struct names *files = &m->now->files, *functions;
    uint32_t block;
    uint64_t low, high, code;
    const char *text;
    int error = take(m, 4, &low);

    error = error ?: take(m, 2, &high);
    if (error)
        return error;
    code = low | high << 32;
    error = take_code(m, files, (uint32_t)(code >> 38 & 31));
    if (error)
        return error;
    functions = &m->now->functions[files->table[0]];
    error = take_code(m, functions, (uint32_t)(code >> 43 & 31));
    if (error)
        return error;
    text = m->text.item;
    block = tt_builder_block(m->b,
                             &(struct tt_block_info){.name = text + functions->text[0],
                                                     .file = text + files->text[0],
                                                     .kind = TT_KIND_FUNCTION});
    return block == TT_NONE ? tt_source_no_memory(m->s)
                            : tt_source_append(m->s, &m->block, &block);
}

static int take_location(struct memtrace *m)
{
    uint64_t id, count;
    struct range *r;
    int is_new, error = take(m, 8, &id);
    size_t first = m->block.count;

    error = error ?: take(m, 1, &count);
    for (uint64_t i = 0; !error && i < count; i++)
        error = take_place(m);
    if (error)
        return error;
    r = tt_pairs_item(&m->locations, &m->location, id, 0, &is_new);
    if (!r)
        return tt_source_no_memory(m->s);
    if (is_new)
        *r = (struct range){first, (size_t)count};
    return 0;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

/* Pushes a frame on the stack. */
static int push_frame(struct memtrace *m, uint64_t frame)
{
    struct domain *d = m->now;
    uint64_t *to;
    uint32_t *context, above = TT_BUILDER_ROOT;
    const uint32_t *index = tt_pairs_find(&m->locations, frame, 0);
    size_t depth = d->stack.count;
    char name[24];

    if (depth >= MOST_DEPTH)
        return fail(m, "this stack is deeper than four million frames");
    if (depth)
        above = ((uint32_t *)d->context.item)[depth - 1];
    to = tt_vector_add(&d->stack, 1);
    context = tt_vector_add(&d->context, 1);
    if (!to || !context)
        return tt_source_no_memory(m->s);
    *to = frame;
    if (index) {
        const struct range *r = (const struct range *)m->location.item + *index - 1;
        for (size_t i = 0; i < r->count; i++)
            above = tt_builder_context(m->b, above,
                                       ((const uint32_t *)m->block.item)[r->first + i]);
    } else {
        (void)snprintf(name, sizeof name, "$%llx", (unsigned long long)frame);
        above = tt_builder_context(m->b, above,
                                   tt_frames_block(&m->heap.names, name, strlen(name)));
    }
    *context = above;
    return above == TT_NONE ? tt_source_no_memory(m->s) : 0;
}

/* Takes a codeword: a frame, and how many of the frames that followed it last time. */
static int take_codeword(struct memtrace *m, uint32_t *before, int is_wanted)
{
    struct domain *d = m->now;
    uint64_t word, more = 0;
    uint32_t bucket;
    int error = take(m, 2, &word);

    if (error)
        return error;
    bucket = (uint32_t)(word >> 2);
    d->next[*before] = (uint16_t)bucket;
    if ((word & 3) == 3)
        error = take(m, 8, &d->frame[bucket]);
    else if ((word & 3) == 2)
        error = take(m, 1, &more);
    else
        more = word & 3;
    for (;; more--) {
        if (!error && is_wanted)
            error = push_frame(m, d->frame[bucket]);
        *before = bucket;
        if (error || !more)
            return error;
        bucket = d->next[bucket];
    }
}

static int take_stack(struct memtrace *m, uint64_t common, uint64_t words)
{
    struct domain *d = m->now;
    int is_wanted = common <= d->stack.count, error = 0;
    uint32_t before = 0;

    if (is_wanted)
        d->stack.count = d->context.count = (size_t)common;
    while (!error && words--)
        error = take_codeword(m, &before, is_wanted);
    return error;
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

static int add(struct memtrace *m, struct tt_frames *f, uint32_t context, uint64_t n)
{
    int error = n ? tt_frames_add(f, context, n) : 0;

    if (error == -TT_ERR_MEMORY)
        return tt_source_no_memory(m->s);
    return error ? fail(m, TT_TOO_MUCH) : 0;
}

static int add_fate(struct memtrace *m, int fate, const struct object *o)
{
    int error = add(m, &m->bytes[fate], o->context, o->bytes);

    return error ?: add(m, &m->number[fate], o->context, o->number);
}

/* Each sample counts for 1 / rate words.  The number of objects depends on their size;
 * the fraction is carried over. */
static int weigh(struct memtrace *m, uint64_t words, uint64_t samples, struct object *o)
{
    double all = (double)samples / m->rate;

    if (all * m->word > 9e18)
        return fail(m, TT_TOO_MUCH);
    o->bytes = (uint64_t)llround(all * m->word);
    m->carry += all / ((double)words + 1); /* the head of a block is a word */
    if (m->carry > 9e18)
        return fail(m, TT_TOO_MUCH);
    o->number = (uint64_t)floor(m->carry);
    m->carry -= (double)o->number;
    return 0;
}

static int add_object(struct memtrace *m, uint64_t words, uint64_t samples,
                      int generation)
{
    const struct tt_vector *context = &m->now->context;
    struct object o = {.generation = generation};
    uint32_t *at;
    int is_new, error = weigh(m, words, samples, &o);

    if (context->count)
        o.context = ((const uint32_t *)context->item)[context->count - 1];
    error = error ?: add(m, &m->samples, o.context, samples);
    error = error ?: add_fate(m, generation ? TO_MAJOR : TO_MINOR, &o);
    if (error)
        return error;
    at = tt_pairs_get(&m->objects, m->id, 0, &is_new);
    if (!at || tt_vector_push(&m->object, &o) != 0)
        return tt_source_no_memory(m->s);
    if (!is_new)
        return fail(m, "an allocation has the number of another");
    *at = (uint32_t)m->object.count;
    m->id++;
    if (__builtin_add_overflow(m->live, o.bytes, &m->live))
        return fail(m, TT_TOO_MUCH);
    return 0;
}

static int take_alloc(struct memtrace *m, uint32_t code)
{
    int is_short = code >= SHORTEST, error = 0;
    uint64_t words = code - SHORT, samples = 1, from = 0, common, count;

    if (!is_short) {
        error = take_varied(m, &words);
        error = error ?: take_varied(m, &samples);
        error = error ?: take(m, 1, &from);
    }
    error = error ?: take_varied(m, &common);
    error = error ?: take(m, is_short ? 1 : 2, &count);
    if (!error && from > 2)
        error = fail(m, "an object is minor, major or external");
    error = error ?: take_stack(m, common, count);
    return error ?: add_object(m, words, samples, from != 0);
}

static int take_fate(struct memtrace *m, int is_promoted)
{
    uint64_t back;
    const uint32_t *at;
    struct object *o;
    int error = take_varied(m, &back);

    if (error)
        return error;
    at = tt_pairs_find(&m->objects, m->id - 1 - back, 0);
    o = at ? (struct object *)m->object.item + *at - 1 : NULL;
    if (!o || o->generation < 0) {
        m->lost++; /* it belongs to a packet that was skipped */
        return 0;
    }
    if (is_promoted) {
        if (o->generation == 0)
            error = add_fate(m, PROMOTED, o);
        o->generation = 1;
        return error;
    }
    error = add_fate(m, o->generation ? FROM_MAJOR : FROM_MINOR, o);
    o->generation = -1;
    m->live -= o->bytes;
    return error;
}

/* ── Packets ──────────────────────────────────────────────────────────────────────── */

static int take_info(struct memtrace *m)
{
    uint64_t bits, word, skipped;
    const char *program = NULL, *host = NULL, *text;
    int error = take(m, 8, &bits);

    if (m->has_info)
        return fail(m, "there is a second description of the trace");
    error = error ?: take(m, 1, &word);
    error = error ?: take_text(m, &program);
    error = error ?: take_text(m, &host);
    error = error ?: take_text(m, &text);
    error = error ?: take(m, 8, &skipped);
    if (!error && m->head.version >= 2)
        error = take_text(m, &text);
    if (error)
        return error;
    memcpy(&m->rate, &bits, sizeof m->rate);
    m->word = (uint32_t)word / 8;
    if (!(m->rate > 0 && m->rate <= 1) || (m->word != 4 && m->word != 8))
        return fail(m, "its rate of samples, or the size of its words, is not possible");
    m->has_info = 1;
    m->started = m->head.begin;
    m->pid = m->head.pid;
    tt_builder_fact(m->b, "program", TT_FACT_EACH, 1, program);
    tt_builder_fact(m->b, "host", TT_FACT_EACH, 1, host);
    if (m->started < UINT64_MAX / 1000)
        tt_builder_fact(m->b, "started", TT_FACT_MIN, m->started * 1000, "");
    return 0;
}

static int take_event(struct memtrace *m)
{
    const uint64_t mask = (1u << TIME_BITS) - 1;
    uint64_t word, time;
    uint32_t code;
    int error = take(m, 4, &word);

    if (error)
        return error;
    code = (uint32_t)(word >> TIME_BITS);
    time = (m->head.begin & ~mask) + (word & mask);
    if ((word & mask) < (m->head.begin & mask))
        time += mask + 1; /* the lower bits wrapped around */
    if (time < m->head.begin || time > m->head.end)
        return fail(m, "an event is not within the time of its packet");
    if (code == INFO)
        return take_info(m);
    if (!m->has_info)
        return fail(m, "the first event describes the trace");
    if (code == LOCATION)
        return take_location(m);
    if (code == ALLOC || (code >= SHORTEST && code <= LONGEST))
        error = take_alloc(m, code);
    else if (code == PROMOTE || code == COLLECT)
        error = take_fate(m, code == PROMOTE);
    else
        return fail(m, "no event has this code");
    if (!error && time >= m->started && time - m->started < UINT64_MAX / 1000)
        tt_heap_line_point(&m->line, (time - m->started) * 1000, m->live);
    return error;
}

static struct domain *find_domain(struct memtrace *m, uint32_t number)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&m->domains, number, 0, &is_new);
    struct domain **to, *d;

    if (!at)
        return NULL;
    if (!is_new)
        return ((struct domain **)m->domain.item)[*at - 1];
    d = m->domain.count < MOST_DOMAINS ? tt_memory_get(m->s->memory, sizeof *d) : NULL;
    to = d ? tt_vector_add(&m->domain, 1) : NULL;
    if (!to)
        return NULL;
    *to = d;
    *at = (uint32_t)m->domain.count;
    tt_vector_init(&d->stack, m->s->memory, sizeof(uint64_t));
    tt_vector_init(&d->context, m->s->memory, sizeof(uint32_t));
    for (uint32_t i = 0; i < TABLE; i++)
        d->files.table[i] = i;
    return d;
}

static int take_packet(struct memtrace *m)
{
    const struct head *h = &m->head;
    int error = 0;

    if (m->has_info && h->pid != m->pid) {
        m->lost++; /* from a child, after a fork */
        return 0;
    }
    m->now = find_domain(m, h->domain);
    if (!m->now)
        return tt_source_no_memory(m->s);
    if (h->ix != 0xffff && (h->ix >= CACHE || m->now->next[h->ix] != h->next ||
                            m->now->frame[h->ix] != h->value))
        return fail(
            m, "the table of frames is not what it was when this was written: a packet "
               "before this is lacking");
    m->id = h->first;
    while (!error && m->at < m->end)
        error = take_event(m);
    if (!error && m->id != h->last)
        error = fail(m, "the packet has not the allocations that its head says");
    return error;
}

/* 1: a packet follows; 0: there is no complete one; less than 0: it is not a packet. */
static int take_head(struct memtrace *m)
{
    struct head *h = &m->head;
    int64_t have = tt_source_want(m->s, HEAD_MOST);
    const char *at = tt_source_at(m->s);
    uint32_t size, all;

    if (have <= 0)
        return (int)have;
    if (have >= 4 && tt_number_at(at, 4) != (uint32_t)MAGIC)
        return tt_source_fail(m->s,
                              "a packet is due here, which begins with c1 1f fc c1");
    if (have < HEAD_MOST - 2)
        return m->lost++, 0;
    h->version = (uint32_t)tt_number_at(at + 28, 2);
    if (h->version < 1 || h->version > MOST_VERSION)
        return tt_source_fail(m->s, "version %u is not known, only 1 to %d are",
                              h->version, MOST_VERSION);
    all = (uint32_t)tt_number_at(at + 4, 4) / 8;
    h->begin = tt_number_at(at + 8, 8);
    h->end = tt_number_at(at + 16, 8);
    h->pid = tt_number_at(at + 30, 8);
    h->domain = h->version >= 3 ? (uint32_t)tt_number_at(at + 38, 2) : 0;
    size = h->version >= 3 ? 40 : 38;
    h->ix = (uint32_t)tt_number_at(at + size, 2);
    h->next = (uint32_t)tt_number_at(at + size + 2, 2);
    h->value = tt_number_at(at + size + 4, 8);
    h->first = tt_number_at(at + size + 12, 8);
    h->last = tt_number_at(at + size + 20, 8);
    size += 28;
    if (all < size || all > MOST_PACKET)
        return tt_source_fail(m->s, "a packet cannot have %u bytes", all);
    h->size = all - size;
    tt_source_skip(m->s, size);
    return 1;
}

static int read_packets(struct memtrace *m)
{
    int error;

    while ((error = take_head(m)) > 0) {
        int64_t have = tt_source_want(m->s, m->head.size);
        if (have < 0)
            return (int)have;
        if (have < m->head.size)
            return m->lost++, 0;
        m->offset = tt_source_offset(m->s);
        m->first = m->at = tt_source_at(m->s);
        m->end = m->at + m->head.size;
        error = take_packet(m);
        if (error)
            return error;
        tt_source_skip(m->s, m->head.size);
    }
    return error;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

static int finish(struct memtrace *m)
{
    int error = 0;

    for (size_t i = 0; !error && i < m->object.count; i++) {
        const struct object *o = (const struct object *)m->object.item + i;
        if (o->generation < 0)
            continue;
        error = tt_heap_add(&m->heap, TT_HEAP_LIVE_BYTES, o->context, o->bytes);
        if (!error)
            error = tt_heap_add(&m->heap, TT_HEAP_LIVE_NUMBER, o->context, o->number);
    }
    for (int f = 0; !error && f < FATES; f++) {
        const struct tt_vector *bytes = &m->bytes[f].amount,
                               *number = &m->number[f].amount;
        for (uint32_t c = 0; !error && c < bytes->count; c++) {
            uint64_t b = ((const uint64_t *)bytes->item)[c];
            uint64_t n = c < number->count ? ((const uint64_t *)number->item)[c] : 0;
            if (!b)
                continue;
            tt_builder_space(m->b, c, "ocaml", fates[f].from, fates[f].to, n, b, 0);
            if (f > TO_MAJOR)
                continue;
            error = tt_heap_add(&m->heap, TT_HEAP_BYTES, c, b);
            error = error ?: tt_heap_add(&m->heap, TT_HEAP_ALLOCATIONS, c, n);
        }
    }
    if (error)
        return error;
    tt_heap_finish(&m->heap, NULL);
    tt_frames_flush(&m->samples, tt_builder_metric(m->b, "samples of the heap", "", 0));
    tt_heap_line_finish(&m->line, m->b, "heap", "bytes");
    if (m->lost)
        tt_builder_fact(m->b, "lost.packets", TT_FACT_SUM, m->lost, "");
    return 0;
}

static void init(struct memtrace *m)
{
    const struct tt_memory *memory = m->s->memory;

    tt_heap_init(&m->heap, m->s, m->b);
    tt_frames_init(&m->samples, m->b, memory);
    for (int f = 0; f < FATES; f++) {
        tt_frames_init(&m->bytes[f], m->b, memory);
        tt_frames_init(&m->number[f], m->b, memory);
    }
    tt_pairs_init(&m->domains, memory);
    tt_pairs_init(&m->locations, memory);
    tt_pairs_init(&m->objects, memory);
    tt_vector_init(&m->domain, memory, sizeof(struct domain *));
    tt_vector_init(&m->location, memory, sizeof(struct range));
    tt_vector_init(&m->block, memory, sizeof(uint32_t));
    tt_vector_init(&m->object, memory, sizeof(struct object));
    tt_vector_init(&m->text, memory, 1);
}

static int read_memtrace(struct tt_source *s, struct tt_builder *b)
{
    struct memtrace *m = tt_memory_get(s->memory, sizeof *m);
    int error;

    if (!m)
        return tt_source_no_memory(s);
    m->s = s;
    m->b = b;
    init(m);
    error = read_packets(m);
    if (!error && !m->has_info)
        error = tt_source_fail(s, "it ends before it says what it is of");
    return error ?: finish(m);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= 32 && tt_number_at(head, 4) == (uint32_t)MAGIC);
}

const struct tt_format tt_format_memtrace = {
    .name = "memtrace",
    .about = "allocations of OCaml, by memtrace",
    .detect = detect,
    .read = read_memtrace,
};
