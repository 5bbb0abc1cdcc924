/* SPDX-License-Identifier: MIT */
/* mlworks.c - `tallytree report mlworks`: MLWorks' report of time and of space.
 *
 * A scan is a sample.  MLWorks' counts by frame follow from the tree: a function is found
 * once for every context of it that a sample is below, and a scan has it if its outermost
 * context has the sample.  Chains of callers are kept in a separate tree, callee
 * first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "filter.h"
#include "finish.h"
#include "layouts.h"
#include "query.h"
#include "text.h"

enum flag { FILE_NAME = 1, SCAN, DEPTH, SELECT, MANNER };

const struct tt_flag tt_mlworks_flags[] = {
    {"profile", 0, FILE_NAME, "FILE", "@files", "write the report there"},
    {"profile-scan", 0, SCAN, "MS", NULL, "0: no times (default: 10)"},
    {"profile-depth", 0, DEPTH, "N", NULL, "callers of callers, 15 at most (default: 0)"},
    {"profile-select", 0, SELECT, "TEXT", NULL,
     "only functions whose names contain TEXT"},
    {"profile-manner", 0, MANNER, "N", NULL,
     "sum of 1 calls, 2 time, 4 space, 8 copies, 256... kinds"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum manner {
    CALLS = 1,
    TIME = 2,
    SPACE = 4,
    COPIES = 8,
    KINDS = 0xff00,
    DEPTH_SHIFT = 16
};

enum { DEPTH_MOST = 15, KIND_COUNT = 9, GENERATIONS = 32 };

/* In the order of the table; the last is the sum, of other kinds too. */
static const char *const kind_names[KIND_COUNT] = {"records", "pairs",      "closures",
                                                   "strings", "arrays",     "bytearrays",
                                                   "code",    "weakarrays", "total"};

struct function { /* of time; a block's, or a chain's */
    uint64_t calls, top, scans, found, depth, self;
    uint32_t end;   /* of the subtree of its outermost context so far */
    uint32_t block; /* of a chain: its last function */
};

struct amounts {
    uint64_t number, bytes, overhead;
};

struct space {
    struct amounts kind[GENERATIONS]
                       [KIND_COUNT]; /* 0: allocated; k: copied out of k - 1 */
};

struct mlworks {
    const struct tt_profile *p;
    const struct tt_metric_columns *samples;
    struct tt_text *out;
    const char *file, *select;
    long scan, depth, manner;
    int given; /* any flag but -profile */
    struct function *function;
    struct tt_builder *chains; /* contexts: chains of callers */
    struct tt_vector chain;    /* struct function, by the builder's context */
    uint64_t frames, ml_frames, deepest, gc, profiler;
    int has_calls; /* were calls counted, or only sampled? */
};

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static void put_name(const struct mlworks *m, uint32_t block)
{
    const struct tt_block_row *b = &m->p->block[block];
    const char *place = m->p->strings + (b->module ? b->module : b->file);

    tt_text_put(m->out, tt_block_name(m->p, block));
    if (*place)
        tt_text_printf(m->out, "[%s:%u]", place, b->line);
}

/* Names in brackets are not functions: the collector, the profiler, unnamed code. */
static int is_selected(const struct mlworks *m, uint32_t block)
{
    return block && *tt_block_name(m->p, block) != '[' &&
           (!m->select || strstr(tt_block_name(m->p, block), m->select));
}

static int is_named(const struct mlworks *m, uint32_t block, const char *name)
{
    return strcmp(tt_block_name(m->p, block), name) == 0;
}

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

static void take(struct function *f, uint64_t total, uint64_t self, uint32_t context,
                 uint32_t end)
{
    f->top += self;
    f->found += total;
    if (f->end <= context) {
        f->scans += total;
        f->end = end;
    }
}

static struct function *chain_at(struct mlworks *m, uint32_t chain)
{
    if (chain >= m->chain.count && !tt_vector_add(&m->chain, chain + 1 - m->chain.count))
        return NULL;
    return (struct function *)m->chain.item + chain;
}

