/* SPDX-License-Identifier: MIT */
/* nettrace.c - traces of .NET, which its EventPipe writes: reading.
 *
 * Of their many events four have stacks that are of interest: samples, which are taken of
 * all threads, whether they run or wait; allocations, of which one in 100 KiB or so has an
 * event; waits for locks; exceptions.  Methods that their addresses are in may be described
 * later, at the end of the trace: the file is read twice.
 *
 * In version 6, tools that trace whole machines have events whose first field weighs their
 * stack: each kind is a metric. */
#include "nettrace.h"

#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "nettrace-blocks.h"
#include "nettrace-methods.h"
#include "nettrace-spaces.h"
#include "samples.h"

enum what {
    NONE,
    SAMPLE,
    ALLOCATION,
    WAIT,
    EXCEPTION,
    METHOD,
    MODULE,
    COMMAND,
    MAPPING,
    SYMBOL,
    ABOUT,
    WEIGHED /* and more: an index of `weighed` is added */
};

static const struct {
    const char *provider;
    uint32_t event;
    enum what what;
} known[] = {
    {"Microsoft-DotNETCore-SampleProfiler", 0, SAMPLE},
    {"Microsoft-Windows-DotNETRuntime", 10, ALLOCATION},
    {"Microsoft-Windows-DotNETRuntime", 80, EXCEPTION},
    {"Microsoft-Windows-DotNETRuntime", 91, WAIT},
    {"Microsoft-Windows-DotNETRuntime", 143, METHOD},
    {"Microsoft-Windows-DotNETRuntime", 144, METHOD},
    {"Microsoft-Windows-DotNETRuntime", 152, MODULE},
    {"Microsoft-Windows-DotNETRuntimeRundown", 143, METHOD},
    {"Microsoft-Windows-DotNETRuntimeRundown", 144, METHOD},
    {"Microsoft-Windows-DotNETRuntimeRundown", 153, MODULE},
    {"Microsoft-Windows-DotNETRuntimeRundown", 154, MODULE},
    {"Microsoft-DotNETCore-EventPipe", 1, COMMAND},
    {"Universal.System", 3, MAPPING},
    {"Universal.System", 4, SYMBOL},
    {"Universal.System", 5, ABOUT},
};

enum metric {
    SAMPLES,
    EXTERNAL,
    BYTES,
    ALLOCATIONS,
    CONTENTIONS,
    DELAY,
    EXCEPTIONS,
    METRICS
};
static const struct {
    const char *name, *unit;
    uint32_t flags;
} metrics[METRICS] = {
    {"samples", "", 0},
    {"external samples", "", 0},
    {"bytes", "bytes", TT_METRIC_SPACE},
    {"allocation samples", "", 0},
    {"contentions", "", 0},
    {"delay", "ns", 0},
    {"exceptions", "", 0},
};

struct stack {
    const char *addresses; /* leaf first; in the file */
    size_t size;
};
enum { MOST_FRAMES = 1 << 12 }; /* the innermost ones; .NET writes 100 */

struct weighed {
    uint32_t metric;
    uint64_t ticks; /* of the clock in a second; 0: the weight is no time */
    uint64_t total;
    int is_cpu;
};

struct thread {
    uint64_t pid, id;
    size_t name; /* in `names` */
};

struct reading {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_nettrace file;
    struct tt_nettrace_methods methods;
    struct tt_nettrace_spaces spaces;
    struct tt_pairs kinds; /* by the number of a description: enum what */
    struct tt_pairs stacks, threads;
    struct tt_pairs contexts; /* by process and index in `stack` */
    struct tt_vector stack;   /* struct stack */
    struct tt_vector last;    /* uint32_t: the sequence number of a thread's last event */
    struct tt_vector text, names; /* char */
    struct tt_vector weighed;     /* struct weighed */
    struct tt_pairs numbers;      /* of threads of version 6: index + 1 */
    struct tt_vector thread;      /* struct thread */
    /* In which stacks, threads and kinds have their numbers. */
    uint64_t region, thread_region, kind_region;
    uint64_t total[METRICS], lost, unknown, truncated;
    int is_second, has_weights;
};

static int no_memory(struct reading *r) { return tt_source_no_memory(r->s); }

/* ── Descriptions ─────────────────────────────────────────────────────────────────── */

