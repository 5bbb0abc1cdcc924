/* SPDX-License-Identifier: MIT */
/* hooks-quick.c - the fast path of compiler hooks: entering and leaving functions.
 *
 *      place -> site -> edge of the top: seen before, and nothing on top is dead
 *
 * Leaving looks up nothing: a frame that was entered fast has room for the function's
 * address, and for its stack pointer; a leaving function with the same two is that
 * function.
 *
 * Compiled without vector registers, which hold the arguments of mcount's caller. */
#include "hooks-quick.h"

#include "exact.h"
#include "hooks-stacks.h"
#include "hooks.h"
#include "next-function.h"
#include "settled.h"

struct tt_hook_sites tt_hook_sites;

/* Of frames that were entered fast: fields with another use in the exact mode. */
#define FUNCTION entered
#define STACK children

/* ── Counting ─────────────────────────────────────────────────────────────────────── */

/* Enters above `below`, which is the top, alive, and has room above it. */
TT_INLINE int enter_above(struct tt_strand *strand, struct tt_frame *below,
                          const struct tt_hook_site *s, const struct tt_hook_call *c,
                          uintptr_t cfa)
{
    /* Not the pc of an inlined function, which a handler may store, too. */
    void *slot = (void *)(cfa - sizeof(void *));
    struct tt_frame *f = below + 1;
    struct tt_node *edge;

    tt_frame_claim(f, slot);
    edge = tt_edge_from(below->node, s->block, TT_KEY_ARC, f, slot);
    if (!edge || tt_picks(strand, edge->calls + 1))
        return 0;
    tt_frame_fill(f, edge->key == s->block ? edge : tt_cell(strand->base, edge->target),
                  cfa + 1);
    f->FUNCTION = c->function;
    f->STACK = c->sp;
    if (!tt_frame_publish(strand, f, slot))
        return 0;
    if (s->inlined)
        f->slot = tt_hook_slot(s, cfa);
    if (strand->picking)
        tt_count(&edge->calls);
    return 1;
}

/* NULL if recording is off or the thread is not attached. */
TT_INLINE int has_room(const struct tt_strand *strand, const struct tt_frame *below)
{
    return !TT_UNLIKELY(below + 1 >= __atomic_load_n(&strand->hooks, __ATOMIC_RELAXED));
}

enum { NEAR = 8 << 10 }; /* frames are mostly smaller, and stacks larger */

/* Is the top alive, or near enough to be of this stack? */
TT_INLINE int is_near(const struct tt_frame *top, uintptr_t cfa)
{
    return !TT_UNLIKELY(top->cfa - (cfa + 2) >= NEAR);
}

/* Is the top dead, or may it be of another stack? */
TT_INLINE int is_in_doubt(const struct tt_frame *top, const struct tt_hook_site *s,
                          uintptr_t cfa)
{
    if (is_near(top, cfa))
        return 0;
    return !tt_hook_is_here(cfa) ||
           (top->cfa <= cfa + 1 &&
            (!s->inlined || tt_frame_is_dead(top, tt_hook_slot(s, cfa), cfa + 1)));
}

/* The live frame on top when a function is entered from that block: only among frames
 * that were entered fast.  NULL: there are others. */
static struct tt_frame *find_alive(struct tt_frame *f, uintptr_t cfa, tt_block caller)
{
    struct tt_frame *g;

    while (f->cfa <= cfa + 1)
        if (!tt_frame_is_fast(f--))
            return NULL;
    if (!caller || f->node->key == caller)
        return f;
    for (g = f; tt_frame_is_fast(g); g--)
        if (g->node->key == caller)
            return g;
    return g->node->key == caller ? NULL : f;
}

TT_INLINE int enter_alive(const struct tt_hook_site *s, const struct tt_hook_call *c,
                          uintptr_t cfa, tt_block caller)
{
    struct tt_strand *strand = &tt_self;
    struct tt_frame *f = strand->top;

    if (!has_room(strand, f))
        return 0;
    if (s->inlined)
        return !is_in_doubt(f, s, cfa) && enter_above(strand, f, s, c, cfa);
    if (!is_near(f, cfa) && !tt_hook_is_here(cfa))
        return 0;
    f = find_alive(f, cfa, caller);
    if (!f)
        return 0;
    tt_frame_set_top(strand, f); /* so that a handler's frame comes where ours is to be */
    return enter_above(strand, f, s, c, cfa);
}

int tt_hook_enter(const struct tt_hook_site *s, const struct tt_hook_call *c,
                  uintptr_t cfa, tt_block caller)
{
    return enter_alive(s, c, cfa, caller);
}

/* The returns of a handler's functions are not reported, and we must not drop its frames:
 * so they are not recorded. */
