/* SPDX-License-Identifier: MIT */
/* view-lines.c - figures by line of the sources, by statement, or by file.
 *
 * The blocks of one place are taken as one, so that a path on which several of them occur
 * counts once.  With `uncovered=1`, places that were never called are included. */
#include <stdlib.h>
#include <string.h>

#include "edges.h"
#include "metric-view.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 60 };
enum by { BY_LINE, BY_STATEMENT, BY_FILE };

struct place {
    uint32_t block, set;
    const struct tt_profile *p;
    enum by by;
};

struct lines {
    const struct tt_metric_view *l;
    struct tt_table *t;
    struct tt_columns c;
    enum by by;
    int uncovered;
    const char *file;        /* only places there; NULL: all */
    struct tt_figures other; /* of all else */
    uint32_t blocks_column, length_column, offset_column;
    struct place *place; /* of each block but the root, in the order of places */
    uint32_t *set;       /* of each block */
    uint32_t sets;
    struct tt_block_sum *sum;
    struct tt_times_row *times;
};

/* ── Places ───────────────────────────────────────────────────────────────────────── */

/* Code without a name has a build-id instead of a file. */
static const char *file_of(const struct tt_profile *p, uint32_t block)
{
    return tt_block_is_nameless(p, block) ? ""
                                          : tt_profile_string(p, p->block[block].file);
}

/* Blocks whose file is unknown are identified by module and name. */
static int compare_places(const struct place *a, const struct place *b)
{
    const struct tt_profile *p = a->p;
    const struct tt_block_row *x = &p->block[a->block], *y = &p->block[b->block];
    const char *file = file_of(p, a->block);
    const int by_file = strcmp(file, file_of(p, b->block)),
              by_line = by_file ?: TT_ORDER(x->line, y->line);

    if (!by_file && !*file)
        return strcmp(p->strings + x->module, p->strings + y->module)
                   ?: strcmp(p->strings + x->name, p->strings + y->name);
    if (a->by == BY_FILE)
        return by_file;
    if (a->by == BY_LINE)
        return by_line;
    return by_line ?: TT_ORDER(x->column, y->column) ?: TT_ORDER(x->offset, y->offset)
           ?: TT_ORDER(x->length, y->length)
           ?: strcmp(p->strings + x->name, p->strings + y->name);
}

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return compare_places(x, y) ?: TT_ORDER(x->block, y->block);
}