static int set_kind(struct reading *r, uint32_t number, uint32_t what)
{
    int is_new;
    uint32_t *to = tt_pairs_get(&r->kinds, number, r->kind_region, &is_new);

    if (!to)
        return no_memory(r);
    *to = what;
    return 0;
}

static enum what what_of(const char *provider, size_t length, uint32_t event)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].event == event && strlen(known[i].provider) == length &&
            memcmp(known[i].provider, provider, length) == 0)
            return known[i].what;
    return NONE;
}

static int take_description(struct reading *r, struct tt_nettrace_payload p)
{
    uint32_t number = (uint32_t)tt_nettrace_number(&p, 4), event;

    r->text.count = 0;
    if (tt_nettrace_text(&p, &r->text) != 0 || !tt_vector_add(&r->text, 1))
        return no_memory(r);
    event = (uint32_t)tt_nettrace_number(&p, 4);
    return set_kind(r, number, what_of(r->text.item, strlen(r->text.item), event));
}

static int is_text(const struct tt_nettrace_text *t, const char *text)
{
    return t->size == strlen(text) && memcmp(t->at, text, t->size) == 0;
}

/* A kind of events whose stacks have a weight: a metric.  Ticks become ns. */
static int add_weighed(struct reading *r, const struct tt_nettrace_description *d)
{
    const int is_cpu = is_text(&d->name, "cpu"), is_off = is_text(&d->name, "cswitch");
    struct weighed *to = tt_vector_add(&r->weighed, 1);
    char name[100];

    (void)snprintf(name, sizeof name, "%.*s", (int)(d->name.size & INT32_MAX),
                   d->name.at);
    if (!to)
        return no_memory(r);
    to->is_cpu = is_cpu;
    to->ticks = is_off ? r->file.clock.rate : 0;
    to->metric = tt_builder_metric(r->b,
                                   is_cpu   ? metrics[SAMPLES].name
                                   : is_off ? "off-CPU"
                                   : *name  ? name
                                            : "events",
                                   to->ticks ? "ns" : "", 0);
    return set_kind(r, d->number, WEIGHED + (uint32_t)r->weighed.count - 1);
}

static int describe(void *arg, const struct tt_nettrace_description *d)
{
    struct reading *r = arg;

    if (r->is_second)
        return 0;
    if (is_text(&d->provider, "Universal.Events") && d->has_value)
        return add_weighed(r, d);
    return set_kind(r, d->number, what_of(d->provider.at, d->provider.size, d->event));
}

static int take_thread(void *arg, const struct tt_nettrace_thread *t)
{
    struct reading *r = arg;
    int is_new;
    uint32_t *at = tt_pairs_get(&r->numbers, t->number, r->thread_region, &is_new);
    const size_t name = tt_vector_text(&r->names, t->name.at, t->name.size);

    if (!at || name == TT_NO_PLACE ||
        tt_vector_push(&r->thread, &(struct thread){t->process, t->id, name}) != 0)
        return no_memory(r);
    *at = (uint32_t)r->thread.count;
    return 0;
}

/* Returns the thread of an event of version 6; without a description only its number is
 * known. */
static struct thread thread_of(const struct reading *r, uint64_t number)
{
    const uint32_t *at = tt_pairs_find(&r->numbers, number, r->thread_region);

    return at ? ((const struct thread *)r->thread.item)[*at - 1]
              : (struct thread){r->file.process, number, 0};
}

/* The process that methods are described for; a trace before version 6 has only one. */
static uint64_t process_of(const struct reading *r, const struct tt_nettrace_event *e)
{
    return r->file.is_six ? thread_of(r, e->thread).pid : 0;
}

