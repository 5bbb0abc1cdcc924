/* SPDX-License-Identifier: MIT */
/* call.c - kinds of calls, and tail calls whose caller stays the parent.
 *
 *      f calls g strictly, g tail-calls h        the stack: f h      the path: f g h
 *
 * Kinds are counted as metrics, on the context that is called.  What a tail call left is
 * remembered with the frame it came down to.  The next call from there, when it still is at
 * the same place, stands at what was left first, as in a captured context. */
#include "block.h"
#include "quick.h"
#include "share.h"

static tt_metric metric_of(int call)
{
    static const char *const names[TT_CALLS] = {"strict calls", "lazy calls",
                                                "curried calls", "tails and returns"};
    static tt_metric metrics[TT_CALLS];
    tt_metric m = __atomic_load_n(&metrics[call], __ATOMIC_RELAXED);

    if (!m) {
        m = tt_metric_get(names[call], "");
        __atomic_store_n(&metrics[call], m, __ATOMIC_RELAXED);
    }
    return m;
}

void tt_call_count(struct tt_thread *t, int call)
{
    tt_metric m = metric_of(call);

    if (m && !tt_charge_metric(t, m, 1))
        tt_bump_shared(&t->recording->header->lost_figures, 1);
}

static int is_counted(const struct tt_thread *t, enum tt_kind kind)
{
    return kind < TT_KINDS && t->recording->options.mode[kind] != TT_MODE_SAMPLED;
}

/* ── Tail calls ───────────────────────────────────────────────────────────────────── */

/* What is left first: the activation that calls. */
static void note_caller(struct tt_thread *t, struct tt_frame *f)
{
    const struct tt_node *below = tt_frame_below(f)->node;

    t->tail = tt_context_of(t, f);
    t->tail_begins = 0;
    t->tail_descends = f->node == below || f->node->parent == tt_cell_of(&t->tree, below);
}

/* And then each context that it was entered in. */
static void note_context(struct tt_thread *t, const struct tt_frame *f)
{
    t->tail_begins |= (uint32_t)tt_frame_begins(f);
    t->tail_descends &= !(tt_frame_flags(f) & (TT_FRAME_HIDER | TT_FRAME_LIMBO));
}

static void note_place(struct tt_thread *t)
{
    t->tail_from = t->self->top;
    t->tail_at = t->self->top->node;
}

static int is_tail(const struct tt_thread *t)
{
    return t->tail_from == t->self->top && t->tail_at == t->self->top->node;
}

struct tt_frame *tt_tail_take(struct tt_thread *t)
{
    struct tt_node *n;
    int is_it = is_tail(t);

    t->tail_from = NULL;
    if (!is_it)
        return NULL;
    if (!((uint32_t)t->tail & TT_CONTEXT_CELL))
        return tt_stack_join_context(t, t->tail); /* it had no room */
    n = tt_quick_place(t, t->tail);
    if (n && t->tail_descends && !t->tail_begins)
        return tt_stack_join_place(t, n, 0);
    n = n ? n : tt_context_place(t, t->tail);
    if (t->tail_begins)
        return tt_stack_enter_context(t, n);
    return tt_stack_join_place(t, n, !tt_tree_is_above(&t->tree, t->self->top->node, n));
}

static struct tt_frame *stand_quickly(struct tt_thread *t)
{
    const struct tt_node *n;

    if (!tt_quick_is_on(t))
        return NULL;
    if (!is_tail(t)) {
        t->tail_from = NULL;
        return NULL;
    }
    if (!(t->tail_begins || t->tail_descends) || !t->tail ||
        !(n = tt_quick_place(t, t->tail)))
        return NULL;
    return tt_quick_stand(t, n, t->tail_begins ? TT_FRAME_CONTEXT : TT_FRAME_JOINED);
}

/* NULL, and there still is what a tail call left, when it is not that simple. */
static struct tt_frame *take_quickly(struct tt_thread *t)
{
    struct tt_frame *f;

    if (!tt_exact_begin(t))
        return NULL;
    f = stand_quickly(t);
    if (f)
        t->tail_from = NULL;
    TT_BARRIER();
    t->busy = 0;
    return f;
}

