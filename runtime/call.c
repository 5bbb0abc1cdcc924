/* SPDX-License-Identifier: MIT */
/* call.c - kinds of calls, and tail calls whose caller stays the parent.
 *
 *      f calls g strictly, g tail-calls h        the stack: f h      the path: f g h
 *
 * Kinds are counted as metrics, on the context that is called.  The context that a tail
 * call left is stored with the frame below it.  If the next call comes from the same
 * frame and node, it is recorded below that context, as in a captured context. */
#include "call.h"
#include "activation.h"
#include "api.h"
#include "block.h"
#include "context.h"
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

/* A sum that is where it is nearly always; else NULL. */
static uint64_t *known_sum(const struct tt_thread *t, tt_metric metric)
{
    const struct tt_node *n = t->self->top->node;
    struct tt_metrics *m = (struct tt_metrics *)(void *)tt_cell(t->tree.base,
                                                                n->extension);

    if (t->stack.hider || n == t->tree.limbo)
        return NULL;
    if (m->kind == TT_TIMES)
        m = (struct tt_metrics *)(void *)tt_cell(t->tree.base, m->next);
    for (int i = 0; i < 4 && m->kind == TT_CELL_METRICS; i++)
        if (m->metric[i] == metric)
            return &m->amount[i];
    return NULL;
}

void tt_call_count(struct tt_thread *t, int call)
{
    TT_ASSERT(call >= 0 && call < TT_CALLS);
    tt_metric m = metric_of(call);
    uint64_t *sum = m ? known_sum(t, m) : NULL;

    if (sum)
        tt_bump(sum, 1);
    else if (m)
        tt_add_metric(t, m, 1);
}

static int is_counted(const struct tt_thread *t, enum tt_kind kind)
{
    return kind < TT_KINDS && t->recording->options.mode[kind] != TT_MODE_SAMPLED;
}

/* ── Tail calls ───────────────────────────────────────────────────────────────────── */

/* The first frame that is left: the calling activation. */
TT_INLINE void note_caller(struct tt_thread *t, struct tt_frame *f)
{
    const struct tt_node *below = tt_frame_below(f)->node;

    t->tail.context = tt_context_make(t->recording, f->node);
    t->tail.node = f->node;
    t->tail.generation = f->node->generation;
    t->tail.begins = 0;
    t->tail.descends = f->node == below || f->node->parent == tt_cell_of(&t->tree, below);
}

/* Then each context that it was entered in. */
TT_INLINE void note_context(struct tt_thread *t, const struct tt_frame *f)
{
    t->tail.begins |= (uint32_t)tt_frame_begins(f);
    t->tail.descends &= !(tt_frame_flags(f) & (TT_FRAME_HIDER | TT_FRAME_LIMBO));
}

static void note_place(struct tt_thread *t)
{
    t->tail.from = t->self->top;
    t->tail.at = t->self->top->node;
}

static int is_tail(const struct tt_thread *t)
{
    return t->tail.from == t->self->top && t->tail.at == t->self->top->node;
}

/* The node of the context that a tail call left; NULL if there is no room for it. */
static struct tt_node *tail_place(struct tt_thread *t)
{
    const struct tt_node *n = t->tail.node;

    if (n->kind == TT_CELL_CONTEXT && n->parent && n->generation == t->tail.generation)
        return tt_cell(t->tree.base, tt_cell_of(&t->tree, n));
    return tt_context_cell(t->recording, t->tail.context)
               ? tt_context_place(t, t->tail.context)
               : NULL;
}

struct tt_frame *tt_tail_take(struct tt_thread *t)
{
    struct tt_node *n;
    int is_it = is_tail(t);

    t->tail.from = NULL;
    if (!is_it)
        return NULL;
    n = tail_place(t);
    if (t->tail.begins)
        return tt_stack_enter_context(t, n, t->tail.context);
    if (!n)
        return tt_stack_join_context(
            t, t->tail.context); /* it had no room, or was evicted */
    return tt_stack_join_place(t, n,
                               !(n == t->tail.node && t->tail.descends) &&
                                   !tt_tree_is_above(&t->tree, t->self->top->node, n));
}

TT_INLINE struct tt_frame *stand_quickly(struct tt_thread *t, enum tt_quick quick)
{
    const struct tt_node *n;

    if (!tt_quick_is_on(t, quick))
        return NULL;
    if (!is_tail(t)) {
        t->tail.from = NULL;
        return NULL;
    }
    n = t->tail.node;
    if (!(t->tail.begins || t->tail.descends) || !t->tail.context ||
        n->kind != TT_CELL_CONTEXT || n->generation != t->tail.generation)
        return NULL;
    return tt_quick_stand(t, n, t->tail.begins ? TT_FRAME_CONTEXT : TT_FRAME_JOINED,
                          quick);
}

/* NULL if the case is not simple; the tail call's context is then still stored. */
TT_INLINE struct tt_frame *take_quickly(struct tt_thread *t, enum tt_quick quick)
{
    struct tt_frame *f;

    if (!tt_busy_try(&t->busy))
        return NULL;
    f = stand_quickly(t, quick);
    if (f)
        t->tail.from = NULL;
    tt_busy_end(&t->busy);
    return f;
}

