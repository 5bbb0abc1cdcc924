/* SPDX-License-Identifier: MIT */
/* perfetto.c - samples and heap profiles in traces of Perfetto: reading.
 *
 *      1 │ size │ packet │ 1 │ size │ packet │ …      each packet of some sequence
 *
 * Of the many kinds of packets three have stacks: samples of Chrome's profiler (several in
 * a packet), samples by perf events, and figures of heaps, which are sums since the
 * beginning.  What they refer to comes before them in their sequence, or in the same
 * packet.  Names of threads, and of addresses, may come later: packets are read twice. */
#include "perfetto-tables.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "formats.h"
#include "heap-figures.h"
#include "perfdata.h"
#include "samples.h"

enum {
    PACKET = 1, /* of the trace */
    PROCESSES = 2,
    TIME = 8,
    SEQUENCE = 10,
    TABLES = 12,
    FLAGS = 13,
    HEAP = 37,
    CLEARED = 41,
    THREAD = 44,
    ZLIB = 50,
    STREAMED = 54,
    DEFAULTS = 59,
    TRACK = 60,
    SYMBOLS = 61,
    PERF = 66,
    ZSTD = 133
};
enum { MOST_EVENTS = 64, PERF_DEFAULTS = 12, IS_CLEARED = 1 };

struct sequence {
    uint64_t state, heap_state; /* of its numbers, and of those within heaps */
    uint64_t process, thread;   /* that Chrome samples */
    uint64_t time;              /* of Chrome's last sample, us; 0: not known */
    uint32_t event;             /* of perf, + 1; 0: it was not said */
    int heap_goes_on;
};

struct event {
    size_t name;     /* in the texts of the tables */
    uint32_t metric; /* TT_NONE: it has no samples */
};

struct heap {
    size_t name;
    uint64_t process;
    int has_frees;
};

/* The figures of a stack in a heap; of each, the last ones are those that count. */
struct figure {
    uint32_t heap, context;
    uint64_t stack, state, heap_state;
    uint64_t bytes, number, freed, frees, peak, peak_number;
};

struct perfetto {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_perfetto_tables tables;
    int is_second;
    uint64_t states;
    struct tt_pairs sequences; /* an index + 1 */
    struct tt_vector sequence; /* struct sequence */
    struct tt_pairs names;     /* process 1, or thread 0: where its name begins + 1 */
    struct event event[MOST_EVENTS];
    uint32_t events, first; /* first: TT_NONE: no event has samples so far */
    struct tt_vector heap, figure, pending; /* struct heap; struct figure */
    struct tt_pairs figures; /* by heap and number, and node: an index + 1 */
    uint64_t samples, lost_nodes, lost_samples, lost_records;
};

static int wrong(struct perfetto *x, const char *what)
{
    return tt_source_fail_at(x->s, tt_source_offset(x->s), "%s", what);
}

static int no_memory(struct perfetto *x) { return tt_source_no_memory(x->s); }

/* ── Processes, threads ───────────────────────────────────────────────────────────── */

static int note_name(struct perfetto *x, int is_process, uint64_t id, struct tt_wire name)
{
    size_t at = name.at < name.end ? tt_perfetto_text(&x->tables, name) : 0;
    uint32_t *to;
    int is_new;

    if (name.at == name.end)
        return 0;
    to = at < UINT32_MAX - 1 ? tt_pairs_get(&x->names, (uint64_t)is_process, id, &is_new)
                             : NULL;
    if (!to)
        return no_memory(x);
    *to = (uint32_t)at + 1;
    return 0;
}

static const char *name_of(const struct perfetto *x, int is_process, uint64_t id)
{
    const uint32_t *at = tt_pairs_find(&x->names, (uint64_t)is_process, id);

    return at ? tt_perfetto_text_at(&x->tables, *at - 1) : "";
}

/* A message of a process or a thread: which fields are its number and its names; of
 * several names the first one. */
struct descriptor {
    uint32_t id, name, other; /* other: a second field with a name, or 0 */
    int is_process;
};
static const struct descriptor tree_process = {1, 3, 0, 1}, tree_thread = {1, 2, 0, 0},
                               track_process = {1, 6, 2, 1}, track_thread = {2, 5, 0, 0};