/* The event that describes the process begins with its command line. */
static int take_command(struct reading *r, struct tt_nettrace_payload p)
{
    r->text.count = 0;
    if (tt_nettrace_text(&p, &r->text) != 0 || !tt_vector_add(&r->text, 1))
        return no_memory(r);
    if (r->text.count > 1)
        tt_builder_fact(r->b, "program", TT_FACT_EACH, 1, r->text.item);
    return 0;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static int take_stack(void *arg, uint32_t number, const char *addresses, size_t size)
{
    struct reading *r = arg;
    uint32_t *at;
    int is_new;

    if (!r->is_second)
        return 0;
    at = tt_pairs_get(&r->stacks, r->region, number, &is_new);
    if (!at || tt_vector_push(&r->stack, &(struct stack){addresses, size}) != 0)
        return no_memory(r);
    *at = (uint32_t)r->stack.count;
    return 0;
}

static int begin_region(void *arg, unsigned flags)
{
    struct reading *r = arg;

    r->region++;
    r->thread_region += (flags & TT_NETTRACE_THREADS) != 0;
    r->kind_region += (flags & TT_NETTRACE_KINDS) != 0;
    return 0;
}

/* Returns the block of an address; of all but the innermost, the call is before it. */
static uint32_t block_of(struct reading *r, uint64_t pid, uint64_t address,
                         int is_innermost)
{
    if (!r->file.is_six || tt_nettrace_is_method(&r->methods, pid, address))
        return tt_nettrace_block(&r->methods, r->b, pid, address);
    return tt_nettrace_place(&r->spaces, r->b, pid,
                             address - (!is_innermost && address ? 1 : 0));
}

/* Sets the context of a stack of a process; without one it is the root. */
static int context_of(struct reading *r, uint64_t pid, uint32_t number, uint32_t *context)
{
    const uint32_t *at = tt_pairs_find(&r->stacks, r->region, number);
    const struct stack *s = at ? (struct stack *)r->stack.item + *at - 1 : NULL;
    const size_t pointer = (size_t)r->file.pointer;
    size_t count = s ? s->size / pointer : 0;
    uint32_t *made;
    int is_new;

    *context = TT_BUILDER_ROOT;
    if (!s && number)
        r->unknown++;
    if (!s)
        return 0;
    made = tt_pairs_get(&r->contexts, pid, *at, &is_new);
    if (!made)
        return no_memory(r);
    if (!is_new) {
        *context = *made;
        return 0;
    }
    if (count > MOST_FRAMES) {
        count = MOST_FRAMES;
        r->truncated++;
    }
    for (size_t i = count; i-- > 0 && *context != TT_NONE;) {
        uint64_t address = tt_number_at(s->addresses + i * pointer, r->file.pointer);
        uint32_t block = block_of(r, pid, address, i == 0);
        *context = block == TT_NONE ? TT_NONE : tt_builder_context(r->b, *context, block);
    }
    *made = *context;
    return *context == TT_NONE ? no_memory(r) : 0;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static uint32_t metric_of(const struct reading *r, enum metric m)
{
    return tt_builder_metric(r->b, metrics[m].name, metrics[m].unit, metrics[m].flags);
}

static int add(struct reading *r, uint32_t context, enum metric m, uint64_t amount)
{
    if (__builtin_add_overflow(r->total[m], amount, &r->total[m]))
        return tt_source_fail_at(r->s, r->file.at, TT_TOO_MUCH);
    tt_builder_add(r->b, TT_ROLE_SELF, context, metric_of(r, m), amount);
    return 0;
}

static void add_time(struct reading *r, uint32_t context, uint32_t metric,
                     const struct tt_nettrace_event *e, uint64_t weight)
{
    if (r->file.clock.rate)
        tt_builder_sample(r->b, metric, context, tt_ticks_time(&r->file.clock, e->ticks),
                          weight, 0);
}

static int add_allocation(struct reading *r, uint32_t context,
                          struct tt_nettrace_payload p)
{
    uint64_t bytes = tt_nettrace_number(&p, 4);
    int error;

    (void)tt_nettrace_number(&p, 6); /* its kind, and the number of the runtime */
    if (p.end - p.at >= 8)
        bytes = tt_nettrace_number(&p, 8);
    (void)tt_nettrace_number(&p, r->file.pointer);
    r->text.count = 0;
    if (tt_nettrace_text(&p, &r->text) != 0 || !tt_vector_add(&r->text, 1))
        return no_memory(r);
    error = add(r, context, BYTES, bytes);
    error = error ?: add(r, context, ALLOCATIONS, 1);
    if (!error && r->text.count > 1)
        tt_builder_space(r->b, context, r->text.item, TT_NONE, 0, 1, bytes, 0);
    return error;
}

/* The event at the end of a wait has its duration, a double in ns. */
static int add_wait(struct reading *r, uint32_t context, struct tt_nettrace_payload p)
{
    const double most = 1e18;
    uint64_t bits;
    double ns;
    int error = add(r, context, CONTENTIONS, 1);

    (void)tt_nettrace_number(&p, 3); /* flags, and the number of the runtime */
    bits = tt_nettrace_number(&p, 8);
    memcpy(&ns, &bits, sizeof ns);
    return error || !(ns > 0 && ns < most) ? error : add(r, context, DELAY, (uint64_t)ns);
}

/* In ns, if they are ticks of the clock. */
static int add_weight(struct reading *r, uint32_t context, struct weighed *w,
                      const struct tt_nettrace_event *e, struct tt_nettrace_payload p)
{
    const unsigned __int128 ns = 1000000000, most = UINT64_MAX;
    unsigned __int128 weight = tt_nettrace_varied(&p);

    if (w->ticks)
        weight = weight * ns / w->ticks;
    if (weight > most || __builtin_add_overflow(w->total, (uint64_t)weight, &w->total))
        return tt_source_fail_at(r->s, r->file.at, TT_TOO_MUCH);
    tt_builder_add(r->b, TT_ROLE_SELF, context, w->metric, (uint64_t)weight);
    if (w->is_cpu)
        add_time(r, context, w->metric, e, (uint64_t)weight);
    r->has_weights |= weight != 0;
    return 0;
}

static int add_sample(struct reading *r, uint32_t context,
                      const struct tt_nettrace_event *e, int is_managed)
{
    if (is_managed)
        add_time(r, context, metric_of(r, SAMPLES), e, 1);
    return add(r, context, is_managed ? SAMPLES : EXTERNAL, 1);
}

static int add_event(struct reading *r, uint32_t what, const struct tt_nettrace_event *e)
{
    enum { IN_MANAGED_CODE = 2 };
    struct tt_nettrace_payload p = {e->payload, e->payload + e->size};
    const struct thread t = r->file.is_six
                                ? thread_of(r, e->thread)
                                : (struct thread){r->file.process, e->thread, 0};
    uint32_t context;
    int error = context_of(r, process_of(r, e), e->stack, &context);

    if (error)
        return error;
    if (tt_builder_strand(
            r->b, &(struct tt_strand_info){.pid = t.pid,
                                           .thread = t.id,
                                           .name = (const char *)r->names.item + t.name,
                                           .rank = TT_NONE,
                                           .members = 1}) == TT_NONE)
        return no_memory(r);
    if (what >= WEIGHED)
        return add_weight(r, context, (struct weighed *)r->weighed.item + what - WEIGHED,
                          e, p);
    if (what == SAMPLE)
        return add_sample(r, context, e, tt_nettrace_number(&p, 4) == IN_MANAGED_CODE);
    if (what == ALLOCATION)
        return add_allocation(r, context, p);
    return what == WAIT ? add_wait(r, context, p) : add(r, context, EXCEPTIONS, 1);
}

/* Numbers that are missing between two events of a thread are of events that were lost. */
static int count_lost(struct reading *r, uint64_t thread, uint32_t sequence, int is_event)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&r->threads, thread, r->thread_region, &is_new), *last,
             gap;

    is_new |= at && !*at; /* the number was given to another one */
    if (!at || (is_new && !tt_vector_add(&r->last, 1)))
        return no_memory(r);
    if (is_new)
        *at = (uint32_t)r->last.count;
    last = (uint32_t *)r->last.item + *at - 1;
    gap = is_new ? 0 : sequence - *last - (is_event ? 1 : 0);
    if (gap < UINT32_MAX / 2) /* or else it is an earlier one */
        r->lost += gap;
    if (is_new || gap < UINT32_MAX / 2)
        *last = sequence;
    return 0;
}