/* The chains that end in this context: its function, its caller, the caller's caller. */
static int take_chains(struct mlworks *m, const struct tt_walk *w, uint64_t total,
                       uint64_t self)
{
    uint32_t chain = TT_BUILDER_ROOT;
    uint32_t levels = (uint32_t)m->depth + 1;

    for (uint32_t i = 0; i < levels && i < w->depth; i++) {
        uint32_t block = tt_block_of(m->p, w->path[w->depth - i]);
        struct function *f;
        chain = tt_builder_context(m->chains, chain,
                                   tt_builder_block_of(m->chains, m->p, block));
        f = chain == TT_NONE ? NULL : chain_at(m, chain);
        if (!f)
            return -TT_ERR_MEMORY;
        if (i)
            take(f, total, self, w->context, tt_end_of(m->p, w->context));
        f->block = block;
    }
    return 0;
}

struct level { /* of the path: how often its block is there, and in a row */
    uint32_t times, row, ml;
};

static void take_context(struct mlworks *m, const struct tt_walk *w, struct level *level)
{
    uint32_t block = tt_block_of(m->p, w->context), i = w->depth;
    uint64_t total = tt_total_of(m->p, m->samples, w->context);
    uint64_t self = tt_self_of(m->samples, w->context);
    struct function *f = &m->function[block];
    int is_ml = m->p->block[block].kind != TT_KIND_NATIVE;

    if (!i) {
        level[0] = (struct level){0};
        return;
    }
    level[i].row = tt_block_of(m->p, w->path[i - 1]) == block ? level[i - 1].row + 1 : 0;
    level[i].ml = level[i - 1].ml + (is_ml != 0);
    if (!total)
        return;
    take(f, total, self, w->context, tt_end_of(m->p, w->context));
    if (level[i].row > f->self)
        f->self = level[i].row;
    m->frames += total;
    m->ml_frames += is_ml ? total : 0;
    if (level[i].ml > m->deepest)
        m->deepest = level[i].ml;
}

/* How often a block was already on the path: incremented on the way down, decremented on
 * the way up. */
static int count_depths(struct mlworks *m)
{
    const struct tt_profile *p = m->p;
    uint32_t *open = tt_memory_get(p->memory, p->blocks * sizeof *open), depth = 0;
    struct tt_walk w;
    uint32_t *path;
    int error = open && tt_walk_init(&w, p, 0) == 0 ? 0 : -TT_ERR_MEMORY;

    path = tt_memory_get(p->memory, ((size_t)p->depth + 2) * sizeof *path);
    while (!error && path && tt_walk_next(&w)) {
        uint32_t block = tt_block_of(p, w.context);
        while (depth > w.depth)
            open[path[--depth]]--;
        path[depth++] = block;
        if (open[block]++ > m->function[block].depth && block &&
            tt_total_of(p, m->samples, w.context))
            m->function[block].depth = open[block] - 1;
    }
    if (!error)
        tt_walk_fini(&w);
    tt_memory_put(p->memory, path);
    tt_memory_put(p->memory, open);
    return error || !path ? -TT_ERR_MEMORY : 0;
}

static int sum_time(struct mlworks *m)
{
    const size_t bytes = ((size_t)m->p->depth + 2) * sizeof(struct level);
    struct level *level = tt_memory_get(m->p->memory, bytes);
    struct tt_walk w;
    int error = level && tt_walk_init(&w, m->p, 0) == 0 ? 0 : -TT_ERR_MEMORY;

    while (!error && tt_walk_next(&w)) {
        uint32_t block = tt_block_of(m->p, w.context);
        uint64_t total = tt_total_of(m->p, m->samples, w.context);
        take_context(m, &w, level);
        if (m->depth && total && w.depth && is_selected(m, block))
            error = take_chains(m, &w, total, tt_self_of(m->samples, w.context));
    }
    if (level && w.path)
        tt_walk_fini(&w);
    tt_memory_put(m->p->memory, level);
    return error ?: count_depths(m);
}

