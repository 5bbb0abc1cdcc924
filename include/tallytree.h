/* SPDX-License-Identifier: MIT */
/* tallytree.h - a profiler to build into a program or a language runtime.
 *
 * A program marks scopes; a runtime pushes and pops blocks of its own.  Both move a
 * pointer through a tree of calling contexts whose size is capped, however long the run:
 *
 *      root ── main ── parse ── token        a block    what a cost is charged to
 *                   └─ print                 a context  a path of blocks from the root
 *                                            a tally    a figure kept on a context
 *
 *      #include <tallytree.h>                          cc prog.c -ltallytree
 *
 *      void parse(void) { TT_FUNCTION(); ... }         charged until the block ends
 *      int main(void)   { tt_start("output=prog.tallytree"); parse(); tt_stop(); }
 *
 * Words used in the comments:
 *   thread-safe    any thread may call it, at any time
 *   signal-safe    so may a signal handler
 *   off            before tt_start, after tt_stop
 *
 * What goes wrong inside is counted and shown in the report; no function here prints,
 * exits or aborts.  A function that returns int gives 0 or a negative enum tt_error.
 *
 * With TT_DISABLE defined before this header every macro vanishes with its arguments,
 * every function becomes an empty inline one, and the library need not be linked.
 *
 * With TT_STATIC, for programs that have libtallytree.a or tallytree.c in themselves, a
 * scope costs a little less; with TT_LATE, for plug-ins, a little more. */
#ifndef TALLYTREE_H
#define TALLYTREE_H

#include <stddef.h>
#include <stdint.h>

#define TT_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* ── Types ────────────────────────────────────────────────────────────────────────── */

typedef uint32_t tt_block;   /* a block; 0 is none.  Never reused. */
typedef uint32_t tt_metric;  /* a metric of the program's own; 0 is none */
typedef uint64_t tt_mark;    /* a place on the stack of activations */
typedef uint64_t tt_context; /* a captured context; 0 is the root */
typedef struct tt_fiber tt_fiber;

enum tt_error {
    TT_ERR_DISABLED = 1, /* not built in: TT_DISABLE */
    TT_ERR_OPTION,       /* an option that does not exist, or a value out of its range */
    TT_ERR_FILE,         /* the output cannot be created, grown or written */
    TT_ERR_MEMORY,       /* no memory */
    TT_ERR_STATE,        /* not started, or more resumes than pauses */
    TT_ERR_FORMAT,       /* not a recording, or a damaged one */
    TT_ERR_BUSY,         /* called from a signal handler that interrupted the profiler */
};

/* What a block stands for; each kind has a mode of its own (see tt_start). */
enum tt_kind {
    TT_KIND_BLOCK, /* a runtime's function or code block; the default of tt_block_get */
    TT_KIND_SCOPE, /* TT_SCOPE, TT_FUNCTION */
    TT_KIND_FUNCTION,  /* a function compiled with hooks */
    TT_KIND_STATEMENT, /* a statement of a script */
    TT_KIND_NATIVE,    /* a call site found by unwinding */
    TT_KIND_CENTRE,    /* a cost centre set by hand */
    TT_KINDS
};

/* A block's whole identity.  NULL strings are empty ones. */
struct tt_block_info {
    const char *name, *module, *file;
    uint64_t offset;       /* 0-based character index in the file, or an address */
    uint32_t line, column; /* from 1; 0: unknown */
    uint32_t length;       /* in characters; not part of the identity */
    enum tt_kind kind;
};

/* What tt_visit tells of one context, in preorder. */
struct tt_visited {
    const char *strand;                  /* name of the thread */
    const char *const *path;             /* block names, outermost first */
    size_t depth;                        /* of the path; 0: the root of a strand */
    struct tt_block_info block;          /* the innermost block; strings are borrowed */
    uint64_t calls, self, samples;       /* self in ticks, exact or sampled */
    uint64_t total;                      /* self of this context and of all below it */
    uint64_t self_low, total_low;        /* without all that measuring may have added */
    uint64_t elsewhere, missed;          /* evicted below; how much this one may lack */
    uint64_t activations, min, max, sum; /* exact mode: inclusive time of activations */
    double mean, deviation;              /* population standard deviation, in ticks */
};

