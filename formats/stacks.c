/* SPDX-License-Identifier: MIT */
/* stacks.c - pages of stacks, as servers with gperftools have them: contention and
 * threads.
 *
 *      --- contentionz 1 ---                   how long threads waited for locks:
 *      cycles/second = 3201000000
 *      sampling period = 100
 *      19490304 27 @ 0xbcbbf1 0xbc61c2         cycles, how often, where
 *
 *      --- threadz 1 ---                       where each thread was:
 *      --- Thread 7eff063d9940 (name: main/25376) stack: ---
 *        PC: 0xbc8f1c 0x40be31
 *            creator: 0xa45b96                 and then, where it was started
 *      --- Thread 7eff04b95700 (name: io/25380) stack: ---
 *        [same as previous thread]
 *
 *      --- Memory map: ---                     then the mappings
 *
 *      goroutine profile: total 6              Go's: how many are at each place
 *      5 @ 0x4378b6 0x40619b
 *      #   0x4b401a  main.wait+0x1a  main.go:7     by name, if these lines are there
 *
 *      --- heapz 1 ---                         Java's heap, and its contention:
 *      format = java
 *          7048     1 @ 0x00000003 0x00000004  bytes (or time), number, where
 *       0x00000003 com.example.f (Source.java:103)   and the name of each number
 *
 * Addresses are leaf first.  Those of callers are return addresses, one byte after the
 * call: all of contention, and all but the first of a thread.  Java's are mere
 * numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "heap-figures.h"
#include "maps.h"
#include "naming.h"
#include "pairs.h"
#include "statistics.h"

#define TOTAL " profile: total " /* in the first line of Go's counts */

struct stack {
    uint64_t number, time; /* time: ns, or bytes */
    size_t first, depth;
    size_t named, names; /* the same as functions, if Go has written them below */
};

struct stacks {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_vector stack, address; /* struct stack; uint64_t, leaf first */
    struct tt_vector named;          /* uint32_t: blocks, leaf first */
    struct tt_pairs names;           /* of addresses that come with one: block + 1 */
    struct tt_maps maps;
    struct tt_heap_profile heap; /* names as Java and Go write them */
    uint64_t period, cycles;     /* sampling period; cycles a second, 0: times are in
                                    ns */
    uint64_t stated;             /* the sum of Go's counts, as its first line has it */
    uint64_t unit;               /* ns, of Java's times; 0: it is not Java */
    char kind;
};

/* ── Addresses ────────────────────────────────────────────────────────────────────── */

static int is_word(const char **at, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*at, word, length) != 0)
        return 0;
    *at = tt_skip_blanks(*at + length);
    return 1;
}

static int take_name(struct stacks *x, uint64_t address, const char *name)
{
    struct tt_block_info info = {.name = name, .kind = TT_KIND_FUNCTION};
    uint32_t block = tt_builder_block(x->b, &info), *at;
    int is_new;

    at = tt_pairs_get(&x->names, address, 0, &is_new);
    if (!at || block == TT_NONE)
        return tt_source_no_memory(x->s);
    if (is_new)
        *at = block + 1;
    return 0;
}

/* Takes "0xbcbbf1 0xbc61c2 …", or "0x0040be31: main"; `leaf`: the first is not a
 * caller. */
static int take_addresses(struct stacks *x, const char *at, int leaf)
{
    int error = 0;

    for (at = tt_skip_blanks(at); !error && *at; at = tt_skip_blanks(at)) {
        char *end;
        uint64_t address = strtoull(at, &end, 16);
        int is_named = *end == ':' && tt_is_blank(end[1]);
        if (end == at || *at == '-' || *at == '+' ||
            (*end && !tt_is_blank(*end) && !is_named))
            return tt_source_fail(x->s, "an address is due, and not '%.20s'", at);
        if (!leaf && address && !x->unit)
            address--;
        leaf = 0;
        if (tt_source_append(x->s, &x->address, &address) != 0)
            return -TT_ERR_MEMORY;
        if (is_named)
            return take_name(x, address, tt_skip_blanks(end + 1));
        at = end;
    }
    return error;
}

/* ── Contention ───────────────────────────────────────────────────────────────────── */

