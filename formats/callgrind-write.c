/* SPDX-License-Identifier: MIT */
/* callgrind-write.c - the format of callgrind: functions and the calls between them.
 *
 * Its readers take the summed cost of the calls of a function as the function's inclusive
 * cost.  To make this right for recursive functions, only the outermost activation on
 * each path adds to the cost of its call; the hidden cost of a function is shared among
 * the calls of it.  Every function needs a caller: "[root]" calls those that have
 * none. */
#include "callgrind-write.h"

#include <stdio.h>
#include <string.h>

#include "pairs.h"
#include "writers.h"

struct call {
    uint32_t from, to; /* functions */
    uint64_t calls;
};

struct writing {
    const struct tt_profile *p;
    const struct tt_memory *memory;
    struct tt_writer *w;
    uint32_t *metric, metrics, calls; /* metric: owned */
    uint32_t functions;               /* and after them one for costs without a block */
    uint32_t *function_of, *blocks;   /* owned; of each block; blocks in their order */
    uint32_t *first;                  /* owned; of each function: its blocks */
    uint32_t *open, *outer;           /* owned; see walk */
    struct tt_pairs by_ends, files;   /* numbers of calls; of files and objects, from 1 */
    struct tt_vector call, cost;      /* struct call; uint64_t, `metrics` of each */
    uint64_t *self;                   /* owned; `metrics` of each block and that one */
    uint32_t file, object, many_files;
    int failed;
};

/* ── Functions: blocks that differ only in their place in a file ──────────────────── */

static void number_functions(struct writing *x)
{
    struct tt_pairs known;

    tt_pairs_init(&known, x->memory);
    for (uint32_t b = 0; b < x->p->blocks && !x->failed; b++) {
        const struct tt_block_row *row = &x->p->block[b];
        int is_new;
        uint32_t *number = tt_pairs_get(&known, (uint64_t)row->name << 32 | row->module,
                                        row->file, &is_new);
        if (number && is_new)
            *number = x->functions++;
        x->failed |= !number;
        x->function_of[b] = number ? *number : 0;
    }
    tt_pairs_fini(&known);
}

static void order_blocks(struct writing *x)
{
    for (uint32_t b = 0; b < x->p->blocks; b++)
        x->first[x->function_of[b] + 2]++;
    for (uint32_t f = 2; f < x->functions + 2; f++)
        x->first[f] += x->first[f - 1];
    for (uint32_t b = 0; b < x->p->blocks; b++)
        x->blocks[x->first[x->function_of[b] + 1]++] = b;
}

/* ── Calls ────────────────────────────────────────────────────────────────────────── */

static uint32_t call_of(struct writing *x, uint32_t from, uint32_t to)
{
    int is_new;
    uint32_t *number = tt_pairs_get(&x->by_ends, from, to, &is_new);

    if (number && is_new) {
        if (tt_vector_push(&x->call, &(struct call){from, to, 0}) == 0 &&
            tt_vector_add(&x->cost, x->metrics)) {
            *number = (uint32_t)x->call.count - 1;
            return *number;
        }
        number = NULL;
    }
    x->failed |= !number;
    return number ? *number : TT_NONE;
}

static uint64_t *cost_of(struct writing *x, uint32_t from, uint32_t to)
{
    uint32_t call = call_of(x, from, to);

    return call == TT_NONE ? NULL : (uint64_t *)x->cost.item + (size_t)call * x->metrics;
}

static void add_calls(struct writing *x, uint32_t from, uint32_t to, uint64_t calls)
{
    uint32_t call = calls ? call_of(x, from, to) : TT_NONE;

    if (call != TT_NONE)
        ((struct call *)x->call.item)[call].calls += calls;
}

