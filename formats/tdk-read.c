/* SPDX-License-Identifier: MIT */
/* tdk-read.c - the coverage and profiling data that TDK saves: reading.
 *
 *      NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength
 *      2,/t/mult.tcl,5,23,29.0,35,58,59,10
 *
 * A row is a statement, and times are in microseconds.  A statement that never ran has
 * zeros, and becomes a block without a context.  With coverage alone, times are empty. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "json-reader.h"
#include "naming.h"

static const char heading[] =
    "NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength";

enum { CALLS, NAME, LINE, MIN, AVG, MAX, TOTAL, INDEX, LENGTH, FIELDS };
enum { US = 1000 };

struct tdk {
    struct tt_source *s;
    struct tt_builder *b;
    uint32_t calls, time; /* metrics; time TT_NONE: no row has had any */
    uint64_t all_calls, all_time;
};

/* Splits a row into its fields, and removes quotes; returns how many. */
static int split(char *line, char *field[FIELDS])
{
    int count = 0;

    for (char *from = line, *to;; from++) {
        if (count == FIELDS)
            return count + 1;
        field[count++] = to = from;
        if (*from == '"') {
            for (from++; *from && (*from != '"' || from[1] == '"'); from++) {
                from += *from == '"';
                *to++ = *from;
            }
            from += *from == '"';
        } else {
            for (; *from && *from != ','; from++)
                *to++ = *from;
        }
        if (!*from || *from != ',') {
            *to = '\0';
            return *from ? 0 : count;
        }
        *to = '\0';
    }
}

static int take_number(const char *text, uint64_t scale, uint64_t *n)
{
    int64_t value;

    if (*text < '0' || *text > '9' || !tt_decimal(text, 0, &value) ||
        strspn(text, "0123456789") != strlen(text))
        return 0;
    return !__builtin_mul_overflow((uint64_t)value, scale, n);
}

static uint32_t block_of(struct tdk *t, const char *file, const uint64_t n[FIELDS])
{
    const char *slash = strrchr(file, '/');
    char name[300];

    (void)snprintf(name, sizeof name, "%.250s:%llu", slash ? slash + 1 : file,
                   (unsigned long long)n[LINE]);
    return tt_builder_block(t->b, &(struct tt_block_info){.kind = TT_KIND_STATEMENT,
                                                          .name = name,
                                                          .file = file,
                                                          .line = (uint32_t)n[LINE],
                                                          .offset = n[INDEX],
                                                          .length = (uint32_t)n[LENGTH]});
}

static void add_times(struct tdk *t, uint32_t context, const uint64_t n[FIELDS])
{
    struct tt_times_row row = {.count = n[CALLS],
                               .sum = n[TOTAL],
                               .min = n[MIN],
                               .max = n[MAX],
                               .min_strand = TT_NONE,
                               .max_strand = TT_NONE};
    /* The file does not have the spread of times: assumes that all were equal. */
    unsigned __int128 square = (unsigned __int128)n[TOTAL] * n[TOTAL] / n[CALLS];

    row.square = (struct tt_sum128){(uint64_t)square, (uint64_t)(square >> 64)};
    if (t->time == TT_NONE)
        t->time = tt_builder_metric(t->b, "time", "ns", TT_METRIC_TIME);
    tt_builder_add(t->b, TT_ROLE_SELF, context, t->time, n[TOTAL]);
    tt_builder_times(t->b, 0, context, &row);
}

static int take_row(struct tdk *t, char *line)
{
    char *field[FIELDS];
    uint64_t n[FIELDS] = {0};
    uint32_t block, context;
    int count = split(line, field), is_timed;

    if (count != FIELDS)
        return tt_source_fail(t->s, "a row has %d fields, and quotes that are closed",
                              FIELDS);
    is_timed = *field[TOTAL] != '\0';
    for (int i = 0; i < FIELDS; i++)
        if (i != NAME && i != AVG && (is_timed || i < MIN || i > TOTAL) &&
            !take_number(field[i], i >= MIN && i <= TOTAL ? US : 1, &n[i]))
            return tt_source_fail(t->s, "'%.40s' is no number", field[i]);
    if (n[LINE] > UINT32_MAX || n[LENGTH] > UINT32_MAX)
        return tt_source_fail(t->s, "a line, or a length, is too large");
    if (is_timed && n[CALLS] && (n[MIN] > n[MAX] || n[MAX] > n[TOTAL]))
        return tt_source_fail(t->s, "the least is above the largest, or that above all");
    if (__builtin_add_overflow(t->all_calls, n[CALLS], &t->all_calls) ||
        __builtin_add_overflow(t->all_time, n[TOTAL], &t->all_time))
        return tt_source_fail(t->s, TT_TOO_MUCH);
    block = block_of(t, field[NAME], n);
    if (block != TT_NONE && !n[CALLS])
        return 0;
    context = tt_builder_context(t->b, TT_BUILDER_ROOT, block);
    if (context == TT_NONE)
        return tt_source_no_memory(t->s);
    tt_builder_add(t->b, TT_ROLE_SELF, context, t->calls, n[CALLS]);
    if (is_timed)
        add_times(t, context, n);
    return 0;
}

static int read_tdk(struct tt_source *s, struct tt_builder *b)
{
    struct tdk t = {.s = s, .b = b, .time = TT_NONE};
    size_t length;
    char *line;
    int error = tt_source_line(s, &line, &length);

    if (error < 0)
        return error;
    if (!error || strcmp(line, heading) != 0)
        return tt_source_fail(s, "the first line is '%s'", heading);
    t.calls = tt_builder_metric(b, "calls", "", TT_METRIC_CALLS);
    error = 0;
    while (!error && (error = tt_source_line(s, &line, &length)) > 0)
        error = length ? take_row(&t, line) : 0;
    return error;
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= sizeof heading - 1 &&
                       memcmp(head, heading, sizeof heading - 1) == 0);
}

const struct tt_format tt_format_tdk = {
    .name = "tdk",
    .about = "the data that TDK saves",
    .detect = detect,
    .read = read_tdk,
};