static int take_point(void *arg, uint64_t thread, uint32_t sequence)
{
    struct reading *r = arg;

    return r->is_second ? count_lost(r, thread, sequence, 0) : 0;
}

static int take_gone(void *arg, uint64_t thread, uint32_t sequence)
{
    struct reading *r = arg;
    int is_new, error = take_point(arg, thread, sequence);
    uint32_t *at = error || !r->is_second
                       ? NULL
                       : tt_pairs_get(&r->threads, thread, r->thread_region, &is_new);

    if (at)
        *at = 0;
    return error;
}

/* What describes code: 0, or -1 without memory. */
static int take_code(struct reading *r, uint32_t what, const struct tt_nettrace_event *e)
{
    struct tt_nettrace_payload p = {e->payload, e->payload + e->size};
    uint64_t pid = process_of(r, e);

    switch (what) {
    case METHOD:
        return tt_nettrace_add_method(&r->methods, pid, p);
    case MODULE:
        return tt_nettrace_add_module(&r->methods, pid, p);
    case MAPPING:
        return tt_nettrace_add_mapping(&r->spaces, pid, p);
    case SYMBOL:
        return tt_nettrace_add_symbol(&r->spaces, p);
    case ABOUT:
        return tt_nettrace_add_about(&r->spaces, p);
    default:
        return what == COMMAND ? take_command(r, p) : 0;
    }
}