static int take_descriptor(struct perfetto *x, struct tt_wire m,
                           const struct descriptor *d)
{
    struct tt_wire name = {NULL, NULL}, other = {NULL, NULL};
    struct tt_wire_field f = {0};
    uint64_t id = 0;
    int more;

    while ((more = tt_wire_next(&m, &f)) > 0) {
        if (f.number == d->id && f.wire == TT_WIRE_VARINT)
            id = f.value;
        else if (f.number == d->name && f.wire == TT_WIRE_BYTES && name.at == name.end)
            name = f.inside;
        else if (d->other && f.number == d->other && f.wire == TT_WIRE_BYTES &&
                 other.at == other.end)
            other = f.inside;
    }
    if (more < 0)
        return wrong(x, "what names a thread is damaged");
    return note_name(x, d->is_process, id, name.at == name.end ? other : name);
}

/* Takes the processes and threads within a message: those of one field are processes, of
 * another threads. */
static int take_names(struct perfetto *x, struct tt_wire m, uint32_t processes,
                      uint32_t threads, const struct descriptor *process,
                      const struct descriptor *thread)
{
    struct tt_wire_field f = {0};
    int more, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "what names threads is damaged");
        if (f.wire == TT_WIRE_BYTES && f.number == processes)
            error = take_descriptor(x, f.inside, process);
        else if (f.wire == TT_WIRE_BYTES && f.number == threads)
            error = take_descriptor(x, f.inside, thread);
    }
    return error;
}

