/* SPDX-License-Identifier: MIT */
/* firefox-write.c - processed profiles of Firefox's profiler: writing.
 *
 * In version 41, which all front ends since 2022 upgrade: tables are the thread's own.  Blocks
 * are functions and frames, by their numbers; contexts but the root are stacks. */
#include "firefox.h"

#include "pairs.h"

struct writing {
    const struct tt_profile *p;
    const struct tt_metric_columns *m;
    struct tt_writer *w;
    struct tt_pairs modules; /* strings: their resources */
    struct tt_vector module; /* uint32_t: strings, by resource */
    uint32_t *parent;        /* owned; of each context */
    int failed;
};

/* One frame for evicted contexts follows the frames of the blocks.  After the stacks of
 * contexts comes one of that frame for each context with evicted ones.  Strings are
 * numbered name, file, for each block in turn. */
static uint32_t elsewhere(const struct writing *x) { return x->p->blocks; }

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
    return row < x->p->blocks && x->p->block[row].file ? 2 * (int64_t)row + 1 : -1;
}

static int64_t line_of(struct writing *x, uint32_t row)
{
    return row < x->p->blocks && x->p->block[row].line ? (int64_t)x->p->block[row].line
                                                       : -1;
}

/* Writes -1 for a missing resource. */
static void put_resources(struct writing *x, uint32_t rows)
{
    tt_put(x->w, ",\"resource\":[");
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t module = i < x->p->blocks ? x->p->block[i].module : 0, *at;
        int is_new = 0;
        uint32_t *number = module ? tt_pairs_get(&x->modules, module, 0, &is_new) : NULL;
        if (number && is_new && (at = tt_vector_add(&x->module, 1))) {
            *at = module;
            *number = (uint32_t)x->module.count - 1;
        }
        x->failed |= module && !number;
        tt_putf(x->w, i ? ",%d" : "%d", number ? (int)*number : -1);
    }
    tt_put_char(x->w, ']');
}

static void put_strings(struct writing *x)
{
    tt_put(x->w, ",\"stringArray\":[");
    for (uint32_t b = 0; b < x->p->blocks; b++) {
        tt_put(x->w, b ? ",\n" : "\n");
        tt_put_json(x->w, tt_block_name(x->p, b));
        tt_put_char(x->w, ',');
        tt_put_json(x->w, tt_profile_string(x->p, x->p->block[b].file));
    }
    tt_put(x->w, ",\n\"[elsewhere below]\",\"\"");
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
    return tt_block_of(x->p, row + 1);
}

static int64_t prefix_of(struct writing *x, uint32_t row)
{
    return (int64_t)x->parent[row + 1] - 1;
}

static int find_parents(struct writing *x)
{
    struct tt_walk w;
    int error = tt_walk_init(&w, x->p, 0);

    while (!error && tt_walk_next(&w))
        x->parent[w.context] = w.depth ? w.path[w.depth - 1] : 0;
    tt_walk_fini(&w);
    return error;
}

/* Stacks: contexts from 1 on; then one for each that has something below it. */
static void put_stacks(struct writing *x)
{
    const uint32_t stacks = x->p->contexts - 1;
    uint32_t below = 0;

    for (uint32_t c = 0; c < x->p->contexts; c++)
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
    for (uint32_t c = 0, any = stacks; c < x->p->contexts; c++)
        if (tt_elsewhere_of(x->m, c)) {
            tt_putf(x->w, c ? "%s%u" : "%snull", any++ ? "," : "", c - 1);
        }
    tt_put_char(x->w, ']');
    put_repeated(x->w, "category", "0", stacks + below);
    put_repeated(x->w, "subcategory", "0", stacks + below);
    tt_put_char(x->w, '}');
}

enum what { STACK, WEIGHT, TIME };

static void put_one(struct writing *x, enum what what, int64_t stack, uint64_t weight,
                    uint64_t *rows)
{
    if (!weight)
        return;
    if ((*rows)++)
        tt_put_char(x->w, ',');
    if (what == TIME)
        tt_put_number(x->w, *rows - 1);
    else if (what == WEIGHT)
        tt_put_number(x->w, weight);
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
            strcmp(x->m->unit, "bytes") == 0 ? "bytes" : "samples");
}

static void put_thread(struct writing *x)
{
    tt_put(x->w, "{\"name\":\"GeckoMain\",\"processType\":\"default\",\"processName\":");
    tt_put_json(x->w, x->m->name);
    tt_put(x->w,
           ",\"pid\":1,\"tid\":1,\"processStartupTime\":0,\"processShutdownTime\":null,"
           "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[]");
    put_functions(x);
    put_stacks(x);
    put_sample_table(x);
    put_strings(x);
    tt_put(x->w,
           ",\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[]},"
           "\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],"
           "\"name\":[],"
           "\"phase\":[],\"startTime\":[]}}");
}

static void put_all(struct writing *x)
{
    const char *program = tt_fact_text(x->p, "program");

    tt_put(
        x->w,
        "{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":41,"
        "\"interval\":1,\"processType\":0,\"stackwalk\":1,\"debug\":false,"
        "\"symbolicated\":true,\"markerSchema\":[],\"categories\":[{\"name\":\"Other\","
        "\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"product\":");
    tt_put_json(x->w, program && *program ? program : "tallytree");
    tt_putf(
        x->w,
        ",\"startTime\":%llu},\"libs\":[],\"pages\":[],\"counters\":[],\n\"threads\":[",
        (unsigned long long)(tt_fact_number(x->p, "started") / 1000000));
    put_thread(x);
    tt_put(x->w, "]}\n");
}

int tt_firefox_write(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_profile *p = e->profile;
    const size_t size = (size_t)p->contexts * sizeof(uint32_t);
    uint32_t metric = tt_export_metric(e);
    struct writing x = {.p = p, .w = w};

    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    x.m = &p->metric[metric];
    tt_pairs_init(&x.modules, p->memory);
    tt_vector_init(&x.module, p->memory, sizeof(uint32_t));
    x.parent = tt_memory_get(p->memory, size);
    x.failed = !x.parent || find_parents(&x) != 0;
    if (!x.failed)
        put_all(&x);
    tt_memory_put(p->memory, x.parent);
    tt_vector_fini(&x.module);
    tt_pairs_fini(&x.modules);
    return x.failed ? -TT_ERR_MEMORY : 0;
}