static int take_event(void *arg, const struct tt_nettrace_event *e)
{
    struct reading *r = arg;
    struct tt_nettrace_payload p = {e->payload, e->payload + e->size};
    const uint32_t *kind = tt_pairs_find(&r->kinds, e->kind, r->kind_region);
    uint32_t what = kind ? *kind : NONE;
    int error;

    if (!e->kind)
        return r->is_second ? 0 : take_description(r, p);
    if (!r->is_second)
        return take_code(r, what, e) ? no_memory(r) : 0;
    error = count_lost(r, e->capturer, e->sequence, 1);
    if (error || what == NONE || (what > EXCEPTION && what < WEIGHED))
        return error;
    return add_event(r, what, e);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static void count(struct reading *r, const char *name, uint64_t number)
{
    if (number)
        tt_builder_fact(r->b, name, TT_FACT_SUM, number, "");
}

static int read_all(struct reading *r)
{
    const struct tt_nettrace_calls calls = {take_event,   take_stack, take_point,
                                            begin_region, describe,   take_thread,
                                            take_gone,    r};
    uint64_t all = 0;
    int error = tt_source_all(r->s, &r->file.bytes, &r->file.size);

    r->file.s = r->s;
    error = error ?: tt_nettrace_walk(&r->file, &calls);
    tt_nettrace_sort(&r->methods);
    tt_nettrace_sort_spaces(&r->spaces);
    r->is_second = 1;
    r->region = r->thread_region = r->kind_region = 0;
    error = error ?: tt_nettrace_walk(&r->file, &calls);
    if (error)
        return error;
    for (int i = 0; i < METRICS; i++)
        all += r->total[i] != 0;
    if (!all && !r->has_weights)
        return tt_source_fail(r->s, "this trace of .NET has no samples; record it by "
                                    "'dotnet-trace collect --profile cpu-sampling'");
    count(r, "lost.events", r->lost);
    count(r, "lost.nodes", r->unknown);
    count(r, "truncated stacks", r->truncated);
    count(r, "cut off", (uint64_t)r->file.is_cut);
    return 0;
}

static int read_nettrace(struct tt_source *s, struct tt_builder *b)
{
    struct reading r = {.s = s, .b = b};

    tt_nettrace_methods_init(&r.methods, s->memory);
    tt_nettrace_spaces_init(&r.spaces, s->memory);
    tt_pairs_init(&r.kinds, s->memory);
    tt_pairs_init(&r.numbers, s->memory);
    tt_pairs_init(&r.stacks, s->memory);
    tt_pairs_init(&r.contexts, s->memory);
    tt_pairs_init(&r.threads, s->memory);
    tt_vector_init(&r.stack, s->memory, sizeof(struct stack));
    tt_vector_init(&r.last, s->memory, sizeof(uint32_t));
    tt_vector_init(&r.text, s->memory, 1);
    tt_vector_init(&r.names, s->memory, 1);
    tt_vector_init(&r.weighed, s->memory, sizeof(struct weighed));
    tt_vector_init(&r.thread, s->memory, sizeof(struct thread));
    return tt_vector_add(&r.names, 1) ? read_all(&r) : tt_source_no_memory(s);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(tt_head_begins(head, size, "Nettrace"));
}

const struct tt_format tt_format_nettrace = {
    .name = "nettrace",
    .about = "samples, allocations and waits in traces of .NET",
    .flags = TT_FORMAT_NATIVE,
    .detect = detect,
    .read = read_nettrace,
};
