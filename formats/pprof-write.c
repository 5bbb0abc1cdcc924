/* SPDX-License-Identifier: MIT */
/* pprof-write.c - profile.proto: writing.
 *
 * A block is a function and a location, both with its number; a context with figures of its
 * own is a sample. */
#include "pprof.h"

#include "wire.h"

struct writing {
    const struct tt_profile *p;
    struct tt_writer *w;
    uint32_t *metric, metrics; /* metric: owned */
    struct tt_pairs modules;   /* strings of the profile: their numbers */
    struct tt_texts texts;
    struct tt_message message, inner;
    uint32_t many_modules;
    int failed;
};

/* ── Types ────────────────────────────────────────────────────────────────────────── */

const char *tt_pprof_unit(const char *unit)
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
    if (below)
        tt_message_varint(&x->inner, elsewhere(x));
    for (uint32_t d = w->depth; d; d--)
        tt_message_varint(&x->inner, tt_block_of(x->p, w->path[d]));
    if (x->inner.bytes.count)
        tt_message_within(&x->message, 1, &x->inner);
    for (uint32_t i = 0; i < x->metrics; i++) {
        const struct tt_metric_columns *m = &x->p->metric[x->metric[i]];
        uint64_t amount = below ? tt_elsewhere_of(m, w->context)
                                : tt_self_of(m, w->context);
        tt_message_varint(&x->inner, amount < INT64_MAX ? amount : INT64_MAX);
    }
    tt_message_within(&x->message, 2, &x->inner);
    tt_put_message(x->w, TT_PROFILE_SAMPLE, &x->message);
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
    tt_message_number(&x->message, 1, x->many_modules);
    tt_message_number(&x->message, 5, tt_texts_of(&x->texts, module));
    tt_message_number(&x->message, 7, 1);
    tt_put_message(x->w, TT_PROFILE_MAPPING, &x->message);
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

    tt_message_number(&x->inner, 1, b);
    tt_message_number(&x->inner, 2, row->line);
    tt_message_number(&x->message, 1, b);
    tt_message_number(&x->message, 2, module ? *module : 0);
    tt_message_within(&x->message, 4, &x->inner);
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

    put_mappings(x);
    for (uint32_t b = 1; b <= elsewhere(x) && !x->failed; b++)
        put_location(x, b);
    for (uint32_t b = 1; b < x->p->blocks && !x->failed; b++)
        put_function(x, b);
    tt_message_number(&x->message, 1, elsewhere(x));
    tt_message_number(&x->message, 2, name);
    tt_put_message(x->w, TT_PROFILE_FUNCTION, &x->message);
}

static void put_all(struct writing *x)
{
    const char *program = tt_fact_text(x->p, "program");
    uint64_t default_type = 0, comment;

    (void)tt_texts_new(&x->texts, "");
    put_types(x, &default_type);
    put_samples(x);
    put_blocks(x);
    comment = program && *program ? tt_texts_new(&x->texts, program) : 0;
    tt_put_bytes(x->w, x->texts.table.bytes.item, x->texts.table.bytes.count);
    tt_put_number_field(x->w, TT_PROFILE_TIME, tt_fact_number(x->p, "started"));
    tt_put_number_field(x->w, TT_PROFILE_DURATION, tt_fact_number(x->p, "lasted"));
    tt_put_number_field(x->w, TT_PROFILE_COMMENT, comment);
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
    tt_texts_init(&x.texts, x.p, TT_PROFILE_STRING, &x.failed);
    tt_message_init(&x.message, m, &x.failed);
    tt_message_init(&x.inner, m, &x.failed);
    put_all(&x);
    tt_message_fini(&x.inner);
    tt_message_fini(&x.message);
    tt_texts_fini(&x.texts);
    tt_pairs_fini(&x.modules);
    error = x.failed ? -TT_ERR_MEMORY : 0;
fail_metrics:
    tt_memory_put(m, x.metric, size);
    return error;
}
