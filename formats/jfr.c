/* SPDX-License-Identifier: MIT */
/* jfr.c - recordings of Java's Flight Recorder and of async-profiler: reading.
 *
 * For each kind of event with a stack, one metric is their number, and another is the sum
 * of their bytes or durations.  Stacks, threads, methods and classes are constants of the
 * chunk; each stack becomes a context once. */
#include "jfr-chunk.h"

#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "samples.h"

enum weight {
    NO_WEIGHT,
    TICKS,
    BYTES,
    NUMBER
}; /* NUMBER: the event counts for that
                                                    many */

static const struct kind {
    const char *event, *count, *amount; /* metrics */
    const char *field;                  /* what it adds up */
    enum weight weight;
    enum { EVENT, SAMPLE, LIVE } what; /* SAMPLE: has a place in time */
} kinds[] = {
    {"jdk.ExecutionSample", "samples", NULL, NULL, NO_WEIGHT, SAMPLE},
    {"jdk.NativeMethodSample", "native samples", NULL, NULL, NO_WEIGHT, EVENT},
    {"jdk.CPUTimeSample", "CPU-time samples", NULL, NULL, NO_WEIGHT, SAMPLE},
    {"profiler.WallClockSample", "wall samples", NULL, "samples", NUMBER, SAMPLE},
    {"jdk.ObjectAllocationSample", "allocation samples", "bytes", "weight", BYTES, EVENT},
    {"jdk.ObjectAllocationInNewTLAB", "TLABs", "TLAB bytes", "tlabSize", BYTES, EVENT},
    {"jdk.ObjectAllocationOutsideTLAB", "allocations outside TLABs",
     "bytes outside TLABs", "allocationSize", BYTES, EVENT},
    {"profiler.LiveObject", "live number", "live bytes", "allocationSize", BYTES, LIVE},
    {"profiler.Malloc", "mallocs", "malloc bytes", "size", BYTES, EVENT},
    {"jdk.JavaMonitorEnter", "contentions", "delay", "duration", TICKS, EVENT},
    {"jdk.JavaMonitorWait", "waits", "wait time", "duration", TICKS, EVENT},
    {"jdk.ThreadPark", "parks", "park time", "duration", TICKS, EVENT},
    {"jdk.ThreadSleep", "sleeps", "sleep time", "duration", TICKS, EVENT},
    {"jdk.SocketRead", "socket reads", "socket read time", "duration", TICKS, EVENT},
    {"jdk.SocketWrite", "socket writes", "socket write time", "duration", TICKS, EVENT},
    {"jdk.FileRead", "file reads", "file read time", "duration", TICKS, EVENT},
    {"jdk.FileWrite", "file writes", "file write time", "duration", TICKS, EVENT},
    {"jdk.FileForce", "file syncs", "file sync time", "duration", TICKS, EVENT},
    {"jdk.JavaExceptionThrow", "exceptions", NULL, NULL, NO_WEIGHT, EVENT},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct reading {
    struct tt_jfr j;
    struct tt_builder *b;
    struct tt_pairs methods, stacks; /* of the chunk, by key: block + 1, context + 1 */
    struct tt_vector block;          /* uint32_t: of a stack, leaf first */
    struct tt_vector kind_of;        /* unsigned char: of each class: kind + 1 */
    uint64_t seen[KINDS], sum[2][KINDS], truncated;
    uint32_t metric[2][KINDS];
    uint64_t thread; /* the key of the strand that is current; 0: none */
    char text[1 << 12];
};

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

/* Copies a name, cut to the size of the buffer. */
static int copy_text(struct reading *r, struct tt_jfr_place from, char *to, size_t size)
{
    const char *text;
    int error = tt_jfr_text(&r->j, from, &text);

    (void)snprintf(to, size, "%s", text ? text : "");
    return error;
}

/* Takes off the address in names of hidden classes, such as those of lambdas:
 * "A$$Lambda$8+0x7f/36", "A$$Lambda/0x7f", "A$$Lambda$8.0x7f" of async-profiler, or
 * "A$$Lambda$8/36" before Java 15. */
static void make_dots(char *name)
{
    char *place = strstr(name, "0x"), *slash = strrchr(name, '/');

    if (place && place > name && strchr("+/.", place[-1]))
        place[-1] = '\0';
    else if (slash && slash[1] && !slash[1 + strspn(slash + 1, "0123456789")])
        *slash = '\0';
    for (; *name; name++)
        if (*name == '/')
            *name = '.';
}

/* Native methods of Java have a class, "java/lang/Class"; for native code, async-profiler
 * writes a file there, or nothing. */
static int is_library(const char *class)
{
    return !*class || *class == '/' || *class == '[' || strchr(class, '.');
}

static int is_native(const char *kind)
{
    return kind && (strcmp(kind, "Native") == 0 || strcmp(kind, "C++") == 0 ||
                    strcmp(kind, "Kernel") == 0);
}

/* "java.lang.String.charAt", or a function of a library. */
static int make_block(struct reading *r, struct tt_jfr_place frame, uint32_t *block)
{
    struct tt_jfr_place method, class, name;
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    const char *kind;
    size_t length = 0;
    int error = tt_jfr_get(&r->j, frame, "type", &name), native = 0;

    error = error ?: tt_jfr_text(&r->j, name, &kind);
    if (!error && (native = is_native(kind)) && *kind == 'K')
        info.module = "[kernel]";
    error = error ?: tt_jfr_get(&r->j, frame, "method", &method);
    error = error ?: tt_jfr_get(&r->j, method, "type", &class);
    error = error ?: tt_jfr_get(&r->j, class, "name", &name);
    error = error ?: copy_text(r, name, r->text, sizeof r->text / 2);
    if (error)
        return error;
    native = native && is_library(r->text);
    if (!native)
        make_dots(r->text);
    else if (!info.module)
        info.module = r->text;
    length = strlen(r->text);
    if (length)
        r->text[length++] = native ? '\0' : '.';
    info.name = native ? r->text + length : r->text;
    error = tt_jfr_get(&r->j, method, "name", &name);
    error = error ?: copy_text(r, name, r->text + length, sizeof r->text - length);
    if (!r->text[length])
        (void)snprintf(r->text + length, sizeof r->text - length, "(unknown)");
    if (native && !length) /* there is no library; the name is in its place */
        info.module = info.module == r->text ? NULL : info.module;
    *block = tt_builder_block(r->b, &info);
    return error;
}

static int block_of(struct reading *r, struct tt_jfr_place frame, uint32_t *block)
{
    uint64_t method, type;
    uint32_t *known;
    int error = tt_jfr_key(&r->j, frame, "method", &method), is_new;

    error = error ?: tt_jfr_key(&r->j, frame, "type", &type);
    if (error)
        return error;
    known = tt_pairs_get(&r->methods, method, type, &is_new);
    if (!known)
        return tt_source_no_memory(r->j.s);
    if (is_new) {
        error = make_block(r, frame, block);
        *known = *block + 1;
    }
    *block = *known - 1;
    return error;
}

/* Frames are an array, leaf first. */
static int read_frames(struct reading *r, struct tt_jfr_place stack)
{
    const struct tt_jfr_field *f;
    struct tt_jfr_place frames, frame;
    uint64_t count;
    int error = tt_jfr_get(&r->j, stack, "frames", &frames);

    r->block.count = 0;
    if (error || frames.class == TT_NONE)
        return error;
    f = r->j.field.item;
    error = tt_jfr_number(&r->j, &frames.at, &count);
    frame = frames;
    for (; !error && count; count--) {
        const struct tt_jfr_class *c = tt_jfr_class(&r->j, frame.class);
        uint32_t *to = tt_vector_add(&r->block, 1);
        size_t before = frame.at;
        if (!to)
            return tt_source_no_memory(r->j.s);
        error = block_of(r, frame, to);
        for (size_t i = 0; !error && i < c->fields; i++)
            error = tt_jfr_skip(&r->j, f + c->first + i, &frame.at);
        if (!error && frame.at == before)
            return tt_jfr_wrong(&r->j, before, "frames have nothing in them");
    }
    return error;
}

static int make_context(struct reading *r, struct tt_jfr_place stack, uint32_t *context)
{
    static const struct tt_block_info unknown = {.name = "(unknown callers)",
                                                 .kind = TT_KIND_FUNCTION};
    struct tt_jfr_place cut;
    int error = tt_jfr_get(&r->j, stack, "truncated", &cut);

    *context = TT_BUILDER_ROOT;
    error = error ?: read_frames(r, stack);
    if (!error && cut.class != TT_NONE && cut.at < r->j.size && r->j.bytes[cut.at]) {
        r->truncated++;
        *context = tt_builder_context(r->b, *context, tt_builder_block(r->b, &unknown));
    }
    for (size_t i = r->block.count; !error && i--;)
        *context = tt_builder_context(r->b, *context,
                                      ((const uint32_t *)r->block.item)[i]);
    return error;
}

static int context_of(struct reading *r, const struct tt_jfr_field *f, size_t at,
                      uint32_t *context)
{
    struct tt_jfr_place stack;
    uint32_t *known;
    uint64_t key = 0;
    int is_new, error = f->is_constant ? tt_jfr_number(&r->j, &(size_t){at}, &key) : 0;

    *context = TT_BUILDER_ROOT;
    if (error || !key)
        return error;
    known = tt_pairs_get(&r->stacks, key, f->class_id, &is_new);
    if (!known)
        return tt_source_no_memory(r->j.s);
    if (is_new) {
        error = tt_jfr_follow(&r->j, f, at, &stack);
        error = error ?: make_context(r, stack, context);
        *known = *context + 1;
    }
    *context = *known - 1;
    return error;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static int switch_thread(struct reading *r, const struct tt_jfr_field *f, size_t at)
{
    struct tt_strand_info info = {.rank = TT_NONE, .members = 1};
    struct tt_jfr_place thread, name;
    uint64_t key = 0;
    int error = f->is_constant ? tt_jfr_number(&r->j, &(size_t){at}, &key) : 0;

    if (error || (key && key == r->thread))
        return error;
    r->thread = key;
    error = tt_jfr_follow(&r->j, f, at, &thread);
    if (!error && thread.class == TT_NONE) {
        tt_builder_no_strand(r->b);
        return 0;
    }
    error = error ?: tt_jfr_get(&r->j, thread, "osThreadId", &name);
    if (!error && name.class != TT_NONE)
        error = tt_jfr_number(&r->j, &name.at, &info.thread);
    error = error ?: tt_jfr_get(&r->j, thread, "javaName", &name);
    error = error ?: copy_text(r, name, r->text, sizeof r->text);
    if (!error && !r->text[0]) {
        error = tt_jfr_get(&r->j, thread, "osName", &name);
        error = error ?: copy_text(r, name, r->text, sizeof r->text);
    }
    info.host = info.process = info.node = "";
    info.name = r->text;
    (void)tt_builder_strand(r->b, &info);
    return error;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* The fields of an event that are used. */
struct event {
    const struct tt_jfr_field *stack, *thread, *class;
    size_t stack_at, thread_at, class_at;
    uint64_t amount, ticks; /* ticks: when it began */
};

static int is_number(const struct tt_jfr *j, const struct tt_jfr_field *f)
{
    return !f->is_constant && !f->is_array && f->class != TT_NONE &&
           (strcmp(tt_jfr_class(j, f->class)->name, "long") == 0 ||
            strcmp(tt_jfr_class(j, f->class)->name, "int") == 0);
}

static int read_event(struct reading *r, uint32_t class, const struct kind *k, size_t at,
                      struct event *e)
{
    const struct tt_jfr_class *c = tt_jfr_class(&r->j, class);
    int error = 0;

    *e = (struct event){0};
    for (size_t i = 0; !error && i < c->fields; i++) {
        const struct tt_jfr_field *f = (struct tt_jfr_field *)r->j.field.item + c->first +
                                       i;
        const char *name = tt_jfr_field_name(&r->j, f);
        size_t here = at;
        error = tt_jfr_skip(&r->j, f, &at);
        if (error)
            return error;
        if (strcmp(name, "stackTrace") == 0)
            e->stack = f, e->stack_at = here;
        else if (strcmp(name, "eventThread") == 0 || strcmp(name, "sampledThread") == 0)
            e->thread = f, e->thread_at = here;
        else if (strcmp(name, "objectClass") == 0)
            e->class = f, e->class_at = here;
        else if (strcmp(name, "startTime") == 0 && is_number(&r->j, f))
            error = tt_jfr_number(&r->j, &here, &e->ticks);
        else if (k->field && strcmp(name, k->field) == 0 && is_number(&r->j, f))
            error = tt_jfr_number(&r->j, &here, &e->amount);
    }
    return error;
}

static int add(struct reading *r, int which, size_t kind, uint32_t context, uint64_t n)
{
    uint64_t *sum = &r->sum[which][kind];

    if (__builtin_add_overflow(*sum, n, sum))
        return tt_source_fail_at(r->j.s, r->j.start, TT_TOO_MUCH);
    if (n)
        tt_builder_add(r->b, TT_ROLE_SELF, context, r->metric[which][kind], n);
    return 0;
}

/* Turns "[B" and "java/lang/String" into the form of Java's sources: "byte[]". */
static void make_type(char *text, size_t size)
{
    static const struct {
        char letter;
        const char *name;
    } primitives[] = {{'B', "byte"}, {'C', "char"}, {'D', "double"}, {'F', "float"},
                      {'I', "int"},  {'J', "long"}, {'S', "short"},  {'Z', "boolean"}};
    size_t arrays = strspn(text, "["), length = strlen(text);
    char name[sizeof((struct reading *)0)->text];

    make_dots(text);
    if (!arrays)
        return;
    (void)snprintf(name, sizeof name, "%s", text + arrays);
    length -= arrays;
    for (size_t i = 0; length == 1 && i < sizeof primitives / sizeof *primitives; i++)
        if (name[0] == primitives[i].letter)
            (void)snprintf(name, sizeof name, "%s", primitives[i].name);
    if (name[0] == 'L' && name[length - 1] == ';') {
        name[length - 1] = '\0';
        memmove(name, name + 1, length - 1);
    }
    (void)snprintf(text, size, "%s", name);
    for (; arrays && strlen(text) + 3 < size; arrays--)
        strcat(text, "[]"); /* NOLINT: there is room */
}

static int add_space(struct reading *r, const struct event *e, uint32_t context)
{
    struct tt_jfr_place class, name;
    int error = tt_jfr_follow(&r->j, e->class, e->class_at, &class);

    error = error ?: tt_jfr_get(&r->j, class, "name", &name);
    error = error ?: copy_text(r, name, r->text, sizeof r->text);
    if (error || !r->text[0])
        return error;
    make_type(r->text, sizeof r->text);
    tt_builder_space(r->b, context, r->text, TT_NONE, 0, 1, e->amount, 0);
    return 0;
}

static int take_event(struct reading *r, uint32_t class, size_t kind, size_t at)
{
    const struct kind *k = &kinds[kind];
    uint32_t context = TT_BUILDER_ROOT;
    struct event e;
    int error = read_event(r, class, k, at, &e);

    if (!error && e.thread)
        error = switch_thread(r, e.thread, e.thread_at);
    if (!error && e.stack)
        error = context_of(r, e.stack, e.stack_at, &context);
    if (!error && context == TT_NONE)
        return tt_source_no_memory(r->j.s);
    if (!error && k->weight == BYTES && k->what != LIVE && e.class)
        error = add_space(r, &e, context);
    if (k->weight == TICKS) {
        __uint128_t ns = (__uint128_t)e.amount * 1000000000 / r->j.clock.rate;
        e.amount = ns < INT64_MAX ? (uint64_t)ns : 0; /* it has no duration */
    }
    if (!error && k->what == SAMPLE)
        tt_builder_sample(r->b, r->metric[0][kind], context,
                          tt_ticks_time(&r->j.clock, e.ticks),
                          k->weight == NUMBER ? e.amount : 1, 0);
    error = error ?: add(r, 0, kind, context, k->weight == NUMBER ? e.amount : 1);
    return error || !k->amount ? error : add(r, 1, kind, context, e.amount);
}

/* ── Chunks ───────────────────────────────────────────────────────────────────────── */

static int find_kinds(struct reading *r)
{
    const struct tt_jfr_class *c = r->j.class.item;
    unsigned char *kind;

    r->kind_of.count = 0;
    kind = r->j.class.count ? tt_vector_add(&r->kind_of, r->j.class.count) : NULL;
    if (r->j.class.count && !kind)
        return tt_source_no_memory(r->j.s);
    for (size_t i = 0; i < r->j.class.count; i++) {
        kind[i] = 0;
        for (size_t k = 0; k < KINDS; k++)
            if (strcmp(c[i].name, kinds[k].event) == 0)
                kind[i] = (unsigned char)(k + 1);
    }
    return 0;
}

static void make_metrics(struct reading *r, size_t kind)
{
    const struct kind *k = &kinds[kind];
    const char *unit = k->weight == TICKS ? "ns" : "bytes";
    uint32_t flags = k->weight == BYTES ? TT_METRIC_SPACE : 0;

    if (r->seen[kind]++)
        return;
    if (k->what == LIVE)
        flags |= TT_METRIC_PEAK;
    r->metric[0][kind] = tt_builder_metric(r->b, k->count, "",
                                           k->what == LIVE ? TT_METRIC_PEAK : 0);
    if (k->amount)
        r->metric[1][kind] = tt_builder_metric(r->b, k->amount, unit, flags);
}

/* The events have been walked once before, to check that each fits in the chunk. */
static int read_events(struct reading *r)
{
    enum { HEAD = 68 };
    const unsigned char *kind = r->kind_of.item;
    uint64_t size, type;
    int error = 0;

    for (size_t at = HEAD, start = at; !error && at < r->j.size; start = at) {
        uint32_t class;
        error = tt_jfr_number(&r->j, &at, &size);
        error = error ?: tt_jfr_number(&r->j, &at, &type);
        class = error ? TT_NONE : tt_jfr_class_of(&r->j, type);
        if (class != TT_NONE && kind[class]) {
            make_metrics(r, kind[class] - 1u);
            error = take_event(r, class, kind[class] - 1u, at);
        }
        at = start + (size_t)size;
    }
    return error;
}

static int read_chunks(struct reading *r)
{
    int error;

    while ((error = tt_jfr_chunk(&r->j)) > 0) {
        r->thread = 0;
        tt_pairs_fini(&r->methods);
        tt_pairs_fini(&r->stacks);
        tt_pairs_init(&r->methods, r->j.s->memory);
        tt_pairs_init(&r->stacks, r->j.s->memory);
        error = find_kinds(r);
        error = error ?: read_events(r);
        if (error)
            break;
    }
    if (!error && r->truncated)
        tt_builder_fact(r->b, "truncated stacks", TT_FACT_SUM, r->truncated, "");
    return error;
}

static int read_jfr(struct tt_source *s, struct tt_builder *b)
{
    struct reading *r = tt_memory_get(s->memory, sizeof *r);

    if (!r)
        return tt_source_no_memory(s);
    *r = (struct reading){.b = b};
    tt_jfr_init(&r->j, s);
    tt_pairs_init(&r->methods, s->memory);
    tt_pairs_init(&r->stacks, s->memory);
    tt_vector_init(&r->block, s->memory, sizeof(uint32_t));
    tt_vector_init(&r->kind_of, s->memory, 1);
    return read_chunks(r);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= 4 && memcmp(head, "FLR\0", 4) == 0);
}

const struct tt_format tt_format_jfr = {
    .name = "jfr",
    .about = "recordings of Java's Flight Recorder and of async-profiler",
    .detect = detect,
    .read = read_jfr,
};
