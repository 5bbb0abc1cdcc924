/* SPDX-License-Identifier: MIT */
/* api.c - the public functions that act on the calling thread's stack.
 *
 * A mark is the address of a frame; odd when the push was not recorded, and then it is
 * the frame that was on top: leaving such a mark drops what came after and keeps that. */
#include "api.h"

#include <string.h>

#include "activation.h"
#include "block.h"
#include "control.h"
#include "quick.h"
#include "share.h"

/* Counts a push that has no stack to go to: of a thread without a strand, in the block's
 * record; of a signal handler that interrupted the profiler, only in a total.  The
 * recording cannot be dropped meanwhile, as we hold a lock or have a strand in it. */
void tt_push_stray(tt_block block)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_recording *r = tt_recording_now();

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return;
    if (tt_is_at_work()) {
        if (t && t->busy.work && t->recording != r)
            tt_bump(&t->refusal.strays,
                    1); /* it is on its way there, perhaps from another one */
        else
            tt_bump_shared(&r->header->lost_pushes, 1);
        return;
    }
    tt_threads_lock();
    if (__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE)) {
        block = tt_block_publish(tt_recording, block);
        tt_bump_shared(&tt_block_record(tt_recording, block)->calls, 1);
    }
    tt_threads_unlock();
}

/* ── Scopes: what the fast path leaves ────────────────────────────────────────────── */

static tt_block site_block(struct tt_site *site)
{
    struct tt_block_info info = {.name = site->name,
                                 .file = site->file,
                                 .line = site->line,
                                 .kind = TT_KIND_SCOPE};
    tt_block block = __atomic_load_n(&site->block, __ATOMIC_RELAXED);

    if (!block) {
        block = tt_block_make(&info);
        if (block != TT_BLOCK_OTHER) /* which may be for this time only */
            __atomic_store_n(&site->block, block, __ATOMIC_RELAXED);
    }
    return block;
}

static TT_ASIDE struct tt_frame *enter_scope(struct tt_site *site, void *slot,
                                             uintptr_t cfa)
{
    struct tt_frame *f;
    struct tt_thread *t;
    tt_block block;

    TT_HAND_ON(tt_scope_enter_slowly, site, slot, cfa);
    block = site_block(site);
    t = tt_thread_enter();
    if (!t) {
        tt_push_stray(block);
        return NULL;
    }
    f = tt_stack_enter(t, block, TT_KIND_SCOPE, slot, cfa & ~(uintptr_t)1);
    tt_thread_leave(t);
    return f;
}

TT_INLINE struct tt_frame *enter_scope_quickly(struct tt_site *site, void *slot,
                                               uintptr_t cfa)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f;

    if (!cfa)
        __builtin_unreachable();
    f = t ? tt_exact_enter(t, __atomic_load_n(&site->block, __ATOMIC_RELAXED), slot, cfa,
                           TT_PLAIN_CYCLES)
          : NULL;
    return f ? f : enter_scope(site, slot, cfa);
}

struct tt_frame *tt_scope_enter_slowly(struct tt_site *site, void *slot, uintptr_t cfa)
{
    return enter_scope_quickly(site, slot, cfa);
}

struct tt_frame *tt_scope_enter_named(const char *name, const char *file, uint32_t line,
                                      void *slot, uintptr_t cfa)
{
    struct tt_block_info info = {
        .name = name, .file = file, .line = line, .kind = TT_KIND_SCOPE};
    struct tt_frame *f;
    struct tt_thread *t;
    tt_block block;

    TT_HAND_ON(tt_scope_enter_named, name, file, line, slot, cfa);
    block = tt_block_make(&info);
    t = tt_thread_enter();
    if (!t) {
        tt_push_stray(block);
        return NULL;
    }
    f = tt_stack_enter(t, block, TT_KIND_SCOPE, slot, cfa);
    tt_thread_leave(t);
    return f;
}

/* Leaves a stack; its thread may be off, or interrupted by this very signal handler. */
static TT_ASIDE void leave_stack(const void *frame, int keep)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = TT_FRAME_OF(frame);

    if (!t || (t->busy.work && tt_is_at_work()))
        return;
    tt_thread_begin(t);
    t->tail.from = NULL;
    tt_stack_leave(t, f ? f : tt_stack_bottom(t->stack.fiber), keep);
    tt_thread_leave(t);
}

/* The frame of a scope; NULL if the scope was off when it was entered.  `place` may then
 * contain anything: no frame, or the frame of another scope. */
TT_INLINE struct tt_frame *frame_at(const struct tt_thread *t, const void *place)
{
    struct tt_frame *const *at = (const void *)((const char *)place - TT_PLACE);
    struct tt_frame *f = TT_FRAME_OF(*at);

    if (f != tt_self.top && (t->busy.work || !tt_stack_has(t, f)))
        return NULL;
    return f && f->slot == TT_SWITCHED_SLOT(at) ? f : NULL;
}