static int take_strand(struct perfetto *x, uint64_t process, uint64_t thread,
                       const char *name)
{
    struct tt_strand_info info = {.process = name_of(x, 1, process),
                                  .name = name ? name : name_of(x, 0, thread),
                                  .pid = process,
                                  .thread = thread,
                                  .rank = TT_NONE,
                                  .members = 1};

    return tt_builder_strand(x->b, &info) == TT_NONE ? no_memory(x) : 0;
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* Returns the number of an event; TT_NONE with an error, noted. */
static uint32_t event_of(struct perfetto *x, const char *name)
{
    struct tt_wire m = {(const unsigned char *)name,
                        (const unsigned char *)name + strlen(name)};
    size_t at;

    for (uint32_t i = 0; i < x->events; i++)
        if (strcmp(tt_perfetto_text_at(&x->tables, x->event[i].name), name) == 0)
            return i;
    if (x->events == MOST_EVENTS)
        return (void)wrong(x, "there are more than 64 events"), TT_NONE;
    at = tt_perfetto_text(&x->tables, m);
    if (at == TT_PERFETTO_NO_TEXT)
        return (void)no_memory(x), TT_NONE;
    x->event[x->events] = (struct event){at, TT_NONE};
    return x->events++;
}

/* As perf calls its counters, by Perfetto's numbers: those of software come first, two of
 * them in another order, and then those of hardware. */
static const char *counter_name(uint64_t counter)
{
    enum { SOFTWARE = 1, DUMMY = 9, FIRST_OF_HARDWARE = 10, LAST = 20 };
    static const uint8_t software[] = {0, 0, 2, 1, 3, 4, 5, 6, 7, 8};
    const char *name;

    if (counter < sizeof software)
        name = tt_perfdata_counter(SOFTWARE, software[counter]);
    else if (counter == LAST)
        name = tt_perfdata_counter(SOFTWARE, DUMMY);
    else
        name = tt_perfdata_counter(0, counter - FIRST_OF_HARDWARE);
    return name ? name : "counter";
}

static void copy_name(struct tt_wire text, char *to, size_t room)
{
    size_t size = (size_t)(text.end - text.at);

    size = size < room ? size : room - 1;
    for (size_t i = 0; i < size; i++)
        to[i] = (char)(text.at[i] ? text.at[i] : '?');
    to[size] = '\0';
}

/* What a sequence of perf's samples counts: the event has a name, or is a counter, a
 * tracepoint or the machine's. */
static int take_timebase(struct perfetto *x, struct tt_wire m, struct sequence *q)
{
    struct tt_wire_field f = {0}, inner = {0};
    char name[200] = "cpu-clock", own[200] = "";

    while (tt_wire_next(&m, &f) > 0) {
        if (f.number == 10 && f.wire == TT_WIRE_BYTES) {
            copy_name(f.inside, own, sizeof own);
        } else if (f.number == 4 && f.wire == TT_WIRE_VARINT) {
            (void)snprintf(name, sizeof name, "%s", counter_name(f.value));
        } else if (f.number == 5) {
            (void)snprintf(name, sizeof name, "raw");
        } else if (f.number == 3 && f.wire == TT_WIRE_BYTES) {
            while (tt_wire_next(&f.inside, &inner) > 0)
                if (inner.number == 1 && inner.wire == TT_WIRE_BYTES)
                    copy_name(inner.inside, name, sizeof name);
        }
    }
    q->event = event_of(x, *own ? own : name);
    return q->event++ == TT_NONE ? -TT_ERR_FORMAT : 0;
}

static int take_defaults(struct perfetto *x, struct tt_wire m, struct sequence *q)
{
    struct tt_wire_field f = {0}, inner = {0};
    int error = 0;

    while (!error && tt_wire_next(&m, &f) > 0)
        while (!error && f.number == PERF_DEFAULTS && f.wire == TT_WIRE_BYTES &&
               tt_wire_next(&f.inside, &inner) > 0)
            if (inner.number == 1 && inner.wire == TT_WIRE_BYTES)
                error = take_timebase(x, inner.inside, q);
    return error;
}

/* The metric of the first event is "samples", as perf's is. */
static uint32_t metric_of(struct perfetto *x, uint32_t number)
{
    struct event *e = &x->event[number];
    char name[250];

    if (e->metric != TT_NONE)
        return e->metric;
    if (x->first == TT_NONE)
        x->first = number;
    (void)snprintf(name, sizeof name, x->first == number ? "samples" : "samples of %s",
                   tt_perfetto_text_at(&x->tables, e->name));
    e->metric = tt_builder_metric(x->b, name, "", 0);
    return e->metric;
}

/* `time`: ns, of the trace's clock; 0: not known. */
static int add_sample(struct perfetto *x, const struct sequence *q, uint64_t stack,
                      uint32_t event, uint64_t time)
{
    uint32_t node, context;

    if (event == TT_NONE)
        return -TT_ERR_FORMAT;
    if (!tt_perfetto_stack(&x->tables, q->state, stack, &node, &context)) {
        x->lost_nodes++;
        return 0;
    }
    tt_builder_add(x->b, TT_ROLE_SELF, context, metric_of(x, event), 1);
    if (time && event == x->first)
        tt_builder_sample(x->b, metric_of(x, event), context, time, 1, 0);
    x->samples++;
    return 0;
}

/* Stacks, and for each the time since the one before. */
static int take_streamed(struct perfetto *x, struct tt_wire m, struct sequence *q)
{
    struct tt_wire_numbers stacks = {m, 1, TT_WIRE_VARINT, {NULL, NULL}},
                           times = {m, 2, TT_WIRE_VARINT, {NULL, NULL}};
    uint64_t stack, since;
    int more, error = take_strand(x, q->process, q->thread, NULL);

    while (!error && (more = tt_wire_next_number(&stacks, &stack)) != 0) {
        if (more < 0)
            return wrong(x, "a packet of samples is damaged");
        if (tt_wire_next_number(&times, &since) <= 0)
            q->time = 0;
        else if (q->time)
            q->time += since; /* which may be less than 0 */
        error = add_sample(x, q, stack, event_of(x, "stacks by time"), q->time * 1000);
    }
    return error;
}

/* Of those that were skipped, what was not asked for is not lost. */
static int take_perf(struct perfetto *x, struct tt_wire m, const struct sequence *q,
                     uint64_t time)
{
    enum { NOT_IN_SCOPE = 4 };
    uint64_t process = 0, thread = 0, stack = 0, lost = 0, skipped = 0;
    struct tt_wire_field f = {0};
    int more, is_skipped = 0, is_event = 0, error;

    while ((more = tt_wire_next(&m, &f)) > 0) {
        switch (f.number) {
        case 2:
            process = f.value;
            break;
        case 3:
            thread = f.value;
            break;
        case 4:
            stack = f.value;
            break;
        case 17:
            lost = f.value;
            break;
        case 18:
            is_skipped = 1, skipped = f.value;
            break;
        case 19:
            is_event = 1;
            break;
        default:
            break;
        }
    }
    if (more < 0)
        return wrong(x, "a sample is damaged");
    x->lost_records += lost;
    x->lost_samples += is_skipped && skipped != NOT_IN_SCOPE;
    if (lost || is_skipped || is_event || !stack)
        return 0;
    error = take_strand(x, process, thread, NULL);
    return error ? error
                 : add_sample(x, q, stack,
                              q->event ? q->event - 1 : event_of(x, "cpu-clock"), time);
}

/* ── Heaps ────────────────────────────────────────────────────────────────────────── */

/* Returns the number of a heap; TT_NONE: no memory. */
static uint32_t heap_of(struct perfetto *x, struct tt_wire name, uint64_t process)
{
    const struct heap *heap = x->heap.item;
    struct heap *to;
    char text[200];
    uint32_t i;

    copy_name(name, text, sizeof text);
    for (i = 0; i < x->heap.count; i++)
        if (heap[i].process == process &&
            strcmp(tt_perfetto_text_at(&x->tables, heap[i].name), text) == 0)
            return i;
    to = tt_vector_add(&x->heap, 1);
    if (!to)
        return TT_NONE;
    name = (struct tt_wire){(unsigned char *)text, (unsigned char *)text + strlen(text)};
    *to = (struct heap){.name = tt_perfetto_text(&x->tables, name), .process = process};
    to->has_frees = strcmp(text, "com.android.art") != 0;
    return to->name == TT_PERFETTO_NO_TEXT ? TT_NONE : i;
}

static int take_figure(struct perfetto *x, struct tt_wire m, const struct sequence *q,
                       uint32_t heap)
{
    struct figure *to = tt_vector_add(&x->pending, 1);
    struct tt_wire_field f = {0};
    int more;

    if (!to)
        return no_memory(x);
    *to = (struct figure){.heap = heap, .state = q->state, .heap_state = q->heap_state};
    while ((more = tt_wire_next(&m, &f)) > 0) {
        switch (f.number) {
        case 1:
            to->stack = f.value;
            break;
        case 2:
            to->bytes = f.value;
            break;
        case 3:
            to->freed = f.value;
            break;
        case 5:
            to->number = f.value;
            break;
        case 6:
            to->frees = f.value;
            break;
        case 8:
            to->peak = f.value;
            break;
        case 9:
            to->peak_number = f.value;
            break;
        default:
            break;
        }
    }
    return more < 0 ? wrong(x, "figures of a heap are damaged") : 0;
}

static int take_heap(struct perfetto *x, struct tt_wire m, const struct sequence *q)
{
    struct tt_wire again = m, name = {NULL, NULL};
    struct tt_wire_field f = {0};
    uint64_t process = 0;
    uint32_t heap;
    int more, error = 0;

    while ((more = tt_wire_next(&m, &f)) > 0) {
        if (f.number == 1)
            process = f.value;
        else if (f.number == 11 && f.wire == TT_WIRE_BYTES)
            name = f.inside;
    }
    if (more < 0)
        return wrong(x, "a heap is damaged");
    heap = heap_of(x, name, process);
    if (heap == TT_NONE)
        return no_memory(x);
    while (!error && tt_wire_next(&again, &f) > 0)
        if (f.number == 2 && f.wire == TT_WIRE_BYTES)
            error = take_figure(x, f.inside, q, heap);
    return error;
}

/* Figures are sums, so the last ones of a stack replace those before; less than before is
 * a mistake of the recorder. */
static int settle(struct perfetto *x, const struct figure *p)
{
    uint32_t node, context;
    struct figure *to;
    int is_new;

    if (!tt_perfetto_stack(&x->tables, p->heap_state, p->stack, &node, &context) &&
        !tt_perfetto_stack(&x->tables, p->state, p->stack, &node, &context)) {
        x->lost_nodes++;
        return 0;
    }
    to = tt_pairs_item(&x->figures, &x->figure, (uint64_t)p->heap << 32 | node, p->stack,
                       &is_new);
    if (!to)
        return no_memory(x);
    if (is_new || (p->bytes >= to->bytes && p->freed >= to->freed &&
                   p->number >= to->number && p->frees >= to->frees))
        *to = *p;
    to->context = context;
    return 0;
}

/* Figures come before the stacks that they are of, up to the last packet of a heap;
 * `heap_state` 0: those of all heaps. */
static int settle_all(struct perfetto *x, uint64_t heap_state)
{
    struct figure *p = x->pending.item;
    size_t kept = 0;
    int error = 0;

    for (size_t i = 0; !error && i < x->pending.count; i++)
        if (!heap_state || p[i].heap_state == heap_state)
            error = settle(x, p + i);
        else
            p[kept++] = p[i];
    x->pending.count = kept;
    return error;
}

static int take_heaps(struct perfetto *x, struct tt_wire m, struct sequence *q)
{
    struct tt_wire again = m;
    struct tt_wire_field f = {0};
    int more, error;

    if (!q->heap_goes_on)
        q->heap_state = ++x->states;
    q->heap_goes_on = 0;
    error = tt_perfetto_take(&x->tables, m, q->heap_state, 1);
    while (!error && (more = tt_wire_next(&again, &f)) != 0) {
        if (more < 0)
            return wrong(x, "a packet of heaps is damaged");
        if (f.number == 5 && f.wire == TT_WIRE_BYTES)
            error = take_heap(x, f.inside, q);
        else if (f.number == 6)
            q->heap_goes_on = f.value != 0;
    }
    return error || q->heap_goes_on ? error : settle_all(x, q->heap_state);
}

/* The rows of what was allocated, and freed. */
static void add_space(struct perfetto *x, const struct figure *f, const struct heap *h)
{
    const char *type = tt_perfetto_text_at(&x->tables, h->name);

    if (f->bytes || f->number)
        tt_builder_space(x->b, f->context, *type ? type : "malloc", TT_NONE, 0, f->number,
                         f->bytes, 0);
    if (h->has_frees && (f->freed || f->frees))
        tt_builder_space(x->b, f->context, *type ? type : "malloc", 0, TT_NONE, f->frees,
                         f->freed, 0);
}

static int add_figures(struct perfetto *x)
{
    static const struct {
        const char *name, *unit;
        uint32_t flags;
    } metric[] = {
        {"bytes", "bytes", TT_METRIC_SPACE},
        {"allocations", "", 0},
        {"live bytes", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK},
        {"live number", "", TT_METRIC_PEAK},
        {"peak bytes", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK},
        {"peak number", "", TT_METRIC_PEAK},
    };
    int error = 0;

    for (size_t i = 0; !error && i < x->figure.count; i++) {
        const struct figure *f = (struct figure *)x->figure.item + i;
        const struct heap *h = (struct heap *)x->heap.item + f->heap;
        const uint64_t amount[] = {
            f->bytes,
            f->number,
            h->has_frees && f->bytes > f->freed ? f->bytes - f->freed : 0,
            h->has_frees && f->number > f->frees ? f->number - f->frees : 0,
            f->peak,
            f->peak_number};
        error = take_strand(x, h->process, 0, tt_perfetto_text_at(&x->tables, h->name));
        for (size_t k = 0; !error && k < sizeof amount / sizeof *amount; k++)
            if (amount[k])
                tt_builder_add(x->b, TT_ROLE_SELF, f->context,
                               tt_builder_metric(x->b, metric[k].name, metric[k].unit,
                                                 metric[k].flags),
                               amount[k]);
        add_space(x, f, h);
    }
    return error;
}

/* ── Packets ──────────────────────────────────────────────────────────────────────── */

/* The fields of a packet that are of interest. */
struct packet {
    uint64_t sequence, time;
    int is_cleared;
    struct tt_wire tables, defaults, thread, payload;
    uint32_t kind; /* the field of the payload; 0: none */
};

static int take_packet(struct perfetto *x, struct tt_wire m, struct packet *p)
{
    struct tt_wire_field f = {0};
    int more;

    *p = (struct packet){0};
    while ((more = tt_wire_next(&m, &f)) > 0) {
        if (f.number == SEQUENCE)
            p->sequence = f.value;
        else if (f.number == TIME)
            p->time = f.value;
        else if (f.number == FLAGS || f.number == CLEARED)
            p->is_cleared |= (f.value & IS_CLEARED) != 0;
        else if (f.wire != TT_WIRE_BYTES)
            continue;
        else if (f.number == TABLES)
            p->tables = f.inside;
        else if (f.number == DEFAULTS)
            p->defaults = f.inside;
        else if (f.number == THREAD)
            p->thread = f.inside;
        else if (f.number == PROCESSES || f.number == HEAP || f.number == ZLIB ||
                 f.number == STREAMED || f.number == TRACK || f.number == SYMBOLS ||
                 f.number == PERF || f.number == ZSTD)
            p->kind = f.number, p->payload = f.inside;
    }
    return more < 0 ? wrong(x, "a packet is damaged") : 0;
}

static struct sequence *sequence_of(struct perfetto *x, const struct packet *p)
{
    int is_new;
    struct sequence *q = tt_pairs_item(&x->sequences, &x->sequence, p->sequence, 0,
                                       &is_new);

    if (q && (is_new || p->is_cleared)) {
        q->state = ++x->states;
        q->event = 0;
    }
    return q;
}

/* The thread that Chrome's samples of this sequence are of, and their first time. */
static void take_thread(struct tt_wire m, struct sequence *q)
{
    struct tt_wire_field f = {0};

    while (tt_wire_next(&m, &f) > 0) {
        if (f.number == 1 && f.wire == TT_WIRE_VARINT)
            q->process = f.value;
        else if (f.number == 2 && f.wire == TT_WIRE_VARINT)
            q->thread = f.value;
        else if (f.number == 6 && f.wire == TT_WIRE_VARINT)
            q->time = f.value;
    }
}

/* Once for names. */
static int read_first(struct perfetto *x, const struct packet *p)
{
    int error = 0;

    if (p->thread.at)
        error = take_descriptor(x, p->thread, &track_thread);
    if (!error && p->kind == PROCESSES)
        error = take_names(x, p->payload, 1, 2, &tree_process, &tree_thread);
    else if (!error && p->kind == TRACK)
        error = take_names(x, p->payload, 3, 4, &track_process, &track_thread);
    else if (!error && p->kind == SYMBOLS)
        error = tt_perfetto_symbols(&x->tables, p->payload);
    return error;
}

/* And once for samples. */
static int read_second(struct perfetto *x, const struct packet *p)
{
    struct sequence *q = sequence_of(x, p);
    int error = 0;

    if (!q)
        return no_memory(x);
    if (p->thread.at)
        take_thread(p->thread, q);
    if (p->tables.at)
        error = tt_perfetto_take(&x->tables, p->tables, q->state, 0);
    if (!error && p->defaults.at)
        error = take_defaults(x, p->defaults, q);
    if (!error && p->kind == STREAMED)
        error = take_streamed(x, p->payload, q);
    else if (!error && p->kind == PERF)
        error = take_perf(x, p->payload, q, p->time);
    else if (!error && p->kind == HEAP)
        error = take_heaps(x, p->payload, q);
    return error;
}

static int read_packed(struct perfetto *x, const struct packet *p);

static int read_packets(struct perfetto *x, struct tt_wire m, int is_packed)
{
    struct tt_wire_field f = {0};
    struct packet p;
    int more, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(x, "the trace ends within a packet");
        if (f.number != PACKET || f.wire != TT_WIRE_BYTES)
            continue;
        error = take_packet(x, f.inside, &p);
        if (error)
            return error;
        if (p.kind == ZLIB || p.kind == ZSTD)
            error = is_packed ? wrong(x, "packets are packed twice") : read_packed(x, &p);
        else
            error = x->is_second ? read_second(x, &p) : read_first(x, &p);
    }
    return error;
}

