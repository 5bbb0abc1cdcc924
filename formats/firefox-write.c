/* SPDX-License-Identifier: MIT */
/* firefox-write.c - processed profiles of Firefox's profiler: writing.
 *
 * In version 41, which all front ends since 2022 upgrade: tables are the thread's own.  Blocks
 * are functions and frames; contexts but the root are stacks.  Sums are one thread; by
 * time each thread has what its samples need. */
#include "firefox-write.h"

#include "by-time.h"
#include "pairs.h"
#include "statistics.h"
#include "writers.h"

struct writing {
    const struct tt_profile *p;
    const struct tt_metric_columns *m;
    struct tt_writer *w;
    struct tt_pairs modules;         /* strings: their resources */
    struct tt_vector module;         /* uint32_t: strings, by resource */
    const uint32_t *parent;          /* of each context */
    struct tt_vector block, context; /* uint32_t: of each frame and stack of the thread */
    uint32_t *frame, *stack; /* owned: their numbers + 1; 0: the thread has none */
    int failed;
};

/* One frame for evicted contexts follows the frames of the blocks.  After the stacks of
 * contexts comes one of that frame for each context with evicted ones.  Strings are
 * numbered name, file, for each frame in turn. */
static uint32_t elsewhere(const struct writing *x) { return (uint32_t)x->block.count; }

static const struct tt_block_row *block_at(const struct writing *x, uint32_t row)
{
    return &x->p->block[((const uint32_t *)x->block.item)[row]];
}

static uint32_t context_at(const struct writing *x, uint32_t row)
{
    return ((const uint32_t *)x->context.item)[row];
}

static void put_repeated(struct tt_writer *w, const char *key, const char *value,
                         uint64_t count)
{
    tt_putf(w, ",\"%s\":[", key);
    for (uint64_t i = 0; i < count; i++) {
        if (i)
            tt_put_char(w, ',');
        tt_put(w, value);
    }
    tt_put_char(w, ']');
}

/* A column of numbers that a function gives; less than 0: null. */
typedef int64_t column_function(struct writing *, uint32_t row);

static void put_column(struct writing *x, const char *key, uint32_t rows,
                       column_function *of)
{
    tt_putf(x->w, ",\"%s\":[", key);
    for (uint32_t i = 0; i < rows && !x->w->error; i++) {
        int64_t n = of(x, i);
        if (i)
            tt_put_char(x->w, ',');
        if (n < 0)
            tt_put(x->w, "null");
        else
            tt_put_number(x->w, (uint64_t)n);
    }
    tt_put_char(x->w, ']');
}

static int64_t row_number(struct writing *x, uint32_t row)
{
    (void)x;
    return row;
}

static int64_t name_of(struct writing *x, uint32_t row)
{
    (void)x;
    return 2 * (int64_t)row;
}

static int64_t file_of(struct writing *x, uint32_t row)
{
    return row < elsewhere(x) && block_at(x, row)->file ? 2 * (int64_t)row + 1 : -1;
}

static int64_t line_of(struct writing *x, uint32_t row)
{
    return row < elsewhere(x) && block_at(x, row)->line ? (int64_t)block_at(x, row)->line
                                                        : -1;
}

/* Writes -1 for a missing resource. */
static void put_resources(struct writing *x, uint32_t rows)
{
    tt_put(x->w, ",\"resource\":[");
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t module = i < elsewhere(x) ? block_at(x, i)->module : 0;
        int is_new = 0;
        uint32_t *number = module ? tt_pairs_get(&x->modules, module, 0, &is_new) : NULL;
        if (number && is_new && tt_vector_push(&x->module, &module) == 0)
            *number = (uint32_t)x->module.count - 1;
        x->failed |= module && !number;
        tt_putf(x->w, i ? ",%d" : "%d", number ? (int)*number : -1);
    }
    tt_put_char(x->w, ']');
}

