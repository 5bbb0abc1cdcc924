/* SPDX-License-Identifier: MIT */
/* function.c - entering and leaving functions that are switched on, the slow way.
 *
 * The tree may lose a frame: longjmp skips it, a coroutine runs on another stack, a
 * runtime pops frames below.  The function must find its return address all the same.  So
 * code that drops the frame of a function that has not returned keeps its return address
 * by the function's stack address, which no two functions share at a time:
 *
 *      leaving at X:   the frame of X in this stack ─ what was kept of X ─ other stacks
 *
 * The frame of X that was entered last counts; all others of X are dead. */
#include "function.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"
#include "brief-lock.h"
#include "control.h"
#include "function-quick.h"

/* ── Our code ─────────────────────────────────────────────────────────────────────── */

static struct tt_function_area *areas; /* only ever grows, at its head */

void tt_function_add(struct tt_function_area *a)
{
    a->next = areas;
    __atomic_store_n(&areas, a, __ATOMIC_RELEASE);
}

int tt_function_is_ours(uintptr_t address)
{
    const struct tt_function_area *a = __atomic_load_n(&areas, __ATOMIC_ACQUIRE);

    while (a && (address < a->start || address >= a->end))
        a = a->next;
    return a != NULL;
}

/* ── Ways back that lost their frame ──────────────────────────────────────────────── */

enum { KEPT_FIRST = 256 };
struct tt_kept_all tt_function_kept;
static uint32_t kept_lock;

void tt_function_lock(void) { tt_brief_lock(&kept_lock); }
void tt_function_unlock(void) { tt_brief_unlock(&kept_lock); }

