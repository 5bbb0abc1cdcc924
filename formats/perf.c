/* SPDX-License-Identifier: MIT */
/* perf.c - the text that `perf script` prints: reading.
 *
 *      comm  100/101 [002] 203265.377019:    1001001 cpu-clock:
 *              7f3a 22 leaf+0x12 (/lib/libc.so.6)
 *              55d0 main (/usr/bin/program)
 *
 * A sample has a thread, a processor and a time, the amount of an event, then its stack,
 * leaf first, up to an empty line.  The time, the processor, the amount and the event may
 * be missing; without a stack, names are padded with blanks in front.  Threads are
 * strands. */
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "hex.h"
#include "naming.h"
#include "samples.h"

enum { MOST_EVENTS = 64 };

struct event {
    char name[64];
    uint32_t samples, period; /* metrics; period TT_NONE: none was seen so far */
};

struct header {
    const char *comm, *event;
    size_t comm_length, event_length;
    uint64_t pid, thread, period;
    int64_t time; /* ns; -1: there is none */
    int has_period, has_event;
    char *rest; /* the text after the event */
};

struct perf {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_frames names;
    struct tt_vector stack; /* uint32_t: blocks, leaf first */
    struct event event[MOST_EVENTS];
    int events;
    struct event *current; /* NULL: no sample has begun */
    uint64_t period, sum;
    int64_t time;  /* of the sample, in ns; -1: it has none */
    uint64_t lost; /* lines that belong to no sample */
    int is_apart; /* an empty line has come between a sample's first line and its stack */
};

/* ── The first line of a sample ───────────────────────────────────────────────────── */

/* "12.345:", with a time in ns; -1: it is too large. */
static int is_time(const char *word, const char *end, int64_t *time)
{
    uint64_t seconds, part, ns;
    const char *point;

    if (!tt_take_digits(&word, &seconds) || word == end || *word != '.')
        return 0;
    point = ++word;
    if (!tt_take_digits(&word, &part) || end - word != 1 || *word != ':')
        return 0;
    for (ptrdiff_t digits = word - point; digits != 9; digits += digits < 9 ? 1 : -1)
        part = digits < 9 ? part * 10 : part / 10;
    *time = __builtin_mul_overflow(seconds, 1000000000, &ns) || ns > INT64_MAX / 2
                ? -1
                : (int64_t)(ns + part);
    return 1;
}

/* "100" or "100/101"; -1 means none. */
static int is_pid(const char *word, const char *end, struct header *h)
{
    if (end - word == 2 && word[0] == '-' && word[1] == '1') {
        h->pid = h->thread = 0;
        return 1;
    }
    if (!tt_take_digits(&word, &h->pid))
        return 0;
    h->thread = h->pid;
    if (word < end && *word == '/')
        return ++word, tt_take_digits(&word, &h->thread) && word == end;
    return word == end;
}

/* The word that ends before `end`. */
static const char *word_before(const char *line, const char *end, const char **stop)
{
    while (end > line && tt_is_blank(end[-1]))
        end--;
    *stop = end;
    while (end > line && !tt_is_blank(end[-1]))
        end--;
    return end;
}

/* Takes the fields before the time.  Names have blanks and brackets, so it starts at the
 * right. */
static int read_who(const char *line, const char *time, struct header *h)
{
    const char *stop, *word = word_before(line, time, &stop);

    if (stop > word && *word == '[' && stop[-1] == ']')
        word = word_before(line, word, &stop);
    if (stop == word || !is_pid(word, stop, h))
        return 0;
    while (word > line && tt_is_blank(word[-1]))
        word--;
    line = tt_skip_blanks(line);
    h->comm = line;
    h->comm_length = word > line ? (size_t)(word - line) : 0;
    return word > line;
}

/* Is an address next?  perf pads it to 16 columns, which no number of a period has. */
static int is_address(const char *at, const char *end)
{
    const char *c = at, *word;

    while (c < end && tt_is_blank(*c))
        c++;
    word = c;
    while (c < end && tt_hex_small(*c) >= 0)
        c++;
    return c > word && word > at && c - at > 16 && (c == end || tt_is_blank(*c));
}

/* "250000", "250000      561e7dd0413c leaf (/bin/w)", or less: without an event, only
 * these may follow. */
