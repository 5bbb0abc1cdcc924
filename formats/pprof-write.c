/* SPDX-License-Identifier: MIT */
/* pprof-write.c - profile.proto: writing.
 *
 * A block is a function and a location, both with the block's number; a context with self
 * figures is a sample.  A line below its function is no function: both are one location,
 * numbered after the blocks.  If addresses are known, a context has a sample for each
 * stack of addresses.  These are locations as the format means them: with an address and
 * the lines of all functions that are inlined there. */
#include "pprof.h"

#include <string.h>

#include "pprof-write.h"
#include "range.h"
#include "wire.h"
#include "writers.h"

struct writing {
    const struct tt_profile *p;
    struct tt_writer *w;
    uint32_t *metric, metrics; /* metric: owned */
    struct tt_pairs modules;   /* strings of the profile: their numbers */
    struct tt_pairs lines; /* blocks of functions and lines: numbers of locations, and */
    struct tt_vector line; /* struct line, in their order */
    struct tt_texts texts;
    struct tt_message message, inner;
    uint32_t many_modules;
    int failed;
    uint32_t *first;  /* owned; of each context: the first of its trails, by `trail` */
    uint32_t *trail;  /* owned; trails by context; both NULL: there are none */
    uint64_t *amount; /* owned; of each trail and metric */
};

struct line {
    uint32_t function, line; /* blocks; function ADDRESS: a place */
};

static const uint32_t ADDRESS = TT_NONE;

/* ── Types ────────────────────────────────────────────────────────────────────────── */

const char *tt_pprof_unit(const char *unit)
{
    return !*unit ? "count" : strcmp(unit, "ns") == 0 ? "nanoseconds" : unit;
}

/* Chooses all metrics, or the one that was asked for; the last one is the default
 * view. */
static int choose_metrics(struct writing *x, struct tt_export *e)
{
    uint32_t main = e->first ? tt_metric_find(e->profile, e->first) : TT_NONE;

    if (main == TT_NONE)
        main = tt_export_metric(e);
    if (main == TT_NONE)
        return -TT_ERR_OPTION;
    for (uint32_t m = 0; e->metric == TT_NONE && m < x->p->metrics; m++)
        if (m != main)
            x->metric[x->metrics++] = m;
    x->metric[x->metrics++] = main;
    return 0;
}