TT_INLINE void leave_scope_quickly(struct tt_frame *f)
{
    struct tt_thread *t = tt_self.thread;

    if (!t) {
        TT_HAND_OVER(tt_scope_leave_slowly, f);
        return;
    }
    if (((uintptr_t)f & TT_PLACE) && !(f = frame_at(t, f)))
        return;
    if (!tt_exact_leave(t, TT_FRAME_OF(f), TT_PLAIN_CYCLES))
        leave_stack(f, 0);
}

void tt_scope_leave_slowly(struct tt_frame *f) { leave_scope_quickly(f); }

TT_ASIDE struct tt_frame *tt_scope_time(struct tt_frame *f)
{
    struct tt_thread *t = tt_thread_enter();

    if (!t)
        return f;
    tt_frame_settle(&t->tree, f);
    tt_activation_pick(t, f);
    tt_thread_leave(t);
    return (struct tt_frame *)((uintptr_t)f | 1);
}

#ifdef TT_THUNKS
/* As thunk.c calls them: two registers that it keeps come before the arguments. */
struct tt_frame *tt_jumped_enter(uint64_t, uint64_t, struct tt_site *, void *slot,
                                 uintptr_t cfa);
void tt_jumped_leave(uint64_t, uint64_t, struct tt_frame *);
struct tt_frame *tt_jumped_time(uint64_t, uint64_t, struct tt_frame *);
#define JUMPED __attribute__((used, visibility("hidden")))

JUMPED struct tt_frame *tt_jumped_enter(uint64_t rdi, uint64_t rsi, struct tt_site *site,
                                        void *slot, uintptr_t cfa)
{
    (void)rdi, (void)rsi;
    return enter_scope_quickly(site, slot, cfa);
}

JUMPED void tt_jumped_leave(uint64_t rdi, uint64_t rsi, struct tt_frame *f)
{
    (void)rdi, (void)rsi;
    leave_scope_quickly(f);
}

JUMPED struct tt_frame *tt_jumped_time(uint64_t rdi, uint64_t rsi, struct tt_frame *f)
{
    (void)rdi, (void)rsi;
    return tt_scope_time(f);
}
#endif

/* ── Runtimes: push and pop ───────────────────────────────────────────────────────── */

static TT_ASIDE tt_mark push(tt_block block)
{
    struct tt_frame *f;
    struct tt_thread *t;

    TT_HAND_ON(tt_push, block);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return (uintptr_t)tt_self.top | 1;
    t = tt_thread_enter();
    if (!t) {
        tt_push_stray(block);
        return (uintptr_t)tt_self.top | 1;
    }
    f = tt_stack_enter(t, block, tt_block_kind(block), NULL, 0);
    tt_thread_leave(t);
    return f ? (uintptr_t)TT_FRAME_OF(f) : (uintptr_t)t->self->top | 1;
}

tt_mark tt_push(tt_block block)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = NULL;

    if (t && tt_block_kind(block) <= TT_KIND_SCOPE) {
        if (t->modes.quick == TT_QUICK_SAMPLED)
            f = tt_untimed_enter(t, block, TT_QUICK_SAMPLED);
        else if (t->modes.quick)
            f = tt_untimed_enter(t, block, TT_QUICK_COUNTED);
        else
            f = tt_exact_enter(t, block, NULL, 0, TT_PLAIN_CYCLES);
    }

    return f ? (uintptr_t)TT_FRAME_OF(f) : push(block);
}

static TT_ASIDE void pop_slowly(struct tt_thread *t, struct tt_frame *f, int keep)
{
    int done = 0;

    if (t->modes.quick == TT_QUICK_COUNTED)
        done = tt_quick_leave(t, f + keep, TT_QUICK_COUNTED);
    else if (!t->modes.quick)
        done = (!keep && tt_exact_leave(t, f, TT_PLAIN_CYCLES)) ||
               tt_quick_leave(t, f + keep, TT_QUICK_NOT);
    if (!done)
        leave_stack(f, keep);
}

void tt_pop(tt_mark mark)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = (struct tt_frame *)(uintptr_t)mark;

    if (!t) {
        TT_HAND_OVER(tt_pop, mark);
        return;
    }
    t->tail.from = NULL; /* a return */
    if (tt_self.top == f && tt_frame_is_fast(f)) {
        tt_frame_leave(&tt_self, f);
        return;
    }
    if ((mark & 1) && tt_self.top == TT_FRAME_OF(f))
        return; /* nothing was entered, and nothing is left open */
    f = TT_FRAME_OF(f);
    if (t->modes.quick != TT_QUICK_SAMPLED ||
        !tt_quick_leave(t, f + (mark & 1), TT_QUICK_SAMPLED))
        pop_slowly(t, f, (int)(mark & 1));
}

/* A mark has no bit for "more to do than stepping down", as a scope's frame has. */
static void leave_counted(const struct tt_thread *t, struct tt_frame *f)
{
    int more = tt_frame_flags(f) || f + 1 == t->stack.end;

    tt_scope_leave(more ? (struct tt_frame *)((uintptr_t)f | 1) : f);
}

