/* SPDX-License-Identifier: MIT */
/* macos-sample.c - the text that macOS's `sample` prints: reading.
 *
 *      Call graph:
 *          825 Thread_15758535
 *          + 825 thread_start  (in libsystem_pthread.dylib) + 13  [0x7fff739c240d]
 *          +   800 work  (in program) + 5  [0x10381bb66]  work.c:12
 *          +   25 rest  (in program) + 9  [0x10381bb99]
 *
 *      Total number in stack (recursive counted multiple, when >=5):
 *
 * A number counts the samples of a place and of all below it; the column gives the depth.
 * Threads are strands; lines and addresses within functions are added up. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "naming.h"

struct place {
    size_t column;
    uint32_t context, strand;
    uint64_t left; /* of its count, without those below it */
};

struct sample {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_vector open; /* struct place, the outermost first */
    uint32_t metric;
    uint64_t pid, sum;
    char process[256];
};

static int is_indent(char c)
{
    return c == ' ' || c == '+' || c == '!' || c == ':' || c == '|';
}

/* The innermost place is complete. */
static int close_place(struct sample *x)
{
    const struct place *p = (struct place *)x->open.item + --x->open.count;

    if (__builtin_add_overflow(x->sum, p->left, &x->sum))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    tt_builder_add(x->b, TT_ROLE_SELF, p->context, x->metric, p->left);
    return 0;
}

static int close_places(struct sample *x, size_t column)
{
    int error = 0;

    while (!error && x->open.count &&
           ((struct place *)x->open.item)[x->open.count - 1].column >= column)
        error = close_place(x);
    return error;
}

/* Ends a text at two blanks; returns the text after them. */
static char *cut_column(char *at)
{
    char *behind = strstr(at, "  ");

    if (!behind)
        return at + strlen(at);
    *behind++ = '\0';
    while (*behind == ' ')
        behind++;
    return behind;
}

static uint32_t begin_thread(struct sample *x, char *name)
{
    char *behind = cut_column(name);
    char *colon = strstr(behind, ": "), *end = strstr(behind, "  (");
    char text[300];

    if (end)
        *end = '\0';
    (void)snprintf(text, sizeof text, colon ? "%.140s: %.140s" : "%.140s", name,
                   colon ? colon + 2 : "");
    return tt_builder_strand(x->b, &(struct tt_strand_info){.process = x->process,
                                                            .name = text,
                                                            .pid = x->pid,
                                                            .rank = TT_NONE,
                                                            .members = 1});
}

/* "main  (in program) + 41  [0x10384b549]  main.c:12"; a place without a name is its address. */
static uint32_t block_of(struct sample *x, char *text)
{
    struct tt_block_info info = {.name = text, .kind = TT_KIND_FUNCTION};
    char *module = strstr(text, "  (in "), *address, *end, *file, *colon;

    if (!module)
        return tt_builder_block(x->b, &info);
    *module = '\0';
    module += strlen("  (in ");
    if ((address = strstr(module, "  [")) != NULL) {
        *address = '\0';
        address += strlen("  [");
        end = address + strcspn(address, ",]");
        file = strstr(end, "]  ");
        *end = '\0';
        if (file && (colon = strrchr(file + 3, ':')) != NULL) {
            *colon = '\0';
            info.file = file + 3;
        }
        if (strcmp(text, "???") == 0)
            info.name = address;
    }
    if ((end = strchr(module, ')')) != NULL)
        *end = '\0';
    info.module = module;
    return tt_builder_block(x->b, &info);
}

static int open_place(struct sample *x, size_t column, uint64_t count, char *text)
{
    struct place *outer = x->open.count ? (struct place *)x->open.item + x->open.count - 1
                                        : NULL;
    struct place p;
    uint32_t context = TT_BUILDER_ROOT;

    if (!outer) {
        if (begin_thread(x, text) == TT_NONE)
            return tt_source_no_memory(x->s);
    } else {
        if (count > outer->left)
            return tt_source_fail(x->s, "calls have more samples than their caller");
        outer->left -= count;
        context = tt_builder_context(x->b, outer->context, block_of(x, text));
    }
    if (context == TT_NONE)
        return tt_source_no_memory(x->s);
    p = (struct place){.column = column, .context = context, .left = count};
    return tt_source_append(x->s, &x->open, &p);
}

/* Takes a line of the graph; 1: it is none. */
static int take_line(struct sample *x, char *line)
{
    char *at = line;
    const char *behind;
    uint64_t count;
    int error;

    while (is_indent(*at))
        at++;
    behind = at;
    if (!tt_take_digits(&behind, &count) || *behind != ' ')
        return 1;
    error = close_places(x, (size_t)(at - line));
    return error ? error
                 : open_place(x, (size_t)(at - line), count, at + (behind - at) + 1);
}

/* "Analysis of sampling rg (pid 64751) every 1 millisecond" */
static void take_title(struct sample *x, const char *line)
{
    static const char title[] = "Analysis of sampling ";
    const char *name = line + sizeof title - 1, *pid;

    if (strncmp(line, title, sizeof title - 1) != 0 || !(pid = strstr(name, " (pid ")))
        return;
    (void)snprintf(x->process, sizeof x->process, "%.*s", (int)(pid - name), name);
    pid += strlen(" (pid ");
    if (!tt_take_digits(&pid, &x->pid))
        x->pid = 0;
}

static int read_graph(struct sample *x)
{
    int error, in_graph = 0, has_ended = 0;
    size_t length;
    char *line;

    while (!has_ended && (error = tt_source_line(x->s, &line, &length)) > 0) {
        if (!in_graph) {
            take_title(x, line);
            in_graph = strncmp(line, "Call graph:", strlen("Call graph:")) == 0;
        } else if (!*tt_skip_blanks(line)) {
            has_ended = 1;
        } else if ((error = take_line(x, line)) != 0) {
            return error < 0
                       ? error
                       : tt_source_fail(x->s, "a line of the call graph has no count");
        }
    }
    if (!has_ended && error < 0)
        return error;
    if (!has_ended)
        return tt_source_fail(x->s, in_graph ? "the file ends within the call graph"
                                             : "there is no call graph");
    return close_places(x, 0);
}

static int read_sample(struct tt_source *s, struct tt_builder *b)
{
    struct sample *x = tt_memory_get(s->memory, sizeof *x);

    if (!x)
        return tt_source_no_memory(s);
    x->s = s;
    x->b = b;
    x->metric = tt_builder_metric(b, "samples", "", 0);
    tt_vector_init(&x->open, s->memory, sizeof(struct place));
    return read_graph(x);
}

/* The title is in the first lines; messages of the tool may precede it. */
static enum tt_match detect(const char *head, size_t size)
{
    static const char title[] = "Analysis of sampling ";
    const char *at = memmem(head, size < 4096 ? size : 4096, title, sizeof title - 1);

    return tt_match_if(at && (at == head || at[-1] == '\n'));
}

const struct tt_format tt_format_sample = {
    .name = "sample",
    .about = "what macOS's sample prints",
    .detect = detect,
    .read = read_sample,
};