#ifndef TT_DISABLE

#define TT_API __attribute__((visibility("default")))

/* ── A program: start, stop, look ─────────────────────────────────────────────────── */

/* Starts a recording of the whole process.  `options` are words separated by commas or
 * blanks, as the command's flags without their dashes; NULL and "" are the defaults:
 *
 *   output=PATH        keep the recording in this file, from the first event on; without
 *                      it the recording is kept in memory, for tt_write and tt_print;
 *                      PATH.PID where another recording is under way
 *   calls | sampled[=HZ] | exact | every=N      the mode of scopes and blocks; default exact
 *   scopes=M blocks=M hooks=M statements=M      a mode for one kind alone
 *   sampler=timer|thread                        timer: each thread's CPU time, by SIGPROF;
 *                      the thread serves where the program handles that itself
 *   recursion=edge|repeat:K|block|cycle|drop|recent:K|none
 *   budget=64M | budget=65536nodes              the cap on memory
 *   histogram          log-scaled histogram of the time of activations
 *   history=BLOCK:K    keep the last K activations of a block
 *   slowest=BLOCK:K    keep the K slowest activations of a block with their subtrees
 *   clock=tsc|monotonic|caller                  caller: only tt_tick moves the clock
 *
 * Starts nest: a second one only counts.  On failure nothing was started.
 * Thread-safe. */
TT_API int tt_start(const char *options);

/* Ends what the outermost tt_start began: closes the open activations' books and the
 * file.  Scopes still open leave quietly.  Thread-safe. */
TT_API int tt_stop(void);

/* Take the calling thread's time from here to tt_resume out of every open activation.
 * Pushes go on and are counted.  They nest. */
TT_API int tt_pause(void);
TT_API int tt_resume(void);

/* Writes a copy of the recording as it stands, of all threads, to a file: under a
 * temporary name first, then renamed.  Thread-safe. */
TT_API int tt_write(const char *path);

/* Prints a flat table of blocks and the tree without its small parts.  Thread-safe. */
TT_API int tt_print(int fd);

/* Calls `visit` for each context of each strand, parents first, children in the order of
 * their names.  What it is given is valid during the call.  Stops when `visit` returns
 * other than 0, and returns that.  Thread-safe; `visit` may push and pop. */
TT_API int tt_visit(int (*visit)(const struct tt_visited *, void *arg), void *arg);

/* Names the calling thread's strand; the name is copied, cut at 31 bytes. */
TT_API void tt_thread_name(const char *name);

/* A sentence for an error; never NULL.  Signal-safe. */
TT_API const char *tt_error_text(int error);

/* ── A runtime: blocks, activations ───────────────────────────────────────────────── */

/* The block of this identity, made at its first use, also while the run goes on and
 * also when off.  Strings are copied.  When the budget for blocks is used up it is
 * [other blocks].  Thread-safe. */
TT_API tt_block tt_block_get(const char *name, const char *file, uint32_t line,
                             uint32_t column);
TT_API tt_block tt_block_make(const struct tt_block_info *info);

/* Enters a block.  The mark is for the matching tt_pop.  O(1) at any depth. */
TT_API tt_mark tt_push(tt_block block);

/* Leaves the activation of this mark and whatever still lies above it. */
TT_API void tt_pop(tt_mark mark);

/* Leaves the innermost activation and enters `block` in its place: a tail call.  The
 * mark of what it replaces stays good for the new one. */
TT_API void tt_replace(tt_block block);

/* The innermost activation; tt_unwind drops whatever lies above it and keeps it, for
 * errors thrown by longjmp:
 *      tt_mark here = tt_mark_get();
 *      if (setjmp(env)) tt_unwind(here); */
TT_API tt_mark tt_mark_get(void);
TT_API void tt_unwind(tt_mark mark);

/* Adds one sample worth `weight` ticks to the current context.  Signal-safe. */
TT_API void tt_sample(uint64_t weight);

/* Moves the clock of `clock=caller`, for all threads their own.  Signal-safe. */
TT_API void tt_tick(uint64_t ticks);

