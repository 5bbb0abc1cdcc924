/* SPDX-License-Identifier: MIT */
/* stacks.c - pages of stacks, as servers with gperftools have them: contention and threads.
 *
 *      --- contentionz 1 ---                   how long locks were waited for:
 *      cycles/second = 3201000000
 *      sampling period = 100
 *      19490304 27 @ 0xbcbbf1 0xbc61c2         cycles, how often, where
 *
 *      --- threadz 1 ---                       where each thread was:
 *      --- Thread 7eff063d9940 (name: main/25376) stack: ---
 *        PC: 0xbc8f1c 0x40be31
 *            creator: 0xa45b96                 and who started it, behind it
 *      --- Thread 7eff04b95700 (name: io/25380) stack: ---
 *        [same as previous thread]
 *
 *      --- Memory map: ---                     then what lay where
 *
 * Addresses are leaf first.  Those of callers are where a call returns to, one byte behind
 * it; all of contention are, and of a thread all but the first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "maps.h"
#include "pairs.h"

struct stack {
    uint64_t number, time; /* time: ns */
    size_t first, depth;
};

struct stacks {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_vector stack, address; /* struct stack; uint64_t, leaf first */
    struct tt_pairs names;           /* of addresses that come with one: block + 1 */
    struct tt_maps maps;
    uint64_t period, cycles; /* 1 stands for so many; in a second, 0: they are ns */
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

/* "0xbcbbf1 0xbc61c2 …", or "0x0040be31: main"; `leaf`: the first is no caller's. */
static int take_addresses(struct stacks *x, const char *at, int leaf)
{
    int error = 0;

    for (at = tt_skip_blanks(at); !error && *at; at = tt_skip_blanks(at)) {
        char *end;
        uint64_t address = strtoull(at, &end, 16), *to;
        int is_named = *end == ':' && tt_is_blank(end[1]);
        if (end == at || *at == '-' || *at == '+' ||
            (*end && !tt_is_blank(*end) && !is_named))
            return tt_source_fail(x->s, "an address is due, and not '%.20s'", at);
        if (!leaf && address)
            address--;
        leaf = 0;
        to = tt_vector_add(&x->address, 1);
        if (!to)
            return tt_source_no_memory(x->s);
        *to = address;
        if (is_named)
            return take_name(x, address, tt_skip_blanks(end + 1));
        at = end;
    }
    return error;
}

static int add_stack(struct stacks *x, const struct stack *s)
{
    struct stack *to = tt_vector_add(&x->stack, 1);

    if (!to)
        return tt_source_no_memory(x->s);
    *to = *s;
    return 0;
}

/* ── Contention ───────────────────────────────────────────────────────────────────── */

/* "sampling period = 100"; what else is told this way does not matter. */
static int take_setting(struct stacks *x, const char *line)
{
    const char *value = tt_skip_blanks(strchr(line, '=') + 1), *end = value;
    uint64_t n;

    if (strncmp(line, "cycles/second", 13) != 0 &&
        strncmp(line, "sampling period", 15) != 0)
        return 0;
    if (!tt_take_digits(&end, &n) || *tt_skip_blanks(end) || !n)
        return tt_source_fail(x->s, "'%.20s' is no such number", value);
    *(*line == 'c' ? &x->cycles : &x->period) = n;
    return 0;
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
    ns = x->cycles ? floor((double)cycles * (double)x->period / ((double)x->cycles / 1e9))
                   : (double)cycles;
    if (!(ns < 9e18) || __builtin_mul_overflow(s.number, x->period, &s.number))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    s.time = x->cycles ? (uint64_t)ns : cycles;
    return add_stack(x, &s);
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
        if (*at >= '0' && *at <= '9')
            error = take_contention(x, at);
        else if (*at && *at != '#')
            error = strchr(at, '=')
                        ? take_setting(x, at)
                        : tt_source_fail(x->s, "'%.20s' is no line of it", at);
    }
    return error;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

/* A line of a thread's stack; 1: it is that of the thread before. */
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
        return s->depth ? add_stack(x, s) : 0;
    last->number++;
    return 0;
}

/* Lines up to the map of memory, or to the end. */
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
    error = error ? error : more;
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

static int add_contexts(struct stacks *x, int is_contention)
{
    const struct stack *s = x->stack.item;
    const uint64_t *address = x->address.item;
    uint64_t all = 0, number = 0;
    uint32_t count, time = 0;

    count = tt_builder_metric(x->b, is_contention ? "contentions" : "threads", "", 0);
    if (is_contention)
        time = tt_builder_metric(x->b, "delay", "ns", TT_METRIC_TIME);
    for (size_t i = 0; i < x->stack.count; i++) {
        uint32_t context = TT_BUILDER_ROOT;
        for (size_t d = s[i].first + s[i].depth; d-- > s[i].first;)
            context = tt_builder_context(x->b, context, block_of(x, address[d]));
        if (context == TT_NONE)
            return tt_source_no_memory(x->s);
        if (__builtin_add_overflow(all, s[i].time, &all) ||
            __builtin_add_overflow(number, s[i].number, &number))
            return tt_source_fail(x->s, TT_TOO_MUCH);
        tt_builder_add(x->b, TT_ROLE_SELF, context, count, s[i].number);
        if (is_contention)
            tt_builder_add(x->b, TT_ROLE_SELF, context, time, s[i].time);
    }
    return 0;
}

/* By the first line of a page: 'c' contention, 't' threads, 'T' a thread, at once; 0. */
static int kind_of(const char *head, size_t size)
{
    static const struct {
        const char *text;
        int kind;
    } heads[] = {{"--- contention", 'c'},
                 {"--- mutex:", 'c'},
                 {"--- threadz ", 't'},
                 {"--- Thread ", 'T'}};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (size >= strlen(heads[i].text) &&
            memcmp(head, heads[i].text, strlen(heads[i].text)) == 0)
            return heads[i].kind;
    return 0;
}

static int read_all(struct stacks *x)
{
    size_t length;
    char *line;
    int error = tt_source_line(x->s, &line, &length), kind;

    if (error < 0)
        return error;
    kind = error ? kind_of(line, length) : 0;
    if (!kind)
        return tt_source_fail(x->s, "this is no page of contention or of threads");
    error = kind == 'c' ? read_contention(x) : read_threads(x, kind == 'T');
    error = error ? error : read_maps(x);
    return error ? error : add_contexts(x, kind == 'c');
}

static int read_stacks(struct tt_source *s, struct tt_builder *b)
{
    struct stacks x = {.s = s, .b = b, .period = 1};
    int error;

    tt_vector_init(&x.stack, s->memory, sizeof(struct stack));
    tt_vector_init(&x.address, s->memory, sizeof(uint64_t));
    tt_pairs_init(&x.names, s->memory);
    tt_maps_init(&x.maps, s->memory);
    error = read_all(&x);
    tt_maps_fini(&x.maps);
    tt_pairs_fini(&x.names);
    tt_vector_fini(&x.address);
    tt_vector_fini(&x.stack);
    return error;
}

static enum tt_match detect(const char *head, size_t size)
{
    return kind_of(head, size) ? TT_MATCH_YES : TT_MATCH_NO;
}

const struct tt_format tt_format_stacks = {
    .name = "stacks",
    .about = "pages of contention and of threads",
    .detect = detect,
    .read = read_stacks,
};