static void put_types(struct writing *x, uint64_t *default_type)
{
    for (uint32_t i = 0; i < x->metrics; i++) {
        const struct tt_metric_columns *m = &x->p->metric[x->metric[i]];
        *default_type = tt_texts_new(&x->texts, *m->name ? m->name : "cost");
        tt_message_number(&x->message, 1, *default_type);
        tt_message_number(&x->message, 2,
                          tt_texts_new(&x->texts, tt_pprof_unit(m->unit)));
        tt_put_message(x->w, TT_PROFILE_SAMPLE_TYPE, &x->message);
    }
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* Locations and functions have the numbers of blocks; the number after them is for
 * evicted contexts. */
static uint32_t elsewhere(const struct writing *x) { return x->p->blocks; }

/* Is the block at `d` of the path a line of the function above it? */
static int is_line(const struct writing *x, const struct tt_walk *w, uint32_t d)
{
    const struct tt_block_row *row = x->p->block, *line, *function;

    if (d < 2)
        return 0;
    line = &row[tt_block_of(x->p, w->path[d])];
    function = &row[tt_block_of(x->p, w->path[d - 1])];
    return line->kind == TT_KIND_STATEMENT && function->kind != TT_KIND_STATEMENT &&
           line->line && line->file && line->file == function->file;
}

static uint32_t location_of_line(struct writing *x, uint32_t function, uint32_t line)
{
    int is_new = 0;
    uint32_t *number = tt_pairs_get(&x->lines, function, line, &is_new);
    struct line *l = number && is_new ? tt_vector_add(&x->line, 1) : NULL;

    x->failed |= !number || (is_new && !l);
    if (l) {
        *l = (struct line){function, line};
        *number = elsewhere(x) + (uint32_t)x->line.count;
    }
    return number ? *number : 0;
}

/* Writes the contexts of the path from depth `d` outwards. */
static void put_path(struct writing *x, const struct tt_walk *w, uint32_t d)
{
    for (; d; d--) {
        uint32_t block = tt_block_of(x->p, w->path[d]);
        if (is_line(x, w, d))
            block = location_of_line(x, tt_block_of(x->p, w->path[--d]), block);
        tt_message_varint(&x->inner, block);
    }
}

/* Ends a sample whose locations are in `inner`. */
static void put_amounts(struct writing *x, const uint64_t *amount)
{
    if (x->inner.bytes.count)
        tt_message_within(&x->message, 1, &x->inner);
    for (uint32_t i = 0; i < x->metrics; i++)
        tt_message_varint(&x->inner, amount[i] < INT64_MAX ? amount[i] : INT64_MAX);
    tt_message_within(&x->message, 2, &x->inner);
    tt_put_message(x->w, TT_PROFILE_SAMPLE, &x->message);
}

/* ── Addresses ────────────────────────────────────────────────────────────────────── */

/* Returns the depth above the functions of a place, which is at depth `d` of the path;
 * TT_NONE: filters have changed the path. */
static uint32_t depth_above(const struct writing *x, const struct tt_walk *w,
                            const struct tt_place_row *r, uint32_t d)
{
    const struct tt_place_frame *f = &x->p->place_frame[r->first];

    for (uint32_t i = r->frames; i-- > 0; d--) {
        while (d && x->p->block[tt_block_of(x->p, w->path[d])].kind == TT_KIND_STATEMENT)
            d--;
        if (!d || tt_block_of(x->p, w->path[d]) != f[i].block)
            return TT_NONE;
    }
    return d;
}

/* Writes the locations of a trail.  With `put` 0, only checks whether they match the
 * path. */
static int put_trail(struct writing *x, const struct tt_walk *w, uint32_t trail, int put)
{
    uint32_t d = w->depth;

    for (; trail != TT_NONE; trail = x->p->trail[trail].parent) {
        const struct tt_trail_row *t = &x->p->trail[trail];
        if (!d || t->context != w->path[d])
            return 0;
        if (put)
            tt_message_varint(&x->inner, t->place == TT_NONE
                                             ? tt_block_of(x->p, t->context)
                                             : location_of_line(x, ADDRESS, t->place));
        d = t->place == TT_NONE ? d - 1 : depth_above(x, w, &x->p->place[t->place], d);
        if (d == TT_NONE)
            return 0;
    }
    if (put)
        put_path(x, w, d);
    return 1;
}

/* Writes a sample for each stack of addresses, and subtracts its figures from the
 * context's. */
static void put_trails(struct writing *x, const struct tt_walk *w, uint64_t *left)
{
    for (uint32_t i = x->first[w->context]; i < x->first[w->context + 1]; i++) {
        const uint32_t trail = x->trail[i];
        const uint64_t *amount = &x->amount[(size_t)trail * x->metrics];
        int any = 0, fits = 1;
        for (uint32_t k = 0; k < x->metrics; k++) {
            any |= amount[k] != 0;
            fits &= amount[k] <= left[k];
        }
        if (!any || !fits || !put_trail(x, w, trail, 0))
            continue;
        (void)put_trail(x, w, trail, 1);
        put_amounts(x, amount);
        for (uint32_t k = 0; k < x->metrics; k++)
            left[k] -= amount[k];
    }
}

static void sort_trails(struct writing *x)
{
    const struct tt_profile *p = x->p;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < p->trails; i++)
        x->first[p->trail[i].context + 1]++;
    for (uint32_t c = 0; c <= p->contexts; c++)
        sum = x->first[c] += sum;
    for (uint32_t i = p->trails; i-- > 0;) /* `first` has ends before, and beginnings
                                              after */
        x->trail[--x->first[p->trail[i].context + 1]] = i;
    memmove(x->first, x->first + 1, p->contexts * sizeof *x->first);
    x->first[p->contexts] = p->trails;
}

static void find_trails(struct writing *x)
{
    const struct tt_profile *p = x->p;
    const struct tt_memory *m = p->memory;

    x->first = tt_memory_get(m, ((size_t)p->contexts + 1) * sizeof *x->first);
    x->trail = tt_memory_get(m, p->trails * sizeof *x->trail);
    x->amount = tt_memory_get(m, (size_t)p->trails * x->metrics * sizeof *x->amount);
    x->failed |= !x->first || !x->trail || !x->amount;
    if (x->failed)
        return;
    sort_trails(x);
    for (size_t i = 0; i < p->trail_entries; i++)
        for (uint32_t k = 0; k < x->metrics; k++)
            if (x->metric[k] == p->trail_entry[i].metric)
                x->amount[p->trail_entry[i].row * x->metrics + k] += p->trail_entry[i]
                                                                         .amount;
}