static void put_strings(struct writing *x)
{
    tt_put(x->w, ",\"stringArray\":[");
    for (uint32_t i = 0; i < elsewhere(x) && !x->w->error; i++) {
        const struct tt_block_row *block = block_at(x, i);
        tt_put_json(x->w, tt_profile_string(x->p, block->name));
        tt_put_char(x->w, ',');
        tt_put_json(x->w, tt_profile_string(x->p, block->file));
        tt_put(x->w, ",\n");
    }
    tt_put(x->w, "\"[elsewhere below]\",\"\"");
    for (size_t i = 0; i < x->module.count; i++) {
        tt_put_char(x->w, ',');
        tt_put_json(x->w, tt_profile_string(x->p, ((const uint32_t *)x->module.item)[i]));
    }
    tt_put_char(x->w, ']');
}

static void put_functions(struct writing *x)
{
    const uint32_t rows = elsewhere(x) + 1;
    uint32_t resources;

    tt_putf(x->w, ",\"funcTable\":{\"length\":%u", rows);
    put_column(x, "name", rows, name_of);
    put_column(x, "fileName", rows, file_of);
    put_column(x, "lineNumber", rows, line_of);
    put_resources(x, rows);
    put_repeated(x->w, "columnNumber", "null", rows);
    put_repeated(x->w, "isJS", "false", rows);
    put_repeated(x->w, "relevantForJS", "false", rows);
    resources = (uint32_t)x->module.count;
    tt_putf(x->w, "},\"resourceTable\":{\"length\":%u,\"name\":[", resources);
    for (uint32_t i = 0; i < resources; i++)
        tt_putf(x->w, i ? ",%u" : "%u", 2 * rows + i);
    tt_put_char(x->w, ']');
    put_repeated(x->w, "lib", "null", resources);
    put_repeated(x->w, "host", "null", resources);
    put_repeated(x->w, "type", "1", resources);
    tt_putf(x->w, "},\"frameTable\":{\"length\":%u", rows);
    put_column(x, "func", rows, row_number);
    put_column(x, "line", rows, line_of);
    put_repeated(x->w, "address", "-1", rows);
    put_repeated(x->w, "inlineDepth", "0", rows);
    put_repeated(x->w, "category", "0", rows);
    put_repeated(x->w, "subcategory", "0", rows);
    put_repeated(x->w, "nativeSymbol", "null", rows);
    put_repeated(x->w, "innerWindowID", "0", rows);
    put_repeated(x->w, "implementation", "null", rows);
    put_repeated(x->w, "column", "null", rows);
    put_repeated(x->w, "optimizations", "null", rows);
    tt_put_char(x->w, '}');
}

/* ── Stacks and samples ───────────────────────────────────────────────────────────── */

static int64_t frame_of(struct writing *x, uint32_t row)
{
    return (int64_t)x->frame[tt_block_of(x->p, context_at(x, row))] - 1;
}

static int64_t prefix_of(struct writing *x, uint32_t row)
{
    return (int64_t)x->stack[x->parent[context_at(x, row)]] - 1;
}

static void number(struct writing *x, struct tt_vector *list, uint32_t *numbers,
                   uint32_t what)
{
    if (numbers[what])
        return;
    if (tt_vector_push(list, &what) == 0)
        numbers[what] = (uint32_t)list->count;
    else
        x->failed = 1;
}

static void number_context(struct writing *x, uint32_t context)
{
    number(x, &x->block, x->frame, tt_block_of(x->p, context));
    number(x, &x->context, x->stack, context);
}

static void put_below(struct writing *x, uint32_t stacks)
{
    for (uint32_t c = 0, any = stacks; c < x->p->contexts; c++)
        if (tt_elsewhere_of(x->m, c))
            tt_putf(x->w, c ? "%s%u" : "%snull", any++ ? "," : "", c - 1);
}