static void leave_for_tail(struct tt_thread *t)
{
    struct tt_frame *top = tt_frame_top(t->self);

    if (top == tt_stack_bottom(t->stack.fiber))
        return;
    note_caller(t, top);
    if (!t->tail.context)
        t->tail.context = (tt_context)tt_frame_block(t, top) << TT_CONTEXT_BLOCK_SHIFT;
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

/* While busy; 0 if the case is not simple. */
TT_INLINE int leave_quickly(struct tt_thread *t, enum tt_quick quick)
{
    struct tt_frame *top = t->self->top, *last = top;

    if (!tt_quick_is_on(t, quick) || tt_quick_is_context(top) ||
        !tt_quick_is_simple(t, top, quick))
        return 0;
    note_caller(t, top);
    for (; tt_frame_flags(last - 1) & TT_FRAME_CONTEXT; last--)
        if (tt_quick_is_simple(t, last - 1, quick))
            note_context(t, last - 1);
        else
            return 0;
    if (quick != TT_QUICK_SAMPLED && !(tt_frame_flags(top) & TT_FRAME_CALL))
        tt_call_count(t, TT_CALL_LEFT);
    tt_quick_leave_all(t, last, quick);
    note_place(t);
    return 1;
}

TT_INLINE int leave_as(struct tt_thread *t, enum tt_quick quick)
{
    int done;

    if (!tt_busy_try(&t->busy))
        return 0;
    done = leave_quickly(t, quick);
    tt_busy_end(&t->busy);
    return done;
}

static TT_ASIDE void tail_slowly(struct tt_thread *t)
{
    if (t && (t->modes.quick == TT_QUICK_COUNTED
                  ? leave_as(t, TT_QUICK_COUNTED)
                  : !t->modes.quick && leave_as(t, TT_QUICK_NOT)))
        return;
    TT_HAND_OVER(tt_tail);
    t = tt_thread_enter();
    if (!t)
        return;
    leave_for_tail(t);
    tt_thread_leave(t);
}

void tt_tail(void)
{
    struct tt_thread *t = tt_self.thread;

    if (!t || t->modes.quick != TT_QUICK_SAMPLED || !leave_as(t, TT_QUICK_SAMPLED))
        tail_slowly(t);
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

static void count_call(struct tt_thread *t, struct tt_frame *f, enum tt_call call)
{
    tt_busy_begin(&t->busy);
    tt_frame_settle(&t->tree, f);
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_CALL));
    tt_call_count(t, (int)call);
    tt_busy_end(&t->busy);
}

/* NULL if the case is not simple. */
TT_INLINE struct tt_frame *enter_quickly(struct tt_thread *t, tt_block block,
                                         enum tt_call call, enum tt_quick quick)
{
    struct tt_frame *f;

    if (tt_block_kind(block) > TT_KIND_SCOPE)
        return NULL;
    f = quick ? tt_untimed_enter(t, block, quick)
              : TT_FRAME_OF(tt_exact_enter(t, block, NULL, 0, TT_PLAIN_CYCLES));
    if (f && quick != TT_QUICK_SAMPLED)
        count_call(t, f, call);
    return f;
}

static TT_ASIDE tt_mark push_slowly(tt_block block, enum tt_call call,
                                    struct tt_frame *tail)
{
    struct tt_thread *t;
    struct tt_frame *f;

    TT_HAND_ON(tt_push_as, block, call);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return (uintptr_t)tt_self.top | 1;
    t = tt_thread_enter();
    if (!t) {
        tt_push_stray(block);
        return (uintptr_t)tt_self.top | 1;
    }
    if (t->tail.from && call != TT_CALL_LAZY)
        tail = tt_tail_take(t);
    t->tail.from = NULL;
    f = enter_as(t, block, call);
    tt_thread_leave(t);
    f = tail ? tail : f; /* the frame that was entered first */
    return f ? (uintptr_t)f : (uintptr_t)t->self->top | 1;
}

TT_INLINE tt_mark push_quickly(struct tt_thread *t, tt_block block, enum tt_call call,
                               enum tt_quick quick)
{
    struct tt_frame *f = NULL, *tail = NULL;

    if (call == TT_CALL_LAZY)
        t->tail.from = NULL;
    if (t->tail.from)
        tail = take_quickly(t, quick);
    if (!t->tail.from)
        f = enter_quickly(t, block, call, quick);
    if (!f)
        return push_slowly(block, call, tail);
    return (uintptr_t)(tail ? tail : f);
}

static TT_ASIDE tt_mark push_counted(struct tt_thread *t, tt_block block,
                                     enum tt_call call)
{
    return push_quickly(t, block, call, TT_QUICK_COUNTED);
}

static TT_ASIDE tt_mark push_timed(struct tt_thread *t, tt_block block, enum tt_call call)
{
    return push_quickly(t, block, call, TT_QUICK_NOT);
}

tt_mark tt_push_as(tt_block block, enum tt_call call)
{
    struct tt_thread *t = tt_self.thread;

    if (!t)
        return push_slowly(block, call, NULL);
    if (t->modes.quick == TT_QUICK_SAMPLED)
        return push_quickly(t, block, call, TT_QUICK_SAMPLED);
    return t->modes.quick ? push_counted(t, block, call) : push_timed(t, block, call);
}
