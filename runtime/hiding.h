/* SPDX-License-Identifier: MIT */
/* hiding.h - activations through an arc that hides blocks of the true stack: their chain. */
#ifndef TT_HIDING_H
#define TT_HIDING_H

#include "stack.h"

TT_INLINE struct tt_node *tt_hider_arc(const struct tt_thread *t,
                                       const struct tt_frame *hider)
{
    struct tt_node *arc = tt_cell(t->tree.base, tt_frame_cell(hider));

    return arc->kind == TT_CELL_ARC ? arc : NULL;
}

/* For the sampler thread: odd while the chain of hiders changes. */
TT_INLINE void tt_hider_show(struct tt_thread *t, struct tt_frame *hider)
{
    TT_ASSERT(t->charging.changes % 2 == 0);
    TT_SHOW(t->charging.changes, t->charging.changes + 1);
    TT_SHOW(t->stack.hider, hider);
    TT_SHOW(t->charging.changes, t->charging.changes + 1);
}

/* An arc that hides blocks is on the chain of hiders once, however often it is on the
 * stack: marked in slot[0], which arcs do not use otherwise. */
TT_INLINE void tt_hiding_begin(struct tt_thread *t, struct tt_frame *f)
{
    struct tt_node *arc = tt_hider_arc(t, f);

    TT_ASSERT(!(tt_frame_flags(f) & (TT_FRAME_HIDER | TT_FRAME_LIMBO)));
    TT_ASSERT(!arc || arc->slot[0] <= 1);
    if (arc && arc->slot[0])
        return;
    if (arc)
        arc->slot[0] = 1;
    TT_SHOW(f->hider, t->stack.hider);
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_HIDER));
    tt_hider_show(t, f);
}

TT_INLINE void tt_hiding_end(struct tt_thread *t, struct tt_frame *f)
{
    struct tt_node *arc = tt_hider_arc(t, f);

    TT_ASSERT(tt_frame_flags(f) & TT_FRAME_HIDER);
    TT_ASSERT(tt_frame_begins(f) || t->stack.hider == f); /* the innermost ends first */
    TT_ASSERT(tt_frame_begins(f) || !arc || arc->slot[0] == 1);
    tt_hider_show(t, f->hider);
    if (tt_frame_begins(f))
        tt_hiders_count(t, 1);
    else if (arc)
        arc->slot[0]--;
}

#endif
