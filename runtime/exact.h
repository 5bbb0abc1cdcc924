/* SPDX-License-Identifier: MIT */
/* exact.h - the exact mode's fast path: an activation through a known edge.
 *
 * What stack.c and activation.c do in general is done here once more for the case that
 * makes up nearly all of a run: the edge has been taken before, no arc hides anything, no
 * frame has to be unwound.  Whatever is not that case is refused, before anything was
 * changed, and takes the general way.
 *
 * The processor can do some two hundred instructions while it reads the clock twice; this
 * has to stay below that, and then it costs hardly more than those readings. */
#ifndef TT_EXACT_H
#define TT_EXACT_H

#include "clock.h"
#include "stack.h"

TT_INLINE int tt_exact_is_plain(const struct tt_thread *t)
{
    return !TT_UNLIKELY(t->pauses || !__atomic_load_n(&t->plain, __ATOMIC_RELAXED) ||
                        t->hider);
}

/* From here on signal handlers stay out.  What one that came before has changed, be it the
 * recording, is seen by all that is read after this. */
TT_INLINE int tt_exact_begin(struct tt_thread *t)
{
    if (TT_UNLIKELY(t->busy))
        return 0;
    t->busy = 1;
    TT_BARRIER();
    return 1;
}

TT_INLINE uint64_t tt_exact_now(const struct tt_thread *t)
{
    return tt_clock_cycles() - t->paused_ticks - t->fiber->away;
}

TT_INLINE void tt_exact_charge(struct tt_strand_record *record, struct tt_frame *timed,
                               uint64_t now)
{
    uint64_t ticks = now - record->last;

    record->last = now;
    if (TT_UNLIKELY(!timed || (int64_t)ticks < 0))
        return;
    record->charged += ticks;
    timed->node->self += ticks; /* no handler adds to it: this path is closed to them */
}

/* NULL when it is not that simple.  `cfa` 0: a runtime's push. */
TT_INLINE struct tt_frame *tt_exact_enter(struct tt_thread *t, tt_block block, void *slot,
                                          uintptr_t cfa)
{
    struct tt_strand *s = &tt_self;
    struct tt_frame *caller, *f, *timed;
    struct tt_strand_record *record;
    struct tt_node *edge;
    struct tt_top *top;
    uint64_t depth;
    uint32_t cell;

    if (!tt_exact_begin(t))
        return NULL;
    caller = s->top;
    f = caller + 1;
    if (!tt_exact_is_plain(t) || TT_UNLIKELY(f >= t->end) ||
        (cfa && tt_frame_is_dead(caller, slot, cfa | 1)))
        goto refuse;
    timed = t->timed;
    record = t->record;
    cell = tt_table(s->base, caller->node)[block & caller->node->mask];
    edge = tt_cell(s->base, cell);
    if (TT_UNLIKELY((edge->key & ~TT_KEY_ARC) != block))
        goto refuse;
    TT_SHOW(f->node, tt_cell(s->base, edge->target));
    f->cfa = (cfa ? cfa : caller->cfa) & ~(uintptr_t)1;
    f->slot = slot;
    TT_SHOW(f->edge,
            cell | TT_FRAME_FLAG(TT_FRAME_TIMED | (edge->flags & TT_NODE_AGAIN)));
    f->children = 0;
    f->timed = timed;
    edge->calls++;
    TT_SHOW(s->top, f);
    t->timed = f;
    TT_SHOW(record->current, (uint64_t)edge->target * TT_CELL_SIZE);
    depth = record->depth++;
    top = &record->top[depth % TT_TOP_FRAMES];
    top->edge = cell;
    TT_BARRIER(); /* one by one: a vector of them takes longer */
    top->depth = (uint32_t)depth + 1;
    top->entered = f->entered = tt_exact_now(t);
    tt_exact_charge(record, timed, f->entered);
    TT_BARRIER();
    t->busy = 0;
    return (struct tt_frame *)((uintptr_t)f | 1);

refuse:
    t->busy = 0;
    return NULL;
}

/* 0 when it is not that simple. */
TT_INLINE int tt_exact_leave(struct tt_thread *t, struct tt_frame *f)
{
    struct tt_strand *s = &tt_self;
    struct tt_strand_record *record;
    struct tt_frame *timed;
    struct tt_node *edge;
    struct tt_times *times;
    uint64_t now, duration;

    if (!tt_exact_begin(t))
        return 0;
    if (TT_UNLIKELY(s->top != f) || !tt_exact_is_plain(t) ||
        TT_UNLIKELY(t->timed != f || ((f->edge >> 32 & 0xff) | TT_FRAME_RECURSIVE) !=
                                         (TT_FRAME_TIMED | TT_FRAME_RECURSIVE)))
        goto refuse;
    record = t->record;
    edge = tt_cell(s->base, tt_frame_cell(f));
    times = (struct tt_times *)(void *)tt_cell(s->base, edge->extension);
    if (TT_UNLIKELY(times->kind != TT_TIMES))
        goto refuse;
    now = tt_exact_now(t);
    tt_exact_charge(record, f, now);
    duration = now - f->entered;
    if (TT_UNLIKELY((int64_t)duration < 0))
        duration = 0;
    timed = f->timed;
    record->depth--;
    t->timed = timed;
    if (timed)
        timed->children += duration;
    tt_times_add(times, f, duration);
    if (TT_UNLIKELY(t->detailed))
        tt_activation_details(t, edge, f, duration);
    TT_SHOW(s->top, f - 1);
    TT_SHOW(record->current, (uint64_t)((const char *)f[-1].node - s->base));
    TT_BARRIER();
    t->busy = 0;
    return 1;

refuse:
    t->busy = 0;
    return 0;
}

_Static_assert((int)TT_NODE_AGAIN == (int)TT_FRAME_RECURSIVE, "one and the same bit");

#endif
