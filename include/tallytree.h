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
 * every function becomes an empty inline one, and the library need not be linked. */
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
 *                      it the recording is kept in memory, for tt_write and tt_print
 *   calls | sampled[=HZ] | exact | every=N      the mode of scopes and blocks; default exact
 *   scopes=M blocks=M hooks=M statements=M      a mode for one kind alone
 *   sampler=timer|thread                        timer: CPU time of each thread, by signal
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

struct tt_frame {         /* an activation */
    struct tt_node *node; /* where it stands in the tree */
    uintptr_t cfa;        /* the stack frame of the function it is in */
    void *slot;     /* the scope's variable: tells two scopes of a frame apart */
    uint64_t edge;        /* the cell it was entered through; above 32 bits its flags */
    uint64_t entered, children;     /* exact mode */
    struct tt_frame *hider, *timed; /* what they were before this activation */
};

struct tt_strand { /* a thread's own; all zero while it is off */
    struct tt_frame *top;
    struct tt_frame *limit; /* a push that would reach it takes the slow path */
    char *base;             /* the recording */
    uint64_t sparse;        /* 0: every activation is counted, and that is all */
    struct tt_thread *thread;
};

#ifdef TT_LATE /* in a plug-in that a program loads by itself */
#define TT_TLS
#else
#define TT_TLS __attribute__((tls_model("initial-exec")))
#endif
extern TT_API __thread struct tt_strand tt_self TT_TLS;
extern TT_API int tt_on;

#define TT_COLD TT_API __attribute__((cold))
TT_COLD struct tt_frame *tt_scope_enter_slowly(struct tt_site *, void *slot,
                                               uintptr_t cfa);
TT_COLD void tt_scope_leave_slowly(struct tt_frame *);
TT_COLD struct tt_frame *tt_scope_time(struct tt_frame *);
TT_API struct tt_frame *tt_scope_enter_named(const char *name, const char *file,
                                             uint32_t line, void *slot,
                                             uintptr_t cfa);

#define TT_INLINE static inline __attribute__((always_inline, unused))
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TT_BARRIER() __asm__ volatile("" ::: "memory")

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
#else
    (void)__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
#endif
}

/* Modes sampled (sparse: 1) and every:N (N): only sometimes, or never, is there more to do
 * than to count, or even that. */
TT_INLINE struct tt_frame *tt_scope_count(struct tt_frame *f, struct tt_node *edge,
                                          uint64_t sparse)
{
    if (sparse == 1)
        return f;
    tt_count(&edge->calls);
    return TT_UNLIKELY((edge->calls & (sparse - 1)) == 0) ? tt_scope_time(f) : f;
}

/* Enters a scope.  What it returns is for tt_scope_leave: NULL when off, and an odd
 * pointer when there is more to do on leaving than to step down.
 *
 * `slot` is stored first and looked at last: when a signal handler's scopes came between,
 * they have written their own there, and everything is worked out again. */
TT_INLINE struct tt_frame *tt_scope_enter(struct tt_site *site, void *slot,
                                          uintptr_t cfa)
{
    struct tt_strand *s = &tt_self;
    struct tt_frame *caller = s->top;
    struct tt_frame *f = (struct tt_frame *)((uintptr_t)caller + sizeof *caller);
    struct tt_node *from, *edge;
    tt_block block = site->block;
    uint32_t cell;

    if (TT_UNLIKELY(f >= s->limit))
        return __atomic_load_n(&tt_on, __ATOMIC_RELAXED)
                   ? tt_scope_enter_slowly(site, slot, cfa)
                   : NULL;
    do {
        __atomic_store_n(&f->slot, slot, __ATOMIC_RELAXED);
        TT_BARRIER();
        from = caller->node;
        cell = tt_table(s->base, from)[block & from->mask];
        edge = tt_cell(s->base, cell);
        if (TT_UNLIKELY((edge->key & ~TT_KEY_ARC) != block) ||
            TT_UNLIKELY(caller->cfa <= cfa &&
                        (caller->cfa < cfa || caller->slot == slot)))
            return tt_scope_enter_slowly(site, slot, cfa);
        f->node = tt_cell(s->base, edge->target);
        f->cfa = cfa;
        f->edge = cell;
        TT_BARRIER();
        s->top = f;
        TT_BARRIER();
    } while (TT_UNLIKELY(f->slot != slot));
    if (TT_UNLIKELY(s->sparse))
        return tt_scope_count(f, edge, s->sparse);
    tt_count(&edge->calls);
    return f;
}

TT_INLINE void tt_scope_leave(struct tt_frame *f)
{
    struct tt_strand *s = &tt_self;

    if (f == NULL)
        return;
    if (TT_UNLIKELY(s->top != f)) {
        tt_scope_leave_slowly(f);
        return;
    }
    TT_BARRIER();
    s->top = f - 1;
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