static int read_eventless(char *at, const char *end, struct header *h)
{
    const char *c = at;

    while (c < end && tt_is_blank(*c))
        c++;
    h->has_period = !is_address(at, end) && tt_take_digits(&c, &h->period);
    h->has_event = 0;
    h->event = "period";
    h->event_length = strlen(h->event);
    h->rest = h->has_period ? at + (c - at) : at;
    return is_address(h->rest, end) || !*tt_skip_blanks(h->rest);
}

/* "250000 cycles:u: …" */
static int read_what(char *at, const char *end, struct header *h)
{
    const char *c = at, *word;

    while (c < end && tt_is_blank(*c))
        c++;
    word = c;
    h->has_period = tt_take_digits(&c, &h->period) && c < end && tt_is_blank(*c);
    if (!h->has_period)
        c = word;
    while (c < end && tt_is_blank(*c))
        c++;
    h->event = c;
    while (c < end && !tt_is_blank(*c))
        c++;
    h->event_length = (size_t)(c - h->event);
    h->rest = at + (c - at);
    h->has_event = h->event_length >= 2 && c[-1] == ':';
    if (!h->has_event)
        return read_eventless(at, end, h);
    h->event_length--;
    return 1;
}

/* Only one frame may follow an event: "ffff do_idle ([kernel])".  A line without an event
 * has a frame, too, or begins without a blank. */
static int ends_well(const char *line, const struct header *h)
{
    const char *rest = h->rest;
    size_t length = strlen(rest);

    if (!h->has_event)
        return *tt_skip_blanks(rest) || !tt_is_blank(*line);
    while (length && tt_is_blank(rest[length - 1]))
        length--;
    return !length || rest[length - 1] == ')';
}

/* Takes a header without a time; like stackcollapse-perf, the first number is the
 * process. */
static int read_timeless(char *line, const char *end, struct header *h)
{
    const char *stop, *name = tt_skip_blanks(line);

    for (char *c = line; c < end; c += stop - c) {
        while (c < end && tt_is_blank(*c))
            c++;
        for (stop = c; stop < end && !tt_is_blank(*stop); stop++)
            ;
        if (c == name || !is_pid(c, stop, h))
            continue;
        h->time = -1;
        h->comm = name;
        h->comm_length = (size_t)(c - name);
        while (tt_is_blank(name[h->comm_length - 1]))
            h->comm_length--;
        if (*tt_skip_blanks(stop) == '[') {
            stop = tt_skip_blanks(stop);
            stop += strcspn(stop, " \t");
        }
        return read_what(line + (stop - line), end, h) && ends_well(line, h);
    }
    return 0;
}

