/* SPDX-License-Identifier: MIT */
/* tallytree.h - a profiler to build into a program or a language runtime.
 *
 * A program marks scopes; a runtime pushes and pops blocks, which are its functions.  Both
 * move a pointer through a tree of calling contexts of limited size:
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
 *   signal-safe    a signal handler may call it, too
 *   off            before tt_start and after tt_stop: nothing is recorded, and a macro, a
 *                  push or a pop costs a load and a branch
 *
 * Functions that act on the calling thread (push, pop, ...) may be called from any thread at
 * any time.  Internal failures are counted and shown in the report.  No function exits or
 * aborts.  Only tt_print and tt_print_stack print.  A function that returns int returns 0 or
 * a negative enum tt_error.
 *
 * Define one of these macros before this header to choose how scopes are compiled:
 *   TT_DISABLE     no scopes: every macro expands to nothing, also its arguments; every
 *                  function is an empty inline one; the library need not be linked
 *   TT_STATIC      cheaper, for programs that contain libtallytree.a or tallytree.c
 *   TT_LATE        more expensive, for plug-ins loaded by dlopen
 *   TT_SWITCHED    no-ops that cost nothing while off; tt_start changes them to jumps, and
 *                  fails if the process may not change its code.  A scope that is open across
 *                  a stop is not in the next recording.  gold's --gc-sections drops data that
 *                  these scopes need */
#ifndef TALLYTREE_H
#define TALLYTREE_H

#include <stddef.h>
#include <stdint.h>

#define TT_VERSION "0.1.0"

#ifdef TT_DISABLE
#define TT_API static inline __attribute__((unused))
#else
#define TT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum tt_error {
    TT_ERR_DISABLED = 1, /* compiled with TT_DISABLE */
    TT_ERR_OPTION,       /* an option that does not exist, or a value out of its range */
    TT_ERR_FILE,         /* the output cannot be created, grown or written */
    TT_ERR_MEMORY,       /* no memory */
    TT_ERR_STATE,        /* not started, or more resumes than pauses */
    TT_ERR_FORMAT,       /* not a recording, or a damaged one */
    TT_ERR_BUSY,         /* called from a signal handler that interrupted the profiler */
    TT_ERR_CODE,         /* the code of scopes cannot be switched on: TT_SWITCHED */
};

/* Returns the message of an error; never NULL.  For TT_ERR_OPTION, it names the option that the
 * calling thread's last tt_start rejected, until its next tt_start.  Signal-safe. */
TT_API const char *tt_error_text(int error);

/* ── A program: scopes and metrics ────────────────────────────────────────────────── */

/* Charges cost to this scope until its C block ends: by return, goto, a C++ exception or
 * longjmp. */
#define TT_SCOPE(literal) TT_SCOPE_(__COUNTER__, "" literal)

/* The same, with the function's name. */
#define TT_FUNCTION() TT_SCOPE_(__COUNTER__, __func__)

/* The same, with a name known only at run time.  Copies the name.  Costs a look-up by name. */
#define TT_SCOPE_NAMED(name) TT_NAMED_(__COUNTER__, name)

/* TT_BEGIN(id, "literal") enters a scope and declares id; TT_END(id) leaves it, and all scopes
 * that are still open in it. */
#define TT_BEGIN(id, literal) TT_BEGIN_(id, "" literal)
#define TT_END(id) TT_END_(id)

/* Adds n to a metric that the program defines, in the current context. */
#define TT_ADD(literal, n) TT_ADD_("" literal, n)

/* Three of the functions below, as macros that TT_DISABLE removes with their arguments. */
#define TT_PAUSE() TT_CALL_(tt_pause())
#define TT_RESUME() TT_CALL_(tt_resume())
#define TT_THREAD_NAME(name) TT_CALL_(tt_thread_name(name))

/* ── A program: start, stop, print ────────────────────────────────────────────────── */