/* Adds the calls of arcs.  They are not calls along the edges of the tree. */
static void add_arcs(struct writing *x)
{
    for (uint32_t i = 0; x->calls != TT_NONE && i < x->p->arcs; i++) {
        const struct tt_arc_row *a = &x->p->arc[i];
        uint32_t to = tt_block_of(x->p, a->to), parent = x->outer[a->to];
        add_calls(x, x->function_of[tt_block_of(x->p, a->from)], x->function_of[a->block],
                  a->calls);
        if (!tt_arc_is_dropped(x->p, a) && parent != TT_NONE) {
            uint32_t call = call_of(x, parent, x->function_of[to]);
            if (call != TT_NONE)
                ((struct call *)x->call.item)[call].calls -= a->calls;
        }
    }
}

static uint32_t elsewhere(const struct writing *x) { return x->functions; }

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

/* One level of the path: its function, and the depth + 1 of the context of the same
 * function above it. */
struct level {
    uint32_t function, before;
};

static void add_self(struct writing *x, uint32_t context, uint32_t block)
{
    for (uint32_t m = 0; m < x->metrics; m++) {
        const struct tt_metric_columns *c = &x->p->metric[x->metric[m]];
        uint64_t below = tt_elsewhere_of(c, context), *cost;
        x->self[(size_t)block * x->metrics + m] += tt_self_of(c, context);
        if (!below)
            continue;
        x->self[(size_t)x->p->blocks * x->metrics + m] += below;
        if ((cost = cost_of(x, x->function_of[block], elsewhere(x))))
            cost[m] += below;
    }
}

static void add_context(struct writing *x, struct level *level, const struct tt_walk *w)
{
    uint32_t block = tt_block_of(x->p, w->context), f = x->function_of[block];
    uint32_t depth = w->depth, before = x->open[f];
    uint64_t *call;

    level[depth] = (struct level){f, before};
    x->open[f] = depth + 1;
    add_self(x, w->context, block);
    x->outer[w->context] = depth ? level[depth - 1].function : TT_NONE;
    if (!depth)
        return;
    call = cost_of(x, level[depth - 1].function, f);
    for (uint32_t m = 0; call && !before && m < x->metrics; m++)
        call[m] += tt_total_of(x->p, &x->p->metric[x->metric[m]], w->context);
    if (x->calls != TT_NONE)
        add_calls(x, level[depth - 1].function, f,
                  tt_self_of(&x->p->metric[x->calls], w->context));
}

static void walk(struct writing *x)
{
    const size_t size = ((size_t)x->p->depth + 1) * sizeof(struct level);
    struct level *level = tt_memory_get(x->memory, size);
    struct tt_walk w;
    uint32_t open = 0;

    x->failed |= !level || tt_walk_init(&w, x->p, 0) != 0;
    if (!level)
        return;
    while (!x->failed && tt_walk_next(&w)) {
        while (open > w.depth) {
            open--;
            x->open[level[open].function] = level[open].before;
        }
        add_context(x, level, &w);
        open = w.depth + 1;
    }
    tt_walk_fini(&w);
    tt_memory_put(x->memory, level);
}

/* Adds the figures that are kept beside the tree. */
static void add_beside(struct writing *x)
{
    for (uint32_t b = 0; b < x->p->blocks; b++)
        for (uint32_t m = 0; m < x->metrics; m++) {
            const struct tt_metric_columns *c = &x->p->metric[x->metric[m]];
            uint64_t *rest = &x->self[(size_t)x->p->blocks * x->metrics + m];
            if (!c->block)
                continue;
            x->self[(size_t)b * x->metrics + m] += c->block[b].beside;
            *rest -= c->block[b].beside < *rest ? c->block[b].beside : *rest;
        }
}

/* Returns the share of a hidden cost, which may be below 0. */
static uint64_t part_of(uint64_t hidden, uint64_t cost, uint64_t all)
{
    const int is_less = (int64_t)hidden < 0;
    const uint64_t size = is_less ? 0 - hidden : hidden;
    uint64_t part = all ? (uint64_t)((unsigned __int128)size * cost / all) : size;

    if (is_less && part > cost)
        part = cost; /* the cost of a call is never below 0 */
    return is_less ? 0 - part : part;
}

