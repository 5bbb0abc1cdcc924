/* SPDX-License-Identifier: MIT */
/* view-space.c - objects by type, by generation, or by the block that made them.
 *
 * An object is allocated (into a generation), copied by a collector from one generation to
 * another as it survives, and freed. */
#include <stdlib.h>
#include <string.h>

#include "metric-view.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 60 };
enum by { BY_TYPE, BY_GENERATION, BY_BOTH, BY_BLOCK };
enum event { ALLOCATED, COPIED, FREED, EVENTS };
enum heap { PEAK, LIVE, TEMPORARY, HEAP }; /* metrics of an allocator's objects */

struct space_sum {
    uint32_t block, type, from, to; /* what it is of; 0 where it is of any */
    uint64_t of[EVENTS][3];         /* number, bytes, overhead */
};

struct space {
    const struct tt_profile *p;
    struct tt_table *t;
    enum by by;
    struct tt_vector sum;
    uint64_t allocated; /* bytes, of all */
    uint32_t name, from, to, share, heap;
    struct tt_columns block;  /* by block: its columns */
    uint64_t *of_block[HEAP]; /* by block, and of all; NULL: not known, or not wanted */
};

/* ── Sums ─────────────────────────────────────────────────────────────────────────── */

static int compare_sums(const void *a, const void *b)
{
    const struct space_sum *x = a, *y = b;

    /* Allocated, from TT_NONE, comes first. */
    return TT_ORDER(x->block, y->block) ?: TT_ORDER(x->type, y->type)
           ?: TT_ORDER(x->from + 1, y->from + 1) ?: TT_ORDER(x->to, y->to);
}

static struct space_sum sum_of(const struct space *v, const struct tt_space_row *r)
{
    struct space_sum s = {0};
    enum event event = r->from == TT_NONE ? ALLOCATED : r->to == TT_NONE ? FREED : COPIED;

    if (v->by == BY_BLOCK)
        s.block = tt_block_of(v->p, r->context);
    if (v->by == BY_TYPE || v->by == BY_BOTH)
        s.type = r->type;
    if (v->by == BY_GENERATION || v->by == BY_BOTH) {
        s.from = r->from;
        s.to = r->to;
        event = ALLOCATED; /* each is in separate rows */
    }
    s.of[event][0] = r->number;
    s.of[event][1] = r->bytes;
    s.of[event][2] = r->overhead;
    return s;
}

static int find_sums(struct space *v)
{
    struct space_sum *s = tt_vector_add(&v->sum, v->p->spaces);
    size_t kept = 0;

    if (v->p->spaces && !s)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < v->p->spaces; i++) {
        s[i] = sum_of(v, &v->p->space[i]);
        if (v->p->space[i].from == TT_NONE)
            v->allocated += v->p->space[i].bytes;
    }
    tt_sort(s, v->p->spaces, sizeof *s, compare_sums);
    for (size_t i = 0; i < v->p->spaces; i++) {
        if (!kept || compare_sums(&s[kept - 1], &s[i]) != 0) {
            s[kept++] = s[i];
            continue;
        }
        for (int k = 0; k < EVENTS * 3; k++)
            s[kept - 1].of[k / 3][k % 3] += s[i].of[k / 3][k % 3];
    }
    v->sum.count = kept;
    return 0;
}

/* ── What an allocator's events tell ──────────────────────────────────────────────── */

static const struct {
    const char *name, *title, *unit;
} heap_columns[HEAP] = {
    {"peak", "peak", "bytes"}, {"live", "live", "bytes"}, {"temporary", "temporary", ""}};

static size_t heap_size(const struct space *v) { return v->p->blocks + (size_t)1; }

