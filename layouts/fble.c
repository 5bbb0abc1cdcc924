/* SPDX-License-Identifier: MIT */
/* fble.c - `tallytree report fble`: Fble's profile report, and its sequences.
 *
 * The figures are those of the views 'flat' and 'graph'; here they get Fble's lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "layouts.h"
#include "query.h"
#include "sorted.h"
#include "text.h"
#include "view.h"

enum flag { SQUASH = 1, PERIOD, SEQUENCES };

const struct tt_flag tt_fble_flags[] = {
    {"squash", 's', SQUASH, "NAME", NULL, "charge this block to its callers"},
    {"seqs", 0, SEQUENCES, NULL, NULL, "sequences: percent, count, a;b;c"},
    {"profile-sample-period", 0, PERIOD, "N", NULL,
     "sequences count every N-th sample; 0: all"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct fble {
    const struct tt_profile *p;
    struct tt_text *out;
    struct tt_query query; /* the blocks that are squashed */
    int sequences;
    uint64_t period;
};

static void put_name(const struct fble *f, uint32_t block)
{
    tt_text_printf(f->out, "%s[%04xX]", tt_block_name(f->p, block), block);
}

static int is_block(const struct fble *f, uint32_t block)
{
    return block && *tt_block_name(f->p, block) != '[';
}

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

struct columns {
    uint32_t calls, self, inclusive, block;
    uint32_t only_calls; /* self, if there are only calls */
};

static int is_of_calls(const struct tt_profile *p)
{
    uint32_t metric = tt_metric_find(p, NULL);

    return metric != TT_NONE && (p->metric[metric].flags & TT_METRIC_CALLS) != 0;
}

/* Makes a view, all of it, in this order, and finds its columns. */
static int ask(struct fble *f, const char *view, const char *sort, struct tt_table *t,
               struct columns *c)
{
    struct tt_query q;
    int error;

    tt_query_init(&q, f->p->memory);
    error = tt_query_set(&q, "view", view);
    error = error ?: tt_query_set(&q, "limit", "all");
    if (!error && sort)
        error = tt_query_set(&q, "sort", sort);
    error = error ?: tt_view(f->p, &q, t);
    tt_query_fini(&q);
    if (error)
        return error;
    c->calls = tt_table_find(t, "calls");
    c->self = tt_table_find(t, "self");
    c->inclusive = tt_table_find(t, "inclusive");
    c->block = tt_table_find(t, "block");
    c->only_calls = is_of_calls(f->p) ? c->self : TT_NONE;
    return 0;
}

static uint64_t amount(const struct tt_table *t, size_t row, uint32_t column)
{
    const union tt_value *v = column == TT_NONE ? NULL : tt_table_value(t, row, column);

    return v ? v->n : 0;
}

/* The block of a row; 0: it has none. */
static uint32_t block_of(const struct fble *f, const struct tt_table *t,
                         const struct columns *c, size_t row)
{
    uint32_t block = (uint32_t)amount(t, row, c->block);

    return is_block(f, block) ? block : 0;
}

static void put_call(const struct fble *f, const struct tt_table *t,
                     const struct columns *c, size_t row, int highlight)
{
    uint32_t block = block_of(f, t, c, row);

    const uint32_t counted = c->calls == TT_NONE ? c->only_calls : c->calls;
    char calls[24] = "-"; /* not known */

    if (counted != TT_NONE && tt_table_value(t, row, counted))
        (void)snprintf(calls, sizeof calls, "%llu",
                       (unsigned long long)amount(t, row, counted));
    tt_text_printf(f->out, "%s %8s %8llu ", highlight ? "**" : "  ", calls,
                   (unsigned long long)amount(t, row, c->inclusive));
    if (highlight)
        tt_text_printf(f->out, "%8llu  ", (unsigned long long)amount(t, row, c->self));
    else
        tt_text_printf(f->out, "%8s  ", "");
    put_name(f, block);
    tt_text_put(f->out, highlight ? " **\n" : "\n");
}

/* A block that has samples has run, whatever its calls. */
static int has_run(const struct tt_table *t, const struct columns *c, size_t row)
{
    return amount(t, row, c->calls) > 0 || amount(t, row, c->inclusive) > 0;
}

/* ── The report ───────────────────────────────────────────────────────────────────── */

static int put_coverage(struct fble *f)
{
    struct columns c;
    struct tt_table t;
    size_t covered = 0, blocks = 0;
    const struct tt_profile *squashed = f->p;
    int error;

    if (f->p->whole) /* squashed blocks have run */
        f->p = f->p->whole;
    error = ask(f, "flat", NULL, &t, &c);
    for (uint32_t b = 1; b < f->p->blocks; b++)
        blocks += is_block(f, b) != 0;
    for (size_t i = 0; !error && i < tt_table_rows(&t); i++)
        covered += tt_table_row_at(&t, i)->role == TT_ROW_ENTRY &&
                   block_of(f, &t, &c, i) != 0 && has_run(&t, &c, i);
    if (!error)
        tt_text_printf(f->out,
                       "Profile Report\n==============\n"
                       "blocks executed: %2.2f%% of %zu\n\n",
                       blocks ? 100.0 * (double)covered / (double)blocks : 0, blocks);
    f->p = squashed;
    tt_table_fini(&t);
    return error;
}

