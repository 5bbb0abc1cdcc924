/* SPDX-License-Identifier: MIT */
/* function-quick.c - entering and leaving functions in nearly simple cases.
 *
 * Compiled without vector registers, which hold the program's arguments and results:
 * saving them all takes longer than this code, and rare cases take the slow path. */
#include "function-quick.h"
#include "exact.h"
#include "function.h"
#include "settled.h"

/* ── Frames that were skipped ─────────────────────────────────────────────────────── */

struct tt_kept *tt_function_kept_at(struct tt_kept *slot, size_t size, uintptr_t cfa)
{
    size_t i = (size_t)(cfa * 0x9e3779b97f4a7c15u >> 20) & (size - 1);

    while (slot[i].cfa && slot[i].cfa != cfa)
        i = (i + 1) & (size - 1);
    return &slot[i];
}

int tt_function_has_room(size_t count)
{
    return (tt_function_kept.count + count) * 2 <= tt_function_kept.size;
}

void tt_function_keep(uintptr_t cfa, uintptr_t back)
{
    struct tt_kept *k = tt_function_kept_at(tt_function_kept.slot, tt_function_kept.size,
                                            cfa);

    tt_function_kept.count += !k->cfa;
    *k = (struct tt_kept){cfa, back};
}

/* The nearest frame whose caller's stack does not end below `cfa`, if those above it only
 * need to be dropped; else NULL. */
static struct tt_frame *find_plainly(struct tt_frame *f, uintptr_t cfa, size_t *functions)
{
    *functions = 0;
    for (; TT_CFA_OF(f) < cfa; f--) {
        if (!tt_settled_is_plain(f))
            return NULL;
        *functions += (size_t)tt_frame_is_function(f);
    }
    return f;
}

/* Drops those from `top` to above `last`, as longjmp did.  0: it takes more than that. */
static int drop_plainly(struct tt_thread *t, struct tt_frame *top, struct tt_frame *last,
                        size_t functions)
{
    int room;

    tt_busy_begin(&t->busy);
    tt_function_lock();
    room = tt_settled_is_top(t, top) && tt_function_has_room(functions);
    for (struct tt_frame *f = top; room && f != last; f--) {
        if (tt_frame_is_function(f))
            tt_function_keep(TT_CFA_OF(f), (uintptr_t)f->slot);
        tt_settled_step_down(t, f);
    }
    tt_function_unlock();
    tt_busy_end(&t->busy);
    return room;
}

static int drop_dead_quickly(struct tt_thread *t, uintptr_t cfa)
{
    size_t functions;
    struct tt_frame *top = tt_self.top, *last = find_plainly(top, cfa + 1, &functions);

    return last && !tt_on_signal_stack(cfa) && drop_plainly(t, top, last, functions);
}

/* ── Entering ─────────────────────────────────────────────────────────────────────── */

/* A tail call: the frame becomes that of the called function. */
static int replace_quickly(struct tt_frame *f, tt_block block)
{
    struct tt_node *edge;

    if (tt_frame_flags(f) || f + 1 >= __atomic_load_n(&tt_self.hooks, __ATOMIC_RELAXED))
        return TT_FUNCTION_SLOWLY;
    tt_frame_claim(f + 1, f);
    edge = tt_edge_from(f[-1].node, block, TT_KEY_ARC, &f[1], f);
    if (!edge || tt_picks(&tt_self, edge->calls + 1))
        return TT_FUNCTION_SLOWLY;
    TT_SHOW(f->node, tt_cell(tt_self.base, edge->target));
    f->cfa |= 1;
    if (!tt_frame_verify(f + 1, f))
        return TT_FUNCTION_SLOWLY; /* a signal handler's frame was there */
    if (tt_self.picking)
        tt_count(&edge->calls);
    return 0;
}

/* As the thunk does it, for an edge that is not the first in its bucket. */
static int enter_counted(struct tt_frame *f, uintptr_t slot, tt_block block)
{
    uintptr_t cfa = (slot + sizeof slot) | TT_CFA_FUNCTION | 1;
    struct tt_strand *s = &tt_self;
    struct tt_node *edge;

    if (f >= __atomic_load_n(&s->hooks, __ATOMIC_RELAXED))
        return TT_FUNCTION_SLOWLY;
    tt_frame_claim(f, (void *)slot);
    edge = tt_edge_from(f[-1].node, block, TT_KEY_ARC, f, (void *)slot);
    if (!edge || tt_picks(s, edge->calls + 1))
        return f[-1].cfa > cfa && tt_settled_enter(s->thread, f, slot, cfa - 1, block,
                                                   *(void **)slot)
                   ? 1
                   : TT_FUNCTION_SLOWLY;
    if (f[-1].cfa <= cfa)
        return TT_FUNCTION_SLOWLY;
    tt_frame_fill(f, tt_cell(s->base, edge->target), cfa);
    if (!tt_frame_publish(s, f, (void *)slot))
        return TT_FUNCTION_SLOWLY;
    if (s->picking)
        tt_count(&edge->calls);
    f->slot = *(void **)slot;
    return 1;
}

static int enter_exactly(struct tt_thread *t, uintptr_t slot, tt_block block)
{
    uintptr_t cfa = (slot + sizeof slot) | TT_CFA_FUNCTION;
    uintptr_t back = *(const uintptr_t *)slot;
    struct tt_frame *f;

    if (tt_self.top->cfa <= (cfa | 1))
        return TT_FUNCTION_SLOWLY;
    f = tt_exact_enter(t, block, (void *)slot, cfa, TT_PLAIN_CYCLES);
    if (!f)
        return TT_FUNCTION_SLOWLY;
    TT_FRAME_OF(f)->slot = (void *)back;
    return 1;
}

int tt_function_enter_quickly(uintptr_t slot, tt_block block)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *top = tt_self.top;
    uintptr_t cfa = slot + sizeof slot;

    if (!t || t->busy.work)
        return TT_FUNCTION_SLOWLY;
    if (t->modes.exact_functions)
        return enter_exactly(t, slot, block);
    if (!__atomic_load_n(&tt_self.hooks, __ATOMIC_RELAXED) || t->tail.from)
        return TT_FUNCTION_SLOWLY;
    if (TT_CFA_OF(top) > cfa)
        return enter_counted(top + 1, slot, block);
    if (!tt_function_is_ours(*(const uintptr_t *)slot))
        return drop_dead_quickly(t, cfa) ? enter_counted(tt_self.top + 1, slot, block)
                                         : TT_FUNCTION_SLOWLY;
    if (TT_CFA_OF(top) == cfa && tt_frame_is_function(top) && tt_settled_is_plain(top))
        return replace_quickly(top, block);
    return TT_FUNCTION_SLOWLY;
}

/* ── Leaving ──────────────────────────────────────────────────────────────────────── */

uintptr_t tt_function_leave_quickly(uintptr_t cfa)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *top = tt_self.top, *f;
    size_t functions;
    uintptr_t back;

    if (!t || t->busy.work)
        return 0;
    f = find_plainly(top, cfa, &functions);
    if (!f || TT_CFA_OF(f) != cfa || !tt_frame_is_function(f) ||
        (f != top && !drop_plainly(t, top, f, functions)))
        return 0;
    back = (uintptr_t)f->slot;
    if (tt_settled_leave(t, f) || tt_settled_leave_picked(t, f))
        return back;
    /* Details are added in vector registers. */
    return t->modes.detailed || !tt_exact_leave(t, f, TT_PLAIN_CYCLES) ? 0 : back;
}