/* `elsewhere_below`: a stack follows for each context that has something below it. */
static void put_stacks(struct writing *x, int elsewhere_below)
{
    const uint32_t stacks = (uint32_t)x->context.count;
    uint32_t below = 0;

    for (uint32_t c = 0; elsewhere_below && c < x->p->contexts; c++)
        below += tt_elsewhere_of(x->m, c) != 0;
    tt_putf(x->w, ",\"stackTable\":{\"length\":%u", stacks + below);
    tt_put(x->w, ",\"frame\":[");
    for (uint32_t i = 0; i < stacks + below && !x->w->error; i++) {
        if (i)
            tt_put_char(x->w, ',');
        tt_put_number(x->w, i < stacks ? (uint64_t)frame_of(x, i) : elsewhere(x));
    }
    tt_put(x->w, "],\"prefix\":[");
    for (uint32_t i = 0; i < stacks && !x->w->error; i++)
        tt_putf(x->w, prefix_of(x, i) < 0 ? "%snull" : "%s%lld", i ? "," : "",
                (long long)prefix_of(x, i));
    if (elsewhere_below)
        put_below(x, stacks);
    tt_put_char(x->w, ']');
    put_repeated(x->w, "category", "0", stacks + below);
    put_repeated(x->w, "subcategory", "0", stacks + below);
    tt_put_char(x->w, '}');
}

enum what { STACK, WEIGHT, TIME, RAN /* since the sample before */ };

static int is_time(const struct tt_metric_columns *m)
{
    return strcmp(m->unit, "ns") == 0;
}

static void put_ms(struct tt_writer *w, uint64_t ns)
{
    tt_putf(w, "%llu.%06u", (unsigned long long)(ns / 1000000), (unsigned)(ns % 1000000));
}

static void put_one(struct writing *x, enum what what, int64_t stack, uint64_t weight,
                    uint64_t *rows)
{
    if (!weight)
        return;
    if ((*rows)++)
        tt_put_char(x->w, ',');
    if (what == TIME)
        tt_put_number(x->w, *rows - 1);
    else if (what == WEIGHT && is_time(x->m))
        put_ms(x->w, weight);
    else if (what == WEIGHT)
        tt_put_figure(x->w, x->m, weight);
    else
        tt_putf(x->w, stack < 0 ? "null" : "%lld", (long long)stack);
}

/* A sample for each context with self cost, in the order of the tree. */
static uint64_t put_samples(struct writing *x, enum what what)
{
    const uint32_t stacks = x->p->contexts - 1;
    uint64_t rows = 0;
    uint32_t below = 0;

    for (uint32_t c = 0; c < x->p->contexts && !x->w->error; c++)
        put_one(x, what, (int64_t)c - 1, tt_self_of(x->m, c), &rows);
    for (uint32_t c = 0; c < x->p->contexts && !x->w->error; c++)
        if (tt_elsewhere_of(x->m, c))
            put_one(x, what, (int64_t)stacks + below++, tt_elsewhere_of(x->m, c), &rows);
    return rows;
}

static void put_sample_table(struct writing *x)
{
    uint64_t rows;

    tt_put(x->w, ",\"samples\":{\"stack\":[");
    rows = put_samples(x, STACK);
    tt_put(x->w, "],\"weight\":[");
    (void)put_samples(x, WEIGHT);
    tt_put(x->w, "],\"time\":[");
    (void)put_samples(x, TIME);
    tt_putf(x->w, "],\"length\":%llu,\"weightType\":\"%s\"}", (unsigned long long)rows,
            strcmp(x->m->unit, "bytes") == 0 ? "bytes"
            : is_time(x->m)                  ? "tracing-ms"
                                             : "samples");
}

static void put_head(struct writing *x, const char *name, const char *process,
                     uint64_t pid, uint64_t thread)
{
    tt_put(x->w, "{\"name\":");
    tt_put_json(x->w, name);
    tt_put(x->w, ",\"processType\":\"default\",\"processName\":");
    tt_put_json(x->w, process);
    tt_putf(x->w,
            ",\"pid\":%llu,\"tid\":%llu,\"processStartupTime\":0,\"processShutdownTime\":"
            "null,\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[]",
            (unsigned long long)pid, (unsigned long long)thread);
}

