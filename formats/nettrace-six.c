/* SPDX-License-Identifier: MIT */
/* nettrace-six.c - the blocks of a .nettrace file of version 6.
 *
 *      Nettrace │ 0 │ 6 │ 0 │ size and kind │ trace │ size and kind │ … │ end
 *
 * Events refer to threads by a number, which a block has described before.  Points in the
 * sequence may end the validity of these numbers and of those of descriptions. */
#include "nettrace-six.h"
#include "nettrace-blocks.h"
#include "nettrace-methods.h"
#include "nettrace.h"

#include <string.h>

enum { HEAD = 20, BLOCK = 4, TRACE = 36 };
enum kind {
    THE_END,
    OF_TRACE,
    EVENTS,
    DESCRIPTIONS,
    POINT,
    STACKS,
    THREADS,
    GONE,
};

static int wrong(struct tt_nettrace *n, const char *what)
{
    return tt_source_fail_at(n->s, n->at, "%s", what);
}

static struct tt_nettrace_text take_text(struct tt_nettrace_cursor *c)
{
    uint64_t size = tt_nettrace_take_varied(c);
    const char *at = c->at;

    tt_nettrace_pass(c, size);
    return c->is_bad ? (struct tt_nettrace_text){"", 0}
                     : (struct tt_nettrace_text){at, (size_t)size};
}

/* Is this the first field, as it is in events that weigh what their stack has? */
static int is_value(struct tt_nettrace_cursor *c)
{
    enum { VARIED = 21 };
    uint64_t fields = tt_nettrace_take(c, 2);
    struct tt_nettrace_text name;

    if (!fields)
        return 0;
    (void)tt_nettrace_take(c, 2);
    name = take_text(c);
    return name.size == 5 && memcmp(name.at, "Value", 5) == 0 &&
           tt_nettrace_take(c, 1) == VARIED;
}

static int read_descriptions(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                             const struct tt_nettrace_calls *calls)
{
    int error = 0;

    tt_nettrace_pass(&c, tt_nettrace_take(&c, 2));
    while (!error && !c.is_bad && c.at < c.end) {
        uint64_t size = tt_nettrace_take(&c, 2);
        struct tt_nettrace_cursor row = {c.at, c.at, 0};
        struct tt_nettrace_description d;
        tt_nettrace_pass(&c, size);
        row.end = c.at;
        d.number = (uint32_t)tt_nettrace_take_varied(&row);
        d.provider = take_text(&row);
        d.event = (uint32_t)tt_nettrace_take_varied(&row);
        d.name = take_text(&row);
        c.is_bad |= row.is_bad;
        d.has_value = is_value(&row);
        if (!c.is_bad)
            error = calls->describe(calls->arg, &d);
    }
    return error || !c.is_bad ? error : wrong(n, "a block of descriptions is damaged");
}

static int read_point(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                      const struct tt_nettrace_calls *calls)
{
    uint64_t threads;
    unsigned flags;
    int error = 0;

    tt_nettrace_pass(&c, 8); /* the time */
    flags = (unsigned)tt_nettrace_take(&c, 4);
    threads = tt_nettrace_take(&c, 4);
    while (!error && !c.is_bad && threads--) {
        uint64_t thread = tt_nettrace_take_varied(&c);
        uint32_t sequence = (uint32_t)tt_nettrace_take_varied(&c);
        if (!c.is_bad)
            error = calls->point(calls->arg, thread, sequence);
    }
    if (c.is_bad)
        return wrong(n, "a point in the sequence is damaged");
    return error ?: calls->begin(calls->arg, flags);
}

