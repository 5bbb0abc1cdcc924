/* SPDX-License-Identifier: MIT */
/* quick.h - a runtime's captured contexts, tail calls and returns on the fast path.
 *
 *      ... │ caller │ context │ f │     a thunk is forced, or a closure called
 *      ... │ caller │ context'│ g │     f has called g by a tail call
 *
 * A context's frame only has a place in the tree; it measures nothing itself.  So if
 * blocks are not timed, entering is a few stores and returning is one.  If they are, time
 * goes from the caller to the context and back.  Other cases are refused before anything
 * is changed, and take the general path: an arc that hides blocks, a handle that was
 * evicted or is another thread's, the seam of two segments.
 *
 * `quick` is t->modes.quick as a constant: so the code for timed blocks is compiled
 * separately. */
#ifndef TT_QUICK_H
#define TT_QUICK_H

#include "activation.h"
#include "call.h"
#include "context.h"
#include "exact.h"

/* The node of a handle of this thread's, if it was not evicted; else NULL. */
TT_INLINE struct tt_node *tt_quick_place(const struct tt_thread *t, tt_context c)
{
    const struct tt_recording *r = t->recording;
    uint32_t cell = tt_context_cell(r, c), page = tt_cell_page(r, cell) - 1;
    struct tt_node *n = tt_cell(t->tree.base, cell);

    if (!c)
        return t->tree.root;
    if (TT_UNLIKELY(page >= __atomic_load_n(&r->header->used, __ATOMIC_ACQUIRE)) ||
        TT_UNLIKELY(__atomic_load_n(&r->map[page], __ATOMIC_ACQUIRE) !=
                    (TT_PAGE_CELL | t->tree.owner << 8)) ||
        TT_UNLIKELY(n->kind != TT_CELL_CONTEXT || !tt_context_is_of(r, n, c)))
        return NULL;
    return n;
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

TT_INLINE int tt_quick_is_context(const struct tt_frame *f)
{
    return (tt_frame_flags(f) & ~(uint32_t)TT_FRAME_RECURSIVE) == TT_FRAME_CONTEXT;
}

/* Is leaving it only stepping down, and counting that if calls are counted? */
TT_INLINE int tt_quick_is_untimed(const struct tt_frame *f)
{
    uint32_t flags = (uint32_t)(f->edge >> 32) & 0xff & ~(uint32_t)TT_FRAME_RECURSIVE;

    return !f->slot &&
           (tt_frame_is_fast(f) || flags == TT_FRAME_CONTEXT || flags == TT_FRAME_CALL);
}

/* Do its statistics have a place? */
TT_INLINE int tt_quick_is_timed(const struct tt_thread *t, const struct tt_frame *f)
{
    const struct tt_node *edge;

    if (tt_frame_is_fast(f) ||
        ((f->edge >> 32 & 0xff) | TT_FRAME_RECURSIVE | TT_FRAME_CALL) !=
            (TT_FRAME_TIMED | TT_FRAME_RECURSIVE | TT_FRAME_CALL))
        return 0;
    edge = tt_cell(t->tree.base, tt_frame_cell(f));
    return ((struct tt_times *)(void *)tt_cell(t->tree.base, edge->extension))->kind ==
           TT_TIMES;
}

TT_INLINE int tt_quick_is_simple(const struct tt_thread *t, const struct tt_frame *f,
                                 enum tt_quick quick)
{
    return quick ? tt_quick_is_untimed(f)
                 : tt_quick_is_context(f) || tt_quick_is_timed(t, f);
}

/* May all frames from the top down to this one be left?  Only a few are checked. */
TT_INLINE int tt_quick_may_leave(const struct tt_thread *t, const struct tt_frame *last,
                                 enum tt_quick quick)
{
    enum { FEW = 4 };
    const struct tt_frame *f = t->self->top;

    if (f < last || (uintptr_t)f - (uintptr_t)last >= FEW * sizeof *f)
        return 0;
    for (; f >= last; f--)
        if (!tt_quick_is_simple(t, f, quick))
            return 0;
    return 1;
}

/* ── Leaving ──────────────────────────────────────────────────────────────────────── */

TT_INLINE void tt_quick_end(struct tt_thread *t, struct tt_frame *f, uint64_t now)
{
    struct tt_node *edge;
    uint64_t duration;

    if (tt_quick_is_context(f)) {
        tt_exact_charge(t->record, f, now);
        if (f->timed)
            f->timed->children += f->children;
    } else {
        edge = tt_cell(t->tree.base, tt_frame_cell(f));
        duration = tt_exact_end(
            t->record, f,
            (struct tt_times *)(void *)tt_cell(t->tree.base, edge->extension), now);
        t->record->depth--;
        if (TT_UNLIKELY(t->modes.detailed))
            tt_activation_details(t, edge, f, duration);
        if (f->edge & TT_FRAME_FLAG(TT_FRAME_CALL))
            tt_call_count(t, TT_CALL_LEFT);
    }
    t->stack.timed = f->timed;
    tt_frame_set_top(t->self, f - 1);
}

/* Counts each return in the context of its frame. */
TT_INLINE void tt_quick_count_returns(struct tt_thread *t, const struct tt_frame *last)
{
    for (; t->self->top > last; tt_frame_set_top(t->self, t->self->top - 1))
        if (tt_frame_flags(t->self->top) & TT_FRAME_CALL)
            tt_call_count(t, TT_CALL_LEFT);
    if (tt_frame_flags(last) & TT_FRAME_CALL)
        tt_call_count(t, TT_CALL_LEFT);
}

/* While busy, frames that may be left: everything from the top down to `last`. */
TT_INLINE void tt_quick_leave_all(struct tt_thread *t, struct tt_frame *last,
                                  enum tt_quick quick)
{
    uint64_t now;

    if (quick) {
        if (quick == TT_QUICK_COUNTED)
            tt_quick_count_returns(t, last);
        tt_frame_set_top(t->self, last - 1);
        return;
    }
    now = tt_exact_now(t, TT_PLAIN_CYCLES);
    while (t->self->top >= last)
        tt_quick_end(t, t->self->top, now);
    TT_SHOW(t->record->current,
            (uint64_t)((const char *)t->self->top->node - t->tree.base));
}

/* Is recording on, with no block timed, or all by the processor's clock? */
TT_INLINE int tt_quick_is_on(const struct tt_thread *t, enum tt_quick quick)
{
    return quick ? __atomic_load_n(&t->self->limit, __ATOMIC_RELAXED) != NULL
                 : tt_exact_is_plain(t, TT_PLAIN_CYCLES) && !t->stack.hider;
}

/* 0 if the case is not simple. */
TT_INLINE int tt_quick_leave(struct tt_thread *t, struct tt_frame *last,
                             enum tt_quick quick)
{
    int may;

    if (!tt_busy_try(&t->busy))
        return 0;
    may = tt_quick_is_on(t, quick) && tt_quick_may_leave(t, last, quick);
    if (may)
        tt_quick_leave_all(t, last, quick);
    tt_busy_end(&t->busy);
    return may;
}

/* ── Entering ─────────────────────────────────────────────────────────────────────── */

/* Enters `n` until the frame is left.  Returns NULL in other cases than the simple one.
 * The thread is busy and on.  If blocks are not timed, a signal handler's scope may run
 * in between, and has then written its slot into the frame. */
TT_INLINE struct tt_frame *tt_quick_stand(struct tt_thread *t, const struct tt_node *n,
                                          uint32_t flags, enum tt_quick quick)
{
    struct tt_frame *f = t->self->top + 1;
    uint64_t now;

    if (TT_UNLIKELY(f >= t->stack.end) || (flags != TT_FRAME_JOINED && t->stack.hider))
        return NULL;
    tt_frame_claim(f, NULL);
    TT_SHOW(f->node, (struct tt_node *)(uintptr_t)n);
    TT_SHOW(f->edge, tt_cell_of(&t->tree, n) | TT_FRAME_FLAG(flags));
    f->cfa = f[-1].cfa & ~(uintptr_t)1;
    if (!tt_frame_publish(t->self, f, NULL))
        return NULL;
    if (quick)
        return f;
    now = tt_exact_now(t, TT_PLAIN_CYCLES);
    tt_exact_charge(t->record, t->stack.timed, now);
    f->children = 0;
    f->timed = t->stack.timed;
    t->stack.timed = f;
    return f;
}

#endif