static void put_tail(struct writing *x)
{
    put_strings(x);
    tt_put(x->w,
           ",\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[]},"
           "\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],"
           "\"name\":[],"
           "\"phase\":[],\"startTime\":[]}}");
}

/* The main thread of a process has this name. */
#define MAIN_THREAD "GeckoMain"

static void put_sums(struct writing *x)
{
    for (uint32_t b = 0; b < x->p->blocks; b++)
        number(x, &x->block, x->frame, b);
    for (uint32_t c = 1; c < x->p->contexts; c++)
        number_context(x, c);
    if (x->failed)
        return;
    put_head(x, MAIN_THREAD, x->m->name, 1, 1);
    put_functions(x);
    put_stacks(x, 1);
    put_sample_table(x);
    put_tail(x);
}

/* ── By time ──────────────────────────────────────────────────────────────────────── */

/* Numbers a context and those around it, parents first. */
static void number_path(struct writing *x, struct tt_by_time *t, uint32_t context)
{
    t->path.count = 0;
    for (; context && !x->stack[context] && !x->failed; context = x->parent[context])
        x->failed |= tt_vector_push(&t->path, &context) != 0;
    while (t->path.count)
        number_context(x, ((const uint32_t *)t->path.item)[--t->path.count]);
}

static void number_stretches(struct writing *x, struct tt_by_time *t,
                             const struct tt_lane *lane)
{
    const struct tt_stretch *s = t->lanes.stretch.item;

    for (size_t i = lane->first; i < lane->end && !x->failed; i++)
        number_path(x, t, s[i].context);
}

/* A sample begins each stretch, and one without a stack each gap. */
static void put_stretch(struct writing *x, enum what what, const struct tt_stretch *s,
                        uint64_t at, uint64_t ran_before, uint64_t *rows)
{
    const uint32_t stack = s ? x->stack[s->context] : 0;
    const uint64_t length = s ? s->to - s->from : 0, ns = what == TIME ? at : length;

    if ((*rows)++)
        tt_put_char(x->w, ',');
    if (what == STACK)
        tt_putf(x->w, stack ? "%u" : "null", stack - 1);
    else if (what == RAN)
        tt_put_number(x->w, ran_before);
    else
        put_ms(x->w, ns);
}

static uint64_t put_stretches(struct writing *x, const struct tt_by_time *t,
                              const struct tt_lane *lane, enum what what)
{
    const struct tt_stretch *s = t->lanes.stretch.item;
    uint64_t rows = 0, ran = 0;

    for (size_t i = lane->first; i < lane->end && !x->w->error; i++) {
        put_stretch(x, what, &s[i], s[i].from - t->start, ran, &rows);
        ran = s[i].wait ? 0 : s[i].to - s[i].from;
        if (i + 1 < lane->end && s[i + 1].from == s[i].to)
            continue;
        put_stretch(x, what, NULL, s[i].to - t->start, ran, &rows);
        ran = 0;
    }
    return rows;
}

static void forget_thread(struct writing *x)
{
    for (size_t i = 0; i < x->block.count; i++)
        x->frame[((const uint32_t *)x->block.item)[i]] = 0;
    for (size_t i = 0; i < x->context.count; i++)
        x->stack[context_at(x, (uint32_t)i)] = 0;
    tt_pairs_fini(&x->modules);
    tt_pairs_init(&x->modules, x->p->memory);
    x->block.count = x->context.count = x->module.count = 0;
}

static void put_thread(struct writing *x, struct tt_by_time *t, uint32_t strand,
                       int is_main)
{
    const struct tt_lane *lane = &t->lanes.lane[strand];
    const struct tt_strand_row *s = &x->p->strand[strand];
    uint64_t rows;

    number_stretches(x, t, lane);
    if (x->failed)
        return;
    put_head(x, is_main ? MAIN_THREAD : x->p->strings + s->name,
             x->p->strings + s->process, s->pid, s->thread);
    put_functions(x);
    put_stacks(x, 0);
    tt_put(x->w, ",\"samples\":{\"stack\":[");
    rows = put_stretches(x, t, lane, STACK);
    tt_put(x->w, "],\"weight\":[");
    (void)put_stretches(x, t, lane, WEIGHT);
    tt_put(x->w, "],\"time\":[");
    (void)put_stretches(x, t, lane, TIME);
    tt_put(x->w, "],\"threadCPUDelta\":[");
    (void)put_stretches(x, t, lane, RAN);
    tt_putf(x->w, "],\"length\":%llu,\"weightType\":\"tracing-ms\"}",
            (unsigned long long)rows);
    put_tail(x);
    forget_thread(x);
}