static int find_heap(struct space *v, const struct tt_memory *memory)
{
    for (int i = 0; i < HEAP; i++) {
        uint32_t metric = tt_metric_find(v->p, heap_columns[i].name);
        if (metric == TT_NONE)
            continue;
        v->of_block[i] = tt_memory_get(memory, heap_size(v) * sizeof(uint64_t));
        if (!v->of_block[i])
            return -TT_ERR_MEMORY;
        for (uint32_t c = 0; c < v->p->contexts; c++)
            v->of_block[i][tt_block_of(v->p, c)] += tt_self_of(&v->p->metric[metric], c);
        v->of_block[i][v->p->blocks] = tt_grand_total(v->p, &v->p->metric[metric]);
    }
    return 0;
}

static void free_heap(struct space *v, const struct tt_memory *memory)
{
    for (int i = 0; i < HEAP; i++)
        tt_memory_put(memory, v->of_block[i]);
}

static void add_heap_columns(struct space *v, uint32_t next)
{
    v->heap = next;
    for (int i = 0; i < HEAP; i++)
        if (v->of_block[i])
            tt_table_column(v->t, heap_columns[i].name, heap_columns[i].title,
                            heap_columns[i].unit, TT_COLUMN_AMOUNT, 0);
}

/* Adds the figures of a block, or with p->blocks those of all. */
static void add_heap(struct space *v, uint32_t block)
{
    uint32_t column = v->heap;

    for (int i = 0; i < HEAP; i++)
        if (v->of_block[i])
            tt_table_amount(v->t, column++, v->of_block[i][block]);
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static int has_events(const struct space *v)
{
    return v->by == BY_TYPE || v->by == BY_BLOCK;
}

static uint32_t figure_columns(const struct space *v)
{
    return has_events(v) ? EVENTS * 3 : 3;
}

static void add_columns(struct space *v)
{
    static const struct {
        const char *key, *title, *unit;
    } columns[EVENTS * 3] = {
        {"number", "number", ""},
        {"bytes", "bytes", "bytes"},
        {"overhead", "overhead", "bytes"},
        {"copied_number", "copied", ""},
        {"copied_bytes", "copied", "bytes"},
        {"copied_overhead", "overhead", "bytes"},
        {"freed_number", "freed", ""},
        {"freed_bytes", "freed", "bytes"},
        {"freed_overhead", "overhead", "bytes"},
    };
    uint32_t next = figure_columns(v);

    for (uint32_t i = 0; i < next; i++)
        tt_table_column(
            v->t, columns[i].key, columns[i].title, columns[i].unit, TT_COLUMN_AMOUNT,
            i % 3 == 2 || (i / 3 == COPIED && v->of_block[PEAK]) ? TT_COLUMN_DETAIL : 0);
    v->share = next++;
    tt_table_column(v->t, "share", "of bytes", "", TT_COLUMN_SHARE, 0);
    v->name = next++;
    if (v->by == BY_BLOCK) {
        tt_block_columns(v->t, &v->block);
        add_heap_columns(v, (uint32_t)tt_table_columns(v->t));
    } else {
        tt_table_column(v->t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    }
    if (has_events(v))
        return;
    v->from = next++;
    tt_table_column(v->t, "from", "from", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    v->to = next;
    tt_table_column(v->t, "to", "to", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
}

static const char *event_name(struct space *v, const struct space_sum *s)
{
    if (s->from == TT_NONE)
        return s->to ? tt_table_text(v->t, "allocated in %u", s->to) : "allocated";
    if (s->to == TT_NONE && s->from >= TT_AGE(0))
        return tt_table_text(v->t, "freed, aged below 2^%u", s->from - TT_AGE(0));
    if (s->to == TT_NONE)
        return tt_table_text(v->t, "freed from %u", s->from);
    return tt_table_text(v->t, "copied from %u to %u", s->from, s->to);
}

static const char *sum_name(struct space *v, const struct space_sum *s)
{
    switch (v->by) {
    case BY_TYPE:
        return v->p->strings + s->type;
    case BY_BLOCK:
        return tt_block_name(v->p, s->block);
    case BY_BOTH:
        return tt_table_text(v->t, "%s, %s", v->p->strings + s->type, event_name(v, s));
    default:
        return event_name(v, s);
    }
}

static void add_row(struct space *v, enum tt_row_role role, const uint64_t *figure,
                    const char *name)
{
    tt_table_row(v->t, role, 0, 0);
    for (uint32_t i = 0; i < figure_columns(v); i++)
        tt_table_amount(v->t, i, figure[i]);
    if (v->allocated)
        tt_table_real(v->t, v->share, (double)figure[1] / (double)v->allocated);
    tt_table_string(v->t, v->name, name);
}

static void add_sum(struct space *v, const struct space_sum *s)
{
    add_row(v, TT_ROW_ENTRY, s->of[0], sum_name(v, s));
    if (v->by == BY_BLOCK) {
        tt_block_cells(v->p, v->t, &v->block, s->block);
        add_heap(v, s->block);
    }
    if (has_events(v))
        return;
    if (s->from != TT_NONE)
        tt_table_amount(v->t, v->from, s->from);
    if (s->to != TT_NONE)
        tt_table_amount(v->t, v->to, s->to);
}

static void add_to_figures(const struct space *v, size_t row, uint64_t *figure)
{
    for (uint32_t i = 0; i < figure_columns(v); i++)
        figure[i] += tt_table_value(v->t, row, i)->n;
}

/* Adds the rows that the limit or the threshold left out, and the sum of all. */
static void cut(struct space *v, struct tt_query *q)
{
    const uint64_t least = tt_least_amount(tt_threshold(q, 0), v->allocated);
    const uint32_t limit = tt_limit(q, OWN_LIMIT);
    uint64_t rest[EVENTS * 3] = {0}, all[EVENTS * 3] = {0};
    struct tt_row *row = v->t->row.item;
    uint32_t kept = 0, more = 0;

    for (size_t i = 0; i < tt_table_rows(v->t); i++) {
        uint64_t bytes = tt_table_value(v->t, i, 1)->n;
        if (has_events(v) && tt_table_value(v->t, i, 4)->n > bytes)
            bytes = tt_table_value(v->t, i, 4)->n; /* copied more than allocated */
        add_to_figures(v, i, all);
        if (kept < limit && bytes >= least) {
            row[kept++] = row[i];
            continue;
        }
        add_to_figures(v, i, rest);
        more++;
    }
    v->t->row.count = kept;
    if (more) {
        add_row(v, TT_ROW_REMAINDER, rest, tt_table_text(v->t, "%u more", more));
        tt_table_left(v->t, more);
    }
    add_row(v, TT_ROW_TOTAL, all, "total");
    if (v->by == BY_BLOCK)
        add_heap(v, v->p->blocks);
}

int tt_view_space(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct space v = {.p = p, .t = t};
    int by = tt_view_word(q, "space", "by"), error = by < 0 ? by : 0;

    tt_vector_init(&v.sum, q->memory, sizeof(struct space_sum));
    v.by = by < 0 ? BY_TYPE : (enum by)by;
    if (!tt_query_other(q, "by") && tt_metric_find(p, "peak") != TT_NONE)
        v.by = BY_BLOCK;
    if (!error && !p->spaces)
        error = tt_query_wrong(q, p->whole && p->whole->spaces
                                      ? "the filters leave no objects; a range of time "
                                        "never has any"
                                      : "no objects were recorded, as by `tallytree "
                                        "record --heap` or tt_alloc");
    if (!error && v.by == BY_BLOCK)
        error = find_heap(&v, q->memory);
    error = error ?: find_sums(&v);
    if (!error) {
        add_columns(&v);
        for (size_t i = 0; i < v.sum.count; i++)
            add_sum(&v, (const struct space_sum *)v.sum.item + i);
        error = tt_view_sort(q, t, v.of_block[PEAK] ? "peak" : "bytes");
    }
    if (!error)
        cut(&v, q);
    if (!error && v.of_block[PEAK])
        tt_note_peaks(p, t);
    free_heap(&v, q->memory);
    tt_vector_fini(&v.sum);
    return error;
}