static int read_timed(char *line, size_t length, struct header *h)
{
    const char *end = line + length, *stop;

    for (char *c = line; c < end; c += stop - c) {
        while (c < end && tt_is_blank(*c))
            c++;
        for (stop = c; stop < end && !tt_is_blank(*stop); stop++)
            ;
        if (is_time(c, stop, &h->time) && read_who(line, c, h))
            return read_what(c + (stop - c), end, h);
    }
    return 0;
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

/* Returns where "(module)" begins at the end of a line; brackets in it are balanced. */
static size_t find_module(const char *line, size_t length)
{
    size_t depth = 0;

    for (size_t at = length; at--;) {
        depth += line[at] == ')';
        if (!depth)
            return length;
        if (line[at] == '(' && --depth == 0)
            return at;
    }
    return length;
}

/* Returns the length of the name in "name+0x12". */
static size_t without_offset(const char *name, size_t length)
{
    size_t at = length;

    while (at && tt_hex_small(name[at - 1]) >= 0)
        at--;
    return at > 3 && at < length && memcmp(name + at - 3, "+0x", 3) == 0 ? at - 3
                                                                         : length;
}

static int add_frame(struct perf *p, char *name, size_t length, char *module,
                     size_t module_length)
{
    uint32_t *frame = tt_vector_add(&p->stack, 1), *block;
    int is_new;

    /* The key of a block is both together: "name\nmodule". */
    if (module_length) {
        name[length] = '\n';
        memmove(name + length + 1, module, module_length);
    }
    block = tt_frames_find(&p->names, name,
                           length + (module_length ? module_length + 1 : 0), &is_new);
    if (!frame || !block)
        return tt_source_no_memory(p->s);
    if (is_new) {
        name[length] = '\0';
        if (module_length)
            name[length + 1 + module_length] = '\0';
        *block = tt_builder_block(
            p->b,
            &(struct tt_block_info){.name = name,
                                    .module = module_length ? name + length + 1 : "",
                                    .kind = TT_KIND_FUNCTION});
    }
    *frame = *block;
    return *block == TT_NONE ? tt_source_no_memory(p->s) : 0;
}

/* Takes a line of a stack; ignores lines that do not begin with an address. */
static int take_frame(struct perf *p, char *line, size_t length)
{
    size_t at = 0, name, end, module, module_length = 0;

    while (at < length && tt_is_blank(line[at]))
        at++;
    for (name = at; name < length && tt_hex_small(line[name]) >= 0; name++)
        ;
    if (name == at || (name < length && !tt_is_blank(line[name])))
        return 0;
    while (name < length && tt_is_blank(line[name]))
        name++;
    while (length > name && tt_is_blank(line[length - 1]))
        length--;
    module = find_module(line, length);
    if (module < name || !tt_is_blank(line[module - 1])) /* "operator()" has none */
        module = length;
    if (module < length)
        module_length = length - module - 2;
    end = module;
    while (end > name && tt_is_blank(line[end - 1]))
        end--;
    end = name + without_offset(line + name, end - name);
    if (module_length == 7 && memcmp(line + module + 1, "inlined", 7) == 0)
        module_length = 0;
    if (end == name) { /* there is no name: use the address */
        name = at;
        for (end = at; end < length && tt_hex_small(line[end]) >= 0; end++)
            ;
    }
    return add_frame(p, line + name, end - name, line + module + (module_length > 0),
                     module_length);
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

static int end_sample(struct perf *p)
{
    const uint32_t *block = p->stack.item;
    uint32_t context = TT_BUILDER_ROOT;
    int has_period;

    if (!p->current)
        return 0;
    has_period = p->current->period != TT_NONE;
    for (size_t i = p->stack.count; i--;)
        context = tt_builder_context(p->b, context, block[i]);
    if (__builtin_add_overflow(p->sum, p->period, &p->sum))
        return tt_source_fail(p->s, TT_TOO_MUCH);
    tt_builder_add(p->b, TT_ROLE_SELF, context, p->current->samples, 1);
    tt_builder_add(p->b, TT_ROLE_SELF, context, p->current->period, p->period);
    if (p->current == p->event && p->time >= 0) /* the first event is the main one */
        tt_builder_sample(p->b, has_period ? p->current->period : p->current->samples,
                          context, (uint64_t)p->time, has_period ? p->period : 1, 0);
    p->current = NULL;
    p->is_apart = 0;
    return context == TT_NONE ? tt_source_no_memory(p->s) : 0;
}

static int is_clock(const char *event)
{
    return strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0;
}

/* The metrics of an event: the first one's samples are "samples". */
static struct event *find_event(struct perf *p, const struct header *h)
{
    struct event *e = p->event;
    char name[80] = "samples of ";
    size_t length = h->event_length < sizeof e->name ? h->event_length
                                                     : sizeof e->name - 1;

    for (int i = 0; i < p->events; i++, e++)
        if (strncmp(e->name, h->event, length) == 0 && !e->name[length])
            return e;
    if (p->events == MOST_EVENTS)
        return NULL;
    memcpy(e->name, h->event, length);
    memcpy(name + strlen(name), e->name, length + 1);
    e->samples = tt_builder_metric(p->b, p->events ? name : "samples", "", 0);
    e->period = TT_NONE;
    p->events++;
    return e;
}

static int begin_sample(struct perf *p, struct header *h)
{
    char comm[256] = "";
    struct tt_strand_info strand = {.process = comm,
                                    .name = comm,
                                    .pid = h->pid,
                                    .thread = h->thread,
                                    .rank = TT_NONE,
                                    .members = 1};

    p->current = find_event(p, h);
    if (!p->current)
        return tt_source_fail(p->s, "there are more than %d events", MOST_EVENTS);
    if (h->has_period && p->current->period == TT_NONE)
        p->current->period = tt_builder_metric(
            p->b, p->current->name, is_clock(p->current->name) ? "ns" : "",
            p->current == p->event ? TT_METRIC_TIME | TT_METRIC_SAMPLED : 0);
    p->period = h->has_period ? h->period : 0;
    p->time = h->time;
    p->stack.count = 0;
    memcpy(comm, h->comm,
           h->comm_length < sizeof comm ? h->comm_length : sizeof comm - 1);
    if (tt_builder_strand(p->b, &strand) == TT_NONE)
        return tt_source_no_memory(p->s);
    return take_frame(p, h->rest,
                      strlen(h->rest)); /* without -g it is on the same line */
}

/* Is it a frame of the current sample?  Stacks are indented, except in some old files;
 * names of samples without a stack are indented, too. */
static int is_frame(const char *line, size_t length)
{
    const char *at = tt_skip_blanks(line), *end = at;

    while (tt_hex_small(*end) >= 0)
        end++;
    if (end == at || (*end && !tt_is_blank(*end)))
        return 0;
    return at > line || (end - at >= 8 && line[length - 1] == ')');
}

/* Is it a message that perf wrote to standard error, if both went to one file? */
static int is_remark(const char *line)
{
    return line[0] == '#' || strstr(line, " PERF_RECORD_") ||
           strncmp(line, "build id event received for ", 28) == 0;
}

static int take_line(struct perf *p, char *line, size_t length)
{
    struct header h;
    int error, is_timed;

    if (is_remark(line))
        return line[0] == '#' ? end_sample(p) : 0;
    if (!*tt_skip_blanks(line)) {
        p->is_apart = p->current && !p->stack.count;
        return p->is_apart ? 0 : end_sample(p);
    }
    is_timed = (!tt_is_blank(line[0]) || strstr(line, ": ")) &&
               read_timed(line, length, &h);
    if (!is_timed && p->current && is_frame(line, length))
        return take_frame(p, line, length);
    if (!is_timed && p->current && !p->is_apart && tt_is_blank(line[0]) &&
        !read_timeless(line, line + length, &h))
        return 0; /* another line of this sample: a line of source, or a branch */
    error = end_sample(p);
    if (error)
        return error;
    if (is_timed || read_timeless(line, line + length, &h))
        return begin_sample(p, &h);
    p->lost++;
    return 0;
}

static int read_perf(struct tt_source *s, struct tt_builder *b)
{
    struct perf *p = tt_memory_get(s->memory, sizeof *p);
    size_t length;
    char *line;
    int error;

    if (!p)
        return tt_source_no_memory(s);
    p->s = s;
    p->b = b;
    tt_frames_init(&p->names, b, s->memory);
    tt_vector_init(&p->stack, s->memory, sizeof(uint32_t));
    while ((error = tt_source_line(s, &line, &length)) > 0)
        if ((error = take_line(p, line, length)) != 0)
            break;
    error = error ?: end_sample(p);
    if (!error && p->lost && !p->events)
        error = tt_source_fail(s, "there is no sample in it");
    if (!error && p->lost)
        tt_builder_fact(b, "lost.lines", TT_FACT_SUM, p->lost, "");
    return error;
}

/* Copies the line at `at`; returns where the next one begins, or NULL: it is too long. */
static const char *copy_line(const char *at, const char *end, char line[512])
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length;

    stop = stop ? stop : end;
    length = (size_t)(stop - at);
    while (length && at[length - 1] == '\r')
        length--;
    if (length >= 512)
        return NULL;
    memcpy(line, at, length);
    line[length] = '\0';
    return stop + 1;
}

/* Is a frame in the next line that is not empty?  Where no event is named, only the layout
 * of its address shows that it is one. */
static int frame_follows(const char *at, const char *end, char line[512], int has_event)
{
    do
        at = at < end ? copy_line(at, end, line) : NULL;
    while (at && !*line);
    return at && (has_event ? is_frame(line, strlen(line))
                            : is_address(line, line + strlen(line)));
}

/* The file begins with remarks, then a sample; a frame must follow a sample without a
 * time or an event. */
static enum tt_match detect(const char *head, size_t size)
{
    const char *at = head, *end = head + size;
    char line[512];
    struct header h;
    int is_timed;

    while (at < end) {
        at = copy_line(at, end, line);
        if (!at)
            return TT_MATCH_NO;
        if (strstr(line, " PERF_RECORD_"))
            return TT_MATCH_YES;
        if (!*tt_skip_blanks(line) || is_remark(line))
            continue;
        is_timed = read_timed(line, strlen(line), &h);
        if (is_timed && h.has_event)
            return TT_MATCH_YES;
        if (!is_timed && !read_timeless(line, line + strlen(line), &h))
            return TT_MATCH_NO;
        return tt_match_if(*tt_skip_blanks(h.rest) ||
                           frame_follows(at, end, line, h.has_event));
    }
    return TT_MATCH_NO;
}

const struct tt_format tt_format_perf = {
    .name = "perf",
    .about = "what perf script prints",
    .detect = detect,
    .read = read_perf,
};
