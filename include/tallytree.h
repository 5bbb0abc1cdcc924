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
 *   off            before tt_start, after tt_stop: nothing is recorded then, and a macro, a
 *                  push or a pop costs a load and a branch
 *
 * What is said of the calling thread, as pushes and pops, any thread may say at any time.
 * What goes wrong inside is counted and shown in the report; no function here exits or
 * aborts, and none but tt_print and tt_print_stack prints.  A function that returns int
 * gives 0 or a negative enum tt_error.
 *
 * Three macros, defined before this header, choose what scopes are made of:
 *   TT_DISABLE     nothing: every macro vanishes with its arguments, every function becomes
 *                  an empty inline one, and the library need not be linked
 *   TT_STATIC      a little less, in programs that have libtallytree.a or tallytree.c in
 *                  themselves; TT_LATE, a little more, in plug-ins
 *   TT_SWITCHED    no-ops, which cost nothing while off, and which tt_start makes jumps.
 *                  That fails where a process may not change its own code.  A scope that is
 *                  open over a stop is not in the next recording; gold's --gc-sections drops
 *                  what it needs */
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
    TT_ERR_DISABLED = 1, /* not built in: TT_DISABLE */
    TT_ERR_OPTION,       /* an option that does not exist, or a value out of its range */
    TT_ERR_FILE,         /* the output cannot be created, grown or written */
    TT_ERR_MEMORY,       /* no memory */
    TT_ERR_STATE,        /* not started, or more resumes than pauses */
    TT_ERR_FORMAT,       /* not a recording, or a damaged one */
    TT_ERR_BUSY,         /* called from a signal handler that interrupted the profiler */
    TT_ERR_CODE,         /* the code of scopes cannot be switched on: TT_SWITCHED */
};

/* A sentence for an error; never NULL.  For TT_ERR_OPTION it names the word that the calling
 * thread's last tt_start refused, until its next one.  Signal-safe. */
TT_API const char *tt_error_text(int error);

/* ── A program: scopes and metrics ────────────────────────────────────────────────── */

/* Charges to this scope until its C block ends, by whatever way it is left: return,
 * goto, a C++ exception, longjmp. */
#define TT_SCOPE(literal) TT_SCOPE_(__COUNTER__, "" literal)

/* The same, under the function's name. */
#define TT_FUNCTION() TT_SCOPE_(__COUNTER__, __func__)

/* The same, under a name known only at run time; it is copied.  Costs a look-up by name. */
#define TT_SCOPE_NAMED(name) TT_NAMED_(__COUNTER__, name)

/* By hand: TT_BEGIN(id, "literal") declares id; TT_END(id) leaves it and what it left open. */
#define TT_BEGIN(id, literal) TT_BEGIN_(id, "" literal)
#define TT_END(id) TT_END_(id)

/* Adds n to a metric of the program's own, on the current context. */
#define TT_ADD(literal, n) TT_ADD_("" literal, n)

/* Three of the functions below, which vanish with their arguments. */
#define TT_PAUSE() TT_CALL_(tt_pause())
#define TT_RESUME() TT_CALL_(tt_resume())
#define TT_THREAD_NAME(name) TT_CALL_(tt_thread_name(name))

/* ── A program: start, stop, look ─────────────────────────────────────────────────── */