/* Blocks without a row: they never ran, and come last. */
static int put_rest(const struct fble *f, const struct tt_table *t,
                    const struct columns *c, int overall)
{
    unsigned char *seen = tt_memory_get(f->p->memory, f->p->blocks);

    for (size_t i = 0; seen && i < tt_table_rows(t); i++)
        seen[block_of(f, t, c, i)] = 1;
    for (uint32_t b = 1; seen && b < f->p->blocks; b++) {
        if (seen[b] || !is_block(f, b))
            continue;
        if (overall)
            tt_text_printf(f->out, "** %8s %8d %8d  ", c->calls == TT_NONE ? "-" : "0", 0,
                           0);
        else
            tt_text_printf(f->out, "%5.2f %8d  ", 0.0, 0);
        put_name(f, b);
        tt_text_put(f->out, overall ? " **\n" : "\n");
    }
    tt_memory_put(f->p->memory, seen);
    return seen ? 0 : -TT_ERR_MEMORY;
}

static int put_overall(struct fble *f)
{
    struct columns c;
    struct tt_table t;
    int error = ask(f, "flat", "inclusive", &t, &c);

    tt_text_put(f->out, "Flat Profile by Overall Time\n----------------------------\n");
    tt_text_printf(f->out, "   %8s %8s %8s  %s\n", "count", "time", "self", "block");
    for (size_t i = 0; !error && i < tt_table_rows(&t); i++)
        if (tt_table_row_at(&t, i)->role == TT_ROW_ENTRY && block_of(f, &t, &c, i))
            put_call(f, &t, &c, i, 1);
    error = error ?: put_rest(f, &t, &c, 1);
    tt_text_put(f->out, "\n");
    tt_table_fini(&t);
    return error;
}

static int put_self(struct fble *f)
{
    struct columns c;
    struct tt_table t;
    int error = ask(f, "flat", "self", &t, &c);
    uint32_t metric = tt_metric_find(f->p, NULL);
    uint64_t total = metric == TT_NONE ? 0 : tt_grand_total(f->p, &f->p->metric[metric]);

    tt_text_put(f->out, "Flat Profile by Self Time\n-------------------------\n");
    tt_text_printf(f->out, "%5s %8s  %s\n", "%", "self", "block");
    for (size_t i = 0; !error && i < tt_table_rows(&t); i++) {
        uint64_t self = amount(&t, i, c.self);
        uint32_t block = block_of(f, &t, &c, i);
        if (tt_table_row_at(&t, i)->role != TT_ROW_ENTRY || !block)
            continue;
        tt_text_printf(f->out, "%5.2f %8llu  ",
                       total ? 100.0 * (double)self / (double)total : 0,
                       (unsigned long long)self);
        put_name(f, block);
        tt_text_put(f->out, "\n");
    }
    error = error ?: put_rest(f, &t, &c, 0);
    tt_text_put(f->out, "\n");
    tt_table_fini(&t);
    return error;
}

/* Callers ascending, the block, callees descending: the view's own order. */
static int put_graph(struct fble *f)
{
    struct columns c;
    struct tt_table t;
    int error = ask(f, "graph", "inclusive", &t, &c), open = 0;

    tt_text_put(f->out, "Call Graph\n----------\n");
    tt_text_printf(f->out, "   %8s %8s  %s\n", "count", "time", "block");
    for (size_t i = 0; !error && i < tt_table_rows(&t); i++) {
        const struct tt_row *r = tt_table_row_at(&t, i);
        int begins = i == 0 || r[-1].group != r->group;
        if (begins && open)
            tt_text_put(f->out, "-------------------------------\n");
        if (begins)
            open = 0;
        if (r->role > TT_ROW_CALLEE || !block_of(f, &t, &c, i) ||
            (r->role == TT_ROW_ENTRY && !has_run(&t, &c, i)))
            continue;
        /* the root, to which no block belongs, has callees and no entry */
        if (r->role == TT_ROW_CALLEE && !open)
            continue;
        put_call(f, &t, &c, i, r->role == TT_ROW_ENTRY);
        open = 1;
    }
    if (open)
        tt_text_put(f->out, "-------------------------------\n");
    tt_text_put(f->out, "\n");
    tt_table_fini(&t);
    return error;
}