static void put_threads(struct writing *x, struct tt_by_time *t)
{
    uint32_t last = TT_NONE;

    for (uint32_t i = 0; i < x->p->strands && !x->failed && !x->w->error; i++) {
        if (!tt_by_time_has(t, i))
            continue;
        tt_put(x->w, last == TT_NONE ? "" : ",\n");
        put_thread(x, t, i, last == TT_NONE || !tt_is_one_process(x->p, last, i));
        last = i;
    }
}

/* ── All ──────────────────────────────────────────────────────────────────────────── */

static void put_all(struct writing *x, struct tt_by_time *t)
{
    const char *program = tt_profile_program(x->p);

    tt_put(
        x->w,
        "{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":41,"
        "\"interval\":1,\"processType\":0,\"stackwalk\":1,\"debug\":false,"
        "\"symbolicated\":true,\"markerSchema\":[],\"categories\":[{\"name\":\"Other\","
        "\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"product\":");
    tt_put_json(x->w, program && *program ? program : "tallytree");
    tt_putf(x->w, ",\"startTime\":%llu",
            (unsigned long long)(tt_fact_number(x->p, "started") / 1000000));
    if (t)
        tt_put(x->w, ",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
                     "\"threadCPUDelta\":\"ns\"}");
    tt_put(x->w, "},\"libs\":[],\"pages\":[],\"counters\":[],\n\"threads\":[");
    if (t)
        put_threads(x, t);
    else
        put_sums(x);
    tt_put(x->w, "]}\n");
}

static int write(struct writing *x, const struct tt_export *e, struct tt_by_time *t)
{
    const struct tt_profile *p = e->profile;

    tt_pairs_init(&x->modules, p->memory);
    tt_vector_init(&x->module, p->memory, sizeof(uint32_t));
    tt_vector_init(&x->block, p->memory, sizeof(uint32_t));
    tt_vector_init(&x->context, p->memory, sizeof(uint32_t));
    x->frame = tt_memory_get(p->memory, p->blocks * sizeof *x->frame);
    x->stack = tt_memory_get(p->memory, p->contexts * sizeof *x->stack);
    x->failed = !x->frame || !x->stack;
    if (!x->failed)
        put_all(x, t);
    tt_memory_put(p->memory, x->stack);
    tt_memory_put(p->memory, x->frame);
    tt_vector_fini(&x->context);
    tt_vector_fini(&x->block);
    tt_vector_fini(&x->module);
    tt_pairs_fini(&x->modules);
    return x->failed ? -TT_ERR_MEMORY : 0;
}

static int write_by_time(struct tt_export *e, struct tt_writer *w)
{
    struct tt_by_time t;
    struct writing x = {.p = e->profile, .w = w};
    int error = tt_by_time_init(&t, e);

    x.parent = t.parent;
    error = error ?: write(&x, e, &t);
    tt_by_time_fini(&t);
    return error;
}

int tt_firefox_write(struct tt_export *e, struct tt_writer *w)
{
    const uint32_t metric = tt_export_metric(e);
    struct writing x = {.p = e->profile, .w = w};
    uint32_t *parent;
    int error;

    if (e->by_time)
        return write_by_time(e, w);
    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    x.m = &x.p->metric[metric];
    x.parent = parent = tt_parents_of(x.p);
    error = parent ? write(&x, e, NULL) : -TT_ERR_MEMORY;
    tt_memory_put(x.p->memory, parent);
    return error;
}
