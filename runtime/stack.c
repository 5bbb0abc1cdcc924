/* SPDX-License-Identifier: MIT */
/* stack.c - the shadow stack: entering and leaving activations, the slow path.
 *
 * The fast path is in tallytree/scope.h: it moves the top by one frame.  This file has
 * all else: the first push of a block at a context, arcs that hide blocks, frames that
 * longjmp or an exception skipped, the exact mode.  A frame that needs more on leaving
 * than stepping down has flags, and is returned as an odd pointer, which the fast path of
 * leaving does not recognise. */
#include "stack.h"
#include "hiding.h"
#include "sites.h"

#include <string.h>
#include <sys/mman.h>

#include "activation.h"
#include "block.h"
#include "budget.h"
#include "call.h"
#include "context.h"
#include "extension.h"
#include "join.h"

enum { SEGMENT_FIRST = 16 << 10, SEGMENT_LARGEST = 4 << 20 };

/* ── Segments ─────────────────────────────────────────────────────────────────────── */

static struct tt_segment *segment_in(void *memory, size_t size, size_t mapped)
{
    struct tt_segment *s = memory;

    TT_ASSERT(size > sizeof *s + 2 * sizeof *s->frame);
    s->below = s->above = NULL;
    s->size = mapped;
    s->end = s->frame + (size - sizeof *s) / sizeof *s->frame;
    return s;
}

static struct tt_segment *map_segment(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : segment_in(p, size, size);
}

int tt_stack_init(struct tt_fiber *f, void *memory, size_t size)
{
    memset(f, 0, sizeof *f);
    f->segment = memory ? segment_in(memory, size, 0) : map_segment(SEGMENT_FIRST);
    if (!f->segment)
        return -TT_ERR_MEMORY;
    f->top = f->segment->frame;
    f->top->cfa = TT_CFA_BOTTOM;
    return 0;
}

void tt_stack_fini(struct tt_fiber *f)
{
    struct tt_segment *s = f->segment, *above;

    while (s && s->below)
        s = s->below;
    for (; s; s = above) {
        above = s->above;
        if (s->size)
            munmap(s, s->size);
    }
    f->segment = NULL;
}

struct tt_frame *tt_stack_bottom(const struct tt_fiber *f)
{
    struct tt_segment *s = f->segment;

    while (s->below)
        s = s->below;
    return s->frame;
}

/* The last frame of a segment is entered and left slowly.  Were it left fast, a handler could
 * come in the midst of that and make the next segment, where the top then stays, for it. */
void tt_stack_open(struct tt_thread *t)
{
    struct tt_frame *last = t->stack.end - 1,
                    *hooks = t->modes.exact_functions ? NULL : last;
    uint64_t picking = t->self->picking;

    TT_ASSERT(t->stack.end == t->stack.fiber->segment->end);
    __atomic_store_n(&t->self->limit, t->modes.exact ? NULL : last, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->self->hooks, hooks, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->self->direct, picking + 1 > 1 ? NULL : hooks, __ATOMIC_SEQ_CST);
    if (t->recording != __atomic_load_n(&tt_recording, __ATOMIC_SEQ_CST) ||
        !__atomic_load_n(&tt_on, __ATOMIC_SEQ_CST)) /* stopped meanwhile */
        tt_strand_close(t->self);
}

static void set_segment(struct tt_thread *t, struct tt_segment *s)
{
    TT_ASSERT(t->self->top >= s->frame && t->self->top < s->end);
    t->stack.fiber->segment = s;
    t->stack.end = s->end;
    tt_stack_open(t);
}

static int step_up(struct tt_thread *t)
{
    struct tt_segment *s = t->stack.fiber->segment, *above = s->above;
    size_t size = s->size ? s->size * 2 : SEGMENT_FIRST;

    TT_ASSERT(t->self->top == s->end - 1);
    TT_ASSERT(!above || above->below == s);
    if (!above) {
        above = map_segment(size > SEGMENT_LARGEST ? SEGMENT_LARGEST : size);
        if (!above)
            return -TT_ERR_MEMORY;
        above->below = s;
        s->above = above;
    }
    tt_frame_settle(&t->tree, t->self->top);
    above->frame[0] = *t->self->top;
    above->frame[0].edge |= TT_FRAME_FLAG(TT_FRAME_SEAM);
    tt_frame_set_top(t->self, above->frame);
    set_segment(t, above);
    return 0;
}

