/* SPDX-License-Identifier: MIT */
/* pgcl-write.c - the call-graph profiles of Clean: writing.
 *
 * A profile keeps contexts in another order; the reader keeps the order of the file as a
 * fact.  If that is still an order of all contexts, the writer uses it, and the file is
 * the same as the one that was read.  Otherwise modules, cost centres and entries are in
 * the profile's order. */
#include "pgcl-write.h"

#include <string.h>

#include "pairs.h"
#include "sorted.h"
#include "writers.h"

struct text {
    const char *at;
    size_t length;
};

struct centre {
    uint32_t module; /* from 1 */
    struct text name;
};

struct open {
    uint32_t context;
    uint64_t left;
};

struct writing {
    const struct tt_profile *p;
    struct tt_writer *w;
    const struct tt_metric_columns *column[TT_PGCL_FIELDS]; /* or NULL */
    const struct tt_metric_columns *calls; /* calls of all kinds, and of unknown kind; or
                                              NULL */
    uint64_t unit[TT_PGCL_FIELDS];         /* how many of the profile's are one of the
                                              file's */
    uint32_t *centre_of;                   /* owned; of each block, from 1; 0: none */
    struct tt_vector module;               /* struct text */
    struct tt_vector centre;               /* struct centre */
    struct tt_vector order;                /* uint32_t: contexts but the root */
    enum tt_pgcl_layout layout;
    uint32_t elsewhere;     /* the centre of evicted contexts; 0: there are none */
    uint32_t start;         /* the centre of the root; 0: it is left out */
    const char *from, *end; /* in the noted order */
    int failed;
};

static int has_elsewhere(const struct writing *x, uint32_t c)
{
    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        if (x->column[i] && tt_elsewhere_of(x->column[i], c))
            return 1;
    return 0;
}

/* ── The order that was noted ─────────────────────────────────────────────────────── */

static int take_number(struct writing *x, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; x->from < x->end && shift < 60; shift += 5) {
        uint64_t digit = (uint64_t)(unsigned char)*x->from++ - '0';
        if (digit >= 64)
            return 0;
        *value |= (digit & 31) << shift;
        if (digit < 32)
            return 1;
    }
    return 0;
}

static int take_text(struct writing *x, struct text *text)
{
    uint64_t length;

    if (!take_number(x, &length) || length > (uint64_t)(x->end - x->from))
        return 0;
    *text = (struct text){x->from, (size_t)length};
    x->from += length;
    return 1;
}

static int compare(const char *name, const struct text *text)
{
    size_t length = strlen(name);

    return memcmp(name, text->at, length < text->length ? length : text->length)
               ?: TT_ORDER(length, text->length);
}

/* Returns the block of a centre, which has only a name and a module; 0: there is none. */
static uint32_t find_block(const struct tt_profile *p, const struct text *name,
                           const struct text *module)
{
    uint32_t low = 1, high = p->blocks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct tt_block_row *row = &p->block[middle];
        int order = compare(tt_profile_string(p, row->name), name);
        if (!order)
            order = compare(tt_profile_string(p, row->module), module);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == p->blocks || compare(tt_block_name(p, low), name) != 0 ||
        compare(tt_profile_string(p, p->block[low].module), module) != 0)
        return 0;
    return low;
}

static int take_names(struct writing *x, uint64_t modules, uint64_t centres,
                      struct tt_vector *block)
{
    for (uint64_t i = 0; i < modules; i++) {
        struct text text;
        if (!take_text(x, &text) || tt_vector_push(&x->module, &text) != 0)
            return 0;
    }
    for (uint64_t i = 0; i < centres; i++) {
        uint64_t module;
        struct centre c;
        uint32_t b;
        if (!take_number(x, &module) || !module || module > modules ||
            !take_text(x, &c.name))
            return 0;
        c.module = (uint32_t)module;
        b = find_block(x->p, &c.name, &((struct text *)x->module.item)[module - 1]);
        if (tt_vector_push(&x->centre, &c) != 0 || tt_vector_push(block, &b) != 0)
            return 0;
        if (b && x->centre_of[b])
            return 0; /* two centres with one name */
        if (b)
            x->centre_of[b] = (uint32_t)(i + 1);
    }
    return 1;
}

