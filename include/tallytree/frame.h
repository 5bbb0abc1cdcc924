/* SPDX-License-Identifier: MIT */
/* frame.h - the stack of activations, and the one way in which a frame becomes its top.
 *
 * A signal handler may run between any two instructions, and enters and leaves frames
 * above the top, too.  No lock keeps it out.  So all code that enters a frame fast takes
 * these steps:
 *
 *      free ──claim──► claimed ──fill──► filled ──publish──► top ──verify──► entered
 *       ▲  slot = mine       node, cfa, edge     top = f     │   slot == mine    │
 *       │                                                    │                   │
 *       ├── top = f - 1 ◄── a handler has entered f before ──┘                   │
 *       └── top = f - 1 ◄── leave ───────────────────────────────────────────────┘
 *
 * - The slot is stored first and read last.  No handler stores the same: it is an address
 *   on the stack, or that of the frame if the slot is changed before the frame is left;
 *   NULL while the thread is busy, as only scopes and functions are entered then.
 * - What is read between the two, as the edge in the tree, is right only if `verify`
 *   succeeds: a handler may have changed the tree.
 * - Once the frame is the top, a handler's frames are above it.
 * - A handler that ends by longjmp leaves a frame that is claimed or filled above the top,
 *   where frames have no meaning.
 * - The sampler thread may read the frames up to the top at any time.
 *
 * Code that has closed all fast paths of its thread (exact mode, while busy) does not claim
 * and verify.  Thunks of functions do the same in assembler: functions/function-x86_64.c. */
#ifndef TALLYTREE_FRAME_H
#define TALLYTREE_FRAME_H

#ifdef __cplusplus
extern "C" {
#endif

#define TT_INLINE static inline __attribute__((always_inline, unused))
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TT_BARRIER() __asm__ volatile("" ::: "memory")
#define TT_HIDE(x) __asm__("" : "+r"(x))

/* ── The tree and the stack, as far as the fast paths need them ────────────────────── */

struct tt_node { /* a cell of the recording: a context, or an arc back into its path */
    tt_block key;
    uint16_t generation;
    uint8_t kind, flags;
    uint32_t parent, target; /* cells: where it comes from, where it leads */
    uint32_t table, mask;    /* of what leads on from here */
    uint32_t slot[2];        /* a table of one or two; else slot[0] counts its entries */
    uint64_t calls, self, samples;
    uint32_t next, extension;
};

struct tt_frame {         /* an activation */
    struct tt_node *node; /* its place in the tree */
    uintptr_t cfa;        /* the stack frame of its function; odd when entered fast */
    void *slot;           /* the scope's variable: distinguishes two scopes of a frame */
    /* The cell it was entered through, and above 32 bits flags.  Entered fast it has none,
     * and the cell is looked up again where it is needed. */
    uint64_t edge;
    uint64_t entered, children;     /* exact mode */
    struct tt_frame *hider, *timed; /* what they were before this activation */
};

struct tt_strand { /* a thread's own; all zero while it is off */
    struct tt_frame *top;
    struct tt_frame *limit; /* a push that would reach it takes the slow path */
    char *base;             /* the recording */
    uint64_t sparse;        /* 0: activations are counted; 1: not even that; or every:N */
    struct tt_thread *thread;
    struct tt_frame *hooks; /* the limit of functions that are switched on */
    /* How they are timed.  0: sampled, and not counted; else a call is timed if its
     * number has none of these bits. */
    uint64_t picking;
    struct tt_frame *direct; /* the limit of thunks that time none of them */
};

#if defined(TT_LATE) /* in a plug-in that a program loads by itself */
#define TT_TLS
#elif defined(TT_STATIC) /* in a program that has libtallytree.a, or tallytree.c, in it */
#define TT_TLS __attribute__((tls_model("local-exec")))
#else
#define TT_TLS __attribute__((tls_model("initial-exec")))
#define TT_TLS_OFFSET
#endif
extern TT_API __thread struct tt_strand tt_self TT_TLS;

TT_INLINE struct tt_node *tt_cell(char *base, uint64_t cell)
{
    return (struct tt_node *)(void *)(base + 64 * cell);
}

TT_INLINE uint32_t *tt_table(char *base, const struct tt_node *node)
{
    return (uint32_t *)(void *)(base + 4 * (uint64_t)node->table);
}

/* The first edge of a bucket.  A handler that comes in between may give the node a larger
 * table: the mask is read first, for the old one is right for both.  One that was given back
 * is a table still, be it another node's: what it holds are cells. */
TT_INLINE uint32_t tt_first_edge(char *base, const struct tt_node *node, tt_block block)
{
    uint32_t bucket = block & __atomic_load_n(&node->mask, __ATOMIC_RELAXED);

    return ((const uint32_t *)(const void *)
                base)[(uint64_t)__atomic_load_n(&node->table, __ATOMIC_RELAXED) + bucket];
}

#define TT_KEY_ARC 0x20000000u /* in the key of an arc */

/* A count that a signal handler may interrupt and none is lost. */
TT_INLINE void tt_count(uint64_t *n)
{
#if defined(__x86_64__)
    __asm__("addq $1, %0" : "+m"(*n));
#elif defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS) /* else it is a call */
    uint64_t value;
    uint32_t interrupted;

    __asm__("1:\tldxr %0, %2\n\tadd %0, %0, #1\n\tstxr %w1, %0, %2\n\tcbnz %w1, 1b"
            : "=&r"(value), "=&r"(interrupted), "+Q"(*n));
#else
    (void)__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
#endif
}

/* Has the activation of a frame ended?  It has if another scope is entered in an outer
 * stack frame, or with the same variable.  `odd`: cfa + 1. */
TT_INLINE int tt_frame_is_dead(const struct tt_frame *f, const void *slot, uintptr_t odd)
{
    if (!TT_UNLIKELY(f->cfa <= odd))
        return 0;
    TT_BARRIER(); /* so that rare values take up no register */
    return f->cfa < odd - 1 || f->slot == slot;
}

/* ── The protocol ─────────────────────────────────────────────────────────────────── */

/* The only place where the top changes: all stores before it are visible before it is. */
TT_INLINE void tt_frame_set_top(struct tt_strand *s, struct tt_frame *f)
{
    __atomic_store_n(&s->top, f, __ATOMIC_RELEASE);
}

TT_INLINE void tt_frame_claim(struct tt_frame *f, void *slot)
{
    __atomic_store_n(&f->slot, slot, __ATOMIC_RELAXED);
    TT_BARRIER();
}

/* Fills a frame that has no edge; odd: the cfa + 1. */
TT_INLINE void tt_frame_fill(struct tt_frame *f, struct tt_node *node, uintptr_t odd)
{
    __atomic_store_n(&f->node, node, __ATOMIC_RELAXED);
    f->cfa = odd;
}

/* Has no handler used the frame since it was claimed? */
TT_INLINE int tt_frame_verify(const struct tt_frame *f, const void *slot)
{
    TT_BARRIER();
    return !TT_UNLIKELY(f->slot != slot);
}

/* Makes a filled frame the top.  0: a handler has used it, and the top is as before. */
TT_INLINE int tt_frame_publish(struct tt_strand *s, struct tt_frame *f, const void *slot)
{
    TT_BARRIER();
    tt_frame_set_top(s, f);
    if (tt_frame_verify(f, slot))
        return 1;
    tt_frame_set_top(s, f - 1);
    return 0;
}

TT_INLINE void tt_frame_leave(struct tt_strand *s, struct tt_frame *f)
{
    TT_BARRIER();
    tt_frame_set_top(s, f - 1);
}

#ifdef __cplusplus
}
#endif
#endif