/* Makes the frame after the top, with a new segment where needed; NULL without memory. */
static struct tt_frame *next_frame(struct tt_thread *t)
{
    if (t->self->top + 1 >= t->stack.end && step_up(t) != 0)
        return NULL;
    return t->self->top + 1;
}

void tt_stack_show(struct tt_thread *t, struct tt_frame *f)
{
    TT_BARRIER();
    tt_frame_set_top(t->self, f);
    TT_BARRIER();
    if (t->record)
        TT_SHOW(t->record->current, (uint64_t)((const char *)f->node - t->tree.base));
}

static void step_down(struct tt_thread *t)
{
    struct tt_frame *top = t->self->top;
    struct tt_segment *below;

    if (tt_frame_flags(top) & TT_FRAME_SEAM) {
        below = t->stack.fiber->segment->below;
        TT_ASSERT(top == t->stack.fiber->segment->frame && below);
        tt_frame_set_top(t->self, below->end - 1);
        set_segment(t, below);
    } else {
        tt_stack_show(t, top - 1);
    }
}

/* ── Hidden blocks ────────────────────────────────────────────────────────────────── */

/* The context that a hiding frame came from: the blocks between it and the frame's node
 * are hidden.  A frame whose arc found no room has no arc cell, but the frame below has
 * the source. */
const struct tt_node *tt_hider_source(const struct tt_thread *t, struct tt_frame *hider)
{
    const struct tt_node *arc = tt_cell(t->tree.base, tt_frame_cell(hider));

    return arc->kind == TT_CELL_ARC ? tt_parent(&t->tree, arc)
                                    : tt_frame_below(hider)->node;
}

/* The chain of hiders is this stack's, and this context's: another one counts again. */
void tt_hiders_count(struct tt_thread *t, uint32_t change)
{
    TT_ASSERT(change == 1 || change == UINT32_MAX);
    for (struct tt_frame *h = t->stack.hider; h; h = h->hider)
        if (tt_hider_arc(t, h)) {
            TT_ASSERT(tt_hider_arc(t, h)->slot[0] == (change == 1 ? 0 : 1));
            tt_hider_arc(t, h)->slot[0] += change;
        }
}

/* Has a push back into the path no arc, for want of room? */
static int goes_back(const struct tt_thread *t, const struct tt_node *from,
                     const struct tt_node *edge)
{
    return edge->kind == TT_CELL_CONTEXT && from != t->tree.limbo &&
           edge->parent != tt_cell_of(&t->tree, from);
}

/* Is the block on the true stack? */
static int is_active(const struct tt_thread *t, const struct tt_node *edge,
                     tt_block block)
{
    if (edge->kind == TT_CELL_ARC)
        return 1;
    if (!(edge->flags & TT_NODE_OUTERMOST))
        return 1;
    for (struct tt_frame *h = t->stack.hider; h; h = h->hider)
        for (const struct tt_node *n = tt_hider_source(t, h);
             n != h->node && n != t->tree.root; n = tt_parent(&t->tree, n))
            if (n->key == block)
                return 1;
    return 0;
}

/* ── Leaving ──────────────────────────────────────────────────────────────────────── */

/* Nothing is charged to a recording that is over. */
static int has_books(const struct tt_thread *t)
{
    return t->self == &tt_self ? t->recording && t->recording == tt_recording_now() &&
                                     __atomic_load_n(&tt_on, __ATOMIC_RELAXED)
                               : 1;
}

