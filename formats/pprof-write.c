/* SPDX-License-Identifier: MIT */
/* pprof-write.c - profile.proto: writing.
 *
 * A message goes out behind its length, so each small one is put together first.  A block is
 * a function and a location, both with its number; a context with figures of its own is a
 * sample. */
#include "pprof.h"

#include <stdio.h>
#include <string.h>

#include "pairs.h"

enum { MOST_METRICS = 64 };

struct writing {
    const struct tt_profile *p;
    struct tt_writer *w;
    uint32_t metric[MOST_METRICS], metrics;
    struct tt_pairs strings, modules; /* strings of the profile: their numbers */
    struct tt_vector text;            /* const char *: in the order of the table */
    struct tt_vector message, inner;  /* char */
    uint32_t many_modules;
    int failed;
};

/* ── Protocol buffers ─────────────────────────────────────────────────────────────── */

static void add_varint(struct writing *x, struct tt_vector *to, uint64_t value)
{
    char bytes[10], *at;
    size_t size = 0;

    do {
        bytes[size++] = (char)(value | 0x80);
        value >>= 7;
    } while (value);
    bytes[size - 1] &= 0x7f;
    if ((at = tt_vector_add(to, size)))
        memcpy(at, bytes, size);
    else
        x->failed = 1;
}

/* A field that is a number; 0 is left out. */
static void add_number(struct writing *x, struct tt_vector *to, uint32_t field,
                       uint64_t value)
{
    if (!value)
        return;
    add_varint(x, to, field << 3 | TT_WIRE_VARINT);
    add_varint(x, to, value);
}

static void add_bytes(struct writing *x, struct tt_vector *to, uint32_t field,
                      const struct tt_vector *bytes)
{
    char *at;

    add_varint(x, to, field << 3 | TT_WIRE_BYTES);
    add_varint(x, to, bytes->count);
    if ((at = tt_vector_add(to, bytes->count)))
        memcpy(at, bytes->item, bytes->count);
    else
        x->failed = 1;
}

static void put_varint(struct writing *x, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        tt_put_char(x->w, (char)(value | 0x80));
    tt_put_char(x->w, (char)value);
}

/* The message that was put together, as a field of the profile. */
static void put_message(struct writing *x, uint32_t field)
{
    put_varint(x, field << 3 | TT_WIRE_BYTES);
    put_varint(x, x->message.count);
    tt_put_bytes(x->w, x->message.item, x->message.count);
    x->message.count = 0;
}

static void put_number(struct writing *x, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    put_varint(x, field << 3 | TT_WIRE_VARINT);
    put_varint(x, value);
}

/* ── Strings ──────────────────────────────────────────────────────────────────────── */

static uint64_t add_text(struct writing *x, const char *text)
{
    const char **at = tt_vector_add(&x->text, 1);

    if (!at) {
        x->failed = 1;
        return 0;
    }
    *at = text;
    return x->text.count - 1;
}

static uint64_t string_of(struct writing *x, uint32_t string)
{
    int is_new;
    uint32_t *number = string ? tt_pairs_get(&x->strings, string, 0, &is_new) : NULL;

    if (!string)
        return 0;
    if (!number) {
        x->failed = 1;
        return 0;
    }
    if (is_new)
        *number = (uint32_t)add_text(x, tt_profile_string(x->p, string));
    return *number;
}

static void put_strings(struct writing *x)
{
    const char *const *text = x->text.item;

    for (size_t i = 0; i < x->text.count; i++) {
        size_t length = strlen(text[i]);
        put_varint(x, TT_PROFILE_STRING << 3 | TT_WIRE_BYTES);
        put_varint(x, length);
        tt_put_bytes(x->w, text[i], length);
    }
}

/* ── Types ────────────────────────────────────────────────────────────────────────── */

static const char *unit_name(const char *unit)
{
    return !*unit ? "count" : strcmp(unit, "ns") == 0 ? "nanoseconds" : unit;
}

/* All, or the one that was asked for; the last is what people look at first. */
static int choose_metrics(struct writing *x, struct tt_export *e)
{
    uint32_t main = tt_export_metric(e);

    if (main == TT_NONE)
        return -TT_ERR_OPTION;
    for (uint32_t m = 0; e->metric == TT_NONE && m < x->p->metrics; m++)
        if (m != main && x->metrics < MOST_METRICS - 1)
            x->metric[x->metrics++] = m;
    x->metric[x->metrics++] = main;
    return 0;
}

