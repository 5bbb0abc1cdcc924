/* SPDX-License-Identifier: MIT */
/* gmon.c - the profile that a program compiled with -pg writes when it ends: reading.
 *
 *      "gmon" version          a head of 20 bytes
 *      0 low high bins rate …  a histogram: how often the clock found each piece of code
 *      1 from self count       calls from one place to one function
 *
 * The older form, which Windows and BSD write, is the same without tags:
 *
 *      low high size version rate … │ one histogram │ from self count │ …
 *
 * The file has no names, and does not say how wide an address is: both are in the program
 * file.  A bin that spans several functions is divided in proportion to its bytes in
 * each.  The cost of calls is unknown; like gprof, this takes it to be in proportion to
 * their number (arcs.h). */
#include <stdlib.h>
#include <string.h>

#include "arcs.h"
#include "elf-symbols.h"
#include "formats.h"
#include "frames.h"

enum { HEAD = 20, HISTOGRAM = 0, ARC = 1, BLOCKS = 2 };
enum { OLD_VERSION = 0x51879, OLD_HEAD = 24 }; /* OLD_HEAD: and two addresses */

struct gmon {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_elf elf;
    struct tt_arcs arcs;
    struct tt_vector block; /* uint32_t: of each function of the program, + 1 */
    uint64_t moved;         /* how far Windows has moved the program */
};

static int take(struct gmon *g, int size, uint64_t *n)
{
    int64_t have = tt_source_want(g->s, (size_t)size);

    *n = 0;
    if (have < 0)
        return (int)have;
    if (have < size)
        return tt_source_fail(g->s, "the file ends within a record");
    *n = tt_number_at(tt_source_at(g->s), size);
    tt_source_skip(g->s, (size_t)size);
    return 0;
}

/* Returns the number of the function that contains an address, among those with
 * figures. */
static uint32_t function_at(struct gmon *g, uint64_t address)
{
    const struct tt_elf_function *f = tt_elf_find(&g->elf, address - g->moved, 0);
    struct tt_block_info info = {.name = "[unknown]", .kind = TT_KIND_FUNCTION};
    uint32_t *block = NULL, made;
    char *name = NULL;

    if (f) {
        block = (uint32_t *)g->block.item +
                (f - (struct tt_elf_function *)g->elf.function.item);
        if (*block)
            return tt_arcs_function(&g->arcs, *block - 1);
        info.name = (const char *)g->elf.text.item + f->name;
        if (g->s->reading->demangle && !(name = g->s->reading->demangle(info.name)))
            return TT_NONE;
        info.name = name ? name : info.name;
    }
    made = tt_builder_block(g->b, &info);
    free(name);
    if (made != TT_NONE && block)
        *block = made + 1;
    return made == TT_NONE ? TT_NONE : tt_arcs_function(&g->arcs, made);
}

/* ── The histogram ────────────────────────────────────────────────────────────────── */

static int add_time(struct gmon *g, uint64_t address, uint64_t ns)
{
    uint32_t f = function_at(g, address);

    if (f == TT_NONE)
        return tt_source_no_memory(g->s);
    return tt_arcs_add_self(&g->arcs, f, &ns, 1) ? tt_source_fail(g->s, TT_TOO_MUCH) : 0;
}

/* Divides the time found in [low, high) among the functions there. */
static int add_bin(struct gmon *g, uint64_t low, uint64_t high, uint64_t ns)
{
    uint64_t given = 0, from = low;
    int error = 0;

    while (!error && from < high) {
        const struct tt_elf_function *f = tt_elf_find(&g->elf, from - g->moved, 1);
        uint64_t until, start = f ? f->start + g->moved : high;
        uint64_t end = from < start ? start : f->end + g->moved;
        if (end > high || end <= from) /* the last one has no end */
            end = high;
        until = (uint64_t)((unsigned __int128)ns * (end - low) / (high - low));
        if (until > given)
            error = add_time(g, from, until - given);
        given = until;
        from = end;
    }
    return error;
}

static int read_bins(struct gmon *g, uint64_t low, uint64_t high, uint64_t bins,
                     uint64_t rate)
{
    uint64_t count;
    int error = 0;

    if (high <= low || !bins || !rate || rate > 1000000000 ||
        (high - low) / bins > 1 << 20)
        return tt_source_fail(g->s,
                              "a histogram cannot have %llu bins, %llu samples a second "
                              "and %llu bytes of code",
                              (unsigned long long)bins, (unsigned long long)rate,
                              (unsigned long long)(high - low));
    for (uint64_t i = 0; !error && i < bins; i++) {
        /* As gprof does: each bin has the average width. */
        uint64_t from = low + (uint64_t)((unsigned __int128)(high - low) * i / bins);
        uint64_t to = low + (uint64_t)((unsigned __int128)(high - low) * (i + 1) / bins);
        error = take(g, 2, &count);
        if (!error && count)
            error = add_bin(g, from, to > from ? to : from + 1,
                            count * 1000000000 / rate);
    }
    return error;
}

static int read_histogram(struct gmon *g)
{
    uint64_t low, high, bins, rate, skipped;
    int error = take(g, g->elf.width, &low);

    error = error ?: take(g, g->elf.width, &high);
    error = error ?: take(g, 4, &bins);
    error = error ?: take(g, 4, &rate);
    error = error ?: take(g, 8, &skipped); /* "seconds", and its letter */
    error = error ?: take(g, 8, &skipped);
    return error ?: read_bins(g, low, high, bins, rate);
}

/* ── Calls ────────────────────────────────────────────────────────────────────────── */

