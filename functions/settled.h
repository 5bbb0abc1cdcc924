/* SPDX-License-Identifier: MIT */
/* settled.h - functions in nearly simple cases: an arc that hides blocks, or a timed call.
 *
 * Their frames have an edge, as after tt_stack_enter.  Uses no vector registers, which hold
 * the program's arguments and results. */
#ifndef TT_SETTLED_H
#define TT_SETTLED_H

#include "exact.h"
#include "hiding.h"

/* Does leaving it need no more than maybe ending what it hides? */
TT_INLINE int tt_settled_is_plain(const struct tt_frame *f)
{
    return !(tt_frame_flags(f) & ~(uint32_t)TT_FRAME_HIDER);
}

/* While busy: is this the top, and does nothing above it have to be left first?  A handler may
 * have used the frames before, up to another segment; and a scope that was left by a fast path
 * may still be the innermost hider or timed activation. */
TT_INLINE int tt_settled_is_top(const struct tt_thread *t, const struct tt_frame *f)
{
    const struct tt_frame *hider = t->stack.hider, *timed = t->stack.timed,
                          *end = t->stack.end;

    TT_ASSERT(t->busy.work);
    return tt_self.top == f && !(hider > f && hider < end) && !(timed > f && timed < end);
}

/* While busy, steps down from the top, which is plain now.  No handler has the chain of
 * hiders: it is changed while busy. */
TT_INLINE void tt_settled_step_down(struct tt_thread *t, struct tt_frame *f)
{
    if (tt_frame_flags(f) & TT_FRAME_HIDER)
        tt_hiding_end(t, f);
    tt_frame_leave(&tt_self, f);
    TT_SHOW(t->record->current, (uint64_t)((const char *)f[-1].node - t->tree.base));
}

/* Leaves the top, if it is this frame and plain. */
static inline int tt_settled_leave(struct tt_thread *t, struct tt_frame *f)
{
    int done;

    if (!tt_settled_is_plain(f))
        return 0;
    tt_busy_begin(&t->busy);
    done = tt_settled_is_top(t, f);
    if (done)
        tt_settled_step_down(t, f);
    tt_busy_end(&t->busy);
    return done;
}

/* The frame becomes the top, with its edge.  While it is not, a handler's may be there, even
 * though its thread is busy: then the slot is not as it was stored. */
TT_INLINE void tt_settled_push(const struct tt_thread *t, struct tt_frame *f,
                               uintptr_t slot, uintptr_t cfa, const struct tt_node *edge)
{
    TT_ASSERT(t->busy.work && !(cfa & 1));
    do {
        tt_frame_claim(f, (void *)slot);
        TT_SHOW(f->node, tt_cell(tt_self.base, edge->target));
        TT_SHOW(f->edge, tt_cell_of(&t->tree, edge));
        f->cfa = cfa;
    } while (!tt_frame_publish(&tt_self, f, (void *)slot));
}

/* Enters above a live top that has room above it.  `slot`: where the return address is;
 * `settled`: the slot of the frame from then on.  0: it is not that simple. */
static inline int tt_settled_enter(struct tt_thread *t, struct tt_frame *f,
                                   uintptr_t slot, uintptr_t cfa, tt_block block,
                                   void *settled)
{
    struct tt_node *arc = NULL, *edge;
    int picks;

    tt_busy_begin(&t->busy);
    if (!tt_settled_is_top(t, f - 1)) {
        tt_busy_end(&t->busy);
        return 0;
    }
    edge = tt_edge_from(f[-1].node, block, TT_KEY_ARC, f, (void *)slot);
    if (!edge)
        edge = arc = tt_edge_from(f[-1].node, block | TT_KEY_ARC | TT_KEY_HIDES, 0, f,
                                  (void *)slot);
    picks = edge && tt_picks(&tt_self, edge->calls + 1);
    if (!edge || (picks && !tt_pick_is_plain(t))) {
        tt_busy_end(&t->busy);
        return 0;
    }
    tt_settled_push(t, f, slot, cfa, edge);
    if (tt_self.picking)
        tt_count(&edge->calls);
    if (arc)
        tt_hiding_begin(t, f);
    if (picks)
        tt_pick_begin(t, f);
    f->slot = settled;
    tt_busy_end(&t->busy);
    return 1;
}

static inline int tt_settled_leave_picked(struct tt_thread *t, struct tt_frame *f)
{
    int done;

    if ((tt_frame_flags(f) | TT_FRAME_HIDER) != (TT_FRAME_PICKED | TT_FRAME_HIDER))
        return 0;
    tt_busy_begin(&t->busy);
    done = tt_settled_is_top(t, f) && tt_pick_is_plain(t) && tt_pick_end(t, f);
    if (done)
        tt_settled_step_down(t, f);
    tt_busy_end(&t->busy);
    return done;
}

#endif