/* Starts a recording of the whole process.  `options` are words separated by commas or
 * blanks, like the command's flags without dashes; NULL and "" are the defaults:
 *
 *   output=PATH        write the recording to this file from the first event on (default:
 *                      keep it in memory, for tt_write and tt_print); PATH.PID if another
 *                      recording is being written to PATH.  tt_start fails if the file is
 *                      neither empty nor a recording or a profile
 *   calls | sampled[=HZ] | exact | every=N      the mode (default: exact); N: a power of 2
 *   scopes=M blocks=M centres=M hooks=M statements=M   the mode of one kind of block
 *   sampler=timer|thread                        timer: by SIGPROF and the CPU time of each
 *                      thread (default); thread: if the program handles SIGPROF
 *   recursion=edge|repeat:K|block|cycle|drop|recent:K|none
 *                      how recursion is folded (default: edge; none for unwound stacks, such
 *                      as samples)
 *   stacks=application|creation|ghc             where closures are charged: see
 *                      tt_context_call (default: application)
 *   budget=64M | budget=65536nodes              the limit on memory (default: 64M)
 *   log=8M | log=none                           the part of it for samples by time
 *   rank=N             the number of this process in a parallel job
 *   histogram          keep a log-scaled histogram of the time of activations
 *   history=BLOCK:K    keep the last K activations of a block in each context
 *   slowest=BLOCK:K    keep the K slowest activations of a block with their subtrees
 *   space=none | alloc+copies+types+peak        what is recorded of objects (default: all but
 *                      peak, the bytes by context when most were alive)
 *   space-rate=BYTES   sample objects of fewer bytes; the figures are unbiased estimates
 *                      (default: 0, all are recorded)
 *   series=none | type+block+centre+use+retainers   live objects over time, by some of these
 *                      (default: type)
 *   profile=PATH       record like MLWorks' runtime: output=PATH, calls counted, times sampled
 *                      each profile-scan=MS (default: 10; 0: never), objects without types;
 *                      profile-manner=N: a sum of 1 calls, 2 time, 4 space, 256... kinds
 *                      (default: 7); profile-select=TEXT: only objects of blocks whose names
 *                      contain TEXT; profile-depth=N (0 to 15).  These need profile=PATH
 *   clock=tsc|monotonic|caller[:HZ]             caller: only tt_tick and tt_step advance the
 *                      clock
 *
 * Starts nest: a second one only counts.  On failure nothing is started.
 * Thread-safe. */
TT_API int tt_start(const char *options);

/* Ends the recording of the outermost tt_start: stops timing open activations and closes the
 * file.  Scopes that are still open may be left; that has no effect.  Thread-safe. */
TT_API int tt_stop(void);

/* tt_pause excludes the calling thread's time, until tt_resume, from every open activation.
 * Pushes are still counted.  Pairs nest. */
TT_API int tt_pause(void);
TT_API int tt_resume(void);

/* Names the calling thread's strand.  Copies at most 31 bytes.  Ignores NULL. */
TT_API void tt_thread_name(const char *name);

/* Writes a copy of the current recording, of all threads, to a file, which it replaces
 * atomically (temporary file and rename).  Thread-safe. */
TT_API int tt_write(const char *path);

/* Prints a table of blocks, and the tree without its small parts.  Thread-safe. */
TT_API int tt_print(int fd);

/* ── A runtime: blocks ────────────────────────────────────────────────────────────── */

typedef uint32_t tt_block; /* a block; 0 is none.  Never reused. */

/* Kinds of blocks; each kind has a mode (see tt_start). */
enum tt_kind {
    TT_KIND_BLOCK,       /* a runtime's function or code block (default) */
    TT_KIND_SCOPE,       /* TT_SCOPE, TT_FUNCTION */
    TT_KIND_FUNCTION,    /* a function compiled with hooks */
    TT_KIND_STATEMENT,   /* a statement of a script */
    TT_KIND_NATIVE,      /* a call site found by unwinding */
    TT_KIND_CENTRE,      /* a cost centre set by hand */
    TT_KIND_INTERPRETED, /* a function found in an interpreter's frames */
    TT_KINDS,
    TT_KIND_TYPE = 255 /* no block: see tt_type_get */
};