/* Distributes a function's hidden cost, which contexts do not show, to the calls of it,
 * in proportion to their costs.  A negative hidden cost is taken from the calls. */
static void add_hidden_of(struct writing *x, uint32_t m, uint64_t *hidden, uint64_t *sum)
{
    const struct call *c = x->call.item;
    uint64_t *cost = x->cost.item;

    for (uint32_t b = 0; b < x->p->blocks; b++)
        hidden[x->function_of[b]] += x->p->metric[x->metric[m]].block[b].hidden;
    for (size_t i = 0; i < x->call.count; i++)
        sum[c[i].to] += cost[i * x->metrics + m];
    for (size_t i = 0; i < x->call.count; i++) {
        uint64_t *here = &cost[i * x->metrics + m], all = sum[c[i].to];
        const uint64_t part = part_of(hidden[c[i].to], *here, all);
        sum[c[i].to] -= *here; /* the last call gets the rest */
        hidden[c[i].to] -= part;
        *here += part;
    }
}

static void add_hidden(struct writing *x)
{
    const size_t functions = (size_t)x->functions + 1;
    uint64_t *room = tt_memory_get(x->memory, functions * 2 * sizeof *room);

    x->failed |= !room;
    for (uint32_t m = 0; room && m < x->metrics; m++) {
        if (!x->p->metric[x->metric[m]].block)
            continue;
        memset(room, 0, functions * 2 * sizeof *room);
        add_hidden_of(x, m, room, room + functions);
    }
    tt_memory_put(x->memory, room);
}

/* ── Text ─────────────────────────────────────────────────────────────────────────── */

static void put_text(struct tt_writer *w, const char *text)
{
    for (; *text; text++)
        tt_put_char(w, (unsigned char)*text < ' ' ? ' ' : *text);
}

/* "KEY=(id) name", and the next time "KEY=(id)"; unnamed ones are "???". */
static void put_place(struct writing *x, const char *key, uint32_t string, uint64_t space)
{
    int is_new;
    uint32_t *number = tt_pairs_get(&x->files, string, space, &is_new);

    if (!number) {
        x->failed = 1;
        return;
    }
    if (is_new)
        *number = ++x->many_files;
    tt_putf(x->w, "%s=(%u)", key, *number);
    if (is_new) {
        tt_put_char(x->w, ' ');
        put_text(x->w, string ? tt_profile_string(x->p, string) : "???");
    }
    tt_put_char(x->w, '\n');
}

static const char *name_of(const struct writing *x, uint32_t f)
{
    const char *name;

    if (f == elsewhere(x))
        return "[elsewhere below]";
    name = tt_block_name(x->p, x->blocks[x->first[f]]);
    return *name ? name : "???";
}

/* Returns a block of the function; functions without blocks have block 0, the root's. */
static const struct tt_block_row *row_of(const struct writing *x, uint32_t f)
{
    return &x->p->block[f < x->functions ? x->blocks[x->first[f]] : 0];
}

static void put_figures(struct writing *x, const uint64_t *figure)
{
    for (uint32_t m = 0; m < x->metrics; m++) {
        tt_put_char(x->w, ' ');
        tt_put_number(x->w, figure[m]);
    }
    tt_put_char(x->w, '\n');
}

static int is_nothing(const struct writing *x, const uint64_t *figure)
{
    for (uint32_t m = 0; m < x->metrics; m++)
        if (figure[m])
            return 0;
    return 1;
}

static void put_function(struct writing *x, uint32_t f, unsigned char *named)
{
    const struct tt_block_row *row = row_of(x, f);

    tt_put_char(x->w, '\n');
    if (x->object != row->module)
        put_place(x, "ob", row->module, 0);
    if (x->file != row->file)
        put_place(x, "fl", row->file, 1);
    x->object = row->module;
    x->file = row->file;
    tt_putf(x->w, "fn=(%u)", f + 1);
    if (!named[f]) {
        tt_put_char(x->w, ' ');
        put_text(x->w, name_of(x, f));
        named[f] = 1;
    }
    tt_put_char(x->w, '\n');
}