static void sum_calls(struct mlworks *m)
{
    const struct tt_profile *p = m->p;
    uint32_t metric = tt_metric_find(p, "calls");
    const struct tt_metric_columns *c = metric == TT_NONE ? NULL : &p->metric[metric];

    for (uint32_t i = 0; c && i < p->contexts; i++)
        m->function[tt_block_of(p, i)].calls += tt_self_of(c, i);
    for (uint32_t i = 0; c && c->block && i < p->blocks; i++)
        m->function[i].calls += c->block[i].beside;
    for (uint32_t i = 0; c && i < p->arcs; i++)
        if (tt_arc_is_dropped(p, &p->arc[i]))
            m->function[p->arc[i].block].calls += p->arc[i].calls;
    for (uint32_t b = 0; b < p->blocks; b++)
        m->has_calls |= m->function[b].calls != 0;
}

/* ── The time report ──────────────────────────────────────────────────────────────── */

#define RULE "---------------------------------------------------------\n"

static uint64_t scans(const struct mlworks *m)
{
    return m->samples ? tt_grand_total(m->p, m->samples) : 0;
}

static void put_time_header(const struct mlworks *m, uint32_t functions)
{
    double n = (double)scans(m);

    tt_text_printf(m->out,
                   RULE "MLWorks time profile:\n"
                        "%zu bytes used for time profiling data\n"
                        "functions profiled : %u\n"
                        "functions call-counted : %u\n"
                        "scans: %.0f\n"
                        "(plus %llu ticks in GC, %llu ticks in profiler, 0 re-entered)\n",
                   m->p->size, m->manner & TIME ? functions : 0,
                   m->manner & CALLS ? functions : 0, n, (unsigned long long)m->gc,
                   (unsigned long long)m->profiler);
    if (n > 0)
        tt_text_printf(m->out,
                       "frames scanned: %llu\n"
                       "ML frames scanned: %llu (%3.1f%%)\n"
                       "mean stack depth: %.2f\n"
                       "maximum ML stack depth: %llu\n"
                       "mean ML stack depth: %.2f\n",
                       (unsigned long long)m->frames, (unsigned long long)m->ml_frames,
                       m->frames ? (double)m->ml_frames / (double)m->frames * 100 : 0,
                       (double)m->frames / n, (unsigned long long)m->deepest,
                       (double)m->ml_frames / n);
}

/* The chains of one function, from the tree that they were kept in. */
static int put_chains(const struct mlworks *m, const struct tt_profile *chains,
                      uint32_t block)
{
    struct tt_walk w;
    uint32_t name = TT_NONE, metric = tt_metric_find(chains, "chain");
    int error;

    for (uint32_t c = 1; name == TT_NONE && c < chains->contexts;
         c = tt_end_of(chains, c))
        if (tt_block_compare(chains, tt_block_of(chains, c), m->p, block) == 0)
            name = c;
    if (name == TT_NONE)
        return 0;
    error = tt_walk_init(&w, chains, name);
    while (!error && tt_walk_next(&w)) {
        uint64_t id = tt_self_of(&chains->metric[metric], w.context);
        const struct function *f = (const struct function *)m->chain.item + id;
        if (w.depth == 0)
            continue;
        tt_text_printf(m->out, "          %8llu  %8llu  %8llu                       ",
                       (unsigned long long)f->top, (unsigned long long)f->scans,
                       (unsigned long long)f->found);
        for (uint32_t i = 0; i <= w.depth; i++) {
            uint64_t at = tt_self_of(&chains->metric[metric], w.path[i]);
            tt_text_put(m->out, i ? "; " : "");
            put_name(m, ((const struct function *)m->chain.item)[at].block);
        }
        tt_text_put(m->out, "\n");
    }
    tt_walk_fini(&w);
    return error;
}

static void put_function(const struct mlworks *m, uint32_t block)
{
    const struct function *f = &m->function[block];

    if (m->manner & CALLS && m->has_calls)
        tt_text_printf(m->out, "%8llu", (unsigned long long)f->calls);
    else
        tt_text_put(m->out, "       -");
    if (m->manner & TIME && m->scan && m->samples)
        tt_text_printf(m->out, "  %8llu  %8llu  %8llu  %8llu  %8llu   ",
                       (unsigned long long)f->top, (unsigned long long)f->scans,
                       (unsigned long long)f->found, (unsigned long long)f->depth,
                       (unsigned long long)f->self);
    else
        tt_text_put(m->out,
                    "         -           -           -           -           -   ");
    put_name(m, block);
    tt_text_put(m->out, "\n");
}

