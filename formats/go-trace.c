/* SPDX-License-Identifier: MIT */
/* go-trace.c - execution traces of Go, of runtime/trace and /debug/pprof/trace: reading.
 *
 *      go 1.19 trace │ event │ event │ …                     Go 1.7 to 1.21
 *      go 1.22 trace │ batch (event event …) │ batch │ …     since Go 1.22
 *
 * Events are numbers of variable size.  The older form says how many an event has; of the
 * newer one the reader has to know each event.  Neither is in order of time: go-waits.c.
 */
#include <string.h>

#include "formats.h"
#include "go-waits.h"

enum { HEADER = 16, FIRST_WITH_NAMES = 7, FIRST_WITH_BATCHES = 22 };

struct reading {
    struct tt_go g;
    struct tt_byte_reader r;
    uint64_t place, time; /* of the batch */
    const uint8_t *begin; /* of the file */
    int is_cut;
};

static int fail(struct reading *x, const char *what)
{
    return tt_source_fail_at(x->g.s, (uint64_t)(x->r.at - x->begin), "%s", what);
}

static int add(struct reading *x, const struct tt_go_event *e)
{
    return tt_go_add_event(&x->g, x->place, e);
}

static int take_text(struct reading *x)
{
    uint64_t number = tt_byte_reader_uleb(&x->r), size = tt_byte_reader_uleb(&x->r);
    const uint8_t *text = tt_byte_reader_bytes(&x->r, size);

    return text ? tt_go_add_text(&x->g, number, text, (size_t)size) : 0;
}

static void set_frequency(struct reading *x, uint64_t ticks)
{
    const double ns = 1e9;

    if (ticks)
        x->g.tick = ns / (double)ticks;
}

/* ── Go 1.7 to 1.21 ───────────────────────────────────────────────────────────────── */

enum old {
    OLD_BATCH = 1,
    OLD_FREQUENCY = 2,
    OLD_STACK = 3,
    OLD_START = 14,
    OLD_END = 15,
    OLD_PREEMPT = 18,
    OLD_SLEEP = 19,
    OLD_BLOCK = 20,
    OLD_UNBLOCK = 21,
    OLD_BLOCK_SEND = 22,
    OLD_BLOCK_NET = 27,
    OLD_CALL = 28,
    OLD_CALL_EXIT = 29,
    OLD_CALL_BLOCKS = 30,
    OLD_FUTILE = 36,
    OLD_STRING = 37,
    OLD_START_LOCAL = 38,
    OLD_UNBLOCK_LOCAL = 39,
    OLD_CALL_EXIT_LOCAL = 40,
    OLD_START_LABEL = 41,
    OLD_BLOCK_GC = 42,
    OLD_LOG = 48,
    OLD_SAMPLE = 49
};

enum { ARGUMENTS = 8 };

struct event {
    unsigned type;
    uint64_t a[ARGUMENTS]; /* the first ones; the rest are 0 */
    size_t count;
    struct tt_byte_reader rest; /* all of them */
};

/* Takes an event: 1; 0: the file ends within it. */
static int take_old(struct reading *x, struct event *e)
{
    enum { TYPE = 63, COUNT = 6, LONG = 4 };
    const unsigned first = *x->r.at++;
    const size_t inlined = (first >> COUNT) + 1;
    uint64_t size = 0;

    *e = (struct event){.type = first & TYPE};
    if (e->type == OLD_STRING)
        return 1;
    if (inlined == LONG) {
        size = tt_byte_reader_uleb(&x->r);
        e->rest.at = tt_byte_reader_bytes(&x->r, size);
        e->rest.end = e->rest.at ? x->r.at : NULL;
    } else {
        e->rest.at = x->r.at;
        for (size_t i = 0; i < inlined; i++)
            (void)tt_byte_reader_uleb(&x->r);
        e->rest.end = x->r.at;
    }
    if (x->r.bad)
        return 0;
    for (struct tt_byte_reader r = e->rest; r.at < r.end; e->count++) {
        uint64_t n = tt_byte_reader_uleb(&r);
        if (e->count < ARGUMENTS)
            e->a[e->count] = n;
    }
    return 1;
}

static enum tt_go_wait old_wait(unsigned type)
{
    if (type == OLD_BLOCK_NET)
        return TT_GO_NETWORK;
    return type == OLD_SLEEP || type == OLD_BLOCK ? TT_GO_OTHER : TT_GO_SYNC;
}