/* Starts a recording of the whole process.  `options` are words separated by commas or
 * blanks, as the command's flags without their dashes; NULL and "" are the defaults:
 *
 *   output=PATH        keep the recording in this file, from the first event on; without
 *                      it the recording is kept in memory, for tt_write and tt_print;
 *                      PATH.PID where another recording is under way; a file
 *                      that is neither empty nor a recording or a profile stays, and
 *                      tt_start fails
 *   calls | sampled[=HZ] | exact | every=N      the mode; default exact; N: a power of 2
 *   scopes=M blocks=M centres=M hooks=M statements=M   a mode for one kind alone
 *   sampler=timer|thread                        timer: each thread's CPU time, by SIGPROF;
 *                      the thread serves where the program handles that itself
 *   recursion=edge|repeat:K|block|cycle|drop|recent:K|none
 *                      what becomes of recursion; default edge, and none for stacks that are
 *                      unwound (samples)
 *   stacks=application|creation|ghc             where the time of closures goes: see
 *                      tt_context_call
 *   budget=64M | budget=65536nodes              the cap on memory
 *   log=8M | log=none                           of it, for samples by time
 *   rank=N             this process's number in a parallel job
 *   histogram          log-scaled histogram of the time of activations
 *   history=BLOCK:K    keep the last K activations of a block
 *   slowest=BLOCK:K    keep the K slowest activations of a block with their subtrees
 *   space=none | alloc+copies+types+peak        what is recorded of objects: some of these;
 *                      default all but peak: what was alive when most was, by context
 *   space-rate=BYTES   objects of fewer bytes are sampled, so that what is recorded of them
 *                      adds up to what there is, on average; default 0: all are recorded
 *   series=none | type+block+centre+use+retainers   what is alive over time: some of these,
 *                      with + between; default type
 *   profile=PATH       as MLWorks' runtime has it: output=PATH, calls counted, times sampled
 *                      each profile-scan=MS (10; 0: not at all), objects without types, or
 *                      as profile-manner=N says (7; 1 calls, 2 time, 4 space, 256... kinds),
 *                      profile-select=TEXT: objects of blocks whose names contain it alone,
 *                      profile-depth=N (0 to 15).  An error without profile=PATH
 *   clock=tsc|monotonic|caller[:HZ]             caller: only tt_tick moves the clock
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

/* Names the calling thread's strand; the name is copied, cut at 31 bytes.  NULL: nothing. */
TT_API void tt_thread_name(const char *name);

/* Writes a copy of the recording as it stands, of all threads, to a file: under a
 * temporary name first, then renamed.  Thread-safe. */
TT_API int tt_write(const char *path);

/* Prints a flat table of blocks and the tree without its small parts.  Thread-safe. */
TT_API int tt_print(int fd);

/* ── A runtime: blocks ────────────────────────────────────────────────────────────── */

typedef uint32_t tt_block; /* a block; 0 is none.  Never reused. */

/* What a block stands for; each kind has a mode of its own (see tt_start). */
enum tt_kind {
    TT_KIND_BLOCK,       /* a runtime's function or code block; the default */
    TT_KIND_SCOPE,       /* TT_SCOPE, TT_FUNCTION */
    TT_KIND_FUNCTION,    /* a function compiled with hooks */
    TT_KIND_STATEMENT,   /* a statement of a script */
    TT_KIND_NATIVE,      /* a call site found by unwinding */
    TT_KIND_CENTRE,      /* a cost centre set by hand */
    TT_KIND_INTERPRETED, /* a function that an interpreter was seen to run */
    TT_KINDS,
    TT_KIND_TYPE = 255 /* no block: see tt_type_get */
};

/* A block's whole identity.  NULL strings are empty ones. */
struct tt_block_info {
    const char *name, *module, *file;
    uint64_t offset;       /* 0-based character index in the file, or an address */
    uint32_t line, column; /* from 1; 0: unknown */
    uint32_t length;       /* in characters; not part of the identity */
    enum tt_kind kind;
};

/* The block of this identity, made at its first use, also while the run goes on and
 * also when off.  Strings are copied.  It is in the recording even if it never runs.  When
 * the budget for blocks is used up it is [other blocks].  Thread-safe. */
TT_API tt_block tt_block_get(const char *name, const char *file, uint32_t line,
                             uint32_t column);
TT_API tt_block tt_block_make(const struct tt_block_info *info);

/* ── A runtime: activations ───────────────────────────────────────────────────────── */

typedef uint64_t tt_mark; /* a place on the stack of activations */

/* Enters a block.  The mark is for the matching tt_pop.  O(1) at any depth; the first push of
 * a block at a context looks along the path.  doc/measuring.md has the costs of each recursion
 * policy. */
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

/* How a block is called, where a runtime tells that apart. */
enum tt_call { TT_CALL_STRICT, TT_CALL_LAZY, TT_CALL_CURRIED };

/* A push whose context counts how it was called, by the metrics "strict calls", "lazy calls"
 * and "curried calls", and how often it was left, by "tails and returns". */