static void put_locations(const struct fble *f)
{
    tt_text_put(f->out, "Block Locations\n---------------\n");
    for (uint32_t b = 1; b < f->p->blocks; b++) {
        const struct tt_block_row *r = &f->p->block[b];
        if (!is_block(f, b))
            continue;
        put_name(f, b);
        tt_text_printf(f->out, ": %s:%u:%u\n", f->p->strings + r->file, r->line,
                       r->column);
    }
    tt_text_put(f->out, "\n");
}

/* ── Sequences ────────────────────────────────────────────────────────────────────── */

struct sequence {
    uint64_t count;
    uint32_t context;
};

static int by_count(const void *a, const void *b)
{
    const struct sequence *x = a, *y = b;

    return TT_ORDER(y->count, x->count) ?: TT_ORDER(x->context, y->context);
}

/* In the order of the tree: the rest of one sequence counts for the next. */
static int list_sequences(const struct fble *f, const struct tt_metric_columns *m,
                          struct tt_vector *list, uint64_t *total)
{
    uint64_t carry = 0;

    for (uint32_t c = 0; c < f->p->contexts; c++) {
        uint64_t count = tt_self_of(m, c) + tt_elsewhere_of(m, c);
        if (f->period) {
            carry += count;
            count = carry / f->period;
            carry %= f->period;
        }
        if (!count)
            continue;
        if (tt_vector_push(list, &(struct sequence){.count = count, .context = c}) != 0)
            return -TT_ERR_MEMORY;
        *total += count;
    }
    return 0;
}

/* The path of a context, found from the root: a step for each sibling on the way. */
static void put_path(const struct fble *f, uint32_t context)
{
    uint32_t at = 0;

    if (!context)
        tt_text_put(f->out, "[root]");
    while (at != context) {
        uint32_t child = at + 1;
        while (tt_end_of(f->p, child) <= context)
            child = tt_end_of(f->p, child);
        tt_text_printf(f->out, "%s%s", at ? ";" : "",
                       tt_block_name(f->p, tt_block_of(f->p, child)));
        at = child;
    }
}

static int put_sequences(struct fble *f)
{
    uint32_t metric = tt_metric_find(f->p, NULL);
    struct tt_vector list;
    uint64_t total = 0;
    int error = 0;

    tt_vector_init(&list, f->p->memory, sizeof(struct sequence));
    if (metric != TT_NONE)
        error = list_sequences(f, &f->p->metric[metric], &list, &total);
    if (!error)
        tt_vector_sort(&list, by_count);
    for (size_t i = 0; !error && i < list.count; i++) {
        const struct sequence *s = (const struct sequence *)list.item + i;
        tt_text_printf(f->out, "%6.2f%% %8llu ", 100.0 * (double)s->count / (double)total,
                       (unsigned long long)s->count);
        put_path(f, s->context);
        tt_text_put(f->out, "\n");
    }
    tt_vector_fini(&list);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int take_flag(struct fble *f, enum flag flag, const char *value)
{
    switch (flag) {
    case SQUASH:
        return tt_query_set(&f->query, "fold", value);
    case SEQUENCES:
        f->sequences = 1;
        return 0;
    case PERIOD:
        return tt_flag_number(value, 0, UINT64_MAX, &f->period);
    }
    return 0;
}

static int take_flags(struct fble *f, int argc, char **argv, char *error, size_t size)
{
    struct tt_flags flags;
    int id;

    tt_flags_init(&flags, argc, argv, tt_fble_flags);
    while ((id = tt_flags_next(&flags)) > 0)
        if (take_flag(f, (enum flag)id, flags.value) != 0) {
            if (id == PERIOD)
                (void)snprintf(error, size, "'%s' is no whole number", flags.value);
            else
                (void)snprintf(error, size, "%s", f->query.error);
            return -TT_ERR_OPTION;
        }
    if (id < 0)
        (void)snprintf(error, size, "%s", flags.error);
    return id;
}

static int put_report(struct fble *f)
{
    int error;

    if (f->sequences || f->period)
        return put_sequences(f);
    error = put_coverage(f);
    error = error ?: put_overall(f);
    error = error ?: put_self(f);
    error = error ?: put_graph(f);
    if (!error)
        put_locations(f);
    return error;
}

int tt_report_fble(const struct tt_profile *p, int argc, char **argv, struct tt_text *out,
                   char *error, size_t size)
{
    struct fble f = {.p = p, .out = out};
    struct tt_filtered squashed = {0};
    int failed;

    tt_query_init(&f.query, p->memory);
    failed = take_flags(&f, argc, argv, error, size);
    if (!failed)
        failed = tt_filter_apply(p, &f.query, &squashed);
    if (failed == -TT_ERR_OPTION && !*error)
        (void)snprintf(error, size, "%s", f.query.error);
    if (!failed) {
        f.p = squashed.profile;
        failed = put_report(&f);
        tt_filter_close(&squashed, p->memory);
    }
    tt_query_fini(&f.query);
    return failed;
}