static void put_types(struct writing *x, uint64_t *default_type)
{
    for (uint32_t i = 0; i < x->metrics; i++) {
        const struct tt_metric_columns *m = &x->p->metric[x->metric[i]];
        *default_type = add_text(x, *m->name ? m->name : "cost");
        add_number(x, &x->message, 1, *default_type);
        add_number(x, &x->message, 2, add_text(x, unit_name(m->unit)));
        put_message(x, TT_PROFILE_SAMPLE_TYPE);
    }
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* The numbers of blocks are those of locations and functions; behind them is that of what
 * was evicted. */
static uint32_t elsewhere(const struct writing *x) { return x->p->blocks; }

static void put_sample(struct writing *x, const struct tt_walk *w, int below)
{
    int any = 0;

    for (uint32_t i = 0; i < x->metrics; i++) {
        const struct tt_metric_columns *m = &x->p->metric[x->metric[i]];
        any |= (below ? tt_elsewhere_of(m, w->context) : tt_self_of(m, w->context)) != 0;
    }
    if (!any)
        return;
    x->inner.count = 0;
    if (below)
        add_varint(x, &x->inner, elsewhere(x));
    for (uint32_t d = w->depth; d; d--)
        add_varint(x, &x->inner, tt_block_of(x->p, w->path[d]));
    if (x->inner.count)
        add_bytes(x, &x->message, 1, &x->inner);
    x->inner.count = 0;
    for (uint32_t i = 0; i < x->metrics; i++) {
        const struct tt_metric_columns *m = &x->p->metric[x->metric[i]];
        uint64_t amount = below ? tt_elsewhere_of(m, w->context)
                                : tt_self_of(m, w->context);
        add_varint(x, &x->inner, amount < INT64_MAX ? amount : INT64_MAX);
    }
    add_bytes(x, &x->message, 2, &x->inner);
    put_message(x, TT_PROFILE_SAMPLE);
}

static void put_samples(struct writing *x)
{
    struct tt_walk w;

    x->failed |= tt_walk_init(&w, x->p, 0) != 0;
    while (!x->failed && !x->w->error && tt_walk_next(&w)) {
        put_sample(x, &w, 0);
        put_sample(x, &w, 1);
    }
    tt_walk_fini(&w);
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static void put_mapping(struct writing *x, uint32_t module)
{
    add_number(x, &x->message, 1, x->many_modules);
    add_number(x, &x->message, 5, string_of(x, module));
    add_number(x, &x->message, 7, 1);
    put_message(x, TT_PROFILE_MAPPING);
}

static void put_mappings(struct writing *x)
{
    for (uint32_t b = 1; b < x->p->blocks && !x->failed; b++) {
        uint32_t module = x->p->block[b].module;
        int is_new = 0;
        uint32_t *number = module ? tt_pairs_get(&x->modules, module, 0, &is_new) : NULL;
        x->failed |= module && !number;
        if (!number || !is_new)
            continue;
        *number = ++x->many_modules;
        put_mapping(x, module);
    }
}

static void put_location(struct writing *x, uint32_t b)
{
    const struct tt_block_row *row = &x->p->block[b < x->p->blocks ? b : 0];
    const uint32_t *module = tt_pairs_find(&x->modules, row->module, 0);

    x->inner.count = 0;
    add_number(x, &x->inner, 1, b);
    add_number(x, &x->inner, 2, row->line);
    add_number(x, &x->message, 1, b);
    add_number(x, &x->message, 2, module ? *module : 0);
    add_bytes(x, &x->message, 4, &x->inner);
    put_message(x, TT_PROFILE_LOCATION);
}

static void put_function(struct writing *x, uint32_t b)
{
    const struct tt_block_row *row = &x->p->block[b];

    add_number(x, &x->message, 1, b);
    add_number(x, &x->message, 2, string_of(x, row->name));
    add_number(x, &x->message, 3, string_of(x, row->name));
    add_number(x, &x->message, 4, string_of(x, row->file));
    add_number(x, &x->message, 5, row->line);
    put_message(x, TT_PROFILE_FUNCTION);
}

static void put_blocks(struct writing *x)
{
    uint64_t name = add_text(x, "[elsewhere below]");

    put_mappings(x);
    for (uint32_t b = 1; b <= elsewhere(x) && !x->failed; b++)
        put_location(x, b);
    for (uint32_t b = 1; b < x->p->blocks && !x->failed; b++)
        put_function(x, b);
    add_number(x, &x->message, 1, elsewhere(x));
    add_number(x, &x->message, 2, name);
    put_message(x, TT_PROFILE_FUNCTION);
}

static void put_all(struct writing *x)
{
    const char *program = tt_fact_text(x->p, "program");
    uint64_t default_type = 0, comment;

    (void)add_text(x, "");
    put_types(x, &default_type);
    put_samples(x);
    put_blocks(x);
    comment = program && *program ? add_text(x, program) : 0;
    put_strings(x);
    put_number(x, TT_PROFILE_TIME, tt_fact_number(x->p, "started"));
    put_number(x, TT_PROFILE_DURATION, tt_fact_number(x->p, "lasted"));
    put_number(x, TT_PROFILE_COMMENT, comment);
    put_number(x, TT_PROFILE_DEFAULT_TYPE, default_type);
}

int tt_pprof_write(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_memory *m = e->profile->memory;
    struct writing x = {.p = e->profile, .w = w};
    int error = choose_metrics(&x, e);

    if (error)
        return error;
    tt_pairs_init(&x.strings, m);
    tt_pairs_init(&x.modules, m);
    tt_vector_init(&x.text, m, sizeof(char *));
    tt_vector_init(&x.message, m, 1);
    tt_vector_init(&x.inner, m, 1);
    put_all(&x);
    tt_vector_fini(&x.inner);
    tt_vector_fini(&x.message);
    tt_vector_fini(&x.text);
    tt_pairs_fini(&x.modules);
    tt_pairs_fini(&x.strings);
    return x.failed ? -TT_ERR_MEMORY : 0;
}