/* One activation ends; `now` is only read if it was timed. */
static void drop_top(struct tt_thread *t, uint64_t *now)
{
    struct tt_frame *f = t->self->top;
    uint32_t flags = tt_frame_flags(f);

    if (TT_UNLIKELY(tt_function_dropped != NULL) && !(flags & TT_FRAME_SEAM) &&
        tt_frame_is_function(f))
        tt_function_dropped(f);
    if ((flags & TT_FRAME_SEAM) || !has_books(t)) {
        step_down(t);
        return;
    }
    if (flags & TT_FRAME_CONTEXT)
        tt_visit_end(t, f);
    if (flags & TT_FRAME_CALL)
        tt_call_count(t, TT_CALL_LEFT);
    if (flags & (TT_FRAME_TIMED | TT_FRAME_PICKED)) {
        if (!*now)
            *now = tt_time_now(t);
        tt_activation_end(t, f, *now);
    }
    if (flags & TT_FRAME_HIDER)
        tt_hiding_end(t, f);
    step_down(t);
}

/* In this segment, and not live? */
static int is_above_top(const struct tt_thread *t, const struct tt_frame *f)
{
    return f > t->self->top && f < t->stack.fiber->segment->end;
}

static void end_hiding(struct tt_thread *t, struct tt_frame *f)
{
    if (tt_frame_flags(f) & TT_FRAME_HIDER)
        tt_hiding_end(t, f);
    else /* a scope that was entered fast has used the frame since */
        tt_hider_show(t, f->hider);
}

void tt_stack_drop_left(struct tt_thread *t)
{
    uint64_t now = 0;

    if (!has_books(t))
        return;
    while (is_above_top(t, t->stack.timed)) {
        if (!now)
            now = tt_time_now(t);
        if (tt_frame_flags(t->stack.timed) & TT_FRAME_TIMED)
            tt_activation_end(t, t->stack.timed, now);
        else
            tt_visit_end(t, t->stack.timed);
    }
    while (is_above_top(t, t->stack.hider))
        end_hiding(t, t->stack.hider);
}

int tt_stack_has(const struct tt_thread *t, const struct tt_frame *f)
{
    const struct tt_frame *last = t->self->top;

    for (const struct tt_segment *s = t->stack.fiber->segment; s; s = s->below) {
        if (f >= s->frame && f <= last)
            return 1;
        last = s->below ? s->below->end - 1 : NULL;
    }
    return 0;
}

void tt_stack_leave(struct tt_thread *t, struct tt_frame *f, int keep)
{
    uint64_t now = 0;

    TT_ASSERT(t->busy.work || t->self != &tt_self);
    tt_stack_drop_left(t);
    if (!tt_stack_has(t, f))
        return;
    while (t->self->top != f)
        drop_top(t, &now);
    if (!keep && f != tt_stack_bottom(t->stack.fiber))
        drop_top(t, &now);
}

static void drop_dead(struct tt_thread *t, void *slot, uintptr_t cfa)
{
    uint64_t now = 0;

    if (!tt_frame_is_dead(t->self->top, slot, cfa | 1) || tt_on_signal_stack(cfa))
        return;
    while (tt_frame_is_dead(t->self->top, slot, cfa | 1))
        drop_top(t, &now);
}

/* ── Entering ─────────────────────────────────────────────────────────────────────── */

/* Enters a context without room: its cost goes below the nearest one that has some. */
static void enter_limbo(struct tt_thread *t, struct tt_frame *f, tt_block block)
{
    static const struct tt_amounts call = {1, 0, 0};

    (void)tt_tree_tally(&t->tree, block);
    tt_tally_evicted(&t->tree, block, &call);
    TT_ASSERT(block < TT_BLOCKS_MAX);
    TT_SHOW(f->node, t->tree.limbo);
    TT_SHOW(f->edge,
            TT_FRAME_FLAG(TT_FRAME_LIMBO) | (uint64_t)block << TT_FRAME_BLOCK_SHIFT);
}

