/* SPDX-License-Identifier: MIT */
/* strand.h - a thread with its tree, and the stacks of activations that it runs.
 *
 *      tt_self (thread-local) ── thread ── tree ── cells in the recording
 *                                  └── fiber ── segments of frames
 *
 * A frame is one activation.  Segments never move; the first frame of a segment is a copy
 * of the last of the one below, so that stepping down does not read the segment. */
#ifndef TT_STRAND_H
#define TT_STRAND_H

#include <errno.h>

#include "activation.h"
#include "busy.h"
#include "call.h"
#include "clock.h"
#include "fiber.h"
#include "join.h"
#include "objects.h"
#include "sampler.h"
#include "slowest.h"
#include "tree.h"

/* Both are sampled, or both are counted; nothing is timed.  Else: the general case. */
enum tt_quick { TT_QUICK_NOT, TT_QUICK_SAMPLED, TT_QUICK_COUNTED };

/* The clock that the fast path of the exact mode reads; 0: none. */
enum tt_plain { TT_PLAIN_CYCLES = 1, TT_PLAIN_CALLER };

struct tt_modes {   /* of a thread: from the options of its recording */
    uint32_t exact; /* no fast path: scopes are timed */
    uint32_t quick; /* enum tt_quick: how runtimes' blocks and scopes are recorded */
    uint32_t
        exact_functions; /* those that are switched on, or have hooks, are all timed */
    /* All kinds are timed, by which clock, and none is kept among the slowest.
     * Cleared, as self->limit is, when the recording ends. */
    uint32_t plain;    /* enum tt_plain */
    uint32_t tells;    /* objects change only rows, and types' bands; cleared, too */
    uint32_t detailed; /* more than sums is stored of activations */
    uint32_t timing;   /* some kind of block is timed */
};

struct tt_refusal {  /* of a strand, for want of memory */
    uint32_t epoch;  /* by the recording of this epoch */
    uint64_t pushes; /* since then */
    uint64_t strays; /* pushes of handlers while the thread was getting one */
};

/* Its parts are declared by the files that own them. */
struct tt_thread {
    struct tt_strand *self; /* its thread-local part */
    struct tt_recording *recording;
    struct tt_recording *last; /* a scope that a handler interrupted may still read it */
    struct tt_strand_record *record;
    struct tt_tree tree;
    struct tt_thread_stack stack;
    struct tt_busy busy;
    int program_errno; /* as it was at the beginning of the slow path */
    uint32_t named;    /* by tt_thread_name: ignore the system's name */
    uint32_t rounds; /* of destructors at its end, so far; all: its begin was not seen */
    struct tt_modes modes;
    struct tt_thread_clock clock;
    struct tt_refusal refusal;
    struct tt_thread *next, **link; /* of all threads, under the lock of strand.c */
    struct tt_sampler_state sampler;
    struct tt_log_writer log;
    void *collector; /* the thread's part of what collects allocations or locks */
    struct tt_slow_state slow;
    struct tt_tail tail;
    struct tt_thread_objects objects;
    struct tt_join join[TT_JOINS]; /* by captured context and place */
    struct tt_charging charging;
};

/* Stores a field that the sampler thread reads: it sees whole values, and all stores
 * before them. */
#define TT_SHOW(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

#define TT_FRAME_OF(f) ((struct tt_frame *)((uintptr_t)(f) & ~(uintptr_t)1))

/* The header takes this for granted. */
_Static_assert(offsetof(struct tt_strand, top) == 0, "top");

/* The lowest frame's: above all others.  Even, as are those not entered fast. */
#define TT_CFA_BOTTOM (UINTPTR_MAX - 3)

/* In the cfa of a function that is switched on.  Its frame's slot has its return address,
 * or NULL after it has returned. */
#define TT_CFA_FUNCTION ((uintptr_t)2)
#define TT_CFA_OF(f) ((f)->cfa & ~(uintptr_t)3)

static inline int tt_frame_is_fast(const struct tt_frame *f) { return f->cfa & 1; }

/* The cell of a frame that was not entered fast. */
static inline uint32_t tt_frame_cell(const struct tt_frame *f)
{
    TT_ASSERT(!tt_frame_is_fast(f));
    return (uint32_t)f->edge;
}

/* The edge of any frame but the first of a segment. */
static inline uint32_t tt_frame_edge(const struct tt_tree *t, const struct tt_frame *f)
{
    return tt_frame_is_fast(f) ? tt_tree_find(t, f[-1].node, f->node->key)
                               : tt_frame_cell(f);
}

static inline uint32_t tt_frame_flags(const struct tt_frame *f)
{
    return tt_frame_is_fast(f) ? 0 : (uint32_t)(f->edge >> 32) & 0xff;
}

