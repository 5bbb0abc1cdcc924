/* SPDX-License-Identifier: MIT */
/* fiber.c - stacks of activations that move between threads.
 *
 * A fiber's frames point into the tree of the thread that ran it last.  Going back to that
 * thread costs nothing; on another one each frame's block is looked up on the way from
 * that tree's root, once. */
#include <stdlib.h>

#include "stack.h"

tt_fiber *tt_fiber_new(void)
{
    struct tt_fiber *f = malloc(sizeof *f);

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
    *f->link = f->next;
    if (f->next)
        f->next->link = f->link;
    f->link = NULL;
}

/* ── Leaving one stack ────────────────────────────────────────────────────────────── */

static void suspend(struct tt_thread *t)
{
    struct tt_fiber *f = t->fiber;

    f->local = tt_time_now(t);
    tt_charge_time(t, f->local, t->self->top);
    tt_hiders_count(t, UINT32_MAX);
    f->top = t->self->top;
    f->hider = t->hider;
    f->timed = t->timed;
    f->thread = t;
    f->epoch = t->recording->epoch;
    pthread_mutex_lock(&t->tree.lock);
    f->next = t->suspended;
    f->link = &t->suspended;
    if (f->next)
        f->next->link = &f->next;
    t->suspended = f;
    pthread_mutex_unlock(&t->tree.lock);
    __atomic_store_n(&f->running, 0, __ATOMIC_RELEASE);
}

/* ── Taking up another ────────────────────────────────────────────────────────────── */

/* Its frames are in this thread's tree: they only have to be put back. */
static void take_up_own(struct tt_thread *t, struct tt_fiber *f)
{
    pthread_mutex_lock(&t->tree.lock);
    unlink_fiber(f);
    pthread_mutex_unlock(&t->tree.lock);
    t->self->top = f->top;
    t->hider = f->hider;
    t->timed = f->timed;
    tt_hiders_count(t, 1);
    tt_stack_show(t, f->top);
}

/* They are in another's, or in none: they are looked up anew. */
static void take_up_foreign(struct tt_thread *t, struct tt_fiber *f)
{
    struct tt_thread *other = f->thread;

    if (other) {
        pthread_mutex_lock(&other->tree.lock);
        tt_stack_keep_blocks(other, f);
        unlink_fiber(f);
        pthread_mutex_unlock(&other->tree.lock);
    }
    t->self->top = f->top;
    tt_stack_resolve(t, f->epoch != t->recording->epoch);
}

static void take_up(struct tt_thread *t, struct tt_fiber *f)
{
    uint64_t now;

    t->fiber = f;
    f->running = 1;
    t->end = f->segment->end;
    if (!t->exact)
        t->self->limit = t->end;
    now = tt_time_now(t) + f->away;
    if (f->thread || f->top->cfa != UINTPTR_MAX)
        f->away = now - f->local;
    t->record->last = tt_time_now(t);
    if (f->thread == t && f->epoch == t->recording->epoch)
        take_up_own(t, f);
    else
        take_up_foreign(t, f);
    f->thread = t;
    f->epoch = t->recording->epoch;
}

tt_fiber *tt_fiber_switch(tt_fiber *to)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_fiber *left;

    if (!t)
        return NULL;
    if (!to)
        to = &t->own;
    left = t->fiber;
    if (to != left) {
        suspend(t);
        take_up(t, to);
    }
    tt_thread_leave(t);
    return left == &t->own ? NULL : left;
}

void tt_fiber_free(tt_fiber *f)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_fiber *back;

    if (!f)
        return;
    if (t && f->thread && f->epoch == t->recording->epoch && t->fiber != f) {
        back = t->fiber; /* its books are closed on this thread */
        suspend(t);
        take_up(t, f);
        tt_stack_close(t);
        tt_stack_leave(t, tt_stack_bottom(f), 1);
        suspend(t);
        take_up(t, back);
    }
    if (f->thread) {
        pthread_mutex_lock(&f->thread->tree.lock);
        unlink_fiber(f);
        pthread_mutex_unlock(&f->thread->tree.lock);
    }
    if (t)
        tt_thread_leave(t);
    tt_stack_fini(f);
    free(f);
}