/* The identity of a block.  NULL strings are empty. */
struct tt_block_info {
    const char *name, *module, *file;
    uint64_t offset;       /* 0-based character index in the file, or an address */
    uint32_t line, column; /* from 1; 0: unknown */
    uint32_t length;       /* in characters; not part of the identity */
    enum tt_kind kind;
};

/* Return the block of this identity; make it at its first use, also while recording and also
 * while off.  Copy the strings.  The block is in the recording even if it never runs.  If the
 * budget for blocks is used up, return the block [other blocks].  Thread-safe. */
TT_API tt_block tt_block_get(const char *name, const char *file, uint32_t line,
                             uint32_t column);
TT_API tt_block tt_block_make(const struct tt_block_info *info);

/* ── A runtime: activations ───────────────────────────────────────────────────────── */

typedef uint64_t tt_mark; /* a place on the stack of activations */

/* Enters a block; returns the mark for the matching tt_pop.  O(1) at any depth; the first push
 * of a block at a context searches the path.  doc/measuring.md has the cost of each recursion
 * policy. */
TT_API tt_mark tt_push(tt_block block);

/* Pops the activation of this mark, and all activations above it. */
TT_API void tt_pop(tt_mark mark);

/* Replaces the innermost activation by one of `block`, for a tail call.  The mark of the
 * replaced activation is valid for the new one. */
TT_API void tt_replace(tt_block block);

/* tt_mark_get returns the mark of the innermost activation.  tt_unwind pops all activations
 * above that of `mark`, and keeps that one, for errors thrown by longjmp:
 *      tt_mark here = tt_mark_get();
 *      if (setjmp(env)) tt_unwind(here); */
TT_API tt_mark tt_mark_get(void);
TT_API void tt_unwind(tt_mark mark);

/* How a block is called, for runtimes that know it. */
enum tt_call { TT_CALL_STRICT, TT_CALL_LAZY, TT_CALL_CURRIED };

/* Enters a block and counts the kind of the call in its context, in the metrics "strict calls",
 * "lazy calls" and "curried calls"; the metric "tails and returns" counts how often it was
 * left.  Returns the mark for tt_pop. */
TT_API tt_mark tt_push_as(tt_block block, enum tt_call call);

/* Pops the innermost activation, and the captured contexts that it was entered in, for a tail
 * call.  The next strict or curried tt_push_as is recorded as its child, without making the
 * stack deeper; so is a context that tt_context_call enters by `ghc`.  A pop, or another
 * captured context, before that ends the chain.  Popping with the mark of the outermost tail
 * caller leaves the whole chain. */
TT_API void tt_tail(void);

/* Adds one sample that counts for `weight` ticks to the current context.  Signal-safe. */
TT_API void tt_sample(uint64_t weight);

/* Advances the calling thread's clock under `clock=caller`.  Signal-safe. */
TT_API void tt_tick(uint64_t ticks);

/* For an interpreter that marks each statement, under clock=caller: advances the clock, pops the
 * activation of `left` and all above it (if `left` is not 0), and enters `block` (if not 0).
 * Same effect as tt_tick, tt_pop and tt_push, at a part of their cost.  Returns the mark for a
 * later step; the bit TT_STEP_SLOWLY in it means that this step took the slow path. */
TT_API tt_mark tt_step(uint64_t ticks, tt_mark left, tt_block block);
enum { TT_STEP_SLOWLY = 2 };

typedef uint32_t tt_metric; /* a metric that the program defines; 0 is none */

/* tt_metric_get returns the metric of this name, and makes it at its first use; copies at most
 * 31 bytes of name and unit.  Reports call one named calls, samples, ticks or time `time of the
 * program`.  tt_add adds an amount of it to the current context. */
