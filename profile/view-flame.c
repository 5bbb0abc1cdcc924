/* SPDX-License-Identifier: MIT */

#include "estimates.h"
#include "metric-view.h"
#include "shown.h"
#include "view.h"
#include "views.h"
/* view-flame.c - contexts in preorder, each with its position, for a viewer to draw.
 *
 *      offset  0         10        20
 *      root    ├───────────────────┤       a row is as wide as its inclusive figure;
 *              ├─ a ───┤ b ─┤ 7 more       children are side by side from the offset of
 *              ├ c ┤                       their parent, then the hidden rest */

#define OWN_THRESHOLD 0.001 /* a pixel or two of a screen */
enum { OWN_LIMIT = 20000 };

struct flame {
    const struct tt_metric_view *l;
    struct tt_table *t;
    const struct tt_shown *shown;
    uint64_t *next;        /* of each that is shown: where its next child begins */
    struct tt_vector arcs; /* those that led back, by where to */
    uint32_t offset, context, by_arcs;
    struct tt_estimates estimates;
};

static void fill_cells(void *arg, size_t i, uint64_t amount, int is_remainder)
{
    struct flame *f = arg;
    const struct tt_shown *s = &f->shown[i];
    uint64_t *place = is_remainder           ? &f->next[i]
                      : s->parent == TT_NONE ? NULL
                                             : &f->next[s->parent];
    uint64_t offset = place ? *place : 0;

    if (place)
        *place += amount;
    tt_table_amount(f->t, f->offset, offset);
    if (is_remainder)
        return;
    f->next[i] = offset;
    tt_context_cells(f->t, f->context, s->context, s->path);
    tt_back_cell(f->t, f->by_arcs, &f->arcs, s->context);
    if (tt_estimates_has(&f->estimates, f->l->p->block_of[s->context]))
        tt_estimates_mark(&f->estimates);
}

static int fill(const struct tt_metric_view *l, struct tt_table *t,
                const struct tt_vector *shown)
{
    struct flame f = {.l = l, .t = t, .shown = shown->item};
    struct tt_columns c;
    int error = tt_arrivals_find(l, &f.arcs);

    tt_metric_view_columns(l, t, &c);
    f.offset = (uint32_t)tt_table_columns(t);
    tt_table_column(t, "offset", "offset", l->main->unit, TT_COLUMN_AMOUNT, 0);
    tt_block_columns(t, &c);
    f.context = tt_context_columns(t);
    f.by_arcs = tt_back_column(t);
    error = error ?: tt_estimates_begin(&f.estimates, l, t);
    f.next = tt_memory_get(l->memory, shown->count * sizeof *f.next);
    if (!error && !f.next)
        error = -TT_ERR_MEMORY;
    error = error ?: tt_shown_rows(l, shown, t, &c, fill_cells, &f);
    tt_memory_put(l->memory, f.next);
    tt_view_notes(l->p, &l->choice, t);
    if (!error)
        tt_back_note(l->p, t, f.by_arcs);
    tt_estimates_end(&f.estimates);
    tt_vector_fini(&f.arcs);
    return error;
}

int tt_view_flame(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_shown_rule rule;
    struct tt_vector shown;
    struct tt_metric_view l;
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&shown, q->memory, sizeof(struct tt_shown));
    if (!error && q->sort)
        error = tt_query_wrong(q, "the view 'flame' cannot be sorted");
    error = error ?: tt_shown_rule_of(&l, q, OWN_LIMIT, OWN_THRESHOLD, &rule);
    error = error ?: tt_shown_find(&l, &rule, &shown);
    error = error ?: fill(&l, t, &shown);
    tt_vector_fini(&shown);
    tt_metric_view_fini(&l);
    return error;
}
