/* SPDX-License-Identifier: MIT */
/* fiber.c - stacks of activations that move between threads.
 *
 * A fiber's frames point into the tree of the thread that ran it last.  Going back to that
 * thread costs nothing; on another one each frame's block is looked up on the way from
 * that tree's root, once. */
#include <stdlib.h>

#include "activation.h"
#include "control.h"
#include "hiding.h"
#include "share.h"
#include "stack.h"

tt_fiber *tt_fiber_new(void)
{
    struct tt_fiber *f;

    TT_HAND_ON(tt_fiber_new);
    f = malloc(sizeof *f);
    if (f && tt_stack_init(f, NULL, 0) != 0) {
        free(f);
        f = NULL;
    }
    return f;
}

static void unlink_fiber(struct tt_fiber *f)
{
    if (!f->link)
        return;
    TT_ASSERT(*f->link == f && !f->running);
    *f->link = f->next;
    if (f->next)
        f->next->link = f->link;
    f->link = NULL;
}

/* Takes a fiber from the thread that ran it last, which may be about to end: the data to
 * resolve its frames elsewhere are stored in them. */
static void take_away(struct tt_fiber *f)
{
    struct tt_thread *other;

    tt_threads_lock();
    other = f->thread;
    if (other) {
        tt_nested_lock(&other->tree.lock, &tt_self);
        tt_stack_keep_blocks(other, f);
        unlink_fiber(f);
        tt_nested_unlock(&other->tree.lock);
        __atomic_store_n(&f->thread, NULL, __ATOMIC_RELAXED);
    }
    tt_threads_unlock();
}

/* ── Leaving one stack ────────────────────────────────────────────────────────────── */

/* Brings its figures up to date before it is suspended. */
static void settle(struct tt_thread *t)
{
    struct tt_fiber *f = t->stack.fiber;

    tt_stack_drop_left(t);
    f->local = tt_time_now(t);
    tt_charge_time(t, f->local, t->self->top);
    tt_hiders_count(t, UINT32_MAX);
}

static void suspend(struct tt_thread *t)
{
    struct tt_fiber *f = t->stack.fiber;

    TT_ASSERT(!f->link); /* it runs: it is on no list */
    t->tail.from = NULL;
    f->top = t->self->top;
    f->hider = t->stack.hider;
    f->timed = t->stack.timed;
    f->running = 0;
    if (!t->recording)
        return; /* it has no frames in a tree */
    f->thread = t;
    f->epoch = t->recording->epoch;
    tt_nested_lock(&t->tree.lock, &tt_self);
    f->next = t->stack.suspended;
    f->link = &t->stack.suspended;
    if (f->next)
        f->next->link = &f->next;
    t->stack.suspended = f;
    tt_nested_unlock(&t->tree.lock);
}

/* ── Taking up another ────────────────────────────────────────────────────────────── */

/* Its frames are in this thread's tree: restores them. */
static void take_up_own(struct tt_thread *t, struct tt_fiber *f)
{
    tt_nested_lock(&t->tree.lock, &tt_self);
    unlink_fiber(f);
    tt_nested_unlock(&t->tree.lock);
    tt_frame_set_top(t->self, f->top);
    tt_hider_show(t, f->hider);
    t->stack.timed = f->timed;
    tt_hiders_count(t, 1);
    tt_stack_show(t, f->top);
}

/* They are in another tree, or in none: looks them up again. */
static void take_up_foreign(struct tt_thread *t, struct tt_fiber *f)
{
    take_away(f);
    tt_frame_set_top(t->self, f->top);
    tt_stack_resolve(t, f->epoch != t->recording->epoch);
}

static void take_up(struct tt_thread *t, struct tt_fiber *f)
{
    int was_here = f->epoch == t->recording->epoch;

    TT_ASSERT(!f->running && f->top >= f->segment->frame && f->top < f->segment->end);
    t->stack.fiber = f;
    t->stack.end = f->segment->end;
    tt_stack_open(t);
    if (was_here)
        f->away += tt_time_now(t) - f->local;
    t->record->last = tt_time_now(t);
    if (was_here && __atomic_load_n(&f->thread, __ATOMIC_RELAXED) == t)
        take_up_own(t, f);
    else
        take_up_foreign(t, f);
    f->running = 1;
    f->thread = t;
    f->epoch = t->recording->epoch;
}

/* When off only the stacks are exchanged; their frames find their places when the thread
 * is attached again. */
static tt_fiber *exchange(struct tt_fiber *to)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_fiber *left;

    if (!t || tt_is_at_work())
        return NULL;
    left = t->stack.fiber;
    if (!to)
        to = &t->stack.own;
    if (to != left) {
        suspend(t);
        take_away(to);
        to->running = 1;
        t->stack.fiber = to;
        tt_frame_set_top(t->self, to->top);
        t->stack.end = to->segment->end;
    }
    return left == &t->stack.own ? NULL : left;
}

tt_fiber *tt_fiber_switch(tt_fiber *to)
{
    struct tt_fiber *left;
    struct tt_thread *t;

    TT_HAND_ON(tt_fiber_switch, to);
    t = tt_thread_enter();
    if (!t)
        return exchange(to);
    if (!to)
        to = &t->stack.own;
    left = t->stack.fiber;
    if (to != left) {
        settle(t);
        suspend(t);
        take_up(t, to);
    }
    tt_thread_leave(t);
    return left == &t->stack.own ? NULL : left;
}

/* Ends a fiber's open activations in this thread's tree. */
static void close_books(struct tt_thread *t, struct tt_fiber *f)
{
    struct tt_fiber *back = t->stack.fiber;

    settle(t);
    suspend(t);
    take_up(t, f);
    tt_stack_leave(t, tt_stack_bottom(f), 1);
    settle(t);
    suspend(t);
    take_up(t, back);
}

void tt_fiber_free(tt_fiber *f)
{
    struct tt_thread *t;

    TT_HAND_OVER(tt_fiber_free, f);
    t = f ? tt_thread_enter() : NULL;
    if (!f)
        return;
    if (t) {
        if (__atomic_load_n(&f->thread, __ATOMIC_RELAXED) &&
            f->epoch == t->recording->epoch && t->stack.fiber != f)
            close_books(t, f);
        tt_thread_leave(t);
    }
    take_away(f);
    tt_stack_fini(f);
    free(f);
}