static void leave_for_tail(struct tt_thread *t)
{
    struct tt_frame *top = tt_frame_top(t->self);

    if (top == tt_stack_bottom(t->fiber))
        return;
    note_caller(t, top);
    if (!t->tail)
        t->tail = (tt_context)tt_frame_block(t, top) << TT_CONTEXT_BLOCK_SHIFT;
    if (!(tt_frame_flags(top) & TT_FRAME_CALL) &&
        is_counted(t, tt_block_kind(tt_frame_block(t, top))))
        tt_call_count(t, TT_CALL_LEFT);
    tt_stack_leave(t, top, 0);
    while (tt_frame_flags(t->self->top) & TT_FRAME_CONTEXT) {
        note_context(t, t->self->top);
        tt_stack_leave(t, tt_frame_top(t->self), 0);
    }
    note_place(t);
}

/* While busy and on; 0 when it is not that simple. */
static int leave_quickly(struct tt_thread *t)
{
    struct tt_frame *top = t->self->top, *last = top;

    if (tt_quick_is_context(top) || !tt_quick_may_leave(t, top))
        return 0;
    note_caller(t, top);
    for (; tt_frame_flags(last - 1) & TT_FRAME_CONTEXT; last--)
        note_context(t, last - 1);
    if (!tt_quick_may_leave(t, last))
        return 0;
    if (!t->quick && !(tt_frame_flags(top) & TT_FRAME_CALL))
        tt_call_count(t, TT_CALL_LEFT);
    tt_quick_leave_all(t, last);
    note_place(t);
    return 1;
}

void tt_tail(void)
{
    struct tt_thread *t = tt_self.thread;
    int done = 0;

    if (t && tt_exact_begin(t)) {
        done = tt_quick_is_on(t) && leave_quickly(t);
        TT_BARRIER();
        t->busy = 0;
    }
    if (done)
        return;
    TT_HAND_OVER(tt_tail);
    t = tt_thread_enter();
    if (!t)
        return;
    leave_for_tail(t);
    tt_thread_leave(t);
}

/* ── Pushes ───────────────────────────────────────────────────────────────────────── */

static struct tt_frame *enter_as(struct tt_thread *t, tt_block block, enum tt_call call)
{
    enum tt_kind kind = tt_block_kind(block);
    struct tt_frame *f = TT_FRAME_OF(tt_stack_enter(t, block, kind, NULL, 0));

    if (f && is_counted(t, kind)) {
        TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_CALL));
        tt_call_count(t, (int)call);
    }
    return f;
}

/* NULL when it is not that simple. */
static struct tt_frame *enter_quickly(struct tt_thread *t, tt_block block,
                                      enum tt_call call)
{
    struct tt_frame *f;

    if (tt_block_kind(block) > TT_KIND_SCOPE)
        return NULL;
    if (t->quick)
        return tt_untimed_enter(t, block, 0);
    if (!(f = tt_exact_enter(t, block, NULL, 0, TT_PLAIN_CYCLES)))
        return NULL;
    f = TT_FRAME_OF(f);
    t->busy = 1;
    TT_BARRIER();
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_CALL));
    tt_call_count(t, (int)call);
    TT_BARRIER();
    t->busy = 0;
    return f;
}

tt_mark tt_push_as(tt_block block, enum tt_call call)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = NULL, *tail = NULL;

    if (t && call == TT_CALL_LAZY)
        t->tail_from = NULL;
    if (t && t->tail_from)
        tail = take_quickly(t);
    if (t && !t->tail_from)
        f = enter_quickly(t, block, call);
    if (f)
        return (uintptr_t)(tail ? tail : f);
    TT_HAND_ON(tt_push_as, block, call);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return (uintptr_t)tt_self.top | 1;
    t = tt_thread_enter();
    if (!t) {
        tt_push_stray(block);
        return (uintptr_t)tt_self.top | 1;
    }
    if (t->tail_from && call != TT_CALL_LAZY)
        tail = tt_tail_take(t);
    t->tail_from = NULL;
    f = enter_as(t, block, call);
    tt_thread_leave(t);
    f = tail ? tail : f; /* what was entered first */
    return f ? (uintptr_t)f : (uintptr_t)t->self->top | 1;
}