int tt_hook_quickly(const struct tt_hook_call *c)
{
    const struct tt_hook_site *s, *caller = NULL;
    struct tt_thread *t = tt_self.thread;
    uintptr_t cfa, back;
    int done;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return 1;
    s = tt_hook_find(c->pc);
    if (!s || !t || t->busy.work)
        return 0;
    cfa = tt_hook_cfa(s, c->sp, c->fp);
    back = tt_hook_back(c, cfa);
    if (back && !(caller = tt_hook_find(back)))
        return 0;
    tt_busy_begin_brief(&t->busy);
    done = enter_alive(s, c, cfa, caller ? caller->block : 0);
    tt_busy_end(&t->busy);
    return done;
}

/* ── -finstrument-functions ───────────────────────────────────────────────────────── */

/* The hook's return address, and its caller's registers. */
#define CALL_OF(whose)                                                                   \
    (uintptr_t) __builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),           \
        *(const uintptr_t *)__builtin_frame_address(0), (uintptr_t)(whose)

TT_INLINE int enter_simply(uintptr_t pc, uintptr_t sp, uintptr_t fp, uintptr_t function)
{
    const struct tt_hook_call c = {pc, sp, fp, function, 0};
    const struct tt_hook_site *s = tt_hook_find(pc);
    struct tt_strand *strand = &tt_self;
    struct tt_frame *top = strand->top;
    uintptr_t cfa;

    if (!s || !has_room(strand, top))
        return 0;
    cfa = tt_hook_cfa(s, sp, fp);
    return !is_in_doubt(top, s, cfa) && enter_above(strand, top, s, &c, cfa);
}

/* Timed calls, and those through an arc that hides blocks. */
static int enter_settled(const struct tt_hook_call *c)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *top = tt_self.top;
    const struct tt_hook_site *s;
    uintptr_t cfa;

    if (!t || t->busy.work || !(s = tt_hook_find(c->pc)))
        return 0;
    cfa = tt_hook_cfa(s, c->sp, c->fp);
    if (is_in_doubt(top, s, cfa))
        return 0;
    if (t->modes.exact_functions)
        return tt_exact_enter(t, s->block, tt_hook_slot(s, cfa), cfa, TT_PLAIN_CYCLES) !=
               NULL;
    return has_room(&tt_self, top) && !t->tail.from &&
           tt_settled_enter(t, top + 1, cfa - sizeof(void *), cfa, s->block,
                            tt_hook_slot(s, cfa));
}

static __attribute__((noinline)) void enter(uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                            uintptr_t function)
{
    const struct tt_hook_call c = {pc, sp, fp, function, 0};

    if (__atomic_load_n(&tt_on, __ATOMIC_RELAXED) && !enter_settled(&c))
        tt_hook_slowly(&c);
}

/* Does it leave by its last instruction, a jump, after its frame is gone? */
TT_INLINE int leaves_by_jump(const struct tt_frame *f, uintptr_t sp)
{
    return (uintptr_t)f->slot == sp - sizeof(void *);
}

TT_INLINE int leave_simply(uintptr_t sp, uintptr_t function)
{
    struct tt_frame *f = tt_self.top;

    if (TT_UNLIKELY(!f) || !tt_frame_is_fast(f) || f->FUNCTION != function ||
        (TT_UNLIKELY(f->STACK != sp) && !leaves_by_jump(f, sp)))
        return 0;
    tt_frame_leave(&tt_self, f);
    return 1;
}

static int leave_settled(const struct tt_hook_call *c)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *f = tt_self.top;
    const struct tt_hook_site *start, *s;

    if (!t || t->busy.work || tt_frame_is_fast(f) || f->cfa == TT_CFA_BOTTOM ||
        !(start = tt_hook_find(c->function)) || tt_frame_block(t, f) != start->block)
        return 0;
    if (!leaves_by_jump(f, c->sp) &&
        (!(s = tt_hook_find(c->pc)) || f->cfa != tt_hook_cfa(s, c->sp, c->fp)))
        return 0;
    return tt_settled_leave(t, f) || tt_settled_leave_picked(t, f) ||
           tt_exact_leave(t, f, TT_PLAIN_CYCLES);
}

static __attribute__((noinline)) void leave(uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                            uintptr_t function)
{
    const struct tt_hook_call c = {pc, sp, fp, function, 0};

    if (__atomic_load_n(&tt_on, __ATOMIC_RELAXED) && !leave_settled(&c))
        tt_hook_leave_slowly(&c);
}

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

TT_INTERPOSE void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (!enter_simply(CALL_OF(function)))
        enter(CALL_OF(function));
}

TT_INTERPOSE void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    if (!leave_simply((uintptr_t)__builtin_dwarf_cfa(), (uintptr_t)function))
        leave(CALL_OF(function));
}
