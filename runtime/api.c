/* SPDX-License-Identifier: MIT */
/* api.c - the public functions that act on the calling thread's stack.
 *
 * A mark is the address of a frame; odd when the push was not recorded, and then it is
 * the frame that was on top: leaving such a mark drops what came after and keeps that. */
#include <string.h>

#include "block.h"
#include "exact.h"

/* A push that has no stack to go to: of a thread without a strand, its block's record
 * counts it; of a signal handler that interrupted the profiler, it is only known how many
 * there were. */
static void count_stray(tt_block block)
{
    const struct tt_thread *t = tt_self.thread;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return;
    if (!t || t->busy) {
        tt_bump_shared(&tt_recording_now()->header->lost_pushes, 1);
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

#define ASIDE __attribute__((noinline)) /* so that its caller saves no registers for it */

static ASIDE struct tt_frame *enter_scope(struct tt_site *site, void *slot, uintptr_t cfa)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_frame *f;

    if (!t) {
        count_stray(site_block(site));
        return NULL;
    }
    f = tt_stack_enter(t, site_block(site), TT_KIND_SCOPE, slot, cfa & ~(uintptr_t)1);
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
    f = t ? tt_exact_enter(t, __atomic_load_n(&site->block, __ATOMIC_RELAXED), slot, cfa)
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
    struct tt_thread *t = tt_thread_enter();
    struct tt_frame *f;

    if (!t) {
        count_stray(tt_block_make(&info));
        return NULL;
    }
    f = tt_stack_enter(t, tt_block_make(&info), TT_KIND_SCOPE, slot, cfa);
    tt_thread_leave(t);
    return f;
}

/* Leaves a stack whose thread may be off, or interrupted by this very signal handler. */
static ASIDE void leave_stack(const void *frame, int keep)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = TT_FRAME_OF(frame);

    if (!t || t->busy)
        return;
    tt_thread_begin(t);
    tt_stack_leave(t, f ? f : tt_stack_bottom(t->fiber), keep);
    tt_thread_leave(t);
}

TT_INLINE void leave_scope_quickly(struct tt_frame *f)
{
    struct tt_thread *t = tt_self.thread;

    if (!t || !tt_exact_leave(t, TT_FRAME_OF(f)))
        leave_stack(f, 0);
}

void tt_scope_leave_slowly(struct tt_frame *f) { leave_scope_quickly(f); }

ASIDE struct tt_frame *tt_scope_time(struct tt_frame *f)
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
/* As thunk.c calls them: behind two registers that it keeps. */
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

static ASIDE tt_mark push(tt_block block)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_frame *f;

    if (!t) {
        count_stray(block);
        return (uintptr_t)tt_self.top | 1;
    }
    f = tt_stack_enter(t, block, tt_block_kind(block), NULL, 0);
    tt_thread_leave(t);
    return f ? (uintptr_t)TT_FRAME_OF(f) : (uintptr_t)t->self->top | 1;
}

tt_mark tt_push(tt_block block)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = t && tt_block_kind(block) <= TT_KIND_SCOPE
                             ? tt_exact_enter(t, block, NULL, 0)
                             : NULL;

    return f ? (uintptr_t)TT_FRAME_OF(f) : push(block);
}

void tt_pop(tt_mark mark)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = (struct tt_frame *)(uintptr_t)mark;

    if (!t || (mark & 1) || !tt_exact_leave(t, f))
        leave_stack(f, (int)(mark & 1));
}

void tt_unwind(tt_mark mark) { leave_stack((const void *)(uintptr_t)mark, 1); }

tt_mark tt_mark_get(void)
{
    struct tt_frame *top = tt_self.top;

    if (tt_self.thread && (tt_frame_flags(top) & TT_FRAME_SEAM))
        top = tt_frame_below(top) + 1;
    return (uintptr_t)top;
}

void tt_replace(tt_block block)
{
    struct tt_thread *t = tt_thread_enter();

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
        t = tt_thread_enter();
        if (!t)
            return;
        tt_thread_leave(t);
    }
    if (t->pauses)
        return;
    t->busy++;
    t->record->charged += weight;
    tt_charge(t, t->self->top, weight, 1);
    t->busy--;
}

void tt_tick(uint64_t ticks)
{
    struct tt_thread *t = tt_self.thread;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return;
    if (!t || t->recording != tt_recording_now()) {
        t = tt_thread_enter();
        if (!t)
            return;
        tt_thread_leave(t);
    }
    tt_bump(&t->ticks, ticks);
}

void tt_add(tt_metric metric, uint64_t amount)
{
    struct tt_thread *t;

    if (!metric || metric > TT_METRICS_MAX || !(t = tt_thread_enter()))
        return;
    tt_charge_metric(t, metric, amount);
    tt_thread_leave(t);
}

void tt_thread_name(const char *name)
{
    struct tt_thread *t = tt_thread_enter();

    if (!t)
        return;
    t->named = 1;
    memset(t->record->name, 0, TT_NAME_SIZE);
    memcpy(t->record->name, name, strnlen(name, TT_NAME_SIZE - 1));
    tt_thread_leave(t);
}