uint32_t tt_stack_step(struct tt_thread *t, struct tt_node *from, tt_block block)
{
    struct tt_tree *tree = &t->tree;
    uint32_t cell = tt_tree_step(tree, from, block);

    if (cell || from == tree->limbo || !tt_make_room(t))
        return cell;
    return tt_tree_step(tree, from, block);
}

/* A type of objects is no block. */
static enum tt_kind known_kind(tt_block *block, enum tt_kind kind)
{
    if (kind < TT_KINDS)
        return kind;
    *block = TT_BLOCK_OTHER;
    return TT_KIND_BLOCK;
}

static uint32_t mode_of(const struct tt_thread *t, enum tt_kind kind)
{
    return t->recording->options.mode[kind];
}

/* In mode every:N the first activation through an edge is measured, and every N-th. */
static int is_picked(const struct tt_thread *t, const struct tt_node *edge)
{
    return edge->calls == 1 || (edge->calls & (t->recording->options.every - 1)) == 0;
}

static void enter_context(struct tt_thread *t, struct tt_frame *f, struct tt_node *from,
                          uint32_t cell, uint32_t mode)
{
    struct tt_node *edge = tt_cell(t->tree.base, cell);

    TT_ASSERT(edge->kind == TT_CELL_CONTEXT || edge->kind == TT_CELL_ARC);
    TT_ASSERT(tt_cell(t->tree.base, edge->target)->kind == TT_CELL_CONTEXT);
    TT_SHOW(f->node, tt_cell(t->tree.base, edge->target));
    TT_SHOW(f->edge, cell);
    if (mode != TT_MODE_SAMPLED)
        tt_count(&edge->calls);
    if (mode == TT_MODE_EXACT && is_active(t, edge, edge->key & TT_KEY_BLOCK))
        TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_RECURSIVE));
    if (edge->key & TT_KEY_HIDES || goes_back(t, from, edge))
        tt_hiding_begin(t, f);
    if (mode == TT_MODE_EVERY && is_picked(t, edge))
        tt_activation_pick(t, f);
}

/* The frame after the top becomes the top, for now a copy of the one below, so that a
 * signal handler's frames stay clear of it. */
static struct tt_frame *reserve_frame(struct tt_thread *t, void *slot, uintptr_t cfa)
{
    struct tt_frame *f;

    tt_stack_drop_left(t);
    f = next_frame(t);
    if (!f)
        return NULL;
    tt_frame_settle(&t->tree, f - 1);
    do {
        tt_frame_claim(f, slot);
        TT_SHOW(f->node, f[-1].node);
        TT_SHOW(f->edge,
                f[-1].edge & (UINT32_MAX | ~TT_FRAME_FLAG(0xff & ~TT_FRAME_LIMBO)));
        f->cfa = cfa ? cfa : f[-1].cfa;
    } while (!tt_frame_publish(t->self, f, slot));
    return f;
}

static struct tt_frame *enter_from(struct tt_thread *t, struct tt_frame *f,
                                   struct tt_node *from, tt_block block, uint32_t mode)
{
    uint32_t cell = tt_stack_step(t, from, block);

    if (cell)
        enter_context(t, f, from, cell, mode);
    else
        enter_limbo(t, f, block);
    if (mode == TT_MODE_EXACT)
        tt_activation_begin(t, f, tt_time_now(t));
    tt_stack_show(t, f);
    return tt_frame_flags(f) || f + 1 == t->stack.end
               ? (struct tt_frame *)((uintptr_t)f | 1)
               : f;
}

struct tt_frame *tt_stack_enter(struct tt_thread *t, tt_block block, enum tt_kind kind,
                                void *slot, uintptr_t cfa)
{
    struct tt_frame *f;

    TT_ASSERT(t->busy.work);
    if (cfa & TT_CFA_FUNCTION) /* nothing else is in a stack frame that is new */
        drop_dead(t, slot, cfa + TT_CFA_FUNCTION);
    else if (cfa)
        drop_dead(t, slot, cfa);
    kind = known_kind(&block, kind);
    block = tt_block_publish(t->recording, block);
    f = reserve_frame(t, slot, cfa);
    if (!f) {
        t->record->lost_pushes++;
        return NULL;
    }
    return enter_from(t, f, f[-1].node, block, mode_of(t, kind));
}

