/* SPDX-License-Identifier: MIT */
/* join.c - the rule by which a captured context is entered, and a cache of the results.
 *
 *      creation      the captured context itself
 *      application   none: the caller's stays
 *      ghc           app ++> fn: the path `app` of the caller, then the blocks of the captured
 *                    path `fn` that follow their common beginning
 *
 *                        a b c ++> a b d   is   a b c d
 *
 * Under ghc each block goes through the recursion policy, as a push does.  The result is
 * cached by caller and captured context: the next time it is one look-up. */
#include "join.h"
#include "block.h"
#include "call.h"
#include "context.h"
#include "quick.h"
#include "share.h"

/* ── Known ways ───────────────────────────────────────────────────────────────────── */

static struct tt_join *join_slot(struct tt_thread *t, uint32_t from, tt_context c)
{
    return &t->join[(c ^ (uint64_t)from << 7) * 0x9e3779b97f4a7c15u >> 58];
}
_Static_assert(TT_JOINS == 1 << (64 - 58), "as many as the hash has values");

static struct tt_join *find_join(struct tt_thread *t, const struct tt_node *from,
                                 tt_context c)
{
    uint32_t cell = tt_cell_of(&t->tree, from);
    struct tt_join *j = join_slot(t, cell, c);
    const struct tt_node *to = tt_cell(t->tree.base, j->to);

    return j->to && j->captured == c && j->from == cell &&
                   j->from_generation == from->generation &&
                   to->kind == TT_CELL_CONTEXT && to->generation == j->to_generation
               ? j
               : NULL;
}

static void keep_join(struct tt_thread *t, const struct tt_node *from, tt_context c,
                      const struct tt_node *to, uint32_t hides)
{
    uint32_t cell = tt_cell_of(&t->tree, from);

    TT_ASSERT(from->kind == TT_CELL_CONTEXT && to->kind == TT_CELL_CONTEXT);
    *join_slot(t, cell, c) = (struct tt_join){
        .captured = c,
        .from = cell,
        .to = tt_cell_of(&t->tree, to),
        .from_generation = from->generation,
        .to_generation = to->generation,
        .hides = hides,
    };
}

/* ── GHC's rule ───────────────────────────────────────────────────────────────────── */

/* Pushes the last `depth` blocks of the path of `n` from `here` on.  A long path is read
 * in parts, from above.  The frame keeps the nodes of this walk from being evicted.
 * Returns NULL if there is no room. */
static struct tt_node *append(struct tt_thread *t, struct tt_frame *f,
                              struct tt_node *here, const struct tt_node *n,
                              uint32_t depth)
{
    enum { PART = 1024 };
    tt_block path[PART];
    uint32_t done = 0, cell;

    TT_ASSERT(depth <= tt_tree_depth(&t->tree, n));
    TT_ASSERT(f == t->self->top); /* so the nodes of this walk cannot be evicted */
    while (done < depth) {
        uint32_t first = done, end = depth - done < PART ? depth : done + PART, i = depth;
        for (const struct tt_node *up = n; i > done; up = tt_parent(&t->tree, up), i--)
            if (i <= end)
                path[i - done - 1] = up->key;
        for (; done < end; done++) {
            cell = tt_stack_step(t, here, path[done - first]);
            if (!cell)
                return NULL;
            here = tt_tree_target(&t->tree, cell);
            TT_SHOW(f->node, here);
        }
    }
    return here;
}

struct tt_node *tt_context_join(struct tt_thread *t, struct tt_frame *f, tt_context c,
                                int *hides)
{
    struct tt_node *app = f->node, *fn, *to;
    const struct tt_join *j = find_join(t, app, c);

    *hides = 0;
    if (j) {
        *hides = (int)j->hides;
        return tt_cell(t->tree.base, j->to);
    }
    fn = tt_context_place(t, c);
    if (!fn)
        return NULL;
    TT_SHOW(f->edge, tt_cell_of(&t->tree, fn));
    to = append(t, f, app, fn,
                tt_tree_depth(&t->tree, fn) - tt_tree_common(&t->tree, app, fn));
    if (to) {
        *hides = !tt_tree_is_above(&t->tree, app, to);
        keep_join(t, app, c, to, (uint32_t)*hides);
    }
    return to;
}

