/* SPDX-License-Identifier: MIT */
/* strand.h - a thread with its tree, and the stacks of activations that it runs.
 *
 *      tt_self (thread-local) ── thread ── tree ── cells in the recording
 *                                  └── fiber ── segments of frames
 *
 * A frame is one activation.  Segments never move; the first frame of a segment stands
 * for the last of the one below, so that stepping down needs no look at segments. */
#ifndef TT_STRAND_H
#define TT_STRAND_H

#include <errno.h>

#include "tree.h"

enum tt_frame_flags {                      /* above the cell in tt_frame.edge */
                      TT_FRAME_TIMED = 1,  /* exact: its time is measured */
                      TT_FRAME_PICKED = 2, /* every:N: this one is measured */
                      TT_FRAME_HIDER = 4,  /* entered through an arc that hides blocks */
                      TT_FRAME_SEAM =
                          8, /* stands for the last frame of the segment below */
                      TT_FRAME_LIMBO = 16,    /* found no room; its block is kept here */
                      TT_FRAME_CONTEXT = 32,  /* entered by tt_context_enter */
                      TT_FRAME_RECURSIVE = 64 /* its block was active already */
};
#define TT_FRAME_FLAG(flag) ((uint64_t)(flag) << 32)
#define TT_FRAME_BLOCK_SHIFT 40

struct tt_segment {
    struct tt_segment *below, *above;
    struct tt_frame *end;
    size_t size; /* of the mapping; 0: part of another */
    struct tt_frame frame[];
};

struct tt_fiber {
    struct tt_thread *thread; /* whose tree its frames are in; NULL: none yet; when that
                                 thread ends it clears this */
    uint32_t epoch;           /* of the recording they are in */
    uint32_t running;
    struct tt_segment *segment;
    struct tt_frame *top, *hider, *timed; /* while it does not run */
    uint64_t away;  /* ticks it did not run for: its clock stood still */
    uint64_t local; /* its time when it was left */
    struct tt_fiber *next,
        **link; /* suspended fibers of `thread`, under its tree's lock */
};

struct tt_thread {
    struct tt_strand *self; /* its thread-local part */
    struct tt_recording *recording;
    struct tt_strand_record *record;
    struct tt_tree tree;
    struct tt_fiber own, *fiber, *suspended;
    struct tt_frame *end;           /* of the running segment */
    struct tt_frame *hider, *timed; /* the nearest below the top */
    uint32_t busy;                  /* in the slow path: signal handlers stay out */
    int program_errno;              /* as it was at the beginning of the slow path */
    uint32_t pauses;                /* read by the sampler thread */
    uint32_t named; /* by tt_thread_name: the system's name for it says nothing */
    uint32_t exact; /* no fast path: scopes are timed */
    /* All kinds are timed by the processor's counter, and none is kept among the slowest.
     * Cleared, as self->limit is, when the recording ends. */
    uint32_t plain;
    uint32_t detailed;                /* more than sums is kept of activations */
    uint64_t paused_at, paused_ticks; /* all ticks spent paused so far */
    uint64_t ticks;                   /* of clock=caller */
    uint32_t timing;                  /* some kind of block is timed */
    uint32_t refused_epoch;           /* by the recording of this epoch */
    uint64_t refused;                 /* pushes since it was refused a strand */
    uint64_t hiding;      /* odd while `hider` changes, for the sampler thread */
    uint32_t charging;    /* a walk over hidden blocks is under way */
    uint64_t deferred[2]; /* ticks, samples that came during one */
    struct tt_thread *next, **link; /* of all threads, under the lock of strand.c */
    struct tt_sampler_state {
        void *timer;
        int armed;
        uint64_t cpu;  /* already accounted for, ns; also written by the sampler thread */
        int clock;     /* the thread's CPU clock */
        uint64_t rest; /* ns after the last look in which there is none, to pay for it */
        void *looker;  /* what tt_looker needs */
        uint64_t start; /* its CPU time when it was armed, ns */
    } sampler;
    struct tt_slow_state {
        struct tt_frame *frame;     /* the marked activation under way */
        struct tt_slow_seen *table; /* what its subtree had when it began, by cell */
        uint32_t size;
    } slow;
};

/* A field of this thread's own that the sampler thread looks at: it finds whole values, and
 * what was stored before them. */
#define TT_SHOW(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

#define TT_FRAME_OF(f) ((struct tt_frame *)((uintptr_t)(f) & ~(uintptr_t)1))

/* The header takes this for granted. */
_Static_assert(offsetof(struct tt_strand, top) == 0, "top");

/* The lowest frame's: above all others.  Even, as are those not entered fast. */
#define TT_CFA_BOTTOM (UINTPTR_MAX - 1)

static inline int tt_frame_is_fast(const struct tt_frame *f) { return f->cfa & 1; }

/* Of a frame that was not entered fast. */
static inline uint32_t tt_frame_cell(const struct tt_frame *f)
{
    return (uint32_t)f->edge;
}

/* Of any frame but the first of a segment. */
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

/* The calling thread, attached to the running recording; NULL when off, when there is no
 * memory, or when a signal handler interrupted the profiler.  Not NULL: busy, until
 * tt_thread_leave. */
struct tt_thread *tt_thread_enter(void);

/* What lies between may change errno, which a scope's program may be about to look at. */
static inline void tt_thread_begin(struct tt_thread *t)
{
    t->busy = 1;
    TT_BARRIER();
    t->program_errno = errno;
}

static inline void tt_thread_leave(struct tt_thread *t)
{
    errno = t->program_errno;
    TT_BARRIER();
    t->busy--;
}

/* Takes over the name that the thread has by now. */
void tt_thread_rename(struct tt_thread *);

/* Makes a strand for a thread structure, and ends it. */
struct tt_thread *tt_thread_new(struct tt_strand *self);
void tt_thread_free(struct tt_thread *);
int tt_thread_attach(struct tt_thread *);
void tt_thread_detach(struct tt_thread *);

/* Every thread that has a strand now, with the lock held. */
void tt_threads_lock(void);
void tt_threads_unlock(void);
int tt_threads_locked(void); /* by this thread */
struct tt_thread *tt_threads_first(void);

/* Sends every thread to the slow path at its next push. */
void tt_threads_stop(void);

/* In the child of a fork: there are no threads and no strands; nobody holds the lock. */
void tt_threads_forked(void);
void tt_threads_forget_lock(void);

/* Merges ended strands of one name into one, and gives their cells back.  Returns how
 * many pages came free. */
uint32_t tt_strands_merge(struct tt_recording *);

/* Forgets the merged strands of a recording that is over. */
void tt_strands_forget(void);

#endif