/* Each context by its parent and block. */
static int index_contexts(const struct tt_profile *p, struct tt_pairs *pairs)
{
    struct tt_walk w;
    int ok = tt_walk_init(&w, p, 0) == 0, is_new;

    while (ok && tt_walk_next(&w))
        if (w.depth) {
            uint32_t *at = tt_pairs_get(pairs, w.path[w.depth - 1],
                                        tt_block_of(p, w.context), &is_new);
            ok = at != NULL;
            if (ok)
                *at = w.context;
        }
    tt_walk_fini(&w);
    return ok;
}

/* Takes the next entry of the order, as a context; each may come once. */
static int take_entry(struct writing *x, const struct tt_vector *block,
                      const struct tt_pairs *pairs, char *seen, struct tt_vector *path)
{
    struct open *open = path->item;
    uint32_t parent = 0;
    const uint32_t *context;
    uint64_t centre, children;

    if (!take_number(x, &centre) || !centre || centre > block->count ||
        !take_number(x, &children))
        return 0;
    if (path->count) {
        parent = open[path->count - 1].context;
        open[path->count - 1].left--;
    }
    context = tt_pairs_find(pairs, parent, ((const uint32_t *)block->item)[centre - 1]);
    if (!context || seen[*context]++ || has_elsewhere(x, *context))
        return 0;
    if (tt_vector_push(&x->order, context) != 0 ||
        tt_vector_push(path, &(struct open){*context, children}) != 0)
        return 0;
    for (open = path->item; path->count && !open[path->count - 1].left;)
        path->count--;
    return 1;
}

static int take_entries(struct writing *x, uint64_t entries,
                        const struct tt_vector *block)
{
    const struct tt_memory *memory = x->p->memory;
    char *seen = tt_memory_get(memory, x->p->contexts);
    struct tt_vector path;
    struct tt_pairs pairs;
    int ok = seen && entries == x->p->contexts - 1;

    tt_vector_init(&path, memory, sizeof(struct open));
    tt_pairs_init(&pairs, memory);
    ok = ok && index_contexts(x->p, &pairs);
    for (uint64_t i = 0; ok && i < entries; i++)
        ok = take_entry(x, block, &pairs, seen, &path);
    ok = ok && !path.count && x->from == x->end;
    tt_pairs_fini(&pairs);
    tt_vector_fini(&path);
    tt_memory_put(memory, seen);
    return ok;
}

/* 1: the order can be used. */
static int take_order(struct writing *x)
{
    const char *text = tt_fact_text(x->p, TT_PGCL_ORDER);
    uint64_t layout, modules, centres, entries;
    struct tt_vector block;
    int ok;

    if (!text)
        return 0;
    x->from = text;
    x->end = text + strlen(text);
    if (!take_number(x, &layout) || layout >= TT_PGCL_LAYOUTS)
        return 0;
    x->layout = (enum tt_pgcl_layout)layout;
    if (!take_number(x, &modules) || !take_number(x, &centres) ||
        !take_number(x, &entries))
        return 0;
    tt_vector_init(&block, x->p->memory, sizeof(uint32_t));
    ok = take_names(x, modules, centres, &block) && take_entries(x, entries, &block);
    tt_vector_fini(&block);
    return ok;
}

/* ── An order from the profile ────────────────────────────────────────────────────── */

static uint32_t add_module(struct writing *x, const char *name)
{
    x->failed |= tt_vector_push(&x->module, &(struct text){name, strlen(name)}) != 0;
    return (uint32_t)x->module.count;
}

static uint32_t add_centre(struct writing *x, uint32_t module, const char *name)
{
    x->failed |= tt_vector_push(&x->centre,
                                &(struct centre){module, {name, strlen(name)}}) != 0;
    return (uint32_t)x->centre.count;
}

/* A block without a module belongs to its file. */
static uint32_t module_of(struct writing *x, struct tt_pairs *known, uint32_t block)
{
    const struct tt_block_row *row = &x->p->block[block];
    uint32_t string = *tt_profile_string(x->p, row->module) ? row->module : row->file;
    int is_new;
    uint32_t *number = tt_pairs_get(known, string, 0, &is_new);

    if (!number) {
        x->failed = 1;
        return 0;
    }
    if (is_new)
        *number = add_module(x, tt_profile_string(x->p, string));
    return *number;
}

/* The root is left out if it has no figures, and only one child. */
static int is_root_needed(const struct writing *x)
{
    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        if (x->column[i] && tt_self_of(x->column[i], 0))
            return 1;
    return has_elsewhere(x, 0) || x->p->contexts < 2 ||
           tt_end_of(x->p, 1) != x->p->contexts;
}