/* As if it had not been entered fast: with its edge, and with room for flags. */
static inline void tt_frame_settle(const struct tt_tree *t, struct tt_frame *f)
{
    if (!tt_frame_is_fast(f))
        return;
    TT_SHOW(f->edge, tt_frame_edge(t, f));
    TT_BARRIER();
    f->cfa &= ~(uintptr_t)1;
}

/* Is it the frame of a switched scope?  Its slot is odd. */
#define TT_IS_SWITCHED(f) (((uintptr_t)(f)->slot & 1) != 0)

/* Are the frames below inactive while this one is there? */
static inline int tt_frame_begins(const struct tt_frame *f)
{
    return (tt_frame_flags(f) & TT_FRAME_JOINED) == TT_FRAME_CONTEXT;
}

static inline tt_block tt_frame_block(const struct tt_thread *t, const struct tt_frame *f)
{
    if (tt_frame_is_fast(f))
        return f->node->key;
    if (tt_frame_flags(f) & TT_FRAME_LIMBO)
        return (tt_block)(f->edge >> TT_FRAME_BLOCK_SHIFT);
    return tt_cell(t->tree.base, tt_frame_cell(f))->key & TT_KEY_BLOCK;
}

/* The activation below, across the seam of two segments. */
static inline struct tt_frame *tt_frame_below(struct tt_frame *f)
{
    if (tt_frame_flags(f) & TT_FRAME_SEAM)
        f = ((struct tt_segment *)(void *)((char *)f -
                                           offsetof(struct tt_segment, frame)))
                ->below->end -
            1;
    return f - 1;
}

/* The innermost activation itself, if the top is a copy of it in the next segment. */
static inline struct tt_frame *tt_frame_top(const struct tt_strand *s)
{
    struct tt_frame *top = s->top;

    return s->thread && (tt_frame_flags(top) & TT_FRAME_SEAM) ? tt_frame_below(top) + 1
                                                              : top;
}

/* Attaches the calling thread to the running recording; NULL if off, if there is no
 * memory, or if a signal handler interrupted the profiler.  Else the thread is busy,
 * until tt_thread_leave. */
struct tt_thread *tt_thread_enter(void);

/* The same for callers at work that have neither the threads nor the blocks locked. */
struct tt_thread *tt_thread_enter_anyway(void);

/* Has this thread run its destructors?  It then makes a strand only on request. */
int tt_thread_is_over(void);

/* Code between these two may change errno, which the program may be about to read. */
static inline void tt_thread_begin(struct tt_thread *t)
{
    tt_busy_begin(&t->busy);
    t->program_errno = errno;
}

static inline void tt_thread_leave(struct tt_thread *t)
{
    errno = t->program_errno;
    tt_busy_leave(&t->busy);
}

/* Takes over the name that the thread has by now. */
void tt_thread_rename(struct tt_thread *);
/* By another thread, while that one cannot end. */
void tt_thread_rename_to(struct tt_thread *, const char *name);

/* Makes a strand for a thread structure, and ends it. */
struct tt_thread *tt_thread_new(struct tt_strand *self);
void tt_thread_free(struct tt_thread *);
int tt_thread_attach(struct tt_thread *);
void tt_thread_detach(struct tt_thread *);

/* Every thread that has a strand now, with the lock held. */
void tt_threads_lock(void);
void tt_threads_unlock(void);
struct tt_thread *tt_threads_first(void);
struct tt_thread *const *tt_threads_head(void); /* where the first one is */

/* Called by a thread before its tree stops being its own; NULL: not called. */
extern void (*tt_thread_ended)(struct tt_thread *);

/* Called for the frame of a function that goes before the function has returned. */
extern void (*tt_function_dropped)(const struct tt_frame *);

static inline int tt_frame_is_function(const struct tt_frame *f)
{
    return (f->cfa & TT_CFA_FUNCTION) && f->slot;
}

/* Its pushes take the slow path from now on; any thread may call this. */
static inline void tt_strand_close(struct tt_strand *s)
{
    __atomic_store_n(&s->limit, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&s->hooks, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&s->direct, NULL, __ATOMIC_SEQ_CST);
}

/* Sends every thread to the slow path at its next push. */
void tt_threads_stop(void);

/* In the child of a fork: there are no threads and no strands, and the lock is free. */
void tt_threads_forked(void);
void tt_threads_forget_lock(void);

/* Merges ended strands of one name into one, and gives their cells back.  Returns how
 * many pages came free. */
uint32_t tt_strands_merge(struct tt_recording *);

/* Forgets the merged strands of a recording that is over. */
void tt_strands_forget(void);

#endif