TT_API tt_mark tt_push_as(tt_block block, enum tt_call call);

/* Leaves the innermost activation, and the captured contexts that it was entered in, for a
 * tail call: what it left is the parent of the next strict or curried tt_push_as, and its
 * stack no deeper for it.  What tt_context_call enters by `ghc` goes on from there too; a
 * return, or another captured context that comes first, ends that.  What is pushed next stands
 * in their contexts, and is left by the mark of the outermost of what was left. */
TT_API void tt_tail(void);

/* Adds one sample worth `weight` ticks to the current context.  Signal-safe. */
TT_API void tt_sample(uint64_t weight);

/* Moves the clock of `clock=caller`, for all threads their own.  Signal-safe. */
TT_API void tt_tick(uint64_t ticks);

/* For an interpreter that marks each statement, under clock=caller: moves the clock, leaves
 * the activation of `left`, if not 0, with what lies above it, and enters `block`, if not
 * 0.  As tt_tick, tt_pop, tt_push, at a part of their cost.  The mark is for another step;
 * TT_STEP_SLOWLY in it says that this one had more to do than most. */
TT_API tt_mark tt_step(uint64_t ticks, tt_mark left, tt_block block);
enum { TT_STEP_SLOWLY = 2 };

typedef uint32_t tt_metric; /* a metric of the program's own; 0 is none */

/* A metric of this name, made at its first use, and an amount of it for the current
 * context.  Names and units are copied, cut at 31 bytes. */
TT_API tt_metric tt_metric_get(const char *name, const char *unit);
TT_API void tt_add(tt_metric metric, uint64_t amount);

/* Prints where the calling thread is: up to 20 activations, the innermost first, and where
 * a captured context was entered, up to 20 of the path that was captured, below the tail
 * calls that were made since: where a thunk was made that is forced.  Signal-safe. */
TT_API int tt_print_stack(int fd);

/* ── A runtime: captured contexts, fibers ─────────────────────────────────────────── */

typedef uint64_t tt_context; /* a captured context; 0 is the root */

/* Captures the current context, to be resumed where a thunk, a closure or a task is
 * run.  The handle is valid until the recording ends, and never names another context.  When its
 * context was evicted, what it resumes is charged to the same block, below the nearest
 * ancestor that is known: the root when the place was in use again since.  A place that was
 * in use 32768 times, or fewer under a budget of over 2 GiB, gives handles that are the
 * block's alone.  O(1).  Signal-safe. */
TT_API tt_context tt_context_capture(void);

/* Enters a captured context: the path is the captured one, the caller's comes back at
 * the tt_pop of this mark.  O(1) on the thread that captured it, O(depth) the first time
 * on another. */
TT_API tt_mark tt_context_enter(tt_context context);

/* The same for a closure that is called, by the rule of the option `stacks`: at the caller,
 * which enters nothing; at the captured context; or at the caller's path followed by what
 * the captured one has that the caller's does not begin with, as GHC does it: from a b c the
 * closure of a b d is called at a b c d.  O(1) when it was so called before. */
TT_API tt_mark tt_context_call(tt_context context);

/* The block of a captured context, and the context around it; 0 past the root. */
TT_API tt_block tt_context_block(tt_context context);
TT_API tt_context tt_context_parent(tt_context context);

/* A fiber is a stack of activations that moves between threads: a coroutine, a green
 * thread.  Its frames are its own, its costs go to the thread that runs it.
 * tt_fiber_switch makes `to` the calling thread's, NULL its own stack, and returns what
 * it left.  A fiber is run by one thread at a time.  tt_fiber_free ends a fiber that is
 * not running, with whatever it still had open. */
typedef struct tt_fiber tt_fiber;
TT_API tt_fiber *tt_fiber_new(void);
TT_API tt_fiber *tt_fiber_switch(tt_fiber *to);
TT_API void tt_fiber_free(tt_fiber *fiber);