static void make_order(struct writing *x)
{
    const struct tt_profile *p = x->p;
    struct tt_pairs known;
    uint32_t *to = tt_vector_add(&x->order, p->contexts - 1);

    if (!to && p->contexts > 1) {
        x->failed = 1;
        return;
    }
    tt_pairs_init(&known, p->memory);
    for (uint32_t b = 1; b < p->blocks; b++)
        x->centre_of[b] = add_centre(x, module_of(x, &known, b), tt_block_name(p, b));
    tt_pairs_fini(&known);
    for (uint32_t c = 1; c < p->contexts; c++)
        to[c - 1] = c;
    if (is_root_needed(x))
        x->start = add_centre(x, add_module(x, "System"), "_start");
    for (uint32_t c = 0; c < p->contexts && !x->elsewhere; c++)
        if (has_elsewhere(x, c))
            x->elsewhere = add_centre(x, add_module(x, ""), "[elsewhere below]");
}

/* ── Entries ──────────────────────────────────────────────────────────────────────── */

static void put_number(struct tt_writer *w, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        tt_put_char(w, (char)(n | 0x80));
    tt_put_char(w, (char)n);
}

static void put_word(struct tt_writer *w, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        tt_put_char(w, (char)(n >> 8 * i));
}

/* Rounds figures so that they add up to the rounded sum. */
static uint64_t part(const uint64_t *sums, uint32_t c, uint64_t unit)
{
    if (!sums)
        return 0;
    return unit == 1 ? sums[c + 1] - sums[c] : sums[c + 1] / unit - sums[c] / unit;
}

static void put_entry(struct writing *x, uint32_t centre, const uint64_t *figure,
                      uint64_t children)
{
    put_number(x->w, centre);
    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        if (i != TT_PGCL_TAILS || x->layout != TT_PGCL_1_SHORT)
            put_number(x->w, figure[i]);
    put_number(x->w, children);
}

/* Calls of unknown kind are strict. */
static void add_plain(uint64_t *figure, uint64_t calls)
{
    uint64_t kinds = figure[TT_PGCL_STRICT] + figure[TT_PGCL_LAZY] +
                     figure[TT_PGCL_CURRIED];

    if (calls > kinds)
        figure[TT_PGCL_STRICT] += calls - kinds;
}

static void put_elsewhere(struct writing *x, uint32_t c)
{
    uint64_t figure[TT_PGCL_FIELDS] = {0};

    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        if (x->column[i])
            figure[i] = part(x->column[i]->elsewhere, c, x->unit[i]);
    if (x->calls)
        add_plain(figure, part(x->calls->elsewhere, c, 1));
    put_entry(x, x->elsewhere, figure, 0);
}

static void put_context(struct writing *x, uint32_t c)
{
    uint64_t figure[TT_PGCL_FIELDS] = {0}, children = 0;
    int evicted = x->elsewhere && has_elsewhere(x, c);

    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        if (x->column[i])
            figure[i] = part(x->column[i]->self, c, x->unit[i]);
    if (x->calls)
        add_plain(figure, part(x->calls->self, c, 1));
    if (!c)
        figure[TT_PGCL_STRICT] = 1; /* as Clean's own has it */
    for (uint32_t d = c + 1, end = tt_end_of(x->p, c); d < end; d = tt_end_of(x->p, d))
        children++;
    put_entry(x, c ? x->centre_of[tt_block_of(x->p, c)] : x->start, figure,
              children + (unsigned)evicted);
    if (evicted)
        put_elsewhere(x, c);
}

static void put_all(struct writing *x)
{
    const struct text *module = x->module.item;
    const struct centre *centre = x->centre.item;
    const uint32_t *order = x->order.item;
    uint64_t frequency = tt_fact_number(x->p, TT_PGCL_FREQUENCY);
    int is_ns = x->column[0] && strcmp(x->column[0]->unit, "ns") == 0;

    tt_put(x->w, "prof");
    put_word(x->w, x->layout == TT_PGCL_2 ? 2 : 1);
    put_word(x->w, (uint32_t)x->module.count);
    put_word(x->w, (uint32_t)x->centre.count);
    if (x->layout == TT_PGCL_2) {
        put_number(x->w, is_ns ? 1000000000 : frequency);
        put_number(x->w, tt_fact_number(x->p, TT_PGCL_OVERHEAD));
    }
    for (size_t i = 0; i < x->module.count; i++) {
        tt_put_bytes(x->w, module[i].at, module[i].length);
        tt_put_char(x->w, '\0');
    }
    for (size_t i = 0; i < x->centre.count; i++) {
        put_number(x->w, centre[i].module);
        tt_put_bytes(x->w, centre[i].name.at, centre[i].name.length);
        tt_put_char(x->w, '\0');
    }
    if (x->start)
        put_context(x, 0);
    for (size_t i = 0; i < x->order.count && !x->w->error; i++)
        put_context(x, order[i]);
}