TT_API tt_metric tt_metric_get(const char *name, const char *unit);
TT_API void tt_add(tt_metric metric, uint64_t amount);

/* Prints the stack of the calling thread: up to 20 activations, the innermost first.  At a
 * captured context, also prints up to 20 blocks of the captured path, below the tail calls made
 * since: the place where a forced thunk was made.  Signal-safe. */
TT_API int tt_print_stack(int fd);

/* ── A runtime: captured contexts, fibers ─────────────────────────────────────────── */

typedef uint64_t tt_context; /* a captured context; 0 is the root */

/* Returns the current context, to be entered when a thunk, a closure or a task runs.  The handle
 * is valid until the recording ends, and never names another context.  If its context is
 * evicted, costs are charged to the same block below the nearest known ancestor, or below the
 * root if the context's cell was reused since.  After a cell was reused 32768 times (fewer with
 * a budget of over 2 GiB), its handles name only the block.  O(1).  Signal-safe. */
TT_API tt_context tt_context_capture(void);

/* Enters a captured context: the current path is the captured one until the tt_pop of the
 * returned mark.  O(1) on the thread that captured it, O(depth) for the first time on another. */
TT_API tt_mark tt_context_enter(tt_context context);

/* The same for a call of a closure, by the option `stacks`.  application: stays in the caller's
 * context.  creation: enters the captured context.  ghc: enters the caller's path followed by
 * the part of the captured one after their common prefix; from a b c, the closure of a b d is
 * called at a b c d.  O(1) if it was called so before. */
TT_API tt_mark tt_context_call(tt_context context);

/* Return the block of a captured context, and its parent context; 0 after the root. */
TT_API tt_block tt_context_block(tt_context context);
TT_API tt_context tt_context_parent(tt_context context);

/* A fiber is a stack of activations that moves between threads: a coroutine, a green thread.
 * Its costs are charged to the thread that runs it.  tt_fiber_switch makes `to` the calling
 * thread's stack (NULL: the thread's original one) and returns the previous one.  Only one
 * thread at a time may run a fiber.  tt_fiber_free ends a fiber that is not running, and its open
 * activations. */
typedef struct tt_fiber tt_fiber;
TT_API tt_fiber *tt_fiber_new(void);
TT_API tt_fiber *tt_fiber_switch(tt_fiber *to);
TT_API void tt_fiber_free(tt_fiber *fiber);

/* ── A runtime: space ─────────────────────────────────────────────────────────────────
 * An object is charged to the context that allocated it, with its type, its bytes, and its
 * overhead: headers, padding and the allocator's rounding, which are not part of `bytes`.
 * Pass to the functions for copies and frees the context that tt_alloc returned: keep it in a
 * header word of the object.  Or use tt_object_new, which finds objects by a number.
 *
 * None of these functions calls malloc, and each may be called from inside malloc: in any
 * thread, before main, in a signal handler, after fork, in a thread whose destructors have
 * run.  errno does not change.  A call from a handler that interrupted the profiler is counted
 * by type and charged to the root.  They are thread-safe and O(1), or O(depth) for the first
 * report by a thread of an object that another thread's context made.  While off, they cost a
 * load and a branch. */

typedef uint32_t tt_type; /* a type of objects; 0 is none */

/* Returns the type of this name; makes it at its first use, also while off.  Copies the name.
 * Not signal-safe: make types beforehand. */
TT_API tt_type tt_type_get(const char *name);

/* Records only objects of blocks for which `wants` returns more than 0 (NULL: of all blocks).
 * `wants` is called once for each existing block, and for a new block when it first runs.  The
 * profiler's locks are held then: it must not call this library or leave by longjmp.  May be
 * called while recording.  -TT_ERR_BUSY: nothing has changed. */
TT_API int tt_select(int (*wants)(const struct tt_block_info *, void *arg), void *arg);