/* ── A runtime: space ─────────────────────────────────────────────────────────────────
 * An object is charged to the context that allocated it, with its type, its bytes, and its
 * overhead: headers, padding, what the allocator rounds up, which is not part of `bytes`.
 * Whoever tells that it was copied or freed says where it was made: the runtime keeps what
 * tt_alloc returned in a header word of the object (tt_alloc), or leaves it to us
 * (tt_object_new).
 *
 * None of these functions calls malloc, and each may be called from inside malloc: in any
 * thread, before main, in a signal handler, after fork, in a thread whose destructors have
 * run.  errno is kept.  One that a signal handler calls while its thread is in the profiler
 * is counted by type, and stands at the root.  They are thread-safe and O(1), or O(depth)
 * the first time that a thread tells of an object that another thread's context made.
 * Off, they cost a load and a branch. */

typedef uint32_t tt_type; /* a type of objects; 0 is none */

/* The type of this name, made at its first use, also when off.  The name is copied.  Not
 * for signal handlers: make types beforehand. */
TT_API tt_type tt_type_get(const char *name);

/* Chooses whose objects are recorded: those of blocks for which `wants` returns more than 0;
 * NULL: of all.  It is called once for each block that there is, and for new ones when they
 * first run, with our locks held: it may not call us back, nor leave by longjmp.  May be
 * changed while a recording is under way.  -TT_ERR_BUSY: nothing has changed. */
TT_API int tt_select(int (*wants)(const struct tt_block_info *, void *arg), void *arg);

/* What tt_alloc returns when the object is not recorded; what is said of it is ignored. */
#define TT_NOWHERE UINT64_MAX

/* An object was allocated, into generation 0, by the current context, which is returned.
 * TT_NOWHERE when off, in a paused thread, or when the block's objects are not recorded.
 * tt_alloc_at charges it to a captured context. */
TT_API tt_context tt_alloc(tt_type type, size_t bytes, size_t overhead);
TT_API tt_context tt_alloc_at(tt_context at, tt_type type, size_t bytes, size_t overhead);

/* Where an object is: a generation of the collector, from 0 on.  Of objects that are freed
 * one by one, and are all of generation 0, it may be told instead how old they got. */
enum { TT_GENERATIONS = 32, TT_AGES = 64 };
#define TT_AGE(n) (0x80u | (n)) /* 0 ≤ n < TT_AGES */

/* It was freed: `from` is the generation it was in, or the TT_AGE that it reached.  The
 * other figures are as they were said when it was allocated. */
TT_API void tt_free(tt_context origin, tt_type type, size_t bytes, size_t overhead,
                    unsigned from);

/* The age class of an object that lived through so much, of whatever unit: 0 for less than
 * 1, n for less than 2^n.  Signal-safe. */
TT_API unsigned tt_age(uint64_t amount);

/* The generations 0 to `generation` are collected from here to tt_gc_end: time goes to
 * [gc].  Of all objects in them only those are left of which tt_survive is said in
 * between, or, by who learns of them late, before the next collection.  An object that
 * stays where it is survives too, with `from` = `to`. */
TT_API void tt_gc_begin(unsigned generation);
TT_API void tt_survive(tt_context origin, tt_type type, size_t bytes, size_t overhead,
                       unsigned from, unsigned to);
TT_API void tt_gc_end(void);

#define TT_NEXT UINT32_MAX /* the generation after the one that it is in */

/* The same of objects that have a number, an address for instance, that is not 0: where
 * they were made is kept here, in memory of our own, while they live.  They may be said to
 * be used.  An object that survives may get another number (0: it keeps it), and goes to
 * the generation `to`, or with TT_NEXT to the next one.  What a collection of its
 * generation leaves behind is forgotten at tt_gc_end; so is what had a number that is given
 * out again.  What is not known is ignored.  Two hash look-ups and a lock that is seldom
 * waited for. */
TT_API tt_context tt_object_new(uint64_t id, tt_type type, size_t bytes, size_t overhead);

/* How many objects of this size one that is recorded stands for: 1, but with space-rate.
 * Who has to look for the place where an object was made may pick one of so many himself, by
 * dice, and then say of that one alone that it is new, and of all that they are free. */
TT_API uint64_t tt_object_weight(size_t bytes);
TT_API tt_context tt_object_picked(uint64_t id, tt_type type, size_t bytes,
                                   size_t overhead);
