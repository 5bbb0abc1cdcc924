/* SPDX-License-Identifier: MIT */
/* austin.c - samples of Python that austin prints: reading.
 *
 *      # austin: 3.4.1
 *      # mode: wall
 *      P8374;T0:8375;main.py:<module>:25;lib.py:work:17 1459
 *
 * Stacks are root first; a frame is file, function and line.  The last word is microseconds
 * (modes wall and cpu), bytes (memory), or "microseconds,idle,bytes" (full).  Threads are
 * strands; lines within functions are added up. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "naming.h"

enum mode { WALL, CPU, MEMORY, FULL };
enum { MICROSECOND = 1000 };

struct austin {
    struct tt_source *s;
    struct tt_builder *b;
    enum mode mode;
    uint32_t time, cpu, taken, freed; /* metrics, TT_NONE until they are needed */
    uint64_t sum[4];                  /* of these */
};

static int add(struct austin *x, uint32_t *metric, uint64_t *sum, uint32_t context,
               uint64_t n)
{
    const int is_time = metric == &x->time || metric == &x->cpu;
    const char *name = metric == &x->time    ? "time"
                       : metric == &x->cpu   ? "CPU time"
                       : metric == &x->taken ? "bytes"
                                             : "bytes freed";

    if ((is_time && __builtin_mul_overflow(n, MICROSECOND, &n)) ||
        __builtin_add_overflow(*sum, n, sum))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    if (*metric == TT_NONE)
        *metric = tt_builder_metric(x->b, name, is_time ? "ns" : "bytes",
                                    TT_METRIC_SAMPLED | (is_time ? TT_METRIC_TIME : 0));
    tt_builder_add(x->b, TT_ROLE_SELF, context, *metric, n);
    return 0;
}

static int add_time(struct austin *x, uint32_t context, uint64_t n, int is_idle)
{
    int error = 0;

    if (x->mode != CPU)
        error = add(x, &x->time, &x->sum[0], context, n);
    if (!error && !is_idle && x->mode != WALL)
        error = add(x, &x->cpu, &x->sum[1], context, n);
    return error;
}

static int add_bytes(struct austin *x, uint32_t context, const char *at)
{
    int is_freed = *at == '-';
    uint64_t n;

    at += is_freed;
    if (!tt_take_digits(&at, &n) || *at)
        return tt_source_fail(x->s, "a number of bytes was wanted, not '%.40s'", at);
    return is_freed ? add(x, &x->freed, &x->sum[3], context, n)
                    : add(x, &x->taken, &x->sum[2], context, n);
}

static int add_figures(struct austin *x, uint32_t context, const char *at)
{
    const char *first = at;
    uint64_t n, idle = 0;
    int error;

    if (x->mode == MEMORY)
        return add_bytes(x, context, at);
    if (!tt_take_digits(&at, &n))
        return tt_source_fail(x->s, "a number of microseconds was wanted, not '%.40s'",
                              at);
    if (x->mode != FULL)
        return *at ? tt_source_fail(x->s, "one figure was wanted, not '%.40s'", first)
                   : add_time(x, context, n, 0);
    if (*at++ != ',' || !tt_take_digits(&at, &idle) || *at++ != ',')
        return tt_source_fail(x->s, "three figures were wanted, not '%.40s'", first);
    error = add_time(x, context, n, idle != 0);
    return error ?: add_bytes(x, context, at);
}

/* Takes "P8374;T0:8375;"; returns the rest of the line, or NULL if it does not begin
 * so. */
static char *take_thread(struct austin *x, char *line)
{
    const char *at = line + 1;
    uint64_t pid = 0, number = 0;
    char name[64];
    char *thread, *end;

    if (*line != 'P' || !tt_take_digits(&at, &pid) || at[0] != ';' || at[1] != 'T')
        return NULL;
    thread = line + (at - line) + 2;
    end = thread + strcspn(thread, ";");
    for (const char *c = thread; c < end;) { /* the last of "interpreter:thread" */
        if (!tt_take_digits(&c, &number))
            number = 0, c += strspn(c, "xabcdefABCDEF");
        c = *c == ':' ? c + 1 : end;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(end - thread), thread);
    (void)tt_builder_strand(x->b, &(struct tt_strand_info){.process = "",
                                                           .name = name,
                                                           .pid = pid,
                                                           .thread = number,
                                                           .rank = TT_NONE,
                                                           .members = 1});
    return end;
}

/* "file:function:line", or a mark such as ":GC:". */
static uint32_t block_of(struct austin *x, char *frame)
{
    struct tt_block_info info = {.name = frame, .kind = TT_KIND_FUNCTION};
    char *line = strrchr(frame, ':'), *name;

    if (line && line > frame && line[1] >= '0' && line[1] <= '9') {
        *line = '\0';
        name = strrchr(frame, ':');
        if (name) {
            *name = '\0';
            info.name = name + 1;
            info.file = frame;
        }
    }
    return tt_builder_block(x->b, &info);
}

static int take_sample(struct austin *x, char *line)
{
    char *figures = strrchr(line, ' '), *at, *next;
    uint32_t context = TT_BUILDER_ROOT;

    if (!figures)
        return tt_source_fail(x->s, "a sample ends with a blank and its figures");
    *figures++ = '\0';
    at = take_thread(x, line);
    if (!at)
        return tt_source_fail(x->s, "a sample begins with P, ;T and their numbers");
    for (; *at == ';' && at[1]; at = next) {
        at++;
        next = at + strcspn(at, ";");
        if (*next) {
            *next = '\0';
            context = tt_builder_context(x->b, context, block_of(x, at));
            *next = ';';
        } else {
            context = tt_builder_context(x->b, context, block_of(x, at));
        }
        if (context == TT_NONE)
            return tt_source_no_memory(x->s);
    }
    return add_figures(x, context, figures);
}

/* Takes "# mode: wall"; ignores other remarks. */
static int take_remark(struct austin *x, const char *line)
{
    static const char *const modes[] = {"wall", "cpu", "memory", "full"};
    static const char mode[] = "# mode: ";

    if (strncmp(line, mode, sizeof mode - 1) != 0)
        return 0;
    for (int i = WALL; i <= FULL; i++)
        if (strcmp(line + sizeof mode - 1, modes[i]) == 0) {
            x->mode = (enum mode)i;
            return 0;
        }
    return tt_source_fail(x->s, "'%.40s' is not a mode that is known",
                          line + sizeof mode - 1);
}

static int read_austin(struct tt_source *s, struct tt_builder *b)
{
    struct austin x = {.s = s,
                       .b = b,
                       .time = TT_NONE,
                       .cpu = TT_NONE,
                       .taken = TT_NONE,
                       .freed = TT_NONE};
    size_t length;
    char *line;
    int error;

    while ((error = tt_source_line(s, &line, &length)) > 0) {
        error = *line == '#' ? take_remark(&x, line) : *line ? take_sample(&x, line) : 0;
        if (error)
            break;
    }
    return error;
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(tt_head_begins(head, size, "# austin: "));
}

const struct tt_format tt_format_austin = {
    .name = "austin",
    .about = "samples of Python that austin prints",
    .detect = detect,
    .read = read_austin,
};