static struct tt_kept *map_slots(size_t size)
{
    void *p = mmap(NULL, size * sizeof *tt_function_kept.slot, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Drops those that have returned: mostly the new table is no larger.  The old one stays,
 * as an unwinder may be reading it; of one size there are two at most. */
static int make_room(void)
{
    static struct tt_kept *spare;
    struct tt_kept_all *k = &tt_function_kept;
    size_t used = 0, size = KEPT_FIRST;
    struct tt_kept *slot;

    for (size_t i = 0; i < k->size; i++)
        used += k->slot[i].back != 0;
    while (size < 4 * (used + 1))
        size *= 2;
    slot = size == k->size && spare ? spare : map_slots(size);
    if (!slot)
        return -1;
    memset(slot, 0, size * sizeof *slot);
    for (size_t i = 0; i < k->size; i++)
        if (k->slot[i].back)
            *tt_function_kept_at(slot, size, k->slot[i].cfa) = k->slot[i];
    spare = size == k->size ? k->slot : NULL;
    k->slot = slot;
    k->size = size;
    k->count = used;
    return 0;
}

static void keep(uintptr_t cfa, uintptr_t back)
{
    tt_function_lock();
    if (tt_function_has_room(1) || make_room() == 0)
        tt_function_keep(cfa, back);
    tt_function_unlock();
}

/* No handler may want the lock that its thread holds: while busy it keeps nothing. */
static uintptr_t take_kept(struct tt_thread *t, uintptr_t cfa)
{
    uintptr_t back = 0;
    struct tt_kept *k;

    if (t)
        tt_busy_enter(&t->busy);
    tt_function_lock();
    if (tt_function_kept.size) {
        k = tt_function_kept_at(tt_function_kept.slot, tt_function_kept.size, cfa);
        if (k->cfa) {
            back = k->back;
            k->back = 0;
        }
    }
    tt_function_unlock();
    if (t)
        tt_busy_leave(&t->busy);
    return back;
}

static void dropped(const struct tt_frame *f) { keep(TT_CFA_OF(f), (uintptr_t)f->slot); }

void tt_function_init(void) { tt_function_dropped = dropped; }

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

static int is_of(const struct tt_frame *f, uintptr_t cfa)
{
    return TT_CFA_OF(f) == cfa && tt_frame_is_function(f) &&
           !(tt_frame_flags(f) & TT_FRAME_SEAM);
}

static struct tt_frame *find_in(const struct tt_fiber *fiber, struct tt_frame *top,
                                uintptr_t cfa)
{
    for (struct tt_segment *s = fiber->segment; s; s = s->below) {
        for (struct tt_frame *f = top; f > s->frame; f--)
            if (is_of(f, cfa))
                return f;
        top = s->below ? s->below->end - 1 : NULL;
    }
    return NULL;
}

static struct tt_frame *find_here(const struct tt_thread *t, uintptr_t cfa)
{
    return t ? find_in(t->stack.fiber, t->self->top, cfa) : NULL;
}

/* A coroutine that another thread has begun: in that one's stacks. */
static struct tt_frame *find_elsewhere(uintptr_t cfa)
{
    struct tt_frame *f = NULL;

    tt_threads_lock();
    for (struct tt_thread *t = tt_threads_first(); t && !f; t = t->next) {
        f = find_here(t, cfa);
        for (struct tt_fiber *s = t->stack.suspended; s && !f; s = s->next)
            f = find_in(s, s->top, cfa);
    }
    tt_threads_unlock();
    return f;
}

/* ── Leaving ──────────────────────────────────────────────────────────────────────── */

/* Without a return address the program cannot go on. */
static __attribute__((noreturn, cold)) void lose(void)
{
    static const char text[] = "tallytree: a function cannot find back to its caller\n";

    (void)!write(2, text, sizeof text - 1);
    abort();
}

static void leave_frame(struct tt_thread *t, struct tt_frame *f)
{
    f->slot = NULL; /* it has returned, whatever becomes of the frame */
    if (t->busy.work)
        return;
    tt_thread_begin(t);
    t->tail.from = NULL;
    tt_stack_leave(t, f, 0);
    tt_thread_leave(t);
}

uintptr_t tt_function_leave(uintptr_t cfa)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = find_here(t, cfa);
    uintptr_t back;

    if (f) {
        back = (uintptr_t)f->slot;
        leave_frame(t, f);
        return back;
    }
    back = take_kept(t, cfa);
    if (back)
        return back;
    f = find_elsewhere(cfa);
    if (!f)
        lose();
    back = (uintptr_t)f->slot;
    f->slot = NULL;
    return back;
}

/* ── Entering ─────────────────────────────────────────────────────────────────────── */

static int enter(struct tt_thread *t, uintptr_t cfa, tt_block block, uintptr_t back)
{
    struct tt_frame *f = tt_stack_enter(
        t, block, TT_KIND_FUNCTION, (void *)(cfa - sizeof back), cfa | TT_CFA_FUNCTION);

    if (f)
        TT_FRAME_OF(f)->slot = (void *)back;
    return f != NULL;
}

/* A tail call, by a function that is switched on: it has left, and this one returns in its
 * place, to the same thunk. */
static void replace(struct tt_thread *t, uintptr_t cfa, tt_block block)
{
    struct tt_frame *f = find_here(t, cfa);
    uintptr_t back = f ? (uintptr_t)f->slot : take_kept(t, cfa);

    if (!back)
        return; /* it finds back as the other would have */
    if (f) {
        f->slot = NULL;
        tt_stack_leave(t, f, 0);
    }
    if (!enter(t, cfa, block, back))
        keep(cfa, back);
}

int tt_function_enter(uintptr_t slot, tt_block block)
{
    uintptr_t back = *(const uintptr_t *)slot, cfa = slot + sizeof slot;
    struct tt_thread *t = tt_thread_is_over() || tt_is_at_work_below(cfa)
                              ? NULL
                              : tt_thread_enter_anyway();
    int calls = 0;

    if (!t) {
        tt_push_stray(block);
        return 0;
    }
    if (tt_function_is_ours(back))
        replace(t, cfa, block);
    else
        calls = enter(t, cfa, block, back);
    tt_thread_leave(t);
    return calls;
}