/* A tail call.  By the document the frame is gone; under `cycle`, which is Fble as
 * shipped, the path goes on from it. */
void tt_stack_replace(struct tt_thread *t, tt_block block, enum tt_kind kind)
{
    struct tt_frame *top = tt_frame_top(t->self), *f;
    struct tt_node *from = top->node;

    t->tail.from = NULL;
    kind = known_kind(&block, kind);
    block = tt_block_publish(t->recording, block);
    if (top != tt_stack_bottom(t->stack.fiber))
        tt_stack_leave(t, top, 0);
    f = reserve_frame(t, NULL, 0);
    if (!f)
        return;
    if (t->recording->options.recursion != TT_RECURSION_CYCLE)
        from = f[-1].node;
    TT_SHOW(f->node, from); /* so that it is not evicted */
    (void)enter_from(t, f, from, block, mode_of(t, kind));
}

/* ── Whole stacks ─────────────────────────────────────────────────────────────────── */

void tt_stack_walk(const struct tt_fiber *fiber, struct tt_frame *top,
                   void (*each)(void *arg, struct tt_frame *), void *arg)
{
    for (struct tt_segment *s = fiber->segment; s; s = s->below) {
        for (struct tt_frame *f = top; f > s->frame; f--)
            each(arg, f);
        top = s->below ? s->below->end - 1 : NULL;
    }
}

static void keep_block(void *arg, struct tt_frame *f)
{
    struct tt_thread *t = arg;

    if (!tt_frame_is_fast(f) && f->edge >> TT_FRAME_BLOCK_SHIFT)
        return; /* it is there */
    if (tt_frame_flags(f) & TT_FRAME_CONTEXT)
        f->entered = tt_context_of(t, f); /* context frames do not use this field for
                                           * time */
    tt_frame_settle(&t->tree, f);
    TT_SHOW(f->edge, f->edge | (uint64_t)tt_frame_block(t, f) << TT_FRAME_BLOCK_SHIFT);
}

void tt_stack_keep_blocks(struct tt_thread *t, struct tt_fiber *fiber)
{
    tt_stack_walk(fiber, fiber->running ? t->self->top : fiber->top, keep_block, t);
}

void tt_stack_close(struct tt_thread *t)
{
    uint64_t now = tt_time_now(t);
    struct tt_frame *top = t->self->top;

    tt_charge_time(t, now, top);
    for (struct tt_segment *s = t->stack.fiber->segment; s; s = s->below) {
        for (struct tt_frame *f = top; f > s->frame; f--) {
            if (tt_frame_flags(f) & (TT_FRAME_TIMED | TT_FRAME_PICKED))
                tt_activation_end(t, f, now);
            TT_SHOW(f->edge, f->edge & ~TT_FRAME_FLAG(TT_FRAME_TIMED | TT_FRAME_PICKED));
        }
        top = s->below ? s->below->end - 1 : NULL;
    }
}

/* Frames are pushed again, from the bottom, each where the blocks below it lead now.  Calls
 * are not counted again. */
static void resolve_activation(struct tt_thread *t, struct tt_frame *f, int anew)
{
    tt_block block = (tt_block)(f->edge >> TT_FRAME_BLOCK_SHIFT);
    uint64_t entered = f->entered, children = f->children;
    uint64_t place = f->edge & TT_FRAME_FLAG(TT_FRAME_RECURSIVE | TT_FRAME_CALL);
    uint32_t cell;
    struct tt_node *edge;

    block = tt_block_publish(t->recording, block);
    cell = tt_stack_step(t, f[-1].node, block);
    edge = tt_cell(t->tree.base, cell);
    place |= cell ? cell
                  : TT_FRAME_FLAG(TT_FRAME_LIMBO) | (uint64_t)block
                                                        << TT_FRAME_BLOCK_SHIFT;
    TT_SHOW(f->node, cell ? tt_cell(t->tree.base, edge->target) : t->tree.limbo);
    TT_SHOW(f->edge, place);
    if (cell && (edge->key & TT_KEY_HIDES || goes_back(t, f[-1].node, edge)))
        tt_hiding_begin(t, f);
    if (mode_of(t, tt_block_kind(block)) != TT_MODE_EXACT)
        return;
    tt_activation_begin(t, f, tt_time_now(t));
    if (!anew) {
        f->entered = entered;
        f->children = children;
    }
}