/* The chains as a profile, whose one metric is the number of each chain. */
static int finish_chains(struct mlworks *m, struct tt_profile *chains, void **image,
                         size_t *size)
{
    uint32_t metric = tt_builder_metric(m->chains, "chain", "", 0);
    int error;

    for (uint32_t i = 1; i < m->chain.count; i++)
        tt_builder_add(m->chains, TT_ROLE_SELF, i, metric, i);
    error = tt_builder_finish(m->chains, image, size);
    return error ?: tt_profile_open(chains, *image, *size, m->p->memory);
}

static int put_functions(struct mlworks *m)
{
    struct tt_profile chains = {0};
    void *image = NULL;
    size_t size = 0;
    int error = m->depth ? finish_chains(m, &chains, &image, &size) : 0;

    tt_text_put(m->out,
                "---\n   calls       top     scans     found     depth      self   "
                "name\n");
    for (uint32_t b = 1; !error && b < m->p->blocks; b++) {
        const struct function *f = &m->function[b];
        if (!is_selected(m, b) || (!f->found && !(m->manner & CALLS && f->calls)))
            continue;
        put_function(m, b);
        if (m->depth && m->manner & TIME)
            error = put_chains(m, &chains, b);
    }
    if (image) {
        tt_profile_close(&chains);
        tt_memory_put(m->p->memory, image);
    }
    return error;
}

static uint32_t functions_profiled(const struct mlworks *m)
{
    uint32_t count = 0;

    for (uint32_t b = 1; b < m->p->blocks; b++)
        count += is_selected(m, b) != 0;
    return count;
}

static int put_time(struct mlworks *m)
{
    int error = 0;

    put_time_header(m, functions_profiled(m));
    if (scans(m) || m->manner & CALLS)
        error = put_functions(m);
    tt_text_put(m->out, RULE);
    return error;
}

/* ── Space ────────────────────────────────────────────────────────────────────────── */

/* "pair" and "pairs" are one kind; others count in the total alone. */
static int kind_of(const char *type)
{
    for (int i = 0; i < KIND_COUNT - 1; i++) {
        size_t length = strlen(kind_names[i]);
        if (strcmp(type, kind_names[i]) == 0 ||
            (strncmp(type, kind_names[i], length - 1) == 0 && !type[length - 1] &&
             kind_names[i][length - 1] == 's'))
            return i;
    }
    return -1;
}

static void add_amounts(struct amounts *to, const struct tt_space_row *r)
{
    to->number += r->number;
    to->bytes += r->bytes;
    to->overhead += r->overhead;
}

/* Freed objects are neither allocated nor copied. */
static void add_space(const struct mlworks *m, struct space *s,
                      const struct tt_space_row *r)
{
    uint32_t generation = r->from == TT_NONE ? 0 : r->from + 1;
    int kind = kind_of(m->p->strings + r->type);

    if (r->to == TT_NONE)
        return;
    if (generation >= GENERATIONS)
        generation = GENERATIONS - 1;
    add_amounts(&s->kind[generation][KIND_COUNT - 1], r);
    if (kind >= 0)
        add_amounts(&s->kind[generation][kind], r);
}

static uint64_t bytes_of(const struct space *s, int generation)
{
    return s->kind[generation][KIND_COUNT - 1].bytes;
}

static void put_copies(const struct mlworks *m, const struct space *s)
{
    if (!(m->manner & COPIES) || !bytes_of(s, 1))
        return;
    tt_text_put(m->out, "            ");
    for (int g = 1; g < GENERATIONS && bytes_of(s, g); g++)
        tt_text_printf(m->out, "%12llu", (unsigned long long)bytes_of(s, g));
    tt_text_put(m->out, "\n");
}

static int has_generation(const struct space *s, int generation)
{
    const struct amounts *all = &s->kind[generation][KIND_COUNT - 1];

    return all->number || all->bytes;
}

