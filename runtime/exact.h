/* SPDX-License-Identifier: MIT */
/* exact.h - the exact mode's fast path: an activation through a known edge.
 *
 * This repeats the general code of stack.c and activation.c for the case that makes up
 * nearly all of a run: the edge has been taken before, the blocks that arcs hide are
 * known, no frame has to be unwound.  Any other case is refused before anything is
 * changed, and takes the general path.
 *
 * The processor can execute some two hundred instructions while it reads the clock twice;
 * this code has to stay below that, and then costs hardly more than those readings. */
#ifndef TT_EXACT_H
#define TT_EXACT_H

#include "activation.h"
#include "call.h"
#include "clock.h"
#include "hidden.h"

TT_INLINE int tt_exact_is_plain(const struct tt_thread *t, uint32_t plain)
{
    return !TT_UNLIKELY(t->clock.pauses ||
                        __atomic_load_n(&t->modes.plain, __ATOMIC_RELAXED) != plain);
}

TT_INLINE uint64_t tt_exact_now(const struct tt_thread *t, uint32_t plain)
{
    return (plain == TT_PLAIN_CALLER ? t->clock.ticks : tt_clock_cycles()) -
           t->clock.paused_ticks - t->stack.fiber->away;
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

/* Finds the edge with this key; the bits `ignored` may differ.  A fast path that has claimed
 * frame `f` with `slot` calls it.  NULL: the slow path has to be taken, as the case is not
 * simple, or a handler ran since then and may have changed the edges. */
TT_INLINE struct tt_node *tt_edge_from(const struct tt_node *from, tt_block key,
                                       uint32_t ignored, const struct tt_frame *f,
                                       const void *slot)
{
    char *base = tt_self.base;
    uint32_t cell = tt_first_edge(base, from, key);

    while (cell && TT_UNLIKELY((tt_cell(base, cell)->key & ~ignored) != key)) {
        cell = tt_cell(base, cell)->next;
        if (!tt_frame_verify(f, slot))
            return NULL;
    }
    return TT_UNLIKELY(!cell) ? NULL : tt_cell(base, cell);
}

/* `hides`, a constant: whether there are arcs that hide something. */
TT_INLINE struct tt_frame *tt_exact_enter_as(struct tt_thread *t, tt_block block,
                                             void *slot, uintptr_t cfa, uint32_t plain,
                                             int hides)
{
    struct tt_strand *s = t->self;
    struct tt_frame *caller, *f, *timed;
    struct tt_strand_record *record;
    struct tt_node *edge;
    struct tt_hidden hidden;
    struct tt_top *top;
    uint64_t depth, before;
    uint32_t cell, flags;

    if (!tt_busy_try_brief(&t->busy))
        return NULL;
    caller = s->top;
    f = caller + 1;
    if (!tt_exact_is_plain(t, plain) || TT_UNLIKELY(f >= t->stack.end) ||
        (cfa && tt_frame_is_dead(caller, slot, cfa | 1)))
        goto refuse;
    timed = t->stack.timed;
    record = t->record;
    if (hides ? timed != caller : timed >= f && timed < t->stack.end)
        goto refuse; /* it was left by stepping down: tt_stack_drop_left */
    cell = tt_table(s->base, caller->node)[block & caller->node->mask];
    edge = tt_cell(s->base, cell);
    if (TT_UNLIKELY((edge->key & ~TT_KEY_ARC) != block) ||
        (hides && !tt_hidden_find(t, caller->node, &hidden)))
        goto refuse;
    flags = TT_FRAME_TIMED | (edge->flags & TT_NODE_AGAIN);
    if (hides && tt_hidden_has(t, &hidden, block))
        flags |= TT_FRAME_RECURSIVE;
    TT_SHOW(f->node, tt_cell(s->base, edge->target));
    f->cfa = (cfa ? cfa : caller->cfa) & ~(uintptr_t)1;
    f->slot = slot;
    TT_SHOW(f->edge, cell | TT_FRAME_FLAG(flags));
    f->children = 0;
    f->timed = timed;
    edge->calls++;
    tt_frame_set_top(s, f);
    TT_SHOW(record->current, (uint64_t)edge->target * TT_CELL_SIZE);
    depth = record->depth++;
    top = &record->top[depth % TT_TOP_FRAMES];
    top->edge = cell;
    TT_BARRIER(); /* one by one: a vector of them takes longer */
    top->depth = (uint32_t)depth + 1;
    top->entered = f->entered = tt_exact_now(t, plain);
    before = record->charged;
    tt_exact_charge(record, timed, f->entered);
    if (hides)
        tt_hidden_charge(t, &hidden, record->charged - before);
    TT_BARRIER();
    t->stack.timed = f; /* from here on it is whole */
    tt_busy_end(&t->busy);
    return (struct tt_frame *)((uintptr_t)f | 1);

refuse:
    tt_busy_end(&t->busy);
    return NULL;
}

static __attribute__((noinline, unused)) struct tt_frame *tt_exact_enter_hiding(
    struct tt_thread *t, tt_block block, void *slot, uintptr_t cfa, uint32_t plain)
{
    return tt_exact_enter_as(t, block, slot, cfa, plain, 1);
}

/* NULL if the case is not simple.  `cfa` 0: a runtime's push.  `plain` is a constant. */
TT_INLINE struct tt_frame *tt_exact_enter(struct tt_thread *t, tt_block block, void *slot,
                                          uintptr_t cfa, uint32_t plain)
{
    return TT_UNLIKELY(t->stack.hider) ? tt_exact_enter_hiding(t, block, slot, cfa, plain)
                                       : tt_exact_enter_as(t, block, slot, cfa, plain, 0);
}

/* The same if blocks are not timed, and entering one moves the top: as a scope's fast
 * path in tallytree/scope.h.  `quick`, a constant, is t->modes.quick. */
TT_INLINE struct tt_frame *tt_untimed_enter(const struct tt_thread *t, tt_block block,
                                            enum tt_quick quick)
{
    struct tt_strand *s = &tt_self;
    struct tt_frame *f = s->top + 1;
    struct tt_node *edge;

    if (TT_UNLIKELY(t->busy.work) ||
        TT_UNLIKELY(f >= __atomic_load_n(&s->limit, __ATOMIC_RELAXED)))
        return NULL;
    tt_frame_claim(f, f);
    edge = tt_cell(s->base, tt_first_edge(s->base, f[-1].node, block));
    if ((edge->key & ~TT_KEY_ARC) != block)
        return NULL;
    tt_frame_fill(f, tt_cell(s->base, edge->target), (f[-1].cfa & ~TT_CFA_FUNCTION) | 1);
    if (!tt_frame_publish(s, f, f))
        return NULL;
    f->slot = NULL;
    if (quick == TT_QUICK_COUNTED)
        tt_count(&edge->calls);
    return f;
}

/* An activation has ended: how long it was. */
TT_INLINE uint64_t tt_exact_end(struct tt_strand_record *record, struct tt_frame *f,
                                struct tt_times *times, uint64_t now)
{
    uint64_t duration = now - f->entered;

    tt_exact_charge(record, f, now);
    if (TT_UNLIKELY((int64_t)duration < 0))
        duration = 0;
    if (f->timed)
        f->timed->children += duration;
    tt_times_add(times, f, duration);
    return duration;
}

TT_INLINE int tt_exact_leave_as(struct tt_thread *t, struct tt_frame *f, uint32_t plain,
                                int hides)
{
    struct tt_strand *s = t->self;
    struct tt_strand_record *record;
    struct tt_node *edge;
    struct tt_times *times;
    struct tt_hidden hidden;
    uint64_t duration, before;

    if (!tt_busy_try_brief(&t->busy))
        return 0;
    if (TT_UNLIKELY(s->top != f) || !tt_exact_is_plain(t, plain) ||
        TT_UNLIKELY(t->stack.timed != f ||
                    ((f->edge >> 32 & 0xff) | TT_FRAME_RECURSIVE | TT_FRAME_CALL) !=
                        (TT_FRAME_TIMED | TT_FRAME_RECURSIVE | TT_FRAME_CALL)))
        goto refuse;
    record = t->record;
    edge = tt_cell(s->base, tt_frame_cell(f));
    times = (struct tt_times *)(void *)tt_cell(s->base, edge->extension);
    if (TT_UNLIKELY(times->kind != TT_TIMES) ||
        (hides && !tt_hidden_find(t, f->node, &hidden)))
        goto refuse;
    t->stack.timed = f->timed; /* from here on it is not */
    TT_BARRIER();
    before = record->charged;
    duration = tt_exact_end(record, f, times, tt_exact_now(t, plain));
    if (hides)
        tt_hidden_charge(t, &hidden, record->charged - before);
    record->depth--;
    if (TT_UNLIKELY(t->modes.detailed)) {
        tt_busy_keep(&t->busy);
        tt_activation_details(t, edge, f, duration);
    }
    if (TT_UNLIKELY(f->edge & TT_FRAME_FLAG(TT_FRAME_CALL))) {
        tt_busy_keep(&t->busy);
        tt_call_count(t, TT_CALL_LEFT);
    }
    tt_frame_set_top(s, f - 1);
    TT_SHOW(record->current, (uint64_t)((const char *)f[-1].node - s->base));
    tt_busy_end(&t->busy);
    return 1;

refuse:
    tt_busy_end(&t->busy);
    return 0;
}

static __attribute__((noinline, unused)) int tt_exact_leave_hiding(struct tt_thread *t,
                                                                   struct tt_frame *f,
                                                                   uint32_t plain)
{
    return tt_exact_leave_as(t, f, plain, 1);
}

/* 0 if the case is not simple. */
TT_INLINE int tt_exact_leave(struct tt_thread *t, struct tt_frame *f, uint32_t plain)
{
    return TT_UNLIKELY(t->stack.hider) ? tt_exact_leave_hiding(t, f, plain)
                                       : tt_exact_leave_as(t, f, plain, 0);
}

/* One activation ends, and another one begins beside it at the same time of the caller's
 * clock: does the work of leaving and entering, except what cancels out.  0 if the case
 * is not simple. */
TT_INLINE int tt_exact_swap(struct tt_thread *t, struct tt_frame *f, tt_block block)
{
    struct tt_strand *s = t->self;
    struct tt_strand_record *record;
    struct tt_node *edge;
    struct tt_times *times;
    struct tt_top *top;
    uint64_t now;
    uint32_t cell;

    if (!tt_busy_try_brief(&t->busy))
        return 0;
    if (TT_UNLIKELY(s->top != f || t->stack.hider) ||
        !tt_exact_is_plain(t, TT_PLAIN_CALLER) ||
        TT_UNLIKELY(t->stack.timed != f || t->modes.detailed ||
                    ((f->edge >> 32 & 0xff) | TT_FRAME_RECURSIVE) !=
                        (TT_FRAME_TIMED | TT_FRAME_RECURSIVE)))
        goto refuse;
    times = (struct tt_times *)(void *)tt_cell(
        s->base, tt_cell(s->base, tt_frame_cell(f))->extension);
    cell = tt_table(s->base, f[-1].node)[block & f[-1].node->mask];
    edge = tt_cell(s->base, cell);
    if (TT_UNLIKELY(times->kind != TT_TIMES || (edge->key & ~TT_KEY_ARC) != block))
        goto refuse;
    record = t->record;
    now = tt_exact_now(t, TT_PLAIN_CALLER);
    t->stack.timed = f->timed; /* from here on it is not whole */
    TT_BARRIER();
    (void)tt_exact_end(record, f, times, now);
    TT_SHOW(f->node, tt_cell(s->base, edge->target));
    TT_SHOW(f->edge,
            cell | TT_FRAME_FLAG(TT_FRAME_TIMED | (edge->flags & TT_NODE_AGAIN)));
    f->children = 0;
    edge->calls++;
    TT_SHOW(record->current, (uint64_t)edge->target * TT_CELL_SIZE);
    top = &record->top[(record->depth - 1) % TT_TOP_FRAMES];
    top->edge = cell;
    top->entered = f->entered = now;
    TT_BARRIER();
    t->stack.timed = f;
    tt_busy_end(&t->busy);
    return 1;

refuse:
    tt_busy_end(&t->busy);
    return 0;
}

/* ── every:N ──────────────────────────────────────────────────────────────────────── */

/* For functions that are switched on or have hooks: is the activation with that number
 * timed? */
TT_INLINE int tt_picks(const struct tt_strand *s, uint64_t calls)
{
    return TT_UNLIKELY(!(calls & s->picking)) && s->picking;
}

/* The next three do the work of tt_activation_pick and tt_activation_end in the simple
 * case. */
TT_INLINE int tt_pick_is_plain(const struct tt_thread *t)
{
    return !(t->clock.pauses || t->modes.detailed) &&
           tt_clock_in_use() == TT_CLOCK_CYCLES;
}

TT_INLINE void tt_pick_begin(const struct tt_thread *t, struct tt_frame *f)
{
    TT_ASSERT(t->busy.work && !tt_frame_is_fast(f));
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_PICKED));
    f->children = 0;
    f->entered = tt_exact_now(t, TT_PLAIN_CYCLES);
}

/* 0 where its edge has no times yet. */
TT_INLINE int tt_pick_end(const struct tt_thread *t, const struct tt_frame *f)
{
    const struct tt_node *edge = tt_cell(t->tree.base, tt_frame_cell(f));
    struct tt_times *times = (struct tt_times *)(void *)tt_cell(t->tree.base,
                                                                edge->extension);
    uint64_t duration = tt_exact_now(t, TT_PLAIN_CYCLES) - f->entered,
             every = t->recording->options.every;

    TT_ASSERT(t->busy.work && tt_frame_flags(f) & TT_FRAME_PICKED);
    if (times->kind != TT_TIMES)
        return 0;
    if (TT_UNLIKELY((int64_t)duration < 0))
        duration = 0;
    tt_times_add(times, f, duration);
    times->weighed += duration * (edge->calls < every ? 1 : every);
    return 1;
}

_Static_assert((int)TT_NODE_AGAIN == (int)TT_FRAME_RECURSIVE, "one and the same bit");

#endif
