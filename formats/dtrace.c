/* SPDX-License-Identifier: MIT */
/* dtrace.c - stacks that DTrace has counted: reading.
 *
 *      CPU     ID                    FUNCTION:NAME
 *        0  64091                        :tick-60s
 *
 *        bash                          another part of the key
 *                    unix`trap+0x2c7
 *                    unix`main
 *
 *                    libc.so.1`_start+0x83
 *                      5
 *
 * Stacks are leaf first, and so are several of one key, the kernel's before the program's.
 * The other parts of a key are the outermost frame.  With -q there are no headings. */
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "naming.h"

enum { KEYS = 1024 };

struct dtrace {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_vector stack; /* uint32_t: blocks, leaf first */
    uint32_t metric;
    uint64_t sum;
    char keys[KEYS];
};

/* "unix`trap+0x2c7", or an address alone. */
static int is_frame(const char *at)
{
    return strchr(at, '`') || (at[0] == '0' && at[1] == 'x' && !strpbrk(at, " \t"));
}

/* "  0  64091                        :tick-60s": a processor, a number, and a probe. */
static int is_heading(const char *at)
{
    uint64_t n;

    return strncmp(at, "CPU ", 4) == 0 ||
           (tt_take_number(&at, &n) && tt_is_blank(*at) && tt_take_number(&at, &n) &&
            tt_is_blank(*at) && strchr(at, ':'));
}

/* Without the offset in the function. */
static size_t without_offset(const char *at, size_t length)
{
    size_t end = length;

    while (end && ((at[end - 1] >= '0' && at[end - 1] <= '9') ||
                   (at[end - 1] >= 'a' && at[end - 1] <= 'f')))
        end--;
    return end > 3 && end < length && memcmp(at + end - 3, "+0x", 3) == 0 ? end - 3
                                                                          : length;
}

static int add_frame(struct dtrace *d, char *at, size_t length)
{
    char *tick = strchr(at, '`');
    struct tt_block_info info = {.name = at, .module = "", .kind = TT_KIND_FUNCTION};
    uint32_t block;

    at[without_offset(at, length)] = '\0';
    if (tick) {
        *tick = '\0';
        info.module = at;
        info.name = tick + 1;
    }
    block = tt_builder_block(d->b, &info);
    return block == TT_NONE ? tt_source_no_memory(d->s)
                            : tt_source_append(d->s, &d->stack, &block);
}

static int end_key(struct dtrace *d, uint64_t n)
{
    const uint32_t *block = d->stack.item;
    uint32_t context = TT_BUILDER_ROOT;

    if (__builtin_add_overflow(d->sum, n, &d->sum))
        return tt_source_fail(d->s, TT_TOO_MUCH);
    if (d->keys[0])
        context = tt_builder_context(
            d->b, context,
            tt_builder_block(d->b, &(struct tt_block_info){.name = d->keys,
                                                           .kind = TT_KIND_FUNCTION}));
    for (size_t i = d->stack.count; i--;)
        context = tt_builder_context(d->b, context, block[i]);
    tt_builder_add(d->b, TT_ROLE_SELF, context, d->metric, n);
    d->stack.count = 0;
    d->keys[0] = '\0';
    return context == TT_NONE ? tt_source_no_memory(d->s) : 0;
}

/* Adds another part of the key; runs of blanks, which separate columns, become one.  A
 * second part before a stack begins a new key: the first was printed by the script
 * itself. */
static void add_key(struct dtrace *d, const char *at, size_t length)
{
    size_t to = 0;

    if (d->stack.count)
        return;
    for (size_t i = 0; i < length && to + 1 < KEYS; i++)
        if (!tt_is_blank(at[i]) || (to && d->keys[to - 1] != ' '))
            d->keys[to++] = tt_is_blank(at[i]) ? ' ' : at[i];
    d->keys[to] = '\0';
}

static int take_line(struct dtrace *d, char *line, size_t length)
{
    char *at = line + (tt_skip_blanks(line) - line), *end = line + length;
    const char *behind = at;
    uint64_t n;

    while (end > at && tt_is_blank(end[-1]))
        end--;
    *end = '\0';
    if (!*at || (!d->stack.count && is_heading(at)))
        return 0;
    if (is_frame(at))
        return add_frame(d, at, (size_t)(end - at));
    if (!d->stack.count) {
        add_key(d, at, (size_t)(end - at));
        return 0;
    }
    if (!tt_take_digits(&behind, &n) || *behind)
        return tt_source_fail(
            d->s, "a stack ends with a count from 0 on, not with '%.40s'", at);
    return end_key(d, n);
}

static int read_dtrace(struct tt_source *s, struct tt_builder *b)
{
    struct dtrace d = {.s = s, .b = b};
    size_t length;
    char *line;
    int error;

    d.metric = tt_builder_metric(b, "samples", "", 0);
    tt_vector_init(&d.stack, s->memory, sizeof(uint32_t));
    while ((error = tt_source_line(s, &line, &length)) > 0)
        if ((error = take_line(&d, line, length)) != 0)
            break;
    if (!error && d.stack.count)
        error = tt_source_fail(s, "the file ends within a stack");
    return error;
}

/* Does it begin with DTrace's headings, or with indented frames, "module`function"? */
static enum tt_match detect(const char *head, size_t size)
{
    static const char heading[] = "CPU     ID                    FUNCTION:NAME";
    const char *end = head + size, *at = head, *line = head;

    while (at < end && (*at == '\n' || *at == '\r'))
        line = ++at;
    if ((size_t)(end - at) >= sizeof heading &&
        memcmp(at, heading, sizeof heading - 1) == 0)
        return TT_MATCH_YES;
    while (at < end && tt_is_blank(*at))
        at++;
    if (at == line)
        return TT_MATCH_NO;
    while (at < end && *at != '\n' && *at != '`' && *at != ';' && *at != ' ')
        at++;
    return tt_match_if(at < end && *at == '`');
}

const struct tt_format tt_format_dtrace = {
    .name = "dtrace",
    .about = "stacks that DTrace has counted",
    .detect = detect,
    .read = read_dtrace,
};