/* Kinds that the manner omits are 0; the total is of all. */
static uint64_t amount_of(const struct mlworks *m, const struct amounts *a, int kind,
                          int what)
{
    /* bits 8 to 15 of the manner: array, bytearray, closure, other, pair, record, string,
     * total; code and weak arrays are the other ones */
    static const int bit[KIND_COUNT] = {13, 12, 10, 14, 8, 9, 11, 11, 15};
    const uint64_t of[] = {a[kind].number, a[kind].bytes, a[kind].overhead};

    return m->manner & 1l << bit[kind] ? of[what] : 0;
}

static void put_kinds(const struct mlworks *m, const struct space *s)
{
    static const char *const heads[] = {"no ", "\n               size ",
                                        "\n           overhead "};
    int last = GENERATIONS - 1;

    if (!(m->manner & KINDS) || !bytes_of(s, 0))
        return;
    while (last > 0 && !has_generation(s, last))
        last--;
    tt_text_put(m->out, "          gen       ");
    for (int k = 0; k < KIND_COUNT; k++)
        tt_text_printf(m->out, "%12s", kind_names[k]);
    tt_text_put(m->out, "\n");
    for (int g = 0; g <= last; g++) {
        tt_text_printf(m->out, "          %2d     ", g);
        for (int what = 0; what < 3; what++) {
            tt_text_put(m->out, heads[what]);
            for (int k = 0; k < KIND_COUNT; k++)
                tt_text_printf(m->out, "%12llu",
                               (unsigned long long)amount_of(m, s->kind[g], k, what));
        }
        tt_text_put(m->out, "\n");
    }
}

static void put_space_of(const struct mlworks *m, const struct space *s, uint32_t block)
{
    uint64_t copied = 0;

    for (int g = 1; g < GENERATIONS; g++)
        copied += bytes_of(s, g);
    tt_text_printf(m->out, "%12llu%12llu  ", (unsigned long long)bytes_of(s, 0),
                   (unsigned long long)copied);
    if (block)
        put_name(m, block);
    else
        tt_text_put(m->out, "total profiled");
    tt_text_put(m->out, "\n");
    put_copies(m, s);
    put_kinds(m, s);
}

/* One pass adds the rows up by function; s[0] is the sum of all. */
static int put_space(struct mlworks *m)
{
    const struct tt_profile *p = m->p;
    struct space *s = tt_memory_get(p->memory, p->blocks * sizeof *s);

    if (!s)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < p->spaces; i++) {
        uint32_t block = tt_block_of(p, p->space[i].context);
        if (!is_selected(m, block))
            continue;
        add_space(m, &s[block], &p->space[i]);
        add_space(m, &s[0], &p->space[i]);
    }
    tt_text_printf(m->out,
                   RULE "MLWorks space profile\n"
                        "%zu bytes used for profiling\n"
                        "%llu collections\n"
                        "functions profiled : %u\n",
                   p->spaces * sizeof *p->space,
                   (unsigned long long)tt_fact_number(p, "collections"),
                   functions_profiled(m));
    if (functions_profiled(m)) {
        tt_text_put(m->out, "---\n       alloc      copied  name\n");
        put_space_of(m, &s[0], 0);
        for (uint32_t b = 1; b < p->blocks; b++)
            if (is_selected(m, b) &&
                (has_generation(&s[b], 0) || has_generation(&s[b], 1)))
                put_space_of(m, &s[b], b);
    }
    tt_text_put(m->out, RULE);
    tt_memory_put(p->memory, s);
    return 0;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int take_number(const char *text, long least, long most, long *to)
{
    char *end;
    long n = strtol(text, &end, 0);

    if (!*text || *end || n < least || n > most)
        return -TT_ERR_OPTION;
    *to = n;
    return 0;
}

static int take_flag(struct mlworks *m, enum flag flag, const char *value)
{
    m->given |= flag != FILE_NAME;
    switch (flag) {
    case FILE_NAME:
        m->file = value;
        return 0;
    case SCAN:
        return take_number(value, 0, 1000000, &m->scan);
    case DEPTH:
        return take_number(value, 0, DEPTH_MOST, &m->depth);
    case SELECT:
        m->select = value;
        return 0;
    case MANNER:
        if (take_number(value, 0, 0xfffff, &m->manner) != 0)
            return -TT_ERR_OPTION;
        if (m->manner >> DEPTH_SHIFT)
            m->depth = m->manner >> DEPTH_SHIFT;
        return 0;
    }
    return 0;
}