/* ── Packed packets ───────────────────────────────────────────────────────────────── */

enum { PIECE = 1 << 16 };

static int unpack_zlib(struct perfetto *x, struct tt_wire m, struct tt_vector *to)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)m.at,
                  .avail_in = (uInt)(m.end - m.at)};
    int state = inflateInit(&z);

    if (state != Z_OK || (size_t)(m.end - m.at) > UINT_MAX)
        return no_memory(x);
    while (state == Z_OK) {
        unsigned char *at = tt_vector_add(to, PIECE);
        if (!at)
            break;
        z.next_out = at;
        z.avail_out = PIECE;
        state = inflate(&z, Z_NO_FLUSH);
        to->count -= z.avail_out;
    }
    (void)inflateEnd(&z);
    return state == Z_OK           ? no_memory(x)
           : state == Z_STREAM_END ? 0
                                   : wrong(x, "packed packets are damaged");
}

static int unpack_zstd(struct perfetto *x, struct tt_wire m, struct tt_vector *to)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {m.at, (size_t)(m.end - m.at), 0};
    size_t left = 1;
    int error = z ? 0 : no_memory(x);

    while (!error && left) {
        size_t before = in.pos;
        char *at = tt_vector_add(to, PIECE);
        ZSTD_outBuffer out = {at, PIECE, 0};
        if (!at) {
            error = no_memory(x);
            break;
        }
        left = ZSTD_decompressStream(z, &out, &in);
        to->count -= PIECE - out.pos;
        if (ZSTD_isError(left) || (left && !out.pos && in.pos == before))
            error = wrong(x, "packed packets are damaged");
    }
    (void)ZSTD_freeDStream(z);
    return error;
}