/* tt_alloc returns this for an object that is not recorded; reports with it are ignored. */
#define TT_NOWHERE UINT64_MAX

/* tt_alloc reports an allocation, in generation 0, by the current context, and returns that
 * context.  Returns TT_NOWHERE while off, in a paused thread, or if the block's objects are not
 * recorded.  tt_alloc_at charges the object to a captured context. */
TT_API tt_context tt_alloc(tt_type type, size_t bytes, size_t overhead);
TT_API tt_context tt_alloc_at(tt_context at, tt_type type, size_t bytes, size_t overhead);

/* The place of an object is a generation of the collector, from 0 on.  If all objects are in
 * generation 0 and are freed one by one, their age may be reported instead. */
enum { TT_GENERATIONS = 32, TT_AGES = 64 };
#define TT_AGE(n) (0x80u | (n)) /* 0 ≤ n < TT_AGES */

/* Reports that an object was freed.  `from` is its generation, or the TT_AGE that it reached; the
 * other arguments are those of its allocation. */
TT_API void tt_free(tt_context origin, tt_type type, size_t bytes, size_t overhead,
                    unsigned from);

/* Returns the age class of an object that lived for `amount`, in any unit: 0 for less than 1, n
 * for less than 2^n.  Signal-safe. */
TT_API unsigned tt_age(uint64_t amount);

/* tt_gc_begin reports that the generations 0 to `generation` are collected until tt_gc_end; this
 * time is charged to [gc].  Objects in these generations that are not reported by tt_survive are
 * considered dead.  Late reports are accepted until the next collection.  Report an object that
 * stays in its generation with `from` = `to`. */
TT_API void tt_gc_begin(unsigned generation);
TT_API void tt_survive(tt_context origin, tt_type type, size_t bytes, size_t overhead,
                       unsigned from, unsigned to);
TT_API void tt_gc_end(void);

#define TT_NEXT UINT32_MAX /* the generation after the current one */

/* The same for objects with a number that is not 0, such as an address.  The library keeps their
 * contexts in its memory while they live.  tt_object_use reports a use of an object.
 * tt_object_survive reports that an object survived: it may get another number (`moved`; 0: it
 * keeps its number), and goes to the generation `to`, or with TT_NEXT to the next one.  At
 * tt_gc_end, objects of collected generations that did not survive are forgotten; so is the old
 * object of a number that is used again.  Unknown numbers are ignored.  Costs two hash look-ups
 * and a lock with little contention. */
TT_API tt_context tt_object_new(uint64_t id, tt_type type, size_t bytes, size_t overhead);

/* Returns the number of objects of this size that one recorded object counts for: 1, or more with
 * space-rate.  If finding the allocation site is expensive, sample: pick one object of that many
 * at random, report it by tt_object_picked, and report every free. */
TT_API uint64_t tt_object_weight(size_t bytes);
TT_API tt_context tt_object_picked(uint64_t id, tt_type type, size_t bytes,
                                   size_t overhead);
TT_API void tt_object_use(uint64_t id);
TT_API void tt_object_free(uint64_t id);
TT_API void tt_object_survive(uint64_t id, uint64_t moved, unsigned to);

/* A set of retainers: the blocks that keep an object alive.  The runtime decides what a retainer
 * is: its roots, thunks, mutable objects.  After a collection of all generations, it walks from
 * each retainer with its block, and stops at objects whose set does not change:
 *
 *      void walk(struct object *o, tt_block block)
 *      {
 *          tt_retainers set = tt_retainers_with(o->set, block);
 *          if (set == o->set) return;                            initially 0
 *          o->set = set;
 *          for (each reference of o) walk(it, is_retainer(o) ? block_of(o) : block);
 *      }
 *
 * tt_retainers_with returns the set with one more retainer, or MANY, which contains every block,
 * for more than TT_RETAINERS.  Only the empty set is 0; without series=retainers, all sets are.
 * Before tt_gc_end, call tt_retained once for each live object, with its set and size, all from
 * one thread.  The figures are valid until the next collection that reports some. */