static int take_flags(struct mlworks *m, int argc, char **argv, char *error, size_t size)
{
    struct tt_flags f;
    int id;

    tt_flags_init(&f, argc, argv, tt_mlworks_flags);
    while ((id = tt_flags_next(&f)) > 0)
        if (take_flag(m, (enum flag)id, f.value) != 0) {
            (void)snprintf(error, size, "'-%s %s' is out of its range", f.flag->name,
                           f.value);
            return -TT_ERR_OPTION;
        }
    if (id < 0)
        (void)snprintf(error, size, "%s", f.error);
    else if (m->given && !m->file)
        (void)snprintf(error, size, "these flags want '-profile FILE' with them");
    return id < 0 || (m->given && !m->file) ? -TT_ERR_OPTION : 0;
}

static int write_report(struct mlworks *m)
{
    int error = 0;

    tt_text_printf(m->out,
                   "MLWorks profiler report\n"
                   "%zu bytes of data used for profiling control\n"
                   "profile period: %llu ms\n"
                   "functions profiled : %u\n",
                   m->p->blocks * sizeof *m->p->block,
                   (unsigned long long)(tt_fact_number(m->p, "lasted") / 1000000),
                   functions_profiled(m));
    sum_calls(m);
    if (m->manner & TIME && m->scan && m->samples)
        error = sum_time(m);
    if (!error && m->manner & (TIME | CALLS))
        error = put_time(m);
    if (!error && m->manner & SPACE)
        error = put_space(m);
    return error;
}

/* The metric whose figures are scans; TT_NONE: none. */
static uint32_t metric_of_scans(const struct tt_profile *p)
{
    uint32_t metric = tt_metric_find(p, "samples");

    return metric == TT_NONE ? tt_metric_find(p, "time") : metric;
}

/* Ticks of a block that is not a function, wherever it was called. */
static uint64_t ticks_in(const struct mlworks *m, const char *name)
{
    uint32_t metric = metric_of_scans(m->p), end = 0;
    uint64_t sum = 0;

    for (uint32_t c = 0; metric != TT_NONE && c < m->p->contexts; c++)
        if (c >= end && is_named(m, tt_block_of(m->p, c), name)) {
            sum += tt_total_of(m->p, &m->p->metric[metric], c);
            end = tt_end_of(m->p, c);
        }
    return sum;
}

static int write_of(struct mlworks *m)
{
    const struct tt_profile *p = m->p;
    uint32_t metric = metric_of_scans(p);
    int failed;

    m->samples = metric == TT_NONE ? NULL : &p->metric[metric];
    tt_vector_init(&m->chain, p->memory, sizeof(struct function));
    m->function = tt_memory_get(p->memory, p->blocks * sizeof *m->function);
    m->chains = tt_builder_new(p->memory);
    failed = m->function && m->chains ? write_report(m) : -TT_ERR_MEMORY;
    tt_builder_free(m->chains);
    tt_memory_put(p->memory, m->function);
    tt_vector_fini(&m->chain);
    return failed;
}

int tt_report_mlworks(const struct tt_profile *p, int argc, char **argv,
                      struct tt_text *out, char *error, size_t size)
{
    struct mlworks m = {.p = p, .out = out, .scan = 10, .manner = CALLS | TIME | SPACE};
    struct tt_filtered filtered;
    struct tt_query q;
    int failed = take_flags(&m, argc, argv, error, size);

    if (failed)
        return failed;
    m.gc = ticks_in(&m, "[gc]");
    m.profiler = ticks_in(&m, "[profiler]");
    if (!m.gc && !m.profiler)
        return write_of(&m);
    tt_query_init(&q, p->memory);
    failed = tt_query_set(&q, "exclude", "/^\\[(gc|profiler)]$/");
    if (!failed)
        failed = tt_filter_apply(p, &q, &filtered);
    if (!failed) {
        m.p = filtered.profile; /* cppcheck-suppress uninitStructMember */
        failed = write_of(&m);
        tt_filter_close(&filtered, p->memory);
    }
    tt_query_fini(&q);
    return failed;
}