/* An event of a goroutine.  Its time is in `to` already. */
static int add_old(struct reading *x, const struct event *e, struct tt_go_event *to)
{
    const uint64_t last = e->count && e->count <= ARGUMENTS ? e->a[e->count - 1] : 0;
    uint64_t returned = 0;

    switch (e->type) {
    case OLD_START:
    case OLD_START_LOCAL:
    case OLD_START_LABEL:
        to->kind = TT_GO_START;
        to->goroutine = e->a[1];
        break;
    case OLD_UNBLOCK:
    case OLD_UNBLOCK_LOCAL:
        to->kind = TT_GO_UNBLOCK;
        to->goroutine = e->a[1];
        break;
    case OLD_CALL:
        to->kind = TT_GO_CALL;
        to->wait = TT_GO_SYSTEM;
        to->stack = last;
        break;
    case OLD_CALL_BLOCKS:
        to->kind = TT_GO_LEAVE;
        break;
    case OLD_CALL_EXIT: /* its event may come late, but has the time */
    case OLD_CALL_EXIT_LOCAL:
        to->kind = TT_GO_RETURN;
        to->goroutine = e->a[1];
        returned = e->a[e->type == OLD_CALL_EXIT ? 3 : 2];
        to->time = returned ? returned : to->time;
        break;
    case OLD_FUTILE:
        to->kind = TT_GO_FUTILE;
        break;
    case OLD_SAMPLE:
        to->kind = TT_GO_SAMPLE;
        to->time = e->a[1];
        to->stack = last;
        break;
    default:
        if (e->type >= OLD_END && e->type <= OLD_PREEMPT) {
            to->kind = TT_GO_STOP;
            break;
        }
        if ((e->type < OLD_SLEEP || e->type > OLD_BLOCK_NET) && e->type != OLD_BLOCK_GC)
            return 0;
        to->kind = TT_GO_BLOCK;
        to->wait = old_wait(e->type);
        to->stack = last;
    }
    return add(x, to);
}

static int take_old_stack(struct reading *x, const struct event *e)
{
    struct tt_byte_reader r = e->rest;

    (void)tt_byte_reader_uleb(&r);
    (void)tt_byte_reader_uleb(&r);
    return tt_go_add_stack(&x->g, e->a[0], e->a[1], &r);
}

static int read_old(struct reading *x)
{
    struct event e;
    int error = 0;

    while (!error && x->r.at < x->r.end && take_old(x, &e)) {
        struct tt_go_event to = {0};
        if (e.type == OLD_STRING)
            error = take_text(x);
        else if (e.type == OLD_STACK)
            error = take_old_stack(x, &e);
        else if (e.type == OLD_FREQUENCY)
            set_frequency(x, e.a[0]);
        else if (e.type == OLD_BATCH) {
            x->place = e.a[0];
            x->time = e.a[1];
        } else if (e.type && e.type <= OLD_SAMPLE) {
            to.time = x->time += e.a[0];
            error = add_old(x, &e, &to);
        } else
            error = fail(x, "there is no such event in a trace of Go");
        if (e.type == OLD_LOG)
            (void)tt_byte_reader_bytes(&x->r, tt_byte_reader_uleb(&x->r));
    }
    x->is_cut = x->r.bad;
    return error;
}

/* ── Since Go 1.22 ────────────────────────────────────────────────────────────────── */

enum new {
    NEW_BATCH = 1,
    NEW_STACKS = 2,
    NEW_STACK = 3,
    NEW_STRINGS = 4,
    NEW_STRING = 5,
    NEW_SAMPLES = 6,
    NEW_SAMPLE = 7,
    NEW_FREQUENCY = 8,
    NEW_CREATE_IN_CALL = 15,
    NEW_START = 16,
    NEW_DESTROY = 17,
    NEW_DESTROY_IN_CALL = 18,
    NEW_STOP = 19,
    NEW_BLOCK = 20,
    NEW_UNBLOCK = 21,
    NEW_CALL = 22,
    NEW_CALL_END = 23,
    NEW_CALL_END_BLOCKED = 24,
    NEW_STATUS = 25,
    NEW_SWITCH = 45,
    NEW_SWITCH_DESTROY = 46,
    NEW_STATUS_STACK = 48,
    NEW_EXPERIMENT = 49,
    NEW_SYNC = 50,
    NEW_END = 52,
    NEW_ALLOCATIONS = 128
};