/* A path begins at this frame: blocks that arcs below it hide are not active above it. */
static void cut_hiders(struct tt_thread *t, struct tt_frame *f)
{
    if (!t->stack.hider)
        return; /* nothing is hidden, and the chain begins after this anyway */
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_HIDER));
    tt_hiders_count(t, UINT32_MAX);
    TT_SHOW(f->hider, t->stack.hider);
    tt_hider_show(t, NULL);
}

static void stand_at_context(struct tt_thread *t, struct tt_frame *f, struct tt_node *n)
{
    TT_ASSERT(n->kind == TT_CELL_CONTEXT);
    TT_SHOW(f->node, n);
    TT_SHOW(f->edge, tt_cell_of(&t->tree, n) | TT_FRAME_FLAG(TT_FRAME_CONTEXT));
    tt_visit_begin(t, f);
    cut_hiders(t, f);
}

/* Frames below stay active, except those that the new place cut off the path. */
static void stand_joined(struct tt_thread *t, struct tt_frame *f, struct tt_node *n,
                         int hides)
{
    TT_ASSERT(n->kind == TT_CELL_CONTEXT);
    TT_SHOW(f->node, n);
    TT_SHOW(f->edge, tt_cell_of(&t->tree, n) | TT_FRAME_FLAG(TT_FRAME_JOINED));
    tt_visit_begin(t, f);
    if (hides)
        tt_hiding_begin(t, f);
}

/* A block without room is on the stack all the same.  `begins`: frames below it are not
 * active, and its cost is below the root. */
static void stand_in_limbo(struct tt_thread *t, struct tt_frame *f, tt_context c,
                           int begins)
{
    tt_block block = tt_block_publish(t->recording, tt_context_block(c));
    uint32_t flags = begins ? TT_FRAME_CONTEXT : TT_FRAME_JOINED;

    (void)tt_tree_tally(&t->tree, block);
    TT_SHOW(f->node, t->tree.limbo);
    TT_SHOW(f->edge, TT_FRAME_FLAG(TT_FRAME_LIMBO | flags) | (uint64_t)block
                                                                 << TT_FRAME_BLOCK_SHIFT);
    f->entered = c;
    tt_visit_begin(t, f);
    if (begins)
        cut_hiders(t, f);
}

static void resolve_frame(struct tt_thread *t, struct tt_frame *f, int anew)
{
    uint64_t children = f->children;
    tt_context c = f->entered;
    struct tt_node *n;

    f->cfa &= ~(uintptr_t)1;
    if (tt_frame_flags(f) & TT_FRAME_CONTEXT) {
        n = tt_context_place(t, c);
        if (!n)
            stand_in_limbo(t, f, c, tt_frame_begins(f));
        else if (tt_frame_begins(f))
            stand_at_context(t, f, n);
        else
            stand_joined(t, f, n, f[-1].node != n && f[-1].node != t->tree.limbo);
        f->children = anew ? 0 : children;
    } else {
        resolve_activation(t, f, anew);
    }
}

void tt_stack_reset(struct tt_thread *t)
{
    memset(t->join, 0, sizeof t->join);
    t->tail.from = NULL;
    t->stack.timed = NULL;
    tt_hider_show(t, NULL);
    TT_SHOW(t->self->top->node, t->tree.root);
}