static void forget_trails(struct writing *x)
{
    const struct tt_profile *p = x->p;
    const struct tt_memory *m = p->memory;

    tt_memory_put(m, x->first);
    tt_memory_put(m, x->trail);
    tt_memory_put(m, x->amount);
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

static void put_sample(struct writing *x, const struct tt_walk *w, int below,
                       uint64_t *amount)
{
    int any = 0;

    for (uint32_t i = 0; i < x->metrics; i++) {
        const struct tt_metric_columns *m = &x->p->metric[x->metric[i]];
        amount[i] = below ? tt_elsewhere_of(m, w->context) : tt_self_of(m, w->context);
    }
    if (!below && w->context && x->p->trails)
        put_trails(x, w, amount);
    for (uint32_t i = 0; i < x->metrics; i++)
        any |= amount[i] != 0;
    if (!any)
        return;
    if (below)
        tt_message_varint(&x->inner, elsewhere(x));
    put_path(x, w, w->depth);
    put_amounts(x, amount);
}

static void put_samples(struct writing *x)
{
    const size_t size = ((size_t)x->p->metrics + 1) * sizeof(uint64_t);
    uint64_t *amount = tt_memory_get(x->p->memory, size);
    struct tt_walk w;

    find_trails(x);
    x->failed |= !amount | (tt_walk_init(&w, x->p, 0) != 0);
    while (!x->failed && !x->w->error && tt_walk_next(&w)) {
        put_sample(x, &w, 0, amount);
        put_sample(x, &w, 1, amount);
    }
    tt_walk_fini(&w);
    forget_trails(x);
    tt_memory_put(x->p->memory, amount);
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

/* Returns the build-id of a module, if one of its addresses has it. */
static uint32_t id_of(const struct writing *x, uint32_t module)
{
    for (uint32_t i = 0; i < x->p->places; i++)
        if (x->p->place[i].module == module)
            return x->p->place[i].id;
    return 0;
}

/* Addresses are those of the file, and the mapping's range is all of them, so that
 * readers subtract nothing. */
static void put_mapping(struct writing *x, uint32_t module)
{
    const uint32_t id = id_of(x, module);

    tt_message_number(&x->message, 1, x->many_modules);
    if (x->p->places)
        tt_message_number(&x->message, 3, UINT64_MAX);
    if (id && *tt_profile_string(x->p, module) == '/')
        tt_message_number(&x->message, 6, tt_texts_of(&x->texts, id));
    tt_message_number(&x->message, 5, tt_texts_of(&x->texts, module));
    for (uint32_t has = 7; has <= (x->p->places ? 10u : 7u); has++) /* functions, files,
                                                                         lines, inlined */
        tt_message_number(&x->message, has, 1);
    tt_put_message(x->w, TT_PROFILE_MAPPING, &x->message);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int is_new_module(struct writing *x, uint32_t module)
{
    int is_new = 0;
    uint32_t *number = tt_pairs_get(&x->modules, module, 0, &is_new);

    x->failed |= !number;
    if (number && is_new)
        *number = ++x->many_modules;
    return number && is_new;
}

/* The kernel keeps 15 bytes of a program's name. */
static int is_program(const char *name, const char *program, size_t length)
{
    enum { KEPT = 15 };

    return length && strncmp(name, program, length) == 0 &&
           (!name[length] || length == KEPT);
}

/* Finds the module with the program's name, or else the one with a function `main`: a
 * process may give itself any name. */
static uint32_t find_program(const struct writing *x)
{
    const char *program = tt_profile_program(x->p);
    size_t length = program ? strcspn(base_name(program), " ") : 0;
    uint32_t main = 0;

    for (uint32_t b = 1; b < x->p->blocks; b++) {
        const uint32_t module = x->p->block[b].module;
        if (module && is_program(base_name(tt_profile_string(x->p, module)),
                                 program ? base_name(program) : "", length))
            return module;
        if (strcmp(tt_block_name(x->p, b), "main") == 0)
            main = module;
    }
    return main;
}

/* Readers take the first mapping as the program. */
static void put_program(struct writing *x)
{
    const uint32_t module = find_program(x);

    if (module && is_new_module(x, module))
        put_mapping(x, module);
}

static void put_mappings(struct writing *x)
{
    put_program(x);
    for (uint32_t b = 1; b < x->p->blocks && !x->failed; b++) {
        uint32_t module = x->p->block[b].module;
        if (module && is_new_module(x, module))
            put_mapping(x, module);
    }
    for (uint32_t i = 0; i < x->p->places && !x->failed; i++) {
        uint32_t module = x->p->place[i].module;
        if (module && is_new_module(x, module))
            put_mapping(x, module);
    }
}

/* `function` is a block, and `line` the block whose line is written. */
static void put_location(struct writing *x, uint32_t id, uint32_t function, uint32_t line)
{
    const struct tt_block_row *row = &x->p->block[line < x->p->blocks ? line : 0];
    const uint32_t *module = tt_pairs_find(&x->modules, row->module, 0);

    tt_message_number(&x->inner, 1, function);
    tt_message_number(&x->inner, 2, row->line);
    tt_message_number(&x->message, 1, id);
    tt_message_number(&x->message, 2, module ? *module : 0);
    tt_message_within(&x->message, 4, &x->inner);
    tt_put_message(x->w, TT_PROFILE_LOCATION, &x->message);
}

/* The innermost function is the first line. */
static void put_place(struct writing *x, uint32_t id, uint32_t place)
{
    const struct tt_place_row *r = &x->p->place[place];
    const uint32_t *module = tt_pairs_find(&x->modules, r->module, 0);

    tt_message_number(&x->message, 1, id);
    tt_message_number(&x->message, 2, module ? *module : 0);
    tt_message_number(&x->message, 3, r->address);
    for (uint32_t i = r->frames; i-- > 0;) {
        const struct tt_place_frame *f = &x->p->place_frame[r->first + i];
        tt_message_number(&x->inner, 1, f->block);
        tt_message_number(&x->inner, 2, f->line);
        tt_message_within(&x->message, 4, &x->inner);
    }
    tt_put_message(x->w, TT_PROFILE_LOCATION, &x->message);
}

static void put_function(struct writing *x, uint32_t b)
{
    const struct tt_block_row *row = &x->p->block[b];

    tt_message_number(&x->message, 1, b);
    tt_message_number(&x->message, 2, tt_texts_of(&x->texts, row->name));
    tt_message_number(&x->message, 3, tt_texts_of(&x->texts, row->name));
    tt_message_number(&x->message, 4, tt_texts_of(&x->texts, row->file));
    tt_message_number(&x->message, 5, row->line);
    tt_put_message(x->w, TT_PROFILE_FUNCTION, &x->message);
}

static void put_blocks(struct writing *x)
{
    uint64_t name = tt_texts_new(&x->texts, "[elsewhere below]");
    const struct line *line = x->line.item;

    put_mappings(x);
    for (uint32_t b = 1; b <= elsewhere(x) && !x->failed; b++)
        put_location(x, b, b, b);
    for (uint32_t i = 0; i < x->line.count && !x->failed; i++)
        if (line[i].function == ADDRESS)
            put_place(x, elsewhere(x) + 1 + i, line[i].line);
        else
            put_location(x, elsewhere(x) + 1 + i, line[i].function, line[i].line);
    for (uint32_t b = 1; b < x->p->blocks && !x->failed; b++)
        put_function(x, b);
    tt_message_number(&x->message, 1, elsewhere(x));
    tt_message_number(&x->message, 2, name);
    tt_put_message(x->w, TT_PROFILE_FUNCTION, &x->message);
}

/* The format has no place in a sample for this; `pprof -comments` shows comments. */
static const char *comment_on_folding(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->arcs; i++)
        if (tt_block_of(p, p->arc[i].to) == p->arc[i].block)
            return "recursion is folded: stacks were deeper than these";
    return "";
}

static void put_comment(struct writing *x, const char *text)
{
    if (text && *text)
        tt_put_number_field(x->w, TT_PROFILE_COMMENT, tt_texts_new(&x->texts, text));
}

static void put_all(struct writing *x)
{
    uint64_t default_type = 0;

    (void)tt_texts_new(&x->texts, "");
    put_types(x, &default_type);
    put_samples(x);
    put_blocks(x);
    put_comment(x, tt_profile_program(x->p));
    put_comment(x, comment_on_folding(x->p));
    tt_put_bytes(x->w, x->texts.table.bytes.item, x->texts.table.bytes.count);
    tt_put_number_field(x->w, TT_PROFILE_TIME, tt_range_started(x->p));
    tt_put_number_field(x->w, TT_PROFILE_DURATION, tt_range_lasted(x->p));
    tt_put_number_field(x->w, TT_PROFILE_DEFAULT_TYPE, default_type);
}

int tt_pprof_write(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_memory *m = e->profile->memory;
    struct writing x = {.p = e->profile, .w = w};
    const size_t size = ((size_t)x.p->metrics + 1) * sizeof *x.metric;
    int error;

    x.metric = tt_memory_get(m, size);
    if (!x.metric)
        return -TT_ERR_MEMORY;
    error = choose_metrics(&x, e);
    if (error)
        goto fail_metrics;
    tt_pairs_init(&x.modules, m);
    tt_pairs_init(&x.lines, m);
    tt_vector_init(&x.line, m, sizeof(struct line));
    tt_texts_init(&x.texts, x.p, TT_PROFILE_STRING, &x.failed);
    tt_message_init(&x.message, m, &x.failed);
    tt_message_init(&x.inner, m, &x.failed);
    put_all(&x);
    tt_message_fini(&x.inner);
    tt_message_fini(&x.message);
    tt_texts_fini(&x.texts);
    tt_vector_fini(&x.line);
    tt_pairs_fini(&x.lines);
    tt_pairs_fini(&x.modules);
    error = x.failed ? -TT_ERR_MEMORY : 0;
fail_metrics:
    tt_memory_put(m, x.metric);
    return error;
}
