/* SPDX-License-Identifier: MIT */

#include "estimates.h"
#include "metric-view.h"
#include "shown.h"
#include "view-order.h"
#include "view.h"
#include "views.h"
/* view-tree.c - contexts from the root, the largest first. */

#define OWN_THRESHOLD 0.005
enum { OWN_LIMIT = 200 };

struct tree {
    const struct tt_metric_view *l;
    struct tt_table *t;
    const struct tt_shown *shown;
    struct tt_vector arcs; /* those that led back, by where to */
    uint32_t context, contexts, by_arcs;
    struct tt_estimates estimates;
};

static void fill_cells(void *arg, size_t i, uint64_t amount, int is_remainder)
{
    const struct tree *tree = arg;
    const struct tt_shown *s = &tree->shown[i];

    (void)amount;
    if (is_remainder)
        return;
    tt_context_cells(tree->t, tree->context, s->context, s->path);
    tt_table_amount(tree->t, tree->contexts, s->end - s->context);
    tt_back_cell(tree->t, tree->by_arcs, &tree->arcs, s->context);
    if (tt_estimates_has(&tree->estimates, tree->l->p->block_of[s->context]))
        tt_estimates_mark(&tree->estimates);
}

static int fill(const struct tt_metric_view *l, struct tt_query *q, struct tt_table *t,
                const struct tt_vector *shown)
{
    struct tree tree = {.l = l, .t = t, .shown = shown->item};
    struct tt_columns c;
    int error = tt_arrivals_find(l, &tree.arcs);

    tt_metric_view_columns(l, t, &c);
    tt_block_columns(t, &c);
    tree.context = tt_context_columns(t);
    tree.contexts = (uint32_t)tt_table_columns(t);
    tt_table_column(t, "contexts", "contexts", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    tree.by_arcs = tt_back_column(t);
    error = error ?: tt_estimates_begin(&tree.estimates, l, t);
    error = error ?: tt_shown_rows(l, shown, t, &c, fill_cells, &tree);
    error = error ?: tt_view_sort_tree(q, t, "inclusive");
    tt_view_notes(l->p, &l->choice, t);
    if (!error)
        tt_back_note(l->p, t, tree.by_arcs);
    tt_estimates_end(&tree.estimates);
    tt_vector_fini(&tree.arcs);
    return error;
}

int tt_view_tree(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_shown_rule rule;
    struct tt_vector shown;
    struct tt_metric_view l;
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&shown, q->memory, sizeof(struct tt_shown));
    error = error ?: tt_shown_rule_of(&l, q, OWN_LIMIT, OWN_THRESHOLD, &rule);
    error = error ?: tt_shown_find(&l, &rule, &shown);
    error = error ?: fill(&l, q, t, &shown);
    tt_vector_fini(&shown);
    tt_metric_view_fini(&l);
    return error;
}