/* The top that is timed is `timed` while it is whole. */
static int is_half(const struct tt_thread *t, const struct tt_frame *top)
{
    return (tt_frame_flags(top) & (TT_FRAME_TIMED | TT_FRAME_SEAM)) == TT_FRAME_TIMED &&
           t->stack.timed != top;
}

void tt_stack_mend(struct tt_thread *t)
{
    struct tt_frame *top = t->self->top;
    uint64_t depth = 0;

    if (!t->record)
        return;
    for (const struct tt_frame *f = t->stack.timed; f; f = f->timed)
        depth += (tt_frame_flags(f) & TT_FRAME_TIMED) != 0;
    t->record->depth = depth;
    tt_stack_show(t, is_half(t, top) ? top - 1 : top);
}

void tt_stack_disturb(struct tt_thread *t)
{
    struct tt_frame *next = t->self->top + 1;

    if (next < t->stack.end) {
        __atomic_store_n(&next->slot, NULL, __ATOMIC_RELAXED);
        __atomic_store_n(&next->cfa, 0, __ATOMIC_RELAXED);
    }
}

/* Since their scopes were switched off it is not known whether these are still open.  Those
 * with others above them are. */
static void drop_switched(struct tt_thread *t)
{
    struct tt_frame *top = t->self->top;

    if (t->stack.fiber->switches == tt_sites_switches())
        return;
    t->stack.fiber->switches = tt_sites_switches();
    while (TT_IS_SWITCHED(top)) {
        if (tt_frame_flags(top) & TT_FRAME_SEAM) {
            top = t->stack.fiber->segment->below->end - 1;
            set_segment(t, t->stack.fiber->segment->below);
        } else {
            top--;
        }
        tt_frame_set_top(t->self, top);
    }
}

void tt_stack_resolve(struct tt_thread *t, int anew)
{
    struct tt_frame *top;
    struct tt_segment *last, *s;

    drop_switched(t);
    top = t->self->top;
    s = last = t->stack.fiber->segment;
    while (s->below)
        s = s->below;
    tt_stack_reset(t);
    TT_SHOW(s->frame[0].node, t->tree.root);
    TT_SHOW(s->frame[0].edge, tt_cell_of(&t->tree, t->tree.root));
    for (;; s = s->above) {
        struct tt_frame *end = s == last ? top : s->end - 1;
        t->stack.fiber->segment = s;
        if (s->below) {
            s->frame[0] = s->below->end[-1];
            s->frame[0].edge |= TT_FRAME_FLAG(TT_FRAME_SEAM);
        }
        for (struct tt_frame *f = s->frame + 1; f <= end; f++) {
            tt_frame_set_top(t->self, f - 1); /* live, should room have to be made */
            resolve_frame(t, f, anew);
        }
        if (s == last)
            break;
    }
    tt_stack_show(t, top);
}

struct tt_frame *tt_stack_enter_context(struct tt_thread *t, struct tt_node *n,
                                        tt_context c)
{
    struct tt_frame *f = reserve_frame(t, NULL, 0);

    if (!f)
        return NULL;
    if (n)
        stand_at_context(t, f, n);
    else
        stand_in_limbo(t, f, c, 1);
    tt_stack_show(t, f);
    return f;
}

struct tt_frame *tt_stack_join_place(struct tt_thread *t, struct tt_node *n, int hides)
{
    struct tt_frame *f = reserve_frame(t, NULL, 0);

    if (!f)
        return NULL;
    stand_joined(t, f, n, hides);
    tt_stack_show(t, f);
    return f;
}

struct tt_frame *tt_stack_join_context(struct tt_thread *t, tt_context c)
{
    struct tt_frame *f = reserve_frame(t, NULL, 0);
    struct tt_node *n = NULL;
    int hides = 0;

    if (!f)
        return NULL;
    if (f->node != t->tree.limbo && (!c || tt_context_cell(t->recording, c)))
        n = tt_context_join(t, f, c, &hides);
    if (n)
        stand_joined(t, f, n, hides);
    else
        stand_in_limbo(t, f, c, 0);
    tt_stack_show(t, f);
    return f;
}
