/* SPDX-License-Identifier: MIT */
/* stack.h - entering and leaving activations; charging figures to the top's context. */
#ifndef TT_STACK_H
#define TT_STACK_H

#include <signal.h>

#include "strand.h"

#define TT_ASIDE __attribute__((noinline)) /* its caller saves no registers for it */

/* The frame below all activations. */
struct tt_frame *tt_stack_bottom(const struct tt_fiber *);

/* Sets up an empty stack; its first segment is in `memory`, or mapped if that is NULL. */
int tt_stack_init(struct tt_fiber *, void *memory, size_t size);
void tt_stack_fini(struct tt_fiber *);

/* Lets the fast path push up to the end of the segment, unless the mode is exact or another
 * recording has begun. */
void tt_stack_open(struct tt_thread *);

/* Addresses on a signal handler's stack cannot be compared with this stack's. */
TT_INLINE int tt_on_signal_stack(uintptr_t cfa)
{
    stack_t s;

    return sigaltstack(NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK) &&
           cfa - (uintptr_t)s.ss_sp < s.ss_size;
}

/* Enters a block.  `cfa` 0: a runtime's push.  NULL: there is no memory for the frame. */
struct tt_frame *tt_stack_enter(struct tt_thread *, tt_block, enum tt_kind, void *slot,
                                uintptr_t cfa);

/* Leaves the top and enters `block` in its place. */
void tt_stack_replace(struct tt_thread *, tt_block, enum tt_kind);

/* Enters a captured context until the frame is left. */
struct tt_frame *tt_stack_enter_context(struct tt_thread *, struct tt_node *, tt_context);

/* Enters, until the frame is left, the context to which GHC's rule leads from a captured
 * one. */
struct tt_frame *tt_stack_join_context(struct tt_thread *, tt_context);

/* Enters a node; frames below stay as active as before.  `hides`: the node is not below
 * the current one. */
struct tt_frame *tt_stack_join_place(struct tt_thread *, struct tt_node *, int hides);

/* The cell through which a push leads; contexts are evicted for it.  0: no room. */
uint32_t tt_stack_step(struct tt_thread *, struct tt_node *from, tt_block);

/* Leaves everything above `f`, and `f` too unless `keep`; nothing if `f` is not there. */
void tt_stack_leave(struct tt_thread *, struct tt_frame *f, int keep);

/* Ends frames above the top that are still timed, or hide blocks.  A scope that was entered
 * fast is left by stepping down, also if meanwhile another recording began in which leaving
 * takes more.  Their activations end now, as the time when they were left is unknown. */
void tt_stack_drop_left(struct tt_thread *);

/* Is this one of the running stack's frames?  It may point anywhere. */
int tt_stack_has(const struct tt_thread *, const struct tt_frame *f);

/* Ends the running stack's activations in the figures; leaving them has no effect. */
void tt_stack_close(struct tt_thread *);

/* Repairs the state after a handler left the exact mode's fast path by longjmp: as if
 * entering had not begun, or leaving had ended. */
void tt_stack_mend(struct tt_thread *);

/* Resets the stack: until frames are resolved again, signal handlers charge the root, and
 * not a tree that is gone. */
void tt_stack_reset(struct tt_thread *);

/* Makes a scope that is just being entered, and was interrupted by a handler, look up its
 * edge again. */
void tt_stack_disturb(struct tt_thread *);

/* Finds all frames' places again, after the tree under them changed.  `again`: their times
 * begin now. */
void tt_stack_resolve(struct tt_thread *, int anew);

/* Adds to the tally of a block in this strand, or where there is no room, in the process. */
void tt_tally_evicted(struct tt_tree *, tt_block, const struct tt_amounts *);
void tt_tally_hidden(struct tt_tree *, tt_block, uint64_t ticks);
void tt_tally_path(struct tt_tree *, const struct tt_node *, uint64_t ticks);

/* ── Handles of contexts, drawn in context.c ──────────────────────────────────────── */

static inline uint32_t tt_context_generations(const struct tt_recording *r)
{
    return 1u << (TT_CONTEXT_BLOCK_SHIFT - r->context_bits);
}