/* How many numbers an event has, the time first; -1: it is not known. */
static int numbers_of(unsigned type)
{
    static const signed char many[] = {
        -1, -1, -1, -1, -1, -1, -1, -1, 1,          /* up to NEW_FREQUENCY */
        3,  3,  1,  4,  3,                          /* of processors */
        4,  2,  3,  1,  1,  3,  3,  4,  3, 1, 1, 4, /* of goroutines */
        3,  1,                                      /* the world stops */
        2,  3,  2,  2,  2,  3,  2,  2,  1, 2, 2,    /* collections */
        2,  5,  3,  4,  4,  5,                      /* of the program's own */
        3,  3,  4,  5,  -1, 0,  4,  -1,
    };
    static const signed char allocations[] = {4, 4, 2, 3, 3, 2, 3, 3, 2};

    if (type < sizeof many)
        return many[type];
    if (type >= NEW_ALLOCATIONS && type - NEW_ALLOCATIONS < sizeof allocations)
        return allocations[type - NEW_ALLOCATIONS];
    return -1;
}

/* The goroutine that runs on a thread, or is in a system call there, at the beginning of a
 * generation. */
static int add_status(struct reading *x, const uint64_t *a, struct tt_go_event *to)
{
    enum { THREAD = 2, STATUS = 3, RUNS = 2, IN_CALL = 3 };

    if ((a[STATUS] != RUNS && a[STATUS] != IN_CALL) || a[THREAD] == UINT64_MAX)
        return 0;
    to->kind = TT_GO_START;
    to->goroutine = a[1];
    return tt_go_add_event(&x->g, a[THREAD], to);
}

static int add_new(struct reading *x, unsigned type, const uint64_t *a)
{
    struct tt_go_event to = {.time = x->time};
    int error;

    switch (type) {
    case NEW_START:
    case NEW_SWITCH:
    case NEW_SWITCH_DESTROY:
    case NEW_CREATE_IN_CALL:
        to.kind = TT_GO_START;
        to.goroutine = a[1];
        return add(x, &to);
    case NEW_DESTROY:
    case NEW_DESTROY_IN_CALL:
    case NEW_STOP:
        to.kind = TT_GO_STOP;
        return add(x, &to);
    case NEW_BLOCK:
        to.kind = TT_GO_BLOCK;
        to.wait = TT_GO_WAITS;
        to.reason = a[1];
        to.stack = a[2];
        return add(x, &to);
    case NEW_UNBLOCK:
        to.kind = TT_GO_UNBLOCK;
        to.goroutine = a[1];
        return add(x, &to);
    case NEW_CALL:
        to.kind = TT_GO_CALL;
        to.wait = TT_GO_SYSTEM;
        to.stack = a[2];
        return add(x, &to);
    case NEW_CALL_END:
    case NEW_CALL_END_BLOCKED:
        to.kind = TT_GO_RETURN;
        error = add(x, &to);
        to.kind = TT_GO_LEAVE; /* it has to start again */
        return error || type == NEW_CALL_END ? error : add(x, &to);
    case NEW_STATUS:
    case NEW_STATUS_STACK:
        return add_status(x, a, &to);
    default:
        return 0;
    }
}

static int take_sample(struct reading *x)
{
    struct tt_go_event to = {.kind = TT_GO_SAMPLE};

    to.time = tt_byte_reader_uleb(&x->r);
    for (int i = 0; i < 3; i++)
        (void)tt_byte_reader_uleb(&x->r); /* thread, processor, goroutine */
    to.stack = tt_byte_reader_uleb(&x->r);
    return x->r.bad ? 0 : add(x, &to);
}

static int take_stack(struct reading *x)
{
    enum { NUMBERS = 4 };
    uint64_t number = tt_byte_reader_uleb(&x->r), frames = tt_byte_reader_uleb(&x->r);
    struct tt_byte_reader from = x->r;

    for (uint64_t i = 0; i < frames && !x->r.bad; i++)
        for (int k = 0; k < NUMBERS; k++)
            (void)tt_byte_reader_uleb(&x->r);
    from.end = x->r.at;
    return x->r.bad ? 0 : tt_go_add_stack(&x->g, number, frames, &from);
}