/* Takes "sampling period = 100"; ignores other settings. */
static int take_setting(struct stacks *x, const char *line)
{
    const char *value = tt_skip_blanks(strchr(line, '=') + 1), *end = value;
    uint64_t n;

    if (strncmp(line, "format", 6) == 0 && strncmp(value, "java", 4) == 0)
        x->unit = x->unit ? x->unit : 1;
    if (strncmp(line, "resolution", 10) == 0)
        x->unit = strncmp(value, "micro", 5) == 0   ? 1000
                  : strncmp(value, "milli", 5) == 0 ? 1000000
                                                    : 1;
    if (strncmp(line, "cycles/second", 13) != 0 &&
        strncmp(line, "sampling period", 15) != 0)
        return 0;
    if (!tt_take_digits(&end, &n) || *tt_skip_blanks(end) || !n)
        return tt_source_fail(x->s, "'%.20s' is no such number", value);
    *(*line == 'c' ? &x->cycles : &x->period) = n;
    return 0;
}

/* Scales up a sample of Java's heap: the probability that an allocation is sampled
 * depends on its size. */
static void weigh(struct stack *s)
{
    const double rate = 512 << 10;
    double mean = s->number ? (double)s->time / (double)s->number : 0, by;

    if (mean <= 0)
        return;
    by = 1 / -expm1(-mean / rate);
    s->number = tt_whole((double)s->number * by);
    s->time = tt_whole((double)s->time * by);
}

static int take_contention(struct stacks *x, const char *line)
{
    struct stack s = {.first = x->address.count};
    const char *at = line;
    uint64_t cycles;
    double ns;
    int error;

    if (!tt_take_number(&at, &cycles) || !tt_take_number(&at, &s.number) ||
        *tt_skip_blanks(at) != '@')
        return tt_source_fail(x->s, "a line is 'CYCLES NUMBER @ ADDRESSES'");
    error = take_addresses(x, tt_skip_blanks(at) + 1, 0);
    if (error)
        return error;
    s.depth = x->address.count - s.first;
    if (x->kind == 'h') {
        s.time = cycles;
        weigh(&s);
        return tt_source_append(x->s, &x->stack, &s);
    }
    if (x->unit && (__builtin_mul_overflow(cycles, x->unit, &cycles) ||
                    __builtin_mul_overflow(cycles, x->period, &cycles)))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    ns = x->cycles ? floor((double)cycles * (double)x->period / ((double)x->cycles / 1e9))
                   : (double)cycles;
    if (!(ns < 9e18) || __builtin_mul_overflow(s.number, x->period, &s.number))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    s.time = x->cycles ? (uint64_t)ns : cycles;
    return tt_source_append(x->s, &x->stack, &s);
}

/* Takes a function of the stack before: "#\t0x4b401a\tmain.wait+0x1a\tmain.go:7". */
static int take_function(struct stacks *x, char *line)
{
    struct stack *s = x->stack.item;
    uint32_t block;
    int is_one = x->stack.count ? tt_frames_go(&x->heap.names, line, &block) : 0;

    if (is_one <= 0)
        return is_one ? tt_source_no_memory(x->s) : 0; /* a remark */
    s += x->stack.count - 1;
    if (!s->names)
        s->named = x->named.count;
    s->names++;
    return tt_source_append(x->s, &x->named, &block);
}

/* " 0x00000003 com.example.f (Source.java:103)". */
static int take_java_name(struct stacks *x, const char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    uint32_t block, *at;
    int is_new;

    end += strspn(end, " \t");
    block = tt_heap_frame(&x->heap, end, strlen(end));
    at = tt_pairs_get(&x->names, address, 0, &is_new);
    if (!at || block == TT_NONE)
        return tt_source_no_memory(x->s);
    if (is_new)
        *at = block + 1;
    return 0;
}

static int read_contention(struct stacks *x)
{
    size_t length;
    char *line;
    int error = 0;

    while (!error && (error = tt_source_line(x->s, &line, &length)) > 0) {
        const char *at = tt_skip_blanks(line);
        error = 0;
        if (strncmp(at, "---", 3) == 0)
            return 0;
        if (x->unit && strncmp(at, "0x", 2) == 0)
            error = take_java_name(x, at);
        else if (*at >= '0' && *at <= '9')
            error = take_contention(x, at);
        else if (*at == '#')
            error = take_function(x, line);
        else if (*at)
            error = strchr(at, '=')
                        ? take_setting(x, at)
                        : tt_source_fail(x->s, "'%.20s' is no line of it", at);
    }
    return error;
}

/* ── Counts of Go ─────────────────────────────────────────────────────────────────── */