/* ── Entering ─────────────────────────────────────────────────────────────────────── */

tt_mark tt_context_enter_by(tt_context c, enum tt_stacks rule)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_frame *f = NULL, *tail;
    tt_mark mark;

    if (!t)
        return (uintptr_t)tt_self.top | 1;
    if (rule == TT_STACKS_CREATION) {
        t->tail.from = NULL;
        f = tt_stack_enter_context(t, tt_context_place(t, c), c);
    } else if (rule == TT_STACKS_GHC) {
        tail = tt_tail_take(t);
        f = tt_stack_join_context(t, c);
        f = tail ? tail : f;
    }
    mark = f ? (uintptr_t)f : (uintptr_t)t->self->top | 1;
    tt_thread_leave(t);
    return mark;
}

/* A way that is known and hides nothing. */
static const struct tt_node *joined_quickly(struct tt_thread *t, tt_context c)
{
    const struct tt_node *app = t->self->top->node;
    const struct tt_join *j = t->tail.from ? NULL : find_join(t, app, c);

    return j && !j->hides ? tt_cell(t->tree.base, j->to) : NULL;
}

TT_INLINE struct tt_frame *stand_quickly_by(struct tt_thread *t, tt_context c,
                                            enum tt_stacks rule, enum tt_quick quick)
{
    uint32_t flags = rule == TT_STACKS_GHC ? TT_FRAME_JOINED : TT_FRAME_CONTEXT;
    const struct tt_node *n;

    if (!tt_quick_is_on(t, quick))
        return NULL;
    n = rule == TT_STACKS_GHC ? joined_quickly(t, c) : tt_quick_place(t, c);
    return n ? tt_quick_stand(t, n, flags, quick) : NULL;
}

/* NULL when it is not that simple. */
TT_INLINE struct tt_frame *enter_quickly_as(struct tt_thread *t, tt_context c,
                                            enum tt_stacks rule, enum tt_quick quick)
{
    struct tt_frame *f;

    if (!tt_busy_try(&t->busy))
        return NULL;
    f = stand_quickly_by(t, c, rule, quick);
    if (f)
        t->tail.from = NULL;
    tt_busy_end(&t->busy);
    return f;
}

static TT_ASIDE struct tt_frame *enter_timed_by(struct tt_thread *t, tt_context c,
                                                enum tt_stacks rule)
{
    return enter_quickly_as(t, c, rule, TT_QUICK_NOT);
}

TT_INLINE struct tt_frame *enter_quickly_by(struct tt_thread *t, tt_context c,
                                            enum tt_stacks rule)
{
    if (!t)
        return NULL;
    return t->modes.quick
               ? enter_quickly_as(t, c, rule, TT_QUICK_SAMPLED) /* or counted */
               : enter_timed_by(t, c, rule);
}

static TT_ASIDE tt_mark enter_slowly(tt_context c)
{
    TT_HAND_ON(tt_context_enter, c);
    return tt_context_enter_by(c, TT_STACKS_CREATION);
}

tt_mark tt_context_enter(tt_context c)
{
    struct tt_frame *f = enter_quickly_by(tt_self.thread, c, TT_STACKS_CREATION);

    return f ? (uintptr_t)f : enter_slowly(c);
}

tt_mark tt_context_call(tt_context c)
{
    struct tt_thread *t = tt_self.thread;
    const struct tt_recording *r = t ? t->recording : NULL;
    enum tt_stacks rule = r ? (enum tt_stacks)r->options.stacks : TT_STACKS_APPLICATION;
    struct tt_frame *f;

    if (r && rule == TT_STACKS_APPLICATION)
        return (uintptr_t)tt_self.top | 1;
    f = enter_quickly_by(t, c, rule);
    if (f)
        return (uintptr_t)f;
    TT_HAND_ON(tt_context_call, c);
    return tt_context_enter_by(c, rule);
}
