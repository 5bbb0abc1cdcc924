/* SPDX-License-Identifier: MIT */
/* exact.c - the exact mode's fast path: an activation through a known edge.
 *
 * What stack.c and activation.c do in general is done here once more for the case that
 * makes up nearly all of a run: the edge has been taken before, no arc hides anything, no
 * frame has to be unwound, nothing but sums is kept.  Whatever is not that case is refused,
 * before anything was changed, and takes the general way. */
#include "clock.h"
#include "stack.h"

TT_INLINE int is_plain(const struct tt_thread *t)
{
    return __atomic_load_n(&t->plain, __ATOMIC_RELAXED) && !t->busy && !t->pauses &&
           !t->hider;
}

TT_INLINE uint64_t plain_now(const struct tt_thread *t)
{
    uint64_t now = TT_UNLIKELY(tt_clock_kind != TT_CLOCK_CYCLES) ? tt_clock_monotonic()
                                                                 : tt_clock_cycles();

    return now - t->paused_ticks - t->fiber->away;
}

/* The edge, when it has statistics already; else NULL. */
TT_INLINE struct tt_node *known_edge(const struct tt_thread *t,
                                     const struct tt_node *from, tt_block block,
                                     uint32_t *cell)
{
    struct tt_node *edge;

    *cell = tt_table(t->tree.base, from)[block & from->mask];
    edge = tt_cell(t->tree.base, *cell);
    if (TT_UNLIKELY((edge->key & ~TT_KEY_ARC) != block || !edge->extension ||
                    tt_cell(t->tree.base, edge->extension)->kind != TT_TIMES))
        return NULL;
    return edge;
}

TT_INLINE void charge_plain(struct tt_thread *t, uint64_t now)
{
    struct tt_strand_record *record = t->record;
    uint64_t ticks = now - record->last;

    record->last = now;
    if (TT_UNLIKELY(!t->timed || (int64_t)ticks < 0))
        return;
    record->charged += ticks;
    t->timed->node
        ->self += ticks; /* no handler adds to it: the fast path is closed to them */
}

struct tt_frame *tt_exact_enter(struct tt_thread *t, tt_block block, void *slot,
                                uintptr_t cfa)
{
    struct tt_frame *caller = t->self->top, *f = caller + 1;
    struct tt_node *edge;
    struct tt_top *top;
    uint64_t flags = TT_FRAME_TIMED;
    uint32_t cell;

    if (TT_UNLIKELY(!is_plain(t) || f >= t->end))
        return NULL;
    if (cfa &&
        TT_UNLIKELY(caller->cfa <= cfa && (caller->cfa < cfa || caller->slot == slot)))
        return NULL;
    t->busy = 1;
    TT_BARRIER();
    edge = known_edge(t, caller->node, block, &cell);
    if (TT_UNLIKELY(!edge || (t->timed && t->timed->node == t->tree.limbo))) {
        t->busy = 0;
        return NULL;
    }
    if (edge->kind == TT_CELL_ARC || !(edge->flags & TT_NODE_OUTERMOST))
        flags |= TT_FRAME_RECURSIVE;
    f->node = tt_cell(t->tree.base, edge->target);
    f->cfa = cfa ? cfa : caller->cfa;
    f->slot = slot;
    f->edge = cell | TT_FRAME_FLAG(flags);
    f->children = 0;
    f->timed = t->timed;
    edge->calls++;
    t->self->top = f;
    t->record->current = (uint64_t)((const char *)f->node - t->tree.base);
    top = &t->record->top[t->record->depth++ % TT_TOP_FRAMES];
    top->edge = cell;
    top->depth = (uint32_t)t->record->depth;
    top->entered = f->entered = plain_now(t);
    charge_plain(t, f->entered);
    t->timed = f;
    TT_BARRIER();
    t->busy = 0;
    return (struct tt_frame *)((uintptr_t)f | 1);
}

int tt_exact_leave(struct tt_thread *t, struct tt_frame *f)
{
    struct tt_node *edge;
    struct tt_times *times;
    uint64_t now, duration;

    if (TT_UNLIKELY(t->self->top != f || !is_plain(t) || t->timed != f ||
                    (tt_frame_flags(f) | TT_FRAME_RECURSIVE) !=
                        (TT_FRAME_TIMED | TT_FRAME_RECURSIVE) ||
                    f->node == t->tree.limbo))
        return 0;
    edge = tt_cell(t->tree.base, tt_frame_cell(f));
    times = (struct tt_times *)(void *)tt_cell(t->tree.base, edge->extension);
    if (TT_UNLIKELY(!edge->extension || times->kind != TT_TIMES))
        return 0;
    t->busy = 1;
    TT_BARRIER();
    now = plain_now(t);
    charge_plain(t, now);
    duration = TT_UNLIKELY((int64_t)(now - f->entered) < 0) ? 0 : now - f->entered;
    t->record->depth--;
    t->timed = f->timed;
    if (t->timed)
        t->timed->children += duration;
    tt_times_add(times, f, duration);
    t->self->top = f - 1;
    t->record->current = (uint64_t)((const char *)f[-1].node - t->tree.base);
    TT_BARRIER();
    t->busy = 0;
    return 1;
}