/* "5 @ 0x4378b6 0x40619b", or a function of it, or "# labels: …". */
static int take_count(struct stacks *x, char *line)
{
    struct stack s = {.first = x->address.count};
    const char *at = line;
    int error;

    if (*line == '#' || !*tt_skip_blanks(line))
        return take_function(x, line);
    if (!tt_take_number(&at, &s.number) || *(at = tt_skip_blanks(at)) != '@')
        return tt_source_fail(x->s, "a line is 'NUMBER @ ADDRESSES'");
    error = take_addresses(x, at + 1, 0);
    s.depth = x->address.count - s.first;
    return error ?: tt_source_append(x->s, &x->stack, &s);
}

static int read_counts(struct stacks *x)
{
    size_t length;
    char *line;
    int error;

    while ((error = tt_source_line(x->s, &line, &length)) > 0)
        if ((error = take_count(x, line)) != 0)
            break;
    return error;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

/* Takes a line of a thread's stack; 1: it is the same as that of the thread before. */
static int take_thread_line(struct stacks *x, const char *at, int is_first)
{
    int is_leaf = is_word(&at, "PC:") || is_first;

    if (strncmp(at, "[same as previous thread]", 25) == 0)
        return 1;
    if (is_word(&at, "creator:"))
        is_leaf = 0;
    return take_addresses(x, at, is_leaf);
}

/* Ends the thread whose stack began at `s`. */
static int end_thread(struct stacks *x, struct stack *s, int is_same)
{
    size_t count = x->stack.count;
    struct stack *last = count ? (struct stack *)x->stack.item + count - 1 : NULL;

    s->depth = x->address.count - s->first;
    if (is_same && !last)
        return tt_source_fail(x->s, "there is no thread before the first one");
    if (!is_same)
        return s->depth ? tt_source_append(x->s, &x->stack, s) : 0;
    last->number++;
    return 0;
}

/* Reads lines up to the memory map, or to the end. */
static int read_threads(struct stacks *x, int in_thread)
{
    struct stack s = {.number = 1};
    size_t length;
    char *line;
    int error = 0, is_same = 0, more;

    while (!error && (more = tt_source_line(x->s, &line, &length)) > 0) {
        const char *at = tt_skip_blanks(line);
        if (strncmp(at, "---", 3) == 0) {
            if (in_thread)
                error = end_thread(x, &s, is_same);
            in_thread = strncmp(at, "--- Thread", 10) == 0;
            is_same = 0;
            s = (struct stack){.number = 1, .first = x->address.count};
            if (!in_thread)
                return error;
        } else if (*at && in_thread) {
            error = take_thread_line(x, at, x->address.count == s.first);
            is_same |= error > 0;
            error = error > 0 ? 0 : error;
        } else if (*at) {
            error = tt_source_fail(x->s, "'%.20s' is of no thread", at);
        }
    }
    error = error ?: more;
    return !error && in_thread ? end_thread(x, &s, is_same) : error;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int read_maps(struct stacks *x)
{
    size_t length;
    char *line;
    int more;

    while ((more = tt_source_line(x->s, &line, &length)) > 0)
        if (tt_maps_line(&x->maps, line) < 0)
            return tt_source_no_memory(x->s);
    tt_maps_sort(&x->maps);
    return more;
}

static uint32_t block_of(struct stacks *x, uint64_t address)
{
    const uint32_t *named = tt_pairs_find(&x->names, address, 0);

    return named ? *named - 1 : tt_maps_block(&x->maps, x->b, address);
}

static uint32_t context_of(struct stacks *x, const struct stack *s)
{
    const uint64_t *address = x->address.item;
    const uint32_t *named = x->named.item;
    uint32_t context = TT_BUILDER_ROOT;

    for (size_t d = s->named + s->names; d-- > s->named;)
        context = tt_builder_context(x->b, context, named[d]);
    for (size_t d = s->first + s->depth; !s->names && d-- > s->first;)
        context = tt_builder_context(x->b, context, block_of(x, address[d]));
    return context;
}

static int add_heap(struct stacks *x)
{
    const struct stack *s = x->stack.item;
    int error = 0;

    for (size_t i = 0; !error && i < x->stack.count; i++) {
        uint32_t context = context_of(x, &s[i]);
        if (context == TT_NONE)
            return tt_source_no_memory(x->s);
        error = tt_heap_add(&x->heap, TT_HEAP_LIVE_BYTES, context, s[i].time);
        error = error ?: tt_heap_add(&x->heap, TT_HEAP_LIVE_NUMBER, context, s[i].number);
    }
    if (!error)
        tt_heap_finish(&x->heap, NULL);
    return error;
}

static int add_contexts(struct stacks *x, const char *what)
{
    const struct stack *s = x->stack.item;
    uint64_t all = 0, number = 0;
    uint32_t count, time = 0;

    count = tt_builder_metric(x->b, what, "", 0);
    if (x->kind == 'c')
        time = tt_builder_metric(x->b, "delay", "ns", TT_METRIC_TIME);
    for (size_t i = 0; i < x->stack.count; i++) {
        uint32_t context = context_of(x, &s[i]);
        if (context == TT_NONE)
            return tt_source_no_memory(x->s);
        if (__builtin_add_overflow(all, s[i].time, &all) ||
            __builtin_add_overflow(number, s[i].number, &number))
            return tt_source_fail(x->s, TT_TOO_MUCH);
        tt_builder_add(x->b, TT_ROLE_SELF, context, count, s[i].number);
        if (x->kind == 'c')
            tt_builder_add(x->b, TT_ROLE_SELF, context, time, s[i].time);
    }
    if (number < x->stated)
        return tt_source_fail(x->s,
                              "the file was cut off: its first line states %llu, and its "
                              "stacks have %llu",
                              (unsigned long long)x->stated, (unsigned long long)number);
    return 0;
}

/* "goroutine profile: total 6": returns the length of the first word; 0: it is no such
 * line. */
static size_t count_of(const char *head, size_t size)
{
    size_t length = 0;

    while (length < size && length < 100 && head[length] > ' ')
        length++;
    return size - length >= sizeof TOTAL && length &&
                   memcmp(head + length, TOTAL, sizeof TOTAL - 1) == 0 &&
                   head[length + sizeof TOTAL - 1] >= '0' &&
                   head[length + sizeof TOTAL - 1] <= '9'
               ? length
               : 0;
}

/* Detects a page by its first line: 'c' contention, 't' threads, 'T' the first thread,
 * 'h' Java's heap, 'g' a count of Go's; 0: none. */
static char kind_of(const char *head, size_t size)
{
    static const struct {
        const char *text;
        char kind;
    } heads[] = {{"--- contention", 'c'},
                 {"--- mutex:", 'c'},
                 {"--- heapz ", 'h'},
                 {"--- threadz ", 't'},
                 {"--- Thread ", 'T'}};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (size >= strlen(heads[i].text) &&
            memcmp(head, heads[i].text, strlen(heads[i].text)) == 0)
            return heads[i].kind;
    return count_of(head, size) ? 'g' : 0;
}

static int read_all(struct stacks *x)
{
    char *line, what[101];
    size_t length;
    int error = tt_source_line(x->s, &line, &length);

    if (error < 0)
        return error;
    x->kind = error ? kind_of(line, length) : 0;
    if (!x->kind)
        return tt_source_fail(x->s, "this is no page of contention or of threads");
    length = x->kind == 'g' ? count_of(line, length) : 0;
    (void)snprintf(what, sizeof what, "%.*s", (int)length, line);
    if (x->kind == 'g')
        x->stated = strtoull(line + length + strlen(TOTAL), NULL, 10);
    error = x->kind == 'c' || x->kind == 'h' ? read_contention(x)
            : x->kind == 'g'                 ? read_counts(x)
                                             : read_threads(x, x->kind == 'T');
    error = error ?: read_maps(x);
    if (error || x->kind == 'h')
        return error ?: add_heap(x);
    return add_contexts(x, x->kind == 'c'   ? "contentions"
                           : x->kind == 'g' ? what
                                            : "threads");
}

static int read_stacks(struct tt_source *s, struct tt_builder *b)
{
    struct stacks x = {.s = s, .b = b, .period = 1};

    tt_vector_init(&x.stack, s->memory, sizeof(struct stack));
    tt_vector_init(&x.address, s->memory, sizeof(uint64_t));
    tt_vector_init(&x.named, s->memory, sizeof(uint32_t));
    tt_heap_init(&x.heap, s, b);
    tt_pairs_init(&x.names, s->memory);
    tt_maps_init(&x.maps, s->memory);
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(kind_of(head, size));
}

const struct tt_format tt_format_stacks = {
    .name = "stacks",
    .about = "pages of contention and of threads",
    .detect = detect,
    .read = read_stacks,
};