/* A metric of the program's own, and an amount of it for the current context. */
TT_API tt_metric tt_metric_get(const char *name, const char *unit);
TT_API void tt_add(tt_metric metric, uint64_t amount);

/* Captures the current context, to be resumed where a thunk, a closure or a task is
 * run.  The handle never dangles: when its context was evicted, what it resumes is
 * charged below the nearest ancestor that is left.  O(1).  Signal-safe. */
TT_API tt_context tt_context_capture(void);

/* Enters a captured context: the path is the captured one, the caller's comes back at
 * the tt_pop of this mark.  O(1) on the thread that captured it, O(depth) on another. */
TT_API tt_mark tt_context_enter(tt_context context);

/* The block of a captured context, and the context around it; 0 past the root. */
TT_API tt_block tt_context_block(tt_context context);
TT_API tt_context tt_context_parent(tt_context context);

/* A fiber is a stack of activations that moves between threads: a coroutine, a green
 * thread.  Its frames are its own, its costs go to the thread that runs it.
 * tt_fiber_switch makes `to` the calling thread's, NULL its own stack, and returns what
 * it left.  A fiber is run by one thread at a time.  tt_fiber_free ends a fiber that is
 * not running, with whatever it still had open. */
TT_API tt_fiber *tt_fiber_new(void);
TT_API tt_fiber *tt_fiber_switch(tt_fiber *to);
TT_API void tt_fiber_free(tt_fiber *fiber);

/* ── What the macros below expand to ──────────────────────────────────────────────────
 * The fast path is in the header so that a scope costs a look-up and not a call. */

struct tt_site { /* one a scope in the source; `block` is 0 until the scope first runs */
    tt_block block;
    uint32_t line;
    const char *name, *file;
};

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