static int read_packed(struct perfetto *x, const struct packet *p)
{
    struct tt_vector bytes;
    int error;

    tt_vector_init(&bytes, x->s->memory, 1);
    error = p->kind == ZLIB ? unpack_zlib(x, p->payload, &bytes)
                            : unpack_zstd(x, p->payload, &bytes);
    if (!error && bytes.count)
        error = read_packets(
            x, (struct tt_wire){bytes.item, (unsigned char *)bytes.item + bytes.count},
            1);
    tt_vector_fini(&bytes);
    return error;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static void lost(struct perfetto *x, const char *name, uint64_t number)
{
    if (number)
        tt_builder_fact(x->b, name, TT_FACT_SUM, number, "");
}

static int read_all(struct perfetto *x)
{
    const char *bytes;
    size_t size;
    struct tt_wire m;
    int error = tt_source_all(x->s, &bytes, &size);

    if (error)
        return error;
    m = (struct tt_wire){(const unsigned char *)bytes,
                         (const unsigned char *)bytes + size};
    error = read_packets(x, m, 0);
    x->is_second = 1;
    error = error ?: read_packets(x, m, 0);
    error = error ?: settle_all(x, 0);
    error = error ?: add_figures(x);
    if (error)
        return error;
    if (!x->samples && !x->figure.count && !x->lost_nodes)
        return tt_source_fail(x->s,
                              "this trace of Perfetto has no samples and no heaps that "
                              "are read; 'traceconv json FILE OUT.json' makes a file of "
                              "its events that is read");
    lost(x, "lost.nodes", x->lost_nodes);
    lost(x, "lost.samples", x->lost_samples);
    lost(x, "lost.records", x->lost_records);
    return 0;
}

static int read_perfetto(struct tt_source *s, struct tt_builder *b)
{
    struct perfetto *x = tt_memory_get(s->memory, sizeof *x);

    if (!x)
        return tt_source_no_memory(s);
    x->s = s;
    x->b = b;
    x->first = TT_NONE;
    tt_perfetto_tables_init(&x->tables, s, b);
    tt_pairs_init(&x->sequences, s->memory);
    tt_pairs_init(&x->names, s->memory);
    tt_pairs_init(&x->figures, s->memory);
    tt_vector_init(&x->sequence, s->memory, sizeof(struct sequence));
    tt_vector_init(&x->heap, s->memory, sizeof(struct heap));
    tt_vector_init(&x->figure, s->memory, sizeof(struct figure));
    tt_vector_init(&x->pending, s->memory, sizeof(struct figure));
    return read_all(x);
}

/* Is the first packet one that is packed, and longer than what is there? */
static int begins_packed(const char *head, size_t size)
{
    struct tt_wire m = {(const unsigned char *)head, (const unsigned char *)head + size};
    uint64_t packet, length, field;

    return tt_wire_varint(&m, &packet) && tt_wire_varint(&m, &length) &&
           tt_wire_varint(&m, &field) && packet == (PACKET << 3 | TT_WIRE_BYTES) &&
           (field == (ZLIB << 3 | TT_WIRE_BYTES) || field == (ZSTD << 3 | TT_WIRE_BYTES));
}

/* A trace begins with packets, and one of them says what only packets do: a time, a
 * sequence, a user, or tables. */
static enum tt_match detect(const char *head, size_t size)
{
    enum { ENOUGH = 4 };
    struct tt_wire m = {(const unsigned char *)head, (const unsigned char *)head + size};
    struct tt_wire_field f = {0}, inner = {0};
    int packets = 0, known = 0;

    while (packets < ENOUGH && tt_wire_next(&m, &f) > 0) {
        int more;
        if (f.number != PACKET || f.wire != TT_WIRE_BYTES)
            return TT_MATCH_NO;
        while ((more = tt_wire_next(&f.inside, &inner)) > 0)
            known += inner.number == ZLIB || inner.number == ZSTD ||
                     (inner.wire == TT_WIRE_VARINT &&
                      (inner.number == 8 || inner.number == SEQUENCE ||
                       inner.number == CLEARED));
        if (more < 0)
            return TT_MATCH_NO;
        packets++;
    }
    return known || (!packets && begins_packed(head, size)) ? TT_MATCH_MAYBE
                                                            : TT_MATCH_NO;
}

const struct tt_format tt_format_perfetto = {
    .name = "perfetto",
    .about = "samples and heaps in traces of Perfetto",
    .detect = detect,
    .read = read_perfetto,
};