TT_API void tt_object_use(uint64_t id);
TT_API void tt_object_free(uint64_t id);
TT_API void tt_object_survive(uint64_t id, uint64_t moved, unsigned to);

/* A set of retainers: those blocks for whose sake an object is alive.  What a retainer is, the
 * runtime says: its roots, thunks, what can be changed.  After a collection of all generations
 * it walks on from each, for the sake of its block, and stops where nothing is new:
 *
 *      void walk(struct object *o, tt_block block)
 *      {
 *          tt_retainers set = tt_retainers_with(o->set, block);
 *          if (set == o->set) return;                            all are 0 at first
 *          o->set = set;
 *          for (each reference of o) walk(it, is_retainer(o) ? block_of(o) : block);
 *      }
 *
 * tt_retainers_with gives the set with one more: of more than so many, MANY, which has all of
 * them.  A set is never 0 but the empty one, which is also all there is unless series=retainers
 * is wanted.  Then tt_retained says, before tt_gc_end, of what is alive how much each set has,
 * object by object, and all by one thread; until the next collection in which it does. */
typedef uint32_t tt_retainers;
enum { TT_RETAINERS = 8 };
TT_API tt_retainers tt_retainers_with(tt_retainers set, tt_block retainer);
TT_API void tt_retained(tt_retainers set, size_t bytes);

/* Time from here to tt_profiler_end goes to [profiler]: for what a runtime does for the
 * sake of these reports alone.  They nest. */
TT_API void tt_profiler_begin(void);
TT_API void tt_profiler_end(void);

/* ── What a program is told of its own profile ────────────────────────────────────── */

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

/* Calls `visit` for each context of each strand, parents first, children in the order of
 * their names.  What it is given is valid during the call.  Stops when `visit` returns
 * other than 0, and returns that.  Thread-safe; `visit` may push and pop. */
TT_API int tt_visit(int (*visit)(const struct tt_visited *, void *arg), void *arg);

/* Forgets what the calling thread has counted so far of those blocks for which `which` returns
 * other than 0: calls, times and metrics, and not the objects that they made. */
TT_API void tt_clear(int (*which)(const struct tt_block_info *, void *arg), void *arg);

/* What tt_profile_call tells of one call.  All of it is valid until tt_results_free;
 * generations are as above, 255 being none. */
struct tt_function_result {
    struct tt_block_info block;
    uint64_t calls, self, total, samples;  /* total: inclusive; both in ticks */
    uint64_t objects, allocated, overhead; /* made; the latter two in bytes */
    uint64_t copied, alive;                /* bytes */
};
struct tt_object_result { /* of one function, type and way, in this order */
    size_t function;      /* an index */
    const char *type;
    unsigned from, to;
    uint64_t number, bytes, overhead;
};
struct tt_results {
    uint64_t ticks, ticks_per_second; /* how long it took, in all */
    uint64_t gc, profiler; /* ticks in [gc] and in [profiler], everything in it */
    uint64_t collections;
    size_t functions, objects;
    const struct tt_function_result *function; /* by name */
    const struct tt_object_result *object;
};

/* Calls `f`, and says in *out what it did: NULL when that is not known.  Options are those of
 * tt_start.  While a recording is under way it calls `f` all the same and returns
 * -TT_ERR_STATE, as a warning.  Where `f` leaves by longjmp or an exception, whoever catches
 * it calls tt_profile_end, and has the figures up to there.  Results are the caller's, for
 * tt_results_free, which accepts NULL.  Not thread-safe. */
TT_API int tt_profile_call(const char *options, void (*f)(void *arg), void *arg,
                           struct tt_results **out);
TT_API void tt_results_free(struct tt_results *results);

/* Its halves, for use with anything in between; the second fails with -TT_ERR_STATE when
 * nothing was begun. */
TT_API int tt_profile_begin(const char *options);
TT_API int tt_profile_end(struct tt_results **out);

#ifdef __cplusplus
}
#endif

#ifdef TT_DISABLE
#include "tallytree/disabled.h" /* the same names, nothing behind them */
#else
#include "tallytree/scope.h" /* what the macros expand to */
#endif
#endif