/* ── Metrics ──────────────────────────────────────────────────────────────────────── */

static void choose(struct writing *x, enum tt_pgcl_field field, uint32_t metric)
{
    if (metric != TT_NONE)
        x->column[field] = &x->p->metric[metric];
}

static const struct tt_metric_columns *find_bytes(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if ((p->metric[i].flags & TT_METRIC_SPACE) &&
            !(p->metric[i].flags & TT_METRIC_PEAK) &&
            strcmp(p->metric[i].unit, "bytes") == 0)
            return &p->metric[i];
    return NULL;
}

/* Calls of unknown kind are strict. */
static void choose_all(struct writing *x)
{
    const struct tt_profile *p = x->p;
    const uint32_t calls = tt_metric_find(p, "calls");
    int any = 0;

    choose(x, TT_PGCL_TICKS, tt_metric_find(p, "time"));
    choose(x, TT_PGCL_TICKS, tt_metric_find(p, "ticks"));
    choose(x, TT_PGCL_WORDS, tt_metric_find(p, "words"));
    for (int i = TT_PGCL_TAILS; i < TT_PGCL_FIELDS; i++) {
        choose(x, (enum tt_pgcl_field)i, tt_metric_find(p, tt_pgcl_metric[i]));
        any |= i > TT_PGCL_TAILS && x->column[i];
    }
    if (!x->column[TT_PGCL_WORDS] && (x->column[TT_PGCL_WORDS] = find_bytes(p)))
        x->unit[TT_PGCL_WORDS] = 8;
    if (!any)
        choose(x, TT_PGCL_STRICT, calls);
    else if (calls != TT_NONE && (p->metric[calls].flags & TT_METRIC_CALLS))
        x->calls = &p->metric[calls];
}

static int choose_columns(struct tt_export *e, struct writing *x)
{
    uint32_t main = tt_export_metric(e);
    int any = 0;

    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        x->unit[i] = 1;
    if (e->metric == TT_NONE)
        choose_all(x);
    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        any |= x->column[i] != NULL;
    if (!any)
        choose(x, TT_PGCL_TICKS, main);
    /* A file of Clean's without any figures is written unchanged. */
    return main == TT_NONE && x->p->contexts < 2 ? -TT_ERR_OPTION : 0;
}

/* Tail calls are written if any of the merged files had them. */
static int has_tails(const struct writing *x)
{
    const struct tt_metric_columns *m = x->column[TT_PGCL_TAILS];

    return m && (m->self[x->p->contexts] || m->elsewhere);
}

int tt_pgcl_write(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_memory *memory = e->profile->memory;
    struct writing x = {.p = e->profile, .w = w};
    size_t size = (size_t)x.p->blocks * sizeof *x.centre_of;
    int error = choose_columns(e, &x);

    x.centre_of = error ? NULL : tt_memory_get(memory, size);
    tt_vector_init(&x.module, memory, sizeof(struct text));
    tt_vector_init(&x.centre, memory, sizeof(struct centre));
    tt_vector_init(&x.order, memory, sizeof(uint32_t));
    if (x.centre_of) {
        if (!take_order(&x)) {
            x.module.count = x.centre.count = x.order.count = 0;
            make_order(&x);
        }
        if (x.layout == TT_PGCL_1_SHORT && has_tails(&x))
            x.layout = TT_PGCL_1;
        if (!x.failed)
            put_all(&x);
    }
    error = !error && (!x.centre_of || x.failed) ? -TT_ERR_MEMORY : error;
    tt_vector_fini(&x.order);
    tt_vector_fini(&x.centre);
    tt_vector_fini(&x.module);
    tt_memory_put(memory, x.centre_of);
    return error;
}