/* The cell in a handle; 0: the handle has only a block. */
static inline uint32_t tt_context_cell(const struct tt_recording *r, tt_context c)
{
    return (uint32_t)c & ((1u << r->context_bits) - 1);
}

/* Encodes a generation in a handle, and back.  Recordings have different generations. */
static inline uint32_t tt_context_stir(const struct tt_recording *r, uint64_t generation)
{
    return ((uint32_t)generation ^ r->epoch * 0x9e5u) & (tt_context_generations(r) - 1);
}

static inline uint32_t tt_context_generation(const struct tt_recording *r, tt_context c)
{
    return tt_context_stir(r, c >> r->context_bits);
}

/* The handle of a node; 0 for a root.  A cell that was reused too often to have a
 * generation for this handle alone gives one with the block and nothing else. */
static inline tt_context tt_context_make(const struct tt_recording *r,
                                         const struct tt_node *n)
{
    uint64_t cell = (uint64_t)((const char *)n - r->base) / TT_CELL_SIZE,
             block = (uint64_t)n->key << TT_CONTEXT_BLOCK_SHIFT;

    if (!n->parent)
        return 0;
    if (n->generation >= tt_context_generations(r) || cell >> r->context_bits)
        return block;
    return cell | (uint64_t)tt_context_stir(r, n->generation) << r->context_bits | block;
}

/* Is it the handle of that cell's node?  A root has none. */
static inline int tt_context_is_of(const struct tt_recording *r, const struct tt_node *n,
                                   tt_context c)
{
    uint64_t high = (uint64_t)n->key << (TT_CONTEXT_BLOCK_SHIFT - r->context_bits) |
                    tt_context_stir(r, n->generation);

    return high == c >> r->context_bits && n->generation < tt_context_generations(r) &&
           n->parent;
}

/* context.c: the handle of a frame's context. */
tt_context tt_context_of(struct tt_thread *, const struct tt_frame *);

/* The context in this tree for a handle.  It is always of the handle's block: an evicted
 * one comes back below the nearest ancestor that is left.  NULL: there is no room. */
struct tt_node *tt_context_place(struct tt_thread *, tt_context);

/* The handle of a frame without room, whose costs go below `n`. */
tt_context tt_context_below(struct tt_thread *, const struct tt_frame *,
                            const struct tt_node *n);

/* The handle of a context; of one that found no room below it, with that one's block. */
tt_context tt_context_at(struct tt_thread *, const struct tt_node *, tt_block);

/* The node of a handle; *below: the context was below that node and was evicted, or had
 * no room.  NULL: only the block is known. */
struct tt_node *tt_context_find(struct tt_thread *, tt_context, int *below);

/* The node to which a handle leads from frame->node by GHC's rule, and whether that hides
 * blocks; NULL without room.  The frame is the top: it keeps the nodes in use from being
 * evicted. */
struct tt_node *tt_context_join(struct tt_thread *, struct tt_frame *, tt_context,
                                int *hides);

/* tt_context_enter by any rule. */
tt_mark tt_context_enter_by(tt_context, enum tt_stacks rule);

/* api.c: counts a push that has no stack to go to. */
void tt_push_stray(tt_block);

/* call.c: enters the context that a tail call from the top left; NULL: there is none. */
struct tt_frame *tt_tail_take(struct tt_thread *);

/* call.c: counts a kind of call in the top's context. */
enum { TT_CALL_LEFT = TT_CALL_CURRIED + 1, TT_CALLS };
void tt_call_count(struct tt_thread *, int call);

/* Writes each frame's block into it, so that it can be resolved elsewhere. */
void tt_stack_keep_blocks(struct tt_thread *, struct tt_fiber *);

/* Calls `each` for the frames of a stack that have a node in the tree. */
void tt_stack_walk(const struct tt_fiber *, struct tt_frame *top,
                   void (*each)(void *arg, struct tt_frame *), void *arg);

/* Makes the frame after the top, with a new segment where needed; NULL without memory. */
struct tt_frame *tt_stack_next(struct tt_thread *);
void tt_stack_show(struct tt_thread *, struct tt_frame *);

