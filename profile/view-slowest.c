/* SPDX-License-Identifier: MIT */
/* view-slowest.c - single activations: the slowest of marked blocks, each with its
 * callees, and the last ones.
 *
 * An average does not show the one frame that took 40 ms. */
#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "metric-view.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 20 };
enum { SLOWEST, LAST };

struct slowest {
    const struct tt_profile *p;
    struct tt_table *t;
    const struct tt_memory *memory;
    uint32_t duration, self, calls, start, strand, context;
    struct tt_columns block;
    uint64_t *total; /* of each figure of the activation at hand */
    uint32_t room;
};

static void add_columns(struct slowest *v, const char *unit)
{
    struct tt_table *t = v->t;

    v->duration = (uint32_t)tt_table_columns(t);
    tt_table_column(t, "duration", "duration", unit, TT_COLUMN_AMOUNT, 0);
    v->self = v->duration + 1;
    tt_table_column(t, "self", "self", unit, TT_COLUMN_AMOUNT, 0);
    v->calls = v->self + 1;
    tt_table_column(t, "calls", "calls", "", TT_COLUMN_AMOUNT, 0);
    v->start = v->calls + 1;
    tt_table_column(t, "start", "start", unit, TT_COLUMN_AMOUNT, 0);
    v->strand = v->start + 1;
    tt_table_column(t, "strand", "strand", "", TT_COLUMN_TEXT, 0);
    tt_block_columns(t, &v->block);
    v->context = tt_context_columns(t);
}

/* ── The subtree of an activation ─────────────────────────────────────────────────── */

/* Parents come first, so totals are summed up from the last to the first. */
static int sum_up(struct slowest *v, const struct tt_slow_figure *f, uint32_t count,
                  uint64_t *own)
{
    if (count > v->room) {
        uint64_t *more = tt_memory_get(v->memory, count * sizeof *more);
        if (!more)
            return -TT_ERR_MEMORY;
        tt_memory_put(v->memory, v->total);
        v->total = more;
        v->room = count;
    }
    for (uint32_t i = 0; i < count; i++)
        v->total[i] = f[i].self;
    for (uint32_t i = count; i-- > 0;) {
        if (f[i].parent)
            v->total[f[i].parent - 1] += v->total[i];
        *own -= *own < f[i].self ? *own : f[i].self;
    }
    return 0;
}

/* Returns the next child of `parent` (a figure + 1; 0: the activation) after `last`
 * (TT_NONE: the first), in the order of their totals; of equal ones, of their places. */
static uint32_t next_child(const struct slowest *v, const struct tt_slow_figure *f,
                           uint32_t count, uint32_t parent, uint32_t last)
{
    uint32_t best = TT_NONE;

    for (uint32_t i = 0; i < count; i++) {
        if (f[i].parent != parent || i == last)
            continue;
        if (last != TT_NONE &&
            (v->total[i] > v->total[last] || (i < last && v->total[i] == v->total[last])))
            continue;
        if (best == TT_NONE || v->total[i] > v->total[best])
            best = i;
    }
    return best;
}

static void add_figure(struct slowest *v, const struct tt_slow_figure *f, uint32_t i,
                       uint32_t depth)
{
    tt_table_row(v->t, TT_ROW_CALLEE, depth, 0);
    tt_table_amount(v->t, v->duration, v->total[i]);
    tt_table_amount(v->t, v->self, f[i].self);
    tt_table_amount(v->t, v->calls, f[i].calls);
    tt_block_cells(v->p, v->t, &v->block, f[i].block < v->p->blocks ? f[i].block : 0);
}

static void add_subtree(struct slowest *v, const struct tt_slow_figure *f, uint32_t count)
{
    uint32_t parent = 0, last = TT_NONE, depth = 1;

    for (;;) {
        uint32_t next = next_child(v, f, count, parent, last);
        if (next != TT_NONE) {
            add_figure(v, f, next, depth++);
            parent = next + 1;
            last = TT_NONE;
        } else if (parent) {
            last = parent - 1;
            parent = f[last].parent;
            depth--;
        } else {
            return;
        }
    }
}

/* ── Activations ──────────────────────────────────────────────────────────────────── */