static void put_self(struct writing *x, uint32_t f)
{
    for (uint32_t i = f < x->functions ? x->first[f] : 0;
         f < x->functions && i < x->first[f + 1]; i++) {
        const uint64_t *self = x->self + (size_t)x->blocks[i] * x->metrics;
        if (is_nothing(x, self))
            continue;
        tt_put_number(x->w, x->p->block[x->blocks[i]].line);
        put_figures(x, self);
    }
    if (f == elsewhere(x)) {
        tt_put_char(x->w, '0');
        put_figures(x, x->self + (size_t)x->p->blocks * x->metrics);
    }
}

static void put_call(struct writing *x, const struct call *c, unsigned char *named)
{
    const struct tt_block_row *row = row_of(x, c->to);

    if (row->module != x->object)
        put_place(x, "cob", row->module, 0);
    if (row->file != x->file)
        put_place(x, "cfi", row->file, 1);
    tt_putf(x->w, "cfn=(%u)", c->to + 1);
    if (!named[c->to]) {
        tt_put_char(x->w, ' ');
        put_text(x->w, name_of(x, c->to));
        named[c->to] = 1;
    }
    /* If calls were not counted, writes 1: with 0 calls, the costs would be self. */
    tt_putf(x->w, "\ncalls=%llu %u\n%u", (unsigned long long)(c->calls ? c->calls : 1),
            row->line, row_of(x, c->from)->line);
    put_figures(x, (const uint64_t *)x->cost.item +
                       (size_t)(c - (const struct call *)x->call.item) * x->metrics);
}

/* Writes the event's name, with the unit if the name does not contain it: "time_(ns)". */
static void put_event(struct writing *x, const struct tt_metric_columns *m)
{
    tt_put_char(x->w, ' ');
    for (const char *c = *m->name ? m->name : "cost"; *c; c++)
        tt_put_char(x->w, (unsigned char)*c <= ' ' ? '_' : *c);
    if (!*m->unit || strcmp(m->unit, m->name) == 0)
        return;
    tt_put(x->w, "_(");
    for (const char *c = m->unit; *c; c++)
        tt_put_char(x->w, (unsigned char)*c <= ' ' ? '_' : *c);
    tt_put_char(x->w, ')');
}

static void put_header(struct writing *x)
{
    const char *program = tt_profile_program(x->p);

    tt_put(x->w, "# callgrind format\nversion: 1\ncreator: tallytree " TT_VERSION "\n");
    if (program && *program) {
        tt_put(x->w, "cmd: ");
        put_text(x->w, program);
        tt_put_char(x->w, '\n');
    }
    tt_put(x->w, "positions: line\nevents:");
    for (uint32_t m = 0; m < x->metrics; m++)
        put_event(x, &x->p->metric[x->metric[m]]);
    tt_put_char(x->w, '\n');
}

static void put_totals(struct writing *x)
{
    tt_put(x->w, "\ntotals:");
    for (uint32_t m = 0; m < x->metrics; m++)
        tt_putf(x->w, " %llu",
                (unsigned long long)tt_grand_total(x->p, &x->p->metric[x->metric[m]]));
    tt_put_char(x->w, '\n');
}

/* Computes where the calls of each function begin, after they have been counted, and
 * their `order`. */
static void order_calls(const struct writing *x, uint32_t *first, uint32_t *order)
{
    const struct call *c = x->call.item;

    for (size_t i = 0; i < x->call.count; i++)
        first[c[i].from + 2]++;
    for (uint32_t f = 2; f < x->functions + 4; f++)
        first[f] += first[f - 1];
    for (size_t i = 0; i < x->call.count; i++)
        order[first[c[i].from + 1]++] = (uint32_t)i;
}