/* Takes the chain of hiders out of the count (change -1), or back into it (1). */
void tt_hiders_count(struct tt_thread *, uint32_t change);

/* The context that a frame of that chain came from: blocks between it and the frame's
 * node are hidden. */
const struct tt_node *tt_hider_source(const struct tt_thread *, struct tt_frame *hider);

/* This thread's time now: without what it spent paused. */
uint64_t tt_time_now(const struct tt_thread *);

/* Charges the time since the last event to the nearest timed activation.  Without one it
 * is not charged, except that a caller's own clock charges `outside`. */
void tt_charge_time(struct tt_thread *, uint64_t now, struct tt_frame *outside);

/* Charges ticks to a place on the running stack; async-signal-safe. */
void tt_charge(struct tt_thread *, struct tt_frame *at, uint64_t ticks, uint64_t samples);

/* Charges node `n`, below the node of that frame.  If `metric` is not 0, charges that, in
 * ns: the ticks are an exact clock's then.  Async-signal-safe, while busy. */
void tt_charge_below(struct tt_thread *, struct tt_frame *at, struct tt_node *n,
                     uint64_t ticks, uint32_t metric);

/* The nearest frame that has a node in the tree, from `f` down. */
struct tt_frame *tt_stack_placed(const struct tt_thread *, struct tt_frame *f);

/* Charges the ticks and samples that were deferred. */
void tt_charge_deferred(struct tt_thread *);

/* Adds to a metric of the top, after an eviction if there is no room; at least the total has
 * it then. */
void tt_add_metric(struct tt_thread *, uint32_t metric, uint64_t amount);

/* Statistics of activations: measures the frame from now on; ends it. */
void tt_activation_begin(struct tt_thread *, struct tt_frame *, uint64_t now);
void tt_activation_pick(struct tt_thread *, struct tt_frame *);
void tt_activation_end(struct tt_thread *, struct tt_frame *, uint64_t now);

/* Time is charged to a captured context without an activation. */
void tt_visit_begin(struct tt_thread *, struct tt_frame *);
void tt_visit_end(struct tt_thread *, struct tt_frame *);

/* Details of an activation beside its sums, if they are recorded. */
void tt_activation_details(struct tt_thread *, struct tt_node *edge,
                           const struct tt_frame *, uint64_t duration);

/* Adds an activation to its edge's statistics. */
TT_INLINE void tt_square_add(struct tt_square *s, uint64_t x)
{
    unsigned __int128 sum = (unsigned __int128)s->high << 64 | s->low;

    sum += (unsigned __int128)x * x;
    s->low = (uint64_t)sum;
    s->high = (uint64_t)(sum >> 64);
}

TT_INLINE void tt_times_add(struct tt_times *s, const struct tt_frame *f,
                            uint64_t duration)
{
    if (s->count++ == 0 || duration < s->min)
        s->min = duration;
    if (duration > s->max)
        s->max = duration;
    s->sum += duration;
    tt_square_add(&s->square, duration);
    if (f->children) {
        s->children += f->children;
        tt_square_add(&s->children_square, f->children);
    }
    if (f->edge & TT_FRAME_FLAG(TT_FRAME_RECURSIVE)) {
        s->recursive += duration;
        tt_square_add(&s->recursive_square, duration);
    }
}

/* slowest.c: the K slowest activations of a marked block, with their subtrees. */
void tt_slowest_begin(struct tt_thread *, struct tt_frame *);
void tt_slowest_end(struct tt_thread *, struct tt_node *edge, const struct tt_frame *,
                    uint64_t duration, uint32_t capacity);
void tt_slowest_drop(struct tt_thread *);
void tt_slowest_merge(struct tt_tree *into, struct tt_node *to, struct tt_slowest *from);

/* budget.c: evicts cold contexts to make room.  Returns the number of cells freed. */
uint32_t tt_evict(struct tt_thread *);
uint32_t tt_evict_tree(struct tt_tree *, struct tt_thread *);

/* Evicts contexts if enough pushes found no room; returns whether that freed cells. */
int tt_make_room(struct tt_thread *);

#endif