/* Takes an event of a batch.  If it is not known, the rest of the batch is lost. */
static int take_new(struct reading *x)
{
    const unsigned type = *x->r.at++;
    uint64_t a[ARGUMENTS] = {0};
    int numbers = numbers_of(type);

    if (type == NEW_STRINGS || type == NEW_STACKS || type == NEW_SAMPLES)
        return 0;
    if (type == NEW_STRING)
        return take_text(x);
    if (type == NEW_STACK)
        return take_stack(x);
    if (type == NEW_SAMPLE)
        return take_sample(x);
    for (int i = 0; i < numbers; i++)
        a[i] = tt_byte_reader_uleb(&x->r);
    if (numbers < 0 || x->r.bad) {
        x->r.at = x->r.end;
        x->g.lost++;
        return 0;
    }
    if (type == NEW_FREQUENCY)
        set_frequency(x, a[0]);
    else if (numbers)
        x->time += a[0];
    return add_new(x, type, a);
}

/* Takes the head of a batch, with its events in *events.  1; 0: the file ends in it. */
static int take_batch(struct reading *x, uint64_t *generation,
                      struct tt_byte_reader *events, int *is_experiment)
{
    const unsigned type = *x->r.at++;
    uint64_t size;

    *is_experiment = type == NEW_EXPERIMENT;
    *events = (struct tt_byte_reader){0};
    if (type == NEW_END)
        return 1;
    if (type != NEW_BATCH && type != NEW_EXPERIMENT)
        return fail(x, "a batch of events should be here");
    if (*is_experiment)
        (void)tt_byte_reader_number(&x->r, 1);
    *generation = tt_byte_reader_uleb(&x->r);
    x->place = tt_byte_reader_uleb(&x->r);
    x->time = tt_byte_reader_uleb(&x->r);
    size = tt_byte_reader_uleb(&x->r);
    events->at = tt_byte_reader_bytes(&x->r, size);
    events->end = x->r.at;
    return !x->r.bad;
}

static int read_new(struct reading *x)
{
    struct tt_byte_reader events, all;
    uint64_t generation = 0;
    int error = 0, is_experiment;

    while (error >= 0 && x->r.at < x->r.end) {
        error = take_batch(x, &generation, &events, &is_experiment);
        if (error <= 0)
            break;
        error = generation == x->g.generation ? 0 : tt_go_generation(&x->g, generation);
        all = x->r;
        x->r = events;
        while (!error && !is_experiment && x->r.at < x->r.end)
            error = take_new(x);
        x->r = all;
    }
    x->is_cut = x->r.bad;
    return error < 0 ? error : 0;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

/* The minor version of Go in the header; 0: it is no such header. */
static int version_of(const char *head, size_t size)
{
    static const char begin[] = "go 1.", end[] = " trace";
    const size_t at = sizeof begin - 1;
    size_t digits = 0;
    int minor = 0;

    if (size < HEADER || memcmp(head, begin, at) != 0)
        return 0;
    for (; head[at + digits] >= '0' && head[at + digits] <= '9' && digits < 3; digits++)
        minor = 10 * minor + head[at + digits] - '0';
    return memcmp(head + at + digits, end, sizeof end - 1) == 0 ? minor : 0;
}

static int read_trace(struct reading *x)
{
    const char *bytes;
    size_t size;
    int error = tt_source_all(x->g.s, &bytes, &size), minor;

    if (error)
        return error;
    minor = version_of(bytes, size);
    x->begin = (const uint8_t *)bytes;
    x->r = (struct tt_byte_reader){x->begin + HEADER, x->begin + size, 0};
    if (minor < FIRST_WITH_NAMES)
        return tt_source_fail(x->g.s,
                              "this trace is of Go 1.%d, which has no names; "
                              "convert it by 'go tool trace -pprof=sync'",
                              minor);
    error = minor < FIRST_WITH_BATCHES ? read_old(x) : read_new(x);
    error = error ?: tt_go_end(&x->g);
    if (!error && x->is_cut)
        tt_builder_fact(x->g.b, "cut off", TT_FACT_SUM, 1, "");
    return error;
}

static int read_go_trace(struct tt_source *s, struct tt_builder *b)
{
    struct reading x = {.is_cut = 0};

    tt_go_init(&x.g, s, b);
    return read_trace(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(version_of(head, size));
}

const struct tt_format tt_format_gotrace = {
    .name = "gotrace",
    .about = "waits and samples in execution traces of Go",
    .detect = detect,
    .read = read_go_trace,
};
