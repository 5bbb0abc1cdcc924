/* SPDX-License-Identifier: MIT */
/* nettrace-blocks.c - the blocks of a .nettrace file, and the events in them.
 *
 * An event has a head that is short because it leaves out what is as in the event before
 * it; each block begins with zeros.  A block that is cut off is left out: programs end
 * while they are traced. */
#include "nettrace-blocks.h"
#include "nettrace-six.h"
#include "nettrace.h"

#include <string.h>
#include <time.h>

enum { NOTHING = 1, BEGIN = 5, END = 6 }; /* tags of objects */
enum { HEAD = 32, TRACE = 48 };
enum { IS_SHORT = 1, GUID = 16 };
enum kind { UNKNOWN, EVENTS, DESCRIPTIONS, STACKS, POINT };

static int wrong(struct tt_nettrace *n, const char *what)
{
    return tt_source_fail_at(n->s, n->at, "%s", what);
}

static uint64_t take(struct tt_nettrace *n, size_t size)
{
    uint64_t number = tt_number_at(n->bytes + n->at, (int)size);

    n->at += size;
    return number;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

uint64_t tt_nettrace_take(struct tt_nettrace_cursor *c, int size)
{
    uint64_t n;

    if (c->end - c->at < size) {
        c->is_bad = 1;
        return 0;
    }
    n = tt_number_at(c->at, size);
    c->at += size;
    return n;
}

uint64_t tt_nettrace_take_varied(struct tt_nettrace_cursor *c)
{
    uint64_t n = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint64_t byte = tt_nettrace_take(c, 1);
        if (shift < 64)
            n |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
    c->is_bad = 1;
    return 0;
}

void tt_nettrace_pass(struct tt_nettrace_cursor *c, uint64_t size)
{
    if (size > (uint64_t)(c->end - c->at))
        c->is_bad = 1;
    else
        c->at += size;
}

/* Reads a head that leaves out what is as before. */
static void read_short(const struct tt_nettrace *n, struct tt_nettrace_cursor *c,
                       struct tt_nettrace_event *e)
{
    enum { KIND = 1, CAPTURE = 2, THREAD = 4, STACK = 8, SIZE = 128 };
    enum { LABELS = 16, ID = 16, RELATED = 32 }; /* in version 6, and before */
    unsigned flags = (unsigned)tt_nettrace_take(c, 1);

    if (flags & KIND)
        e->kind = (uint32_t)tt_nettrace_take_varied(c);
    if (flags & CAPTURE) {
        e->sequence += (uint32_t)tt_nettrace_take_varied(c);
        e->capturer = tt_nettrace_take_varied(c);
        (void)tt_nettrace_take_varied(c); /* the processor */
    }
    if (e->kind || n->is_six)
        e->sequence++;
    if (flags & THREAD)
        e->thread = tt_nettrace_take_varied(c);
    if (flags & STACK)
        e->stack = (uint32_t)tt_nettrace_take_varied(c);
    e->ticks += tt_nettrace_take_varied(c);
    if (n->is_six && flags & LABELS)
        (void)tt_nettrace_take_varied(c);
    if (!n->is_six && flags & ID)
        tt_nettrace_pass(c, GUID);
    if (!n->is_six && flags & RELATED)
        tt_nettrace_pass(c, GUID);
    if (flags & SIZE)
        e->size = (size_t)tt_nettrace_take_varied(c);
}

static void read_long(const struct tt_nettrace *n, struct tt_nettrace_cursor *c,
                      struct tt_nettrace_event *e)
{
    (void)tt_nettrace_take(c, 4); /* the size of all of it */
    e->kind = (uint32_t)tt_nettrace_take(c, 4) & INT32_MAX;
    e->sequence = (uint32_t)tt_nettrace_take(c, 4);
    e->thread = tt_nettrace_take(c, 8);
    e->capturer = tt_nettrace_take(c, 8);
    tt_nettrace_pass(c, 4); /* the processor */
    e->stack = (uint32_t)tt_nettrace_take(c, 4);
    e->ticks = tt_nettrace_take(c, 8);
    tt_nettrace_pass(c, n->is_six ? 4 : 2 * GUID); /* labels, or two ids */
    e->size = (size_t)tt_nettrace_take(c, 4);
}

int tt_nettrace_read_events(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                            const struct tt_nettrace_calls *calls)
{
    struct tt_nettrace_event e = {0};
    const char *block = c.at;
    uint64_t head = tt_nettrace_take(&c, 2);
    int is_short = (int)tt_nettrace_take(&c, 2) & IS_SHORT, error = 0;

    c.at = block;
    tt_nettrace_pass(&c, head);
    while (!error && !c.is_bad && c.at < c.end) {
        if (is_short)
            read_short(n, &c, &e);
        else
            read_long(n, &c, &e);
        e.payload = c.at;
        tt_nettrace_pass(&c, e.size);
        while (!n->is_six && !is_short && c.at < c.end && (c.at - n->bytes) % 4)
            c.at++;
        if (!c.is_bad && (e.kind || !n->is_six))
            error = calls->event(calls->arg, &e);
    }
    return error || !c.is_bad ? error : wrong(n, "a block of events is damaged");
}

/* ── Stacks, points ───────────────────────────────────────────────────────────────── */

int tt_nettrace_read_stacks(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                            const struct tt_nettrace_calls *calls)
{
    uint32_t first = (uint32_t)tt_nettrace_take(&c, 4),
             count = (uint32_t)tt_nettrace_take(&c, 4);
    int error = 0;

    for (uint32_t i = 0; !error && !c.is_bad && i < count; i++) {
        uint64_t bytes = tt_nettrace_take(&c, 4);
        const char *at = c.at;
        tt_nettrace_pass(&c, bytes);
        if (!c.is_bad)
            error = calls->stack(calls->arg, first + i, at, (size_t)bytes);
    }
    return error || !c.is_bad ? error : wrong(n, "a block of stacks is damaged");
}

static int read_point(struct tt_nettrace *n, struct tt_nettrace_cursor c,
                      const struct tt_nettrace_calls *calls)
{
    uint64_t threads;
    int error = 0;

    tt_nettrace_pass(&c, 8); /* the time */
    threads = tt_nettrace_take(&c, 4);
    while (!error && !c.is_bad && threads--) {
        uint64_t thread = tt_nettrace_take(&c, 8);
        uint32_t sequence = (uint32_t)tt_nettrace_take(&c, 4);
        if (!c.is_bad)
            error = calls->point(calls->arg, thread, sequence);
    }
    if (c.is_bad)
        return wrong(n, "a point in the sequence is damaged");
    return error ?: calls->begin(calls->arg, 0);
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

static enum kind kind_of(const char *name, size_t length)
{
    static const struct {
        const char *name;
        enum kind kind;
    } known[] = {{"EventBlock", EVENTS},
                 {"MetadataBlock", DESCRIPTIONS},
                 {"StackBlock", STACKS},
                 {"SPBlock", POINT}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0)
            return known[i].kind;
    return UNKNOWN;
}

/* Takes the type of an object, up to its payload.  1; 0: the file ends; or an error. */
static int take_type(struct tt_nettrace *n, const char **name, size_t *length)
{
    enum { TYPE = 3 + 4 + 4 + 4 }; /* tags, versions, the length of the name */
    const unsigned char *tag = (const unsigned char *)n->bytes + n->at;

    *name = NULL;
    *length = 0;
    if (n->at == n->size || tag[0] == NOTHING) {
        n->is_cut = n->at == n->size;
        return 0;
    }
    if (n->size - n->at < TYPE) {
        n->is_cut = 1;
        return 0;
    }
    if (tag[0] != BEGIN || tag[1] != BEGIN || tag[2] != NOTHING)
        return wrong(n, "an object has no type");
    n->at += TYPE - 4;
    *length = (size_t)take(n, 4);
    if (*length > 1000)
        return wrong(n, "the name of a type is too long");
    if (n->size - n->at < *length + 1) {
        n->is_cut = 1;
        return 0;
    }
    *name = n->bytes + n->at;
    n->at += *length + 1;
    return (*name)[*length] == END ? 1 : wrong(n, "a type does not end");
}

static int read_block(struct tt_nettrace *n, enum kind kind,
                      const struct tt_nettrace_calls *calls)
{
    struct tt_nettrace_cursor c;
    size_t size, start;

    if (n->size - n->at < 4)
        return n->is_cut = 1, 0;
    size = (size_t)take(n, 4);
    start = (n->at + 3) / 4 * 4;
    if (start > n->size || size >= n->size - start)
        return n->is_cut = 1, 0;
    c = (struct tt_nettrace_cursor){n->bytes + start, n->bytes + start + size, 0};
    n->at = start + size;
    if (*c.end != END)
        return wrong(n, "a block does not end");
    n->at++;
    if (kind == STACKS)
        return tt_nettrace_read_stacks(n, c, calls);
    if (kind == POINT)
        return read_point(n, c, calls);
    return kind == UNKNOWN ? 0 : tt_nettrace_read_events(n, c, calls);
}

/* A time has eight numbers of two bytes: year, month, day of the week, day, hour, minute,
 * second, ms. */
void tt_nettrace_read_clock(struct tt_nettrace *n, struct tt_nettrace_cursor *c)
{
    struct tm tm = {0};
    uint64_t ms;
    time_t seconds;

    tm.tm_year = (int)tt_nettrace_take(c, 2) - 1900;
    tm.tm_mon = (int)tt_nettrace_take(c, 2) - 1;
    tm.tm_wday = (int)tt_nettrace_take(c, 2);
    tm.tm_mday = (int)tt_nettrace_take(c, 2);
    tm.tm_hour = (int)tt_nettrace_take(c, 2);
    tm.tm_min = (int)tt_nettrace_take(c, 2);
    tm.tm_sec = (int)tt_nettrace_take(c, 2);
    ms = tt_nettrace_take(c, 2);
    seconds = timegm(&tm);
    n->clock.began = seconds > 0 ? ((uint64_t)seconds * 1000 + ms) * 1000000 : 0;
    n->clock.first = tt_nettrace_take(c, 8);
    n->clock.rate = tt_nettrace_take(c, 8);
}

/* The first object describes the run: the size of an address, and the process. */
static int read_trace(struct tt_nettrace *n)
{
    const char *at = n->bytes + n->at;
    struct tt_nettrace_cursor c = {at, n->bytes + n->size, 0};

    if (n->size - n->at < TRACE + 1 || at[TRACE] != END)
        return wrong(n, "what describes the trace is damaged");
    tt_nettrace_read_clock(n, &c);
    n->pointer = (int)tt_number_at(at + 32, 4);
    n->process = tt_number_at(at + 36, 4);
    n->at += TRACE + 1;
    return n->pointer == 4 || n->pointer == 8
               ? 0
               : wrong(n, "an address has neither 4 nor 8 bytes");
}

int tt_nettrace_walk(struct tt_nettrace *n, const struct tt_nettrace_calls *calls)
{
    const char *name;
    size_t length;
    int more, error = 0;

    enum { SIX = 6, HEAD_OF_SIX = 20 };

    n->is_six = n->size >= HEAD_OF_SIX && tt_number_at(n->bytes + 8, 4) == 0 &&
                tt_number_at(n->bytes + 12, 4) == SIX;
    if (n->is_six)
        return tt_nettrace_walk_six(n, calls);
    if (n->size < HEAD || memcmp(n->bytes + 8, "\24\0\0\0!FastSerialization.1", 24) != 0)
        return tt_source_fail_at(n->s, 8,
                                 "this version of .nettrace is not known; PerfView may "
                                 "read it");
    n->at = HEAD;
    n->is_cut = 0;
    more = take_type(n, &name, &length);
    if (more <= 0 || length != 5 || memcmp(name, "Trace", 5) != 0)
        return more < 0 ? more : wrong(n, "there is nothing that describes the trace");
    error = read_trace(n);
    while (!error && !n->is_cut && (more = take_type(n, &name, &length)) != 0)
        error = more < 0 ? more : read_block(n, kind_of(name, length), calls);
    return error;
}