/* Only counted, or not even that, as scopes are. */
static tt_mark step_counted(const struct tt_thread *t, tt_mark left, tt_block block)
{
    struct tt_site site = {.block = block}; /* at an address that no handler has */
    struct tt_frame *top, *f;

    if (left)
        leave_counted(t, TT_FRAME_OF(left));
    if (!block)
        return 0;
    top = tt_self.top;
    f = TT_FRAME_OF(tt_scope_enter(&site, &site, TT_CFA_OF(top)));
    if (f)
        f->slot = f; /* so that a step inside this one does not end it */
    return (uintptr_t)f;
}

static TT_ASIDE tt_mark step(struct tt_thread *t, uint64_t ticks, tt_mark left,
                             tt_block block)
{
    struct tt_frame *f = NULL;
    tt_mark slowly = 0;

    if (!t)
        TT_HAND_ON(tt_step, ticks, left, block);
    left &= ~(tt_mark)TT_STEP_SLOWLY;
    if (t && !ticks && !t->modes.exact && t->recording && !(left & 1) &&
        (t->recording->options.mode[TT_KIND_STATEMENT] == TT_MODE_CALLS ||
         t->recording->options.mode[TT_KIND_STATEMENT] == TT_MODE_SAMPLED))
        return step_counted(t, left, block);
    if (!t || __atomic_load_n(&t->modes.plain, __ATOMIC_RELAXED) != TT_PLAIN_CALLER)
        tt_tick(ticks);
    else
        tt_bump(&t->clock.ticks, ticks);
    if (left &&
        (!t || (left & 1) ||
         !tt_exact_leave(t, (struct tt_frame *)(uintptr_t)left, TT_PLAIN_CALLER))) {
        leave_stack((const void *)(uintptr_t)left, (int)(left & 1));
        slowly = TT_STEP_SLOWLY;
    }
    if (!block)
        return slowly;
    if (t)
        f = tt_exact_enter(t, block, NULL, 0, TT_PLAIN_CALLER);
    return f ? (uintptr_t)TT_FRAME_OF(f) | slowly : push(block) | TT_STEP_SLOWLY;
}

tt_mark tt_step(uint64_t ticks, tt_mark left, tt_block block)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = (struct tt_frame *)(uintptr_t)(left & ~(tt_mark)TT_STEP_SLOWLY);

    if (!t || __atomic_load_n(&t->modes.plain, __ATOMIC_RELAXED) != TT_PLAIN_CALLER)
        return step(t, ticks, left, block);
    tt_bump(&t->clock.ticks, ticks);
    if (!f && block)
        f = tt_exact_enter(t, block, NULL, 0, TT_PLAIN_CALLER);
    else if (block)
        f = tt_exact_swap(t, f, block) ? f : NULL;
    else if (tt_exact_leave(t, f, TT_PLAIN_CALLER))
        return 0;
    else
        f = NULL;
    return f ? (uintptr_t)TT_FRAME_OF(f) : step(t, 0, left, block);
}

void tt_unwind(tt_mark mark)
{
    TT_HAND_OVER(tt_unwind, mark);
    leave_stack((const void *)(uintptr_t)mark, 1);
}

tt_mark tt_mark_get(void)
{
    TT_HAND_ON(tt_mark_get);
    return (uintptr_t)tt_frame_top(&tt_self);
}

void tt_replace(tt_block block)
{
    struct tt_thread *t;

    TT_HAND_OVER(tt_replace, block);
    t = tt_thread_enter();
    if (!t)
        return;
    tt_stack_replace(t, block, tt_block_kind(block));
    tt_thread_leave(t);
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

void tt_sample(uint64_t weight)
{
    struct tt_thread *t = tt_self.thread;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return;
    if (!t || t->recording != tt_recording_now()) {
        TT_HAND_OVER(tt_sample, weight);
        t = tt_thread_enter();
        if (!t)
            return;
        tt_thread_leave(t);
    }
    if (t->clock.pauses)
        return;
    tt_busy_enter(&t->busy);
    t->record->charged += weight;
    tt_charge(t, t->self->top, weight, 1);
    tt_busy_leave(&t->busy);
}

void tt_tick(uint64_t ticks)
{
    struct tt_thread *t = tt_self.thread;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return;
    if (!t || t->recording != tt_recording_now()) {
        TT_HAND_OVER(tt_tick, ticks);
        t = tt_thread_enter();
        if (!t)
            return;
        tt_thread_leave(t);
    }
    tt_bump(&t->clock.ticks, ticks);
}

void tt_add(tt_metric metric, uint64_t amount)
{
    struct tt_thread *t;

    TT_HAND_OVER(tt_add, metric, amount);
    if (!metric || metric > TT_METRICS_MAX || !(t = tt_thread_enter()))
        return;
    tt_add_metric(t, metric, amount);
    tt_thread_leave(t);
}

void tt_thread_name(const char *name)
{
    struct tt_thread *t;

    TT_HAND_OVER(tt_thread_name, name);
    t = name ? tt_thread_enter() : NULL;
    if (!t)
        return;
    t->named = 1;
    memset(t->record->name, 0, TT_NAME_SIZE);
    memcpy(t->record->name, name, strnlen(name, TT_NAME_SIZE - 1));
    tt_thread_leave(t);
}