struct tt_frame { /* an activation */
    /* Where it stands in the tree. */
    struct tt_node *node;
    /* The stack frame of the function it is in; odd when it was entered fast. */
    uintptr_t cfa;
    /* The scope's variable: tells two scopes of a frame apart. */
    void *slot;
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
extern TT_API int tt_on;

#define TT_COLD TT_API __attribute__((cold))
TT_COLD struct tt_frame *tt_scope_enter_slowly(struct tt_site *, void *slot,
                                               uintptr_t cfa);
TT_COLD void tt_scope_leave_slowly(struct tt_frame *);
TT_COLD struct tt_frame *tt_scope_time(struct tt_frame *);
#define TT_INLINE static inline __attribute__((always_inline, unused))

/* The same three, reached by a jump: see runtime/thunk.c. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__SSE2__)
#define TT_THUNKS
#ifdef __AVX512F__
#define TT_LOST_512                                                                      \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",   \
        "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", \
        "k4", "k5", "k6", "k7"
#else
#define TT_LOST_512
#endif
#define TT_LOST                                                                          \
    "r9", "r10", "r11", "memory", "cc", "st", "st(1)", "st(2)", "st(3)", "st(4)",        \
        "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",       \
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",     \
        "xmm15" TT_LOST_512
#define TT_JUMP(thunk) "leaq 1f(%%rip), %%rax\n\tjmpq *" #thunk "@GOTPCREL(%%rip)\n1:"

TT_INLINE struct tt_frame *tt_enter_slowly(struct tt_site *site, void *slot,
                                           uintptr_t cfa)
{
    register uintptr_t third __asm__("r8") = cfa;
    struct tt_frame *f;

    __asm__ volatile("leaq %2, %%rdx\n\tleaq %3, %%rcx\n\t" TT_JUMP(tt_thunk_enter)
                     : "=&a"(f), "+r"(third)
                     : "m"(*site), "m"(*(char *)slot)
                     : "rdx", "rcx", TT_LOST);
    return f;
}

TT_INLINE struct tt_frame *tt_time_slowly(struct tt_frame *f)
{
    struct tt_frame *timed;

    __asm__ volatile(TT_JUMP(tt_thunk_time)
                     : "=&a"(timed), "+d"(f)
                     :
                     : "rcx", "r8", TT_LOST);
    return timed;
}

TT_INLINE void tt_leave_slowly(struct tt_frame *f)
{
    __asm__ volatile(TT_JUMP(tt_thunk_leave) : "+d"(f) : : "rax", "rcx", "r8", TT_LOST);
}
#else
#define tt_enter_slowly tt_scope_enter_slowly
#define tt_time_slowly tt_scope_time
#define tt_leave_slowly tt_scope_leave_slowly
#endif

TT_API struct tt_frame *tt_scope_enter_named(const char *name, const char *file,
                                             uint32_t line, void *slot, uintptr_t cfa);

#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TT_BARRIER() __asm__ volatile("" ::: "memory")
#define TT_HIDE(x) __asm__("" : "+r"(x))

TT_INLINE struct tt_node *tt_cell(char *base, uint64_t cell)
{
    return (struct tt_node *)(void *)(base + 64 * cell);
}

TT_INLINE uint32_t *tt_table(char *base, const struct tt_node *node)
{
    return (uint32_t *)(void *)(base + 4 * (uint64_t)node->table);
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

/* Is what a frame stands for gone?  A scope that is entered in a stack frame above its own
 * says so, and one that is entered at the place of its own variable.  `odd`: cfa + 1. */
TT_INLINE int tt_frame_is_dead(const struct tt_frame *f, const void *slot, uintptr_t odd)
{
    if (!TT_UNLIKELY(f->cfa <= odd))
        return 0;
    TT_BARRIER(); /* what is rarely needed takes up no register */
    return f->cfa < odd - 1 || f->slot == slot;
}

/* Enters a scope.  What it returns is for tt_scope_leave: NULL when off, and an odd
 * pointer when there is more to do on leaving than to step down.
 *
 * `slot` is stored first and looked at last: when a signal handler's scopes came between,
 * they have written their own there, and everything is worked out again.  What is stored
 * atomically is read by the sampler thread, `limit` written by whoever stops. */
TT_INLINE struct tt_frame *tt_scope_enter(struct tt_site *site, void *slot, uintptr_t cfa)
{
    struct tt_strand *s = &tt_self;
    struct tt_frame *f = (struct tt_frame *)((uintptr_t)s->top + sizeof *f);
    struct tt_node *to, *edge;
    tt_block block = __atomic_load_n(&site->block, __ATOMIC_RELAXED);
    uint64_t sparse;

    cfa++;
    TT_HIDE(f);
    if (TT_UNLIKELY(f >= __atomic_load_n(&s->limit, __ATOMIC_RELAXED)))
        return __atomic_load_n(&tt_on, __ATOMIC_RELAXED)
                   ? tt_enter_slowly(site, slot, cfa)
                   : NULL;
    __atomic_store_n(&f->slot, slot, __ATOMIC_RELAXED);
    TT_BARRIER();
    to = f[-1].node;
    edge = tt_cell(s->base, tt_table(s->base, to)[block & to->mask]);
    if (!TT_UNLIKELY(edge->key != block)) {
        to = edge;
    } else {
        TT_BARRIER();
        if (TT_UNLIKELY((edge->key ^ block) != TT_KEY_ARC))
            return tt_enter_slowly(site, slot, cfa);
        if (TT_UNLIKELY(edge->target != edge->parent))
            to = tt_cell(s->base, edge->target);
        TT_HIDE(to);
    }
    TT_HIDE(cfa);
    if (tt_frame_is_dead(f - 1, slot, cfa))
        return tt_enter_slowly(site, slot, cfa);
    __atomic_store_n(&f->node, to, __ATOMIC_RELAXED);
    f->cfa = cfa;
    TT_BARRIER();
    __atomic_store_n(&s->top, f, __ATOMIC_RELEASE);
    TT_BARRIER();
    if (TT_UNLIKELY(f->slot != slot)) {
        __atomic_store_n(&s->top, f - 1, __ATOMIC_RELEASE);
        return tt_enter_slowly(site, slot, cfa);
    }
    sparse = s->sparse;
    if (sparse == 1)
        return f;
    tt_count(&edge->calls);
    if (TT_UNLIKELY(sparse) && (edge->calls & (sparse - 1)) == 0)
        return tt_time_slowly(f);
    return f;
}

/* Takes the top off; 0 when it is another one. */
TT_INLINE int tt_step_down(struct tt_frame *f)
{
#if defined(TT_THUNKS) && defined(TT_TLS_OFFSET)
    /* The compiler would keep the offset in a register from the scope's beginning on. */
    uintptr_t offset;
    int other;

    __asm__ volatile("movq tt_self@gottpoff(%%rip), %1\n\tcmpq %2, %%fs:(%1)"
                     : "=@ccne"(other), "=&r"(offset)
                     : "r"(f)
                     : "memory");
    if (TT_UNLIKELY(other))
        return 0;
    __asm__ volatile("movq %0, %%fs:(%1)" : : "r"(f - 1), "r"(offset) : "memory");
#else
    struct tt_strand *s = &tt_self;

    if (TT_UNLIKELY(s->top != f))
        return 0;
    TT_BARRIER();
    __atomic_store_n(&s->top, f - 1, __ATOMIC_RELEASE);
#endif
    return 1;
}

TT_INLINE void tt_scope_leave(struct tt_frame *f)
{
    if (f != NULL && !tt_step_down(f))
        tt_leave_slowly(f);
}

TT_INLINE void tt_scope_close(struct tt_frame **f) { tt_scope_leave(*f); }

#define TT_JOIN_(a, b) a##b
#define TT_JOIN(a, b) TT_JOIN_(a, b)
#define TT_CFA ((uintptr_t)__builtin_dwarf_cfa())
#define TT_SITE_(site, name) static struct tt_site site = {0, __LINE__, name, __FILE__}

#ifdef __cplusplus
} /* the class is C++ */
struct tt_scope_guard {
    tt_frame *frame;
    explicit tt_scope_guard(tt_frame *f) : frame(f) {}
    tt_scope_guard(const tt_scope_guard &) = delete;
    tt_scope_guard &operator=(const tt_scope_guard &) = delete;
    ~tt_scope_guard() { tt_scope_leave(frame); }
};
extern "C" {
#define TT_GUARD_(var, entered) tt_scope_guard var(entered)
#else
#define TT_GUARD_(var, entered)                                                          \
    struct tt_frame *var __attribute__((cleanup(tt_scope_close), unused)) = entered
#endif

#define TT_SCOPE_(n, name)                                                               \
    TT_SITE_(TT_JOIN(tt_site_, n), name);                                                \
    char TT_JOIN(tt_slot_, n);                                                           \
    TT_GUARD_(TT_JOIN(tt_scope_, n),                                                     \
              tt_scope_enter(&TT_JOIN(tt_site_, n), &TT_JOIN(tt_slot_, n), TT_CFA))

/* ── A program: scopes and metrics ────────────────────────────────────────────────── */

/* Charges to this scope until its C block ends, by whatever way it is left: return,
 * goto, a C++ exception, longjmp. */
#define TT_SCOPE(literal) TT_SCOPE_(__COUNTER__, "" literal)

/* The same, under the function's name. */
#define TT_FUNCTION() TT_SCOPE_(__COUNTER__, __func__)

/* The same, under a name known only at run time; it is copied.  Costs a look-up by name. */
#define TT_SCOPE_NAMED(name) TT_NAMED_(__COUNTER__, name)
#define TT_NAMED_(n, name)                                                               \
    char TT_JOIN(tt_slot_, n);                                                           \
    TT_GUARD_(                                                                           \
        TT_JOIN(tt_scope_, n),                                                           \
        tt_scope_enter_named(name, __FILE__, __LINE__, &TT_JOIN(tt_slot_, n), TT_CFA))

/* By hand: TT_BEGIN(id, "literal") declares id; TT_END(id) leaves it and what it left open. */
#define TT_BEGIN(id, literal)                                                            \
    TT_SITE_(TT_JOIN(tt_site_, id), "" literal);                                         \
    char TT_JOIN(tt_slot_, id);                                                          \
    struct tt_frame *TT_JOIN(tt_hand_, id) = tt_scope_enter(                             \
        &TT_JOIN(tt_site_, id), &TT_JOIN(tt_slot_, id), TT_CFA)
#define TT_END(id) tt_scope_leave(TT_JOIN(tt_hand_, id))

/* Adds n to a metric of the program's own, on the current context. */
#define TT_ADD(literal, n)                                                               \
    do {                                                                                 \
        static tt_metric tt_metric_;                                                     \
        if (__atomic_load_n(&tt_on, __ATOMIC_RELAXED)) {                                 \
            if (!tt_metric_)                                                             \
                tt_metric_ = tt_metric_get("" literal, "");                              \
            tt_add(tt_metric_, (uint64_t)(n));                                           \
        }                                                                                \
    } while (0)

#define TT_PAUSE() ((void)tt_pause())
#define TT_RESUME() ((void)tt_resume())
#define TT_THREAD_NAME(name) tt_thread_name(name)

#else /* TT_DISABLE: the same names, nothing behind them */

#define TT_NOTHING_ static inline __attribute__((unused))
TT_NOTHING_ int tt_start(const char *o) { return (void)o, -TT_ERR_DISABLED; }
TT_NOTHING_ int tt_stop(void) { return -TT_ERR_DISABLED; }
TT_NOTHING_ int tt_pause(void) { return -TT_ERR_DISABLED; }
TT_NOTHING_ int tt_resume(void) { return -TT_ERR_DISABLED; }
TT_NOTHING_ int tt_write(const char *p) { return (void)p, -TT_ERR_DISABLED; }
TT_NOTHING_ int tt_print(int fd) { return (void)fd, -TT_ERR_DISABLED; }
TT_NOTHING_ int tt_visit(int (*v)(const struct tt_visited *, void *), void *a)
{
    return (void)v, (void)a, -TT_ERR_DISABLED;
}
TT_NOTHING_ void tt_thread_name(const char *n) { (void)n; }
TT_NOTHING_ const char *tt_error_text(int e) { return (void)e, "not built in"; }
TT_NOTHING_ tt_block tt_block_get(const char *n, const char *f, uint32_t l, uint32_t c)
{
    return (void)n, (void)f, (void)l, (void)c, (tt_block)0;
}
TT_NOTHING_ tt_block tt_block_make(const struct tt_block_info *i)
{
    return (void)i, (tt_block)0;
}
TT_NOTHING_ tt_mark tt_push(tt_block b) { return (void)b, (tt_mark)0; }
TT_NOTHING_ void tt_pop(tt_mark m) { (void)m; }
TT_NOTHING_ void tt_replace(tt_block b) { (void)b; }
TT_NOTHING_ tt_mark tt_mark_get(void) { return 0; }
TT_NOTHING_ void tt_unwind(tt_mark m) { (void)m; }
TT_NOTHING_ void tt_sample(uint64_t w) { (void)w; }
TT_NOTHING_ void tt_tick(uint64_t t) { (void)t; }
TT_NOTHING_ tt_metric tt_metric_get(const char *n, const char *u)
{
    return (void)n, (void)u, (tt_metric)0;
}
TT_NOTHING_ void tt_add(tt_metric m, uint64_t a) { (void)m, (void)a; }
TT_NOTHING_ tt_context tt_context_capture(void) { return 0; }
TT_NOTHING_ tt_mark tt_context_enter(tt_context c) { return (void)c, (tt_mark)0; }
TT_NOTHING_ tt_block tt_context_block(tt_context c) { return (void)c, (tt_block)0; }
TT_NOTHING_ tt_context tt_context_parent(tt_context c) { return (void)c, (tt_context)0; }
TT_NOTHING_ tt_fiber *tt_fiber_new(void) { return NULL; }
TT_NOTHING_ tt_fiber *tt_fiber_switch(tt_fiber *f) { return (void)f, (tt_fiber *)NULL; }
TT_NOTHING_ void tt_fiber_free(tt_fiber *f) { (void)f; }

#define TT_SCOPE(literal) ((void)0)
#define TT_FUNCTION() ((void)0)
#define TT_SCOPE_NAMED(name) ((void)0)
#define TT_BEGIN(id, literal) ((void)0)
#define TT_END(id) ((void)0)
#define TT_ADD(literal, n) ((void)0)
#define TT_PAUSE() ((void)0)
#define TT_RESUME() ((void)0)
#define TT_THREAD_NAME(name) ((void)0)

#endif /* TT_DISABLE */

#ifdef __cplusplus
}
#endif
#endif