static int read_threads(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                        const struct tt_nettrace_calls *calls)
{
    enum { NAME = 1, PROCESS, THREAD, PAIR };
    int error = 0;

    while (!error && !c.is_bad && c.at < c.end) {
        uint64_t size = tt_nettrace_take(&c, 2);
        struct tt_nettrace_cursor row = {c.at, c.at, 0};
        struct tt_nettrace_thread t = {.name = {"", 0}};
        uint64_t kind = NAME;
        tt_nettrace_pass(&c, size);
        row.end = c.at;
        t.number = tt_nettrace_take_varied(&row);
        while (!row.is_bad && row.at < row.end && kind >= NAME && kind <= PAIR) {
            kind = tt_nettrace_take(&row, 1);
            if (kind == NAME)
                t.name = take_text(&row);
            else if (kind == PROCESS)
                t.process = tt_nettrace_take_varied(&row);
            else if (kind == THREAD)
                t.id = tt_nettrace_take_varied(&row);
            else if (kind == PAIR)
                (void)take_text(&row), (void)take_text(&row);
        }
        c.is_bad |= row.is_bad;
        if (!c.is_bad)
            error = calls->thread(calls->arg, &t);
    }
    return error || !c.is_bad ? error : wrong(n, "a block of threads is damaged");
}

static int read_gone(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                     const struct tt_nettrace_calls *calls)
{
    int error = 0;

    while (!error && !c.is_bad && c.at < c.end) {
        uint64_t thread = tt_nettrace_take_varied(&c);
        uint32_t sequence = (uint32_t)tt_nettrace_take_varied(&c);
        if (!c.is_bad)
            error = calls->gone(calls->arg, thread, sequence);
    }
    return error || !c.is_bad ? error : wrong(n, "a block of threads is damaged");
}

/* What describes the run: the size of an address, the clock, and pairs. */
static int read_trace(struct tt_nettrace *n, struct tt_nettrace_cursor c)
{
    static const char process[] = "ProcessId";
    uint64_t pairs;

    tt_nettrace_read_clock(n, &c);
    n->pointer = (int)tt_nettrace_take(&c, 4);
    pairs = tt_nettrace_take(&c, 4);
    while (!c.is_bad && pairs--) {
        struct tt_nettrace_text key = take_text(&c), value = take_text(&c);
        if (key.size != strlen(process) || memcmp(key.at, process, key.size) != 0)
            continue;
        n->process = 0;
        for (size_t i = 0; i < value.size && value.at[i] >= '0' && value.at[i] <= '9';
             i++)
            n->process = n->process * 10 + (uint64_t)(value.at[i] - '0');
    }
    if (c.is_bad)
        return wrong(n, "what describes the trace is damaged");
    return n->pointer == 4 || n->pointer == 8
               ? 0
               : wrong(n, "an address has neither 4 nor 8 bytes");
}

static int read_block(struct tt_nettrace *n, enum kind kind, size_t size,
                      const struct tt_nettrace_calls *calls)
{
    const struct tt_nettrace_cursor c = {n->bytes + n->at, n->bytes + n->at + size, 0};

    switch (kind) {
    case OF_TRACE:
        return read_trace(n, c);
    case EVENTS:
        return tt_nettrace_read_events(n, c, calls);
    case DESCRIPTIONS:
        return read_descriptions(n, c, calls);
    case POINT:
        return read_point(n, c, calls);
    case STACKS:
        return tt_nettrace_read_stacks(n, c, calls);
    case THREADS:
        return read_threads(n, c, calls);
    case GONE:
        return read_gone(n, c, calls);
    default:
        return 0; /* labels, and what may come later */
    }
}

int tt_nettrace_walk_six(struct tt_nettrace *n, const struct tt_nettrace_calls *calls)
{
    int error = 0;

    n->is_cut = 0;
    n->clock.rate = 0;
    for (n->at = HEAD; !error;) {
        size_t size;
        enum kind kind;
        if (n->size - n->at < BLOCK) {
            n->is_cut = 1;
            break;
        }
        size = (size_t)tt_number_at(n->bytes + n->at, 3);
        kind = (enum kind)(unsigned char)n->bytes[n->at + 3];
        n->at += BLOCK;
        if (kind == THE_END)
            break;
        if (size > n->size - n->at) {
            n->is_cut = 1;
            break;
        }
        if (!n->clock.rate && kind != OF_TRACE && !n->pointer)
            return wrong(n, "there is nothing that describes the trace");
        error = read_block(n, kind, size, calls);
        n->at += size;
    }
    return error;
}