static void find_places(struct lines *v)
{
    const struct tt_profile *p = v->l->p;

    v->set[0] = 0; /* the root is a separate place */
    v->sets = 1;
    for (uint32_t b = 1; b < p->blocks; b++)
        v->place[b] = (struct place){b, 0, p, v->by};
    if (p->blocks > 2)
        qsort(v->place + 1, p->blocks - 1, sizeof *v->place, compare);
    for (uint32_t i = 1; i < p->blocks; i++) {
        if (i == 1 || compare_places(&v->place[i - 1], &v->place[i]) != 0)
            v->sets++;
        v->set[v->place[i].block] = v->place[i].set = v->sets - 1;
    }
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static const char *place_name(struct lines *v, uint32_t block)
{
    const struct tt_profile *p = v->l->p;
    const struct tt_block_row *b = &p->block[block];
    const char *file = file_of(p, block);

    if (!*file)
        return p->strings + b->name;
    if (v->by == BY_FILE || !b->line)
        return file;
    if (v->by == BY_STATEMENT && b->column)
        return tt_table_text(v->t, "%s:%u:%u", file, b->line, b->column);
    return tt_table_text(v->t, "%s:%u", file, b->line);
}

static void fill_cells(struct lines *v, uint32_t block, uint32_t count)
{
    const struct tt_block_row *b = &v->l->p->block[block];

    tt_block_cells(v->l->p, v->t, &v->c, block);
    tt_table_string(v->t, v->c.name, place_name(v, block));
    if (*file_of(v->l->p, block))
        tt_table_string(v->t, v->c.apart, NULL); /* the name is that of a place */
    tt_table_amount(v->t, v->blocks_column, count);
    if (v->by == BY_STATEMENT) {
        tt_table_amount(v->t, v->offset_column, b->offset);
        tt_table_amount(v->t, v->length_column, b->length);
    }
}

/* Adds the blocks of one place, `count` of them. */
static void add_place(struct lines *v, uint32_t block, uint32_t set, uint32_t count)
{
    struct tt_figures f = tt_figures_of_sum(&v->sum[set]);
    int covered = f.self || f.inclusive || f.calls;

    if (set == 0 ? !f.self && !f.calls : !covered && !v->uncovered)
        return;
    if (!covered && !tt_is_of_program(v->l->p, block))
        return;
    if (v->file &&
        strcmp(tt_profile_string(v->l->p, v->l->p->block[block].file), v->file) != 0) {
        v->other.self += f.self;
        v->other.self_low += f.self_low;
        v->other.calls += f.calls;
        return;
    }
    f.times = v->times ? &v->times[set] : NULL;
    tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
    tt_metric_view_figures(v->l, v->t, &v->c, &f);
    fill_cells(v, block, count);
}

static void add_columns(struct lines *v)
{
    tt_metric_view_columns(v->l, v->t, &v->c);
    tt_block_columns(v->t, &v->c);
    v->blocks_column = (uint32_t)tt_table_columns(v->t);
    tt_table_column(v->t, "blocks", "blocks", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    if (v->by != BY_STATEMENT)
        return;
    v->offset_column = v->blocks_column + 1;
    tt_table_column(v->t, "offset", "offset", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    v->length_column = v->blocks_column + 2;
    tt_table_column(v->t, "length", "length", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
}

/* The order of places is that in which their sets are new.  Samples find only some of the
 * places: this is for calls that were counted. */
static void note_coverage(struct lines *v)
{
    uint32_t covered = 0, all = 0;
    uint64_t calls = 0;

    for (uint32_t i = 1; i < v->l->p->blocks; i++) {
        const struct tt_block_sum *s = &v->sum[v->place[i].set];
        if ((i > 1 && v->place[i - 1].set == v->place[i].set) ||
            !tt_is_of_program(v->l->p, v->place[i].block))
            continue;
        covered += s->self || s->inclusive || s->calls;
        calls += s->calls;
        all++;
    }
    if (calls && !v->l->p->whole)
        tt_table_note(v->t, "covered", "covered: %.2f %% of %u places",
                      100.0 * covered / all, all);
}

static int add_rows(struct lines *v, struct tt_query *q)
{
    const uint32_t blocks = v->l->p->blocks;
    uint32_t end;
    int error;

    add_columns(v);
    add_place(v, 0, 0, 1);
    for (uint32_t i = 1; i < blocks; i = end) {
        for (end = i; end < blocks && v->place[end].set == v->place[i].set; end++)
            ;
        add_place(v, v->place[i].block, v->place[i].set, end - i);
    }
    error = tt_view_sort(q, v->t, "self");
    if (error)
        return error;
    tt_view_cut(v->l, v->t, &v->c, tt_limit(q, v->uncovered ? 0 : OWN_LIMIT),
                tt_threshold(q, 0));
    if (v->other.self || v->other.calls)
        tt_metric_view_remainder(v->l, v->t, &v->c, 0, 0, "[all else]", &v->other);
    tt_metric_view_elsewhere(v->l, v->t, &v->c);
    tt_metric_view_sum_row(v->l, v->t, &v->c);
    note_coverage(v);
    tt_view_notes(v->l->p, &v->l->choice, v->t);
    return 0;
}

static int fill(struct lines *v, struct tt_query *q)
{
    const struct tt_memory *m = v->l->memory;
    const uint32_t blocks = v->l->p->blocks;
    int error = -TT_ERR_MEMORY;

    v->place = tt_memory_get(m, blocks * sizeof *v->place);
    v->set = tt_memory_get(m, blocks * sizeof *v->set);
    if (v->place && v->set) {
        find_places(v);
        v->sum = tt_set_sums(v->l, v->set, v->sets);
        v->times = v->l->has_times ? tt_set_times(v->l, v->set, v->sets) : NULL;
        if (v->sum && (v->times || !v->l->has_times))
            error = add_rows(v, q);
    }
    tt_memory_put(m, v->times);
    tt_memory_put(m, v->sum);
    tt_memory_put(m, v->set);
    tt_memory_put(m, v->place);
    return error;
}

int tt_view_lines(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct lines v = {.l = &l, .t = t};
    int error = tt_metric_view_init(&l, p, q), by = tt_view_word(q, "lines", "by"),
        uncovered = tt_view_word(q, "lines", "uncovered");

    if (!error && (by < 0 || uncovered < 0))
        error = -TT_ERR_OPTION;
    if (!error) {
        v.by = (enum by)by;
        v.uncovered = uncovered & 1;
        v.file = tt_query_other(q, "file");
        v.other.has = TT_HAS_SELF | TT_HAS_CALLS;
        error = fill(&v, q);
    }
    tt_metric_view_fini(&l);
    return error;
}