typedef uint32_t tt_retainers;
enum { TT_RETAINERS = 8 };
TT_API tt_retainers tt_retainers_with(tt_retainers set, tt_block retainer);
TT_API void tt_retained(tt_retainers set, size_t bytes);

/* Time from tt_profiler_begin to tt_profiler_end is charged to [profiler].  Use them around work
 * that the runtime does only for these reports.  Pairs nest. */
TT_API void tt_profiler_begin(void);
TT_API void tt_profiler_end(void);

/* ── Reading the profile in the program ───────────────────────────────────────────── */

/* One context, as tt_visit passes it, in preorder. */
struct tt_visited {
    const char *strand;            /* name of the thread */
    const char *const *path;       /* block names, outermost first */
    size_t depth;                  /* of the path; 0: the root of a strand */
    struct tt_block_info block;    /* the innermost block; strings are borrowed */
    uint64_t calls, self, samples; /* self in ticks, exact or sampled */
    uint64_t total;                /* self of this context and of all below it */
    uint64_t self_low, total_low;  /* without the time that measuring may have added */
    uint64_t elsewhere, missed;    /* evicted below it; the most that it may lack */
    uint64_t activations, min, max, sum; /* exact mode: inclusive time of activations */
    double mean, deviation;              /* population standard deviation, in ticks */
};

/* Calls `visit` for each context of each strand, parents first, children in the order of their
 * names.  The argument is valid during the call.  Stops if `visit` returns non-zero, and returns
 * that value.  Thread-safe; `visit` may push and pop. */
TT_API int tt_visit(int (*visit)(const struct tt_visited *, void *arg), void *arg);

/* Resets the calling thread's calls, times and metrics of every block for which `which` returns
 * non-zero.  Objects of these blocks are kept. */
TT_API void tt_clear(int (*which)(const struct tt_block_info *, void *arg), void *arg);

/* The result of tt_profile_call, valid until tt_results_free.  Generations are as above; 255 is
 * none. */
struct tt_function_result {
    struct tt_block_info block;
    uint64_t calls, self, total, samples;  /* total: inclusive; both in ticks */
    uint64_t objects, allocated, overhead; /* allocated; the latter two in bytes */
    uint64_t copied, alive;                /* bytes */
};
struct tt_object_result { /* by function, type, `from` and `to`, in this order */
    size_t function;      /* an index */
    const char *type;
    unsigned from, to;
    uint64_t number, bytes, overhead;
};
struct tt_results {
    uint64_t ticks, ticks_per_second; /* the total time */
    uint64_t gc, profiler;            /* inclusive ticks of [gc] and of [profiler] */
    uint64_t collections;
    size_t functions, objects;
    const struct tt_function_result *function; /* by name */
    const struct tt_object_result *object;
};

/* Calls `f` and stores its profile in *out, or NULL on failure.  Options are those of tt_start.
 * If a recording is active, it calls `f` and returns -TT_ERR_STATE, as a warning.  If `f` leaves
 * by longjmp or an exception, call tt_profile_end where it is caught, to get the figures up to
 * that point.  The caller owns the result and frees it by tt_results_free, which accepts NULL.
 * Not thread-safe. */
TT_API int tt_profile_call(const char *options, void (*f)(void *arg), void *arg,
                           struct tt_results **out);
TT_API void tt_results_free(struct tt_results *results);

/* The two halves of tt_profile_call.  tt_profile_end returns -TT_ERR_STATE if no tt_profile_begin
 * came before. */
TT_API int tt_profile_begin(const char *options);
TT_API int tt_profile_end(struct tt_results **out);

#ifdef __cplusplus
}
#endif

#ifdef TT_DISABLE
#include "tallytree/disabled.h" /* the same names, as empty functions */
#else
#include "tallytree/scope.h" /* the expansion of the macros */
#endif
#endif