static int add_activation(struct slowest *v, const struct tt_activation_row *a)
{
    const struct tt_slow_figure *f = v->p->slow + a->first;
    uint64_t own = a->duration - (a->dropped < a->duration ? a->dropped : a->duration);
    int error = sum_up(v, f, a->figures, &own);

    if (error)
        return error;
    tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
    tt_table_amount(v->t, v->duration, a->duration);
    if (a->slow)
        tt_table_amount(v->t, v->self, own);
    tt_table_amount(v->t, v->calls, 1);
    tt_table_amount(v->t, v->start, a->start);
    if (a->strand < v->p->strands)
        tt_table_string(v->t, v->strand,
                        tt_profile_string(v->p, v->p->strand[a->strand].name));
    tt_block_cells(v->p, v->t, &v->block, tt_block_of_edge(v->p, a->row));
    if (a->row < v->p->contexts)
        tt_context_cells(v->t, v->context, a->row, tt_path_of(v->p, a->row));
    add_subtree(v, f, a->figures);
    if (a->dropped) {
        tt_table_row(v->t, TT_ROW_REMAINDER, 1, 0);
        tt_table_amount(v->t, v->duration, a->dropped);
        tt_table_string(v->t, v->block.name, "[no room]");
    }
    return 0;
}

static int compare_durations(const void *a, const void *b)
{
    const struct tt_activation_row *x = *(const struct tt_activation_row *const *)a,
                                   *y = *(const struct tt_activation_row *const *)b;

    return TT_ORDER(y->duration, x->duration) ?: TT_ORDER(x, y);
}

static int compare_starts(const void *a, const void *b)
{
    const struct tt_activation_row *x = *(const struct tt_activation_row *const *)a,
                                   *y = *(const struct tt_activation_row *const *)b;

    return TT_ORDER(x->start, y->start) ?: TT_ORDER(x, y);
}

/* Collects the wanted activations, in their order; the last ones in the order of time. */
static int add_rows(struct slowest *v, struct tt_query *q, int by,
                    const unsigned char *wanted)
{
    const uint32_t limit = tt_limit(q, by == SLOWEST ? OWN_LIMIT : 0);
    const struct tt_activation_row **row;
    struct tt_vector rows;
    int error = 0;

    tt_vector_init(&rows, v->memory, sizeof *row);
    for (size_t i = 0; i < v->p->activations; i++) {
        const struct tt_activation_row *a = &v->p->activation[i];
        if ((by == SLOWEST) != (a->slow != 0) ||
            (wanted && !wanted[tt_block_of_edge(v->p, a->row)]))
            continue;
        if (tt_vector_push(&rows, &a) != 0) {
            tt_vector_fini(&rows);
            return -TT_ERR_MEMORY;
        }
    }
    row = rows.item;
    tt_vector_sort(&rows, by == SLOWEST ? compare_durations : compare_starts);
    for (size_t i = 0; !error && i < rows.count && i < limit; i++)
        error = add_activation(v, row[i]);
    if (!error && rows.count > limit) {
        tt_table_row(v->t, TT_ROW_REMAINDER, 0, 0);
        tt_table_left(v->t, rows.count - limit);
        tt_table_string(v->t, v->block.name,
                        tt_table_text(v->t, "%zu more", rows.count - limit));
    }
    tt_vector_fini(&rows);
    return error;
}

int tt_view_slowest(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct slowest v = {.p = p, .t = t, .memory = q->memory};
    int by = tt_view_word(q, "slowest", "by"), error = by < 0 ? by : 0;
    uint32_t time = tt_metric_find(p, "time");
    unsigned char *wanted = NULL;

    if (!error && q->sort)
        error = tt_query_wrong(q, "the view 'slowest' cannot be sorted");
    if (!error && !p->activations)
        error = tt_query_wrong(
            q, p->whole && p->whole->activations
                   ? "the filters leave no single activations; a range of time never has "
                     "any"
                   : "no single activations were kept: 'tallytree record --slowest "
                     "SCOPE:K', see tallytree-record(1), keeps those of a scope that the "
                     "program marks");
    if (!error && q->block)
        error = tt_view_blocks(p, q, q->block, &wanted);
    if (!error) {
        add_columns(&v, time == TT_NONE ? "" : p->metric[time].unit);
        error = add_rows(&v, q, by, wanted);
        if (by == SLOWEST && q->filter.count)
            tt_table_note(t, "filters",
                          "filters do not apply to what activations called");
        tt_note_losses(p, t);
    }
    tt_memory_put(v.memory, v.total);
    free(wanted);
    return error;
}