/* `width`: bytes of the count, which are an address's in the older form. */
static int read_arc(struct gmon *g, int width)
{
    uint64_t from, to, count = 0;
    uint32_t caller, called;
    int error = take(g, g->elf.width, &from);

    error = error ?: take(g, g->elf.width, &to);
    error = error ?: take(g, width, &count);
    count &= UINT32_MAX; /* what follows in a longer one is chance */
    if (error || !count)
        return error;
    caller = function_at(g, from);
    called = function_at(g, to);
    if (caller == TT_NONE || called == TT_NONE ||
        tt_arcs_arc(&g->arcs, caller, called, count) == TT_NONE)
        return tt_source_no_memory(g->s);
    return 0;
}

static int read_records(struct gmon *g)
{
    uint64_t tag, skipped, count;
    int64_t have;
    int error = 0;

    while (!error && (have = tt_source_want(g->s, 1)) != 0) {
        if (have < 0)
            return (int)have;
        error = take(g, 1, &tag);
        if (error)
            break;
        if (tag == HISTOGRAM) {
            error = read_histogram(g);
        } else if (tag == ARC) {
            error = read_arc(g, 4);
        } else if (tag == BLOCKS) { /* counts of executed lines */
            error = take(g, 4, &count);
            for (uint64_t i = 0; !error && i < count * 2; i++)
                error = take(g, g->elf.width, &skipped);
        } else {
            error = tt_source_fail(g->s, "no record has the tag %u", (unsigned)tag);
        }
    }
    return error;
}

/* ── The older form ───────────────────────────────────────────────────────────────── */

static int is_old(const char *head, size_t size, int width)
{
    return size >= (size_t)(OLD_HEAD + 2 * width) &&
           tt_number_at(head + 2 * width + 4, 4) == OLD_VERSION;
}

/* Windows moves a program by multiples of 64 KiB; its code begins in the first of them. */
static void find_move(struct gmon *g, uint64_t low)
{
    if (g->elf.size && (low < g->elf.base || low - g->elf.base >= g->elf.size))
        g->moved = (low & ~(uint64_t)0xffff) - g->elf.base;
}

static int read_old(struct gmon *g)
{
    const int width = g->elf.width;
    const uint64_t head = (uint64_t)(OLD_HEAD + 2 * width);
    uint64_t low, high, size, version, rate, spare;
    int64_t have;
    int error = take(g, width, &low);

    error = error ?: take(g, width, &high);
    error = error ?: take(g, 4, &size);
    error = error ?: take(g, 4, &version);
    error = error ?: take(g, 4, &rate);
    error = error ?: take(g, 8, &spare);
    error = error ?: take(g, 4, &spare);
    if (error)
        return error;
    if (size < head)
        return tt_source_fail(g->s, "the histogram is smaller than its head");
    find_move(g, low);
    error = read_bins(g, low, high, (size - head) / 2, rate);
    while (!error && (have = tt_source_want(g->s, 1)) != 0)
        error = have < 0 ? (int)have : read_arc(g, width);
    return error;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

/* Reads the functions of the program: the file that was given, or a.out beside the
 * profile. */
static int read_program(struct gmon *g)
{
    const char *name = g->s->reading->executable;
    struct tt_source *program = tt_source_beside(g->s, name ? name : "a.out");
    int error;

    if (!program && name)
        return tt_source_fail_at(g->s, 0, "its program '%s' cannot be read", name);
    if (!program)
        return tt_source_fail_at(g->s, 0,
                                 "what its functions are called is in the program's "
                                 "own file: --executable PROGRAM");
    error = tt_elf_read(&g->elf, program, g->s->memory);
    if (error)
        (void)tt_source_fail_at(g->s, 0, "its program: %s", program->error);
    tt_source_close(program);
    if (!error && !tt_vector_add(&g->block, g->elf.function.count))
        error = tt_source_no_memory(g->s);
    return error;
}

static int read_all(struct gmon *g)
{
    uint32_t metric, calls;
    int64_t have = tt_source_want(g->s, OLD_HEAD + 16);
    int error;

    if (have < 0)
        return (int)have;
    if (is_old(tt_source_at(g->s), (size_t)have, g->elf.width)) {
        error = read_old(g);
    } else if (have >= HEAD && memcmp(tt_source_at(g->s), "gmon\1\0\0\0", 8) == 0) {
        tt_source_skip(g->s, HEAD);
        error = read_records(g);
    } else {
        return tt_source_fail_at(g->s, 0,
                                 "this is not version 1 of gmon.out, or its addresses "
                                 "are not as wide as its program's");
    }
    if (error)
        return error;
    metric = tt_builder_metric(g->b, "time", "ns", TT_METRIC_TIME | TT_METRIC_SAMPLED);
    calls = tt_builder_metric(g->b, "calls", "", TT_METRIC_CALLS);
    error = tt_arcs_finish(&g->arcs, &metric, calls);
    return error ? tt_source_no_memory(g->s) : 0;
}

static int read_gmon(struct tt_source *s, struct tt_builder *b)
{
    struct gmon g = {.s = s, .b = b};
    int error;

    tt_vector_init(&g.block, s->memory, sizeof(uint32_t));
    error = tt_arcs_init(&g.arcs, b, s->memory, 1);
    g.arcs.by_calls = 1;
    error = error ? tt_source_no_memory(s) : read_program(&g);
    return error ?: read_all(&g);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if((size >= HEAD && memcmp(head, "gmon\1\0\0\0", 8) == 0) ||
                       is_old(head, size, 4) || is_old(head, size, 8));
}

const struct tt_format tt_format_gmon = {
    .name = "gmon",
    .about = "gmon.out, of programs compiled with -pg",
    .detect = detect,
    .read = read_gmon,
};
