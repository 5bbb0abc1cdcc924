/* SPDX-License-Identifier: MIT */

#include "estimates.h"
#include "metric-view.h"
/* estimates.c - marks rows whose paths were estimated from a call graph.
 *
 *      main ─ a ─┐            main ┬ a ─ f       the file says what f cost each caller, and g
 *         └── b ─┴ f ─ g           └ b ─ f ─ g   each f; how much of g is below a is a guess
 *
 * A function at one place has the figures of the file.  If it is at several places, each
 * place has a share, and so have all contexts below. */

int tt_estimates_begin(struct tt_estimates *e, const struct tt_metric_view *l,
                       struct tt_table *t)
{
    const struct tt_profile *p = l->p;

    *e = (struct tt_estimates){.l = l, .t = t, .column = TT_NONE};
    if (!tt_fact_text(p, "paths"))
        return 0;
    e->places = tt_memory_get(l->memory, p->blocks);
    if (!e->places)
        return -TT_ERR_MEMORY;
    for (uint32_t c = 0; c < p->contexts; c++)
        if (e->places[p->block_of[c]] < 2)
            e->places[p->block_of[c]]++;
    tt_table_column(t, "estimated", "estimated", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    e->column = (uint32_t)tt_table_columns(t) - 1;
    return 0;
}

int tt_estimates_has(const struct tt_estimates *e, uint32_t block)
{
    return e->places && e->places[block] > 1;
}

void tt_estimates_mark(const struct tt_estimates *e)
{
    tt_table_amount(e->t, e->column, 1);
}

void tt_estimates_end(struct tt_estimates *e)
{
    size_t row = 0;

    if (!e->places)
        return;
    while (row < tt_table_rows(e->t) && !tt_table_value(e->t, row, e->column))
        row++;
    if (row < tt_table_rows(e->t))
        tt_table_note(e->t, "estimated",
                      "estimated: the file has the cost of each call, and not of "
                      "each path; rows with ≈ have a share of it");
    tt_memory_put(e->l->memory, e->places);
    e->places = NULL;
}