static int has_self(const struct writing *x, uint32_t f)
{
    if (f == elsewhere(x))
        return !is_nothing(x, x->self + (size_t)x->p->blocks * x->metrics);
    for (uint32_t i = f < x->functions ? x->first[f] : 0;
         f < x->functions && i < x->first[f + 1]; i++)
        if (!is_nothing(x, x->self + (size_t)x->blocks[i] * x->metrics))
            return 1;
    return 0;
}

static void put_all(struct writing *x)
{
    const size_t functions = (size_t)x->functions + 4;
    uint32_t *first = tt_memory_get(x->memory, functions * sizeof *first);
    uint32_t *order = tt_memory_get(x->memory, (x->call.count + 1) * sizeof *order);
    unsigned char *named = tt_memory_get(x->memory, functions);

    x->failed |= !first || !order || !named;
    if (!x->failed) {
        order_calls(x, first, order);
        put_header(x);
        for (uint32_t f = 0; f <= x->functions && !x->failed && !x->w->error; f++) {
            if (!has_self(x, f) && first[f] == first[f + 1])
                continue;
            put_function(x, f, named);
            put_self(x, f);
            for (uint32_t i = first[f]; i < first[f + 1]; i++)
                put_call(x, (const struct call *)x->call.item + order[i], named);
        }
        put_totals(x);
    }
    tt_memory_put(x->memory, named);
    tt_memory_put(x->memory, order);
    tt_memory_put(x->memory, first);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* Chooses the metric that was asked for; or all metrics, the one that is shown first
 * before the others, and calls in their place. */
static int choose_metrics(struct writing *x, struct tt_export *e)
{
    uint32_t main = tt_export_metric(e), calls = TT_NONE;

    if (main == TT_NONE)
        return -TT_ERR_OPTION;
    for (uint32_t m = 0; m < x->p->metrics; m++)
        if (x->p->metric[m].flags & TT_METRIC_CALLS)
            calls = m;
    x->calls = calls;
    x->metric[x->metrics++] = main;
    for (uint32_t m = 0; e->metric == TT_NONE && m < x->p->metrics; m++)
        if (m != main && m != calls)
            x->metric[x->metrics++] = m;
    return 0;
}

static void *get(struct writing *x, size_t count, size_t size)
{
    void *p = tt_memory_get(x->memory, count * size);

    x->failed |= !p;
    return p;
}

static int write_profile(struct writing *x)
{
    const size_t blocks = (size_t)x->p->blocks + 4, contexts = x->p->contexts;

    tt_pairs_init(&x->by_ends, x->memory);
    tt_pairs_init(&x->files, x->memory);
    tt_vector_init(&x->call, x->memory, sizeof(struct call));
    tt_vector_init(&x->cost, x->memory, sizeof(uint64_t));
    x->function_of = get(x, blocks, sizeof(uint32_t));
    x->blocks = get(x, blocks, sizeof(uint32_t));
    x->first = get(x, blocks, sizeof(uint32_t));
    x->open = get(x, blocks, sizeof(uint32_t));
    x->outer = get(x, contexts, sizeof(uint32_t));
    x->self = get(x, blocks * x->metrics, sizeof(uint64_t));
    if (!x->failed) {
        number_functions(x);
        order_blocks(x);
        walk(x);
        add_arcs(x);
        add_beside(x);
        add_hidden(x);
    }
    if (!x->failed)
        put_all(x);
    return x->failed ? -TT_ERR_MEMORY : 0;
}

int tt_callgrind_write(struct tt_export *e, struct tt_writer *w)
{
    struct tt_pool pool;
    struct writing x = {.p = e->profile,
                        .memory = &pool.memory,
                        .w = w,
                        .file = TT_NONE,
                        .object = TT_NONE};
    int error;

    tt_pool_init(&pool, e->profile->memory);
    x.metric = get(&x, (size_t)x.p->metrics + 1, sizeof *x.metric);
    error = x.metric ? choose_metrics(&x, e) : -TT_ERR_MEMORY;
    error = error ?: write_profile(&x);
    tt_pool_fini(&pool);
    return error;
}
