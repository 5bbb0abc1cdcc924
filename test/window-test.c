/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* window-test.c - a signal comes between any two instructions of the protocol of
 * tallytree/frame.h, in each code that follows it: scopes, pushes, steps, tail calls, captured
 * contexts, compilers' hooks, functions that are switched on.  Its handler leaves nothing
 * as it was: another recording has begun, or what was about to be entered has been evicted,
 * or it does not return.
 *
 * A child is let run one instruction at a time, up to the next place for the signal. */
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "block.h"
#include "budget.h"
#include "function.h"
#include "graft.h"
#include "hooks-quick.h"
#include "next-function.h"
#include "one-cpu.h"
#include "patch.h"
#include "preload.h"
#include "recorded.h"
#include "stack.h"
#include "tap.h"

enum {
    UNTRACED = 77,
    UNSWITCHED
}; /* what a child ends with that may not be traced; whose code
                                     * may not change */
enum handling { RESTARTS = 1, PUSHES = 2, EVICTS = 4, DEEP = 8, JUMPS = 16, GROWS = 32 };

static struct window { /* shared with the child */
    int over, wrong;
    unsigned handled, entered, evictions, growths;
} * window;

static const char *mode, *next_mode;
static int handling;
static uint32_t grown_to;
static int
    is_moved; /* so that one of two blocks has the edge at the place of that number */
static sigjmp_buf back;
static volatile int may_jump;

/* As a sample's does where there is no room, in the midst of anything but the slow path. */
static void evict(void)
{
    struct tt_thread *t = tt_self.thread;

    if (!(handling & EVICTS) || !t || t->busy.work)
        return;
    tt_busy_enter(&t->busy);
    window->evictions += tt_evict_tree(&t->tree, t) != 0;
    tt_busy_leave(&t->busy);
}

/* As a sample's does where its thread waits: there are more edges than have room in the node,
 * which gets a table, and their number where its first edge was. */
static void grow(void)
{
    static const char *const waits[] = {"w1", "w2", "w3", "w4", "w5"};
    static struct tt_grafting h;
    struct tt_thread *t = tt_self.thread;
    struct tt_node *n;
    uint32_t made;

    if (!(handling & GROWS) || !t || t->busy.work)
        return;
    tt_busy_enter(&t->busy);
    h.thread = t;
    h.at = t->self->top;
    h.stack.end = TT_UNWIND_ROOT;
    for (size_t i = 0; h.at->node->mask <= 1 || h.at->node->slot[0] < grown_to; i++) {
        h.wait = waits[i];
        if (tt_graft_make(&h, &n, &made))
            tt_graft_done(&h);
    }
    window->growths++;
    tt_busy_leave(&t->busy);
}

/* ── What is entered, and how ─────────────────────────────────────────────────────── */

#define CALLED static __attribute__((noinline)) void

CALLED scope_inner(void)
{
    TT_SCOPE("inner");
    evict();
}

CALLED scope_watched(void)
{
    TT_SCOPE("watched");
    window->entered++;
}

static tt_block inner_block, watched_block;

CALLED push_inner(void)
{
    tt_mark mark = tt_push(inner_block);
    evict();
    tt_pop(mark);
}

CALLED push_watched(void)
{
    tt_mark mark = tt_push(watched_block);
    window->entered++;
    tt_pop(mark);
}

/* The callee of a tail call: it is entered in the context that its caller left. */
static tt_block caller_block;

static void tail_call(tt_block callee)
{
    tt_mark mark = tt_push_as(caller_block, TT_CALL_STRICT);

    tt_tail();
    (void)tt_push_as(callee, TT_CALL_STRICT);
    if (callee == watched_block)
        window->entered++;
    else
        evict();
    tt_pop(mark);
}

CALLED tail_inner(void) { tail_call(inner_block); }
CALLED tail_watched(void) { tail_call(watched_block); }

/* Captured where the caller runs. */
static tt_context captured(void)
{
    tt_mark mark = tt_push(caller_block);
    tt_context c = tt_context_capture();

    tt_pop(mark);
    return c;
}

CALLED context_inner(void)
{
    tt_mark mark = tt_context_enter(captured());

    (void)tt_push(inner_block);
    evict();
    tt_pop(mark);
}

CALLED context_watched(void)
{
    tt_mark mark = tt_context_enter(captured());

    (void)tt_push(watched_block);
    window->entered++;
    tt_pop(mark);
}

static unsigned ticks; /* of the caller's clock, that a step adds */

/* Statements: the second takes the place of the first. */
CALLED step_inner(void)
{
    tt_mark mark = tt_step(ticks, tt_step(ticks, 0, caller_block), inner_block);

    evict();
    (void)tt_step(ticks, mark, 0);
}

CALLED step_watched(void)
{
    tt_mark mark = tt_step(ticks, tt_step(ticks, 0, caller_block), watched_block);

    window->entered++;
    (void)tt_step(ticks, mark, 0);
}

/* Functions that are switched on. */
#ifdef __x86_64__
#define SWITCHED __attribute__((noinline, patchable_function_entry(5))) static void
#else
#define SWITCHED CALLED
#endif

SWITCHED function_inner(void)
{
    evict();
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

SWITCHED function_watched(void) { window->entered++; }

/* Each function before it jumps to the next one, so that the frame changes its function. */
SWITCHED function_last(void) { window->entered++; }
SWITCHED function_jumps(void) { function_last(); }

#ifdef __x86_64__
static char *no_op_of(void (*function)(void))
{
    char *at = (char *)(uintptr_t)function;

    return memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0 ? at + 4 : at; /* endbr64 */
}

static int switch_on(void)
{
    struct tt_site_code code[] = {
        {no_op_of(function_inner), inner_block, NULL},
        {no_op_of(function_watched), watched_block, NULL},
        {no_op_of(function_last), watched_block, NULL},
        {no_op_of(function_jumps), caller_block, NULL},
    };
    enum { ALL = sizeof code / sizeof *code };
    struct tt_patch patch[ALL];

    tt_function_init();
    if (tt_function_make(code, ALL))
        return -1;
    for (int i = 0; i < ALL; i++)
        patch[i] = (struct tt_patch){.at = code[i].at, .to = code[i].thunk};
    return tt_patch_text(patch, ALL) ? -1 : 0;
}
#else
static int switch_on(void) { return -1; }
#endif

/* What a compiler has functions do, by hand: here no other function is to do it. */
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

CALLED hook_inner(void)
{
    __cyg_profile_func_enter((void *)(uintptr_t)hook_inner, NULL);
    evict();
    __cyg_profile_func_exit((void *)(uintptr_t)hook_inner, NULL);
}

CALLED hook_watched(void)
{
    __cyg_profile_func_enter((void *)(uintptr_t)hook_watched, NULL);
    window->entered++;
    __cyg_profile_func_exit((void *)(uintptr_t)hook_watched, NULL);
}

/* The handler's call of an inlined function comes from the same place.  Before, what is called
 * least was evicted, and something else has taken its room. */
CALLED inlined_watched(void)
{
    __cyg_profile_func_enter((void *)(uintptr_t)hook_watched, NULL);
    window->entered++;
    __cyg_profile_func_exit((void *)(uintptr_t)hook_watched, NULL);
}

CALLED inlined_inner(void)
{
    for (int i = 0; i < 3; i++)
        tt_pop(tt_push(caller_block));
    for (int i = 0; i < 9; i++)
        evict();
    tt_pop(tt_push(inner_block));
    inlined_watched();
}

/* It has a frame pointer, which is all that is asked of whom it is called by. */
#ifdef __x86_64__
#define MCOUNT()                                                                         \
    __asm__ volatile(                                                                    \
        "leaq -128(%%rsp), %%rsp\n\tcall mcount\n\tleaq 128(%%rsp), %%rsp" ::            \
            : "memory", "cc")
#else
#define MCOUNT() ((void)0)
#endif

CALLED mcount_inner(void)
{
    MCOUNT();
    evict();
}

CALLED mcount_watched(void)
{
    MCOUNT();
    window->entered++;
}

/* Until the next is called it is not known that one has returned. */
CALLED mcount_next(void) { MCOUNT(); }

/* Deep enough that the next call gets the last frame of the stack's first segment. */
static int is_deep(void) { return tt_self.thread->stack.end - tt_self.top <= 2; }

CALLED scope_descend(void (*run)(void))
{
    TT_SCOPE("deep");
    if (is_deep())
        run();
    else
        scope_descend(run);
}

CALLED hook_descend(void (*run)(void))
{
    __cyg_profile_func_enter((void *)(uintptr_t)hook_descend, NULL);
    if (is_deep())
        run();
    else
        hook_descend(run);
    __cyg_profile_func_exit((void *)(uintptr_t)hook_descend, NULL);
}

static const struct way {
    void (*watched)(void), (*inner)(void), (*next)(void), (*descend)(void (*run)(void));
    enum { BY_SCOPES, BY_MARKS, BY_HOOKS, BY_SWITCHES } kind;
} by_scope = {scope_watched, scope_inner, NULL, scope_descend, BY_SCOPES},
  by_push = {push_watched, push_inner, NULL, NULL, BY_MARKS},
  by_tail = {tail_watched, tail_inner, NULL, NULL, BY_MARKS},
  by_context = {context_watched, context_inner, NULL, NULL, BY_MARKS},
  by_step = {step_watched, step_inner, NULL, NULL, BY_MARKS},
  by_hook = {hook_watched, hook_inner, NULL, hook_descend, BY_HOOKS},
  by_inlined = {inlined_watched, inlined_inner, NULL, NULL, BY_HOOKS},
  by_mcount = {mcount_watched, mcount_inner, mcount_next, NULL, BY_HOOKS},
  by_function = {function_watched, function_inner, NULL, NULL, BY_SWITCHES},
  by_jump = {function_jumps, function_inner, NULL, NULL, BY_SWITCHES}, *way;

/* hooks.c looks for the C library's own, which are not to be called here. */
void *tt_next_function(const char *name)
{
    (void)name;
    return NULL;
}

static const char *name_of_watched(void)
{
    uintptr_t start = (uintptr_t)(way == &by_inlined ? hook_watched : way->watched);

    return way->kind == BY_HOOKS ? tt_block_entry(tt_hook_find(start)->block)->info.name
                                 : "watched";
}

/* ── The child ────────────────────────────────────────────────────────────────────── */

static void on_signal(int number)
{
    (void)number;
    if (handling & RESTARTS) {
        window->wrong |= tt_stop() != 0 && tt_stop() != -TT_ERR_BUSY;
        (void)tt_start(next_mode);
    }
    if (handling & PUSHES)
        way->inner();
    else if (!(handling & (EVICTS | GROWS)))
        tt_add(tt_metric_get("handled", ""), 1);
    if (!(handling & PUSHES))
        evict();
    grow();
    window->handled++;
    if (may_jump)
        siglongjmp(back, 1);
}

static unsigned count_calls(void)
{
    struct recorded r = recorded_here();
    unsigned calls = (unsigned)recorded_calls(&r, name_of_watched());

    window->wrong |= r.error || (!(handling & DEEP) && r.picture.strand[0]->depth != 0);
    recorded_free(&r);
    return calls;
}

static void check(unsigned entered)
{
    unsigned calls = count_calls();

    window->wrong |= handling & RESTARTS ? calls > entered : calls != entered;
}

/* Not raise: while it is in there, musl's lets no signal in. */
static void stop(void) { (void)kill(getpid(), SIGSTOP); }

/* From one place, that is known after the first time. */
static __attribute__((noinline)) void call(void)
{
    way->watched();
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void call_next(void)
{
    if (way->next)
        way->next();
}

/* A context in which only what is watched was called. */
static void enter_new_context(void)
{
    static int count;
    char name[16];

    snprintf(name, sizeof name, "new%d", count++);
    (void)tt_push(tt_block_get(name, NULL, 0, 0));
    call();
    call_next();
}

/* Runs up to the first stop after it. */
static void be_interrupted(void)
{
    tt_mark mark = tt_mark_get();

    if (handling & GROWS)
        enter_new_context();

    may_jump = handling & JUMPS;
    if (sigsetjmp(back, 1) == 0) {
        stop();
        call();
    } else if (way->kind == BY_MARKS) {
        tt_unwind(mark);
    }
    may_jump = 0;
    stop();
    if (handling & GROWS)
        tt_pop(mark);
}

/* It may have been left when it was counted, and not run: how often that was. */
static unsigned count_left(unsigned before)
{
    unsigned left = count_calls() - window->entered;

    window->wrong |= left - before > 1;
    return left;
}

static void run(void)
{
    unsigned left = 0;

    call();
    call_next();
    while (!window->over) {
        tt_mark mark = tt_mark_get();
        be_interrupted();
        call_next();
        if (!(handling & JUMPS))
            window->wrong |= tt_mark_get() != mark;
        call();
        call_next();
        window->wrong |= tt_mark_get() != mark;
        if (handling & DEEP)
            evict(); /* looks at the whole stack */
        if (handling & JUMPS)
            left = count_left(left);
        check(window->entered + left);
    }
}

static int be_watched(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigaction(SIGUSR1, &action, NULL);
    inner_block = tt_block_get("inner", NULL, 0, 0);
    if (is_moved)
        (void)tt_block_get("moves the blocks that follow", NULL, 0, 0);
    watched_block = tt_block_get("watched", NULL, 0, 0);
    ticks = strstr(mode, "clock=caller") != NULL;
    caller_block = tt_block_get("caller", NULL, 0, 0);
    if (way->kind == BY_SWITCHES && switch_on() != 0)
        return UNSWITCHED;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return UNTRACED;
    if (tt_start(mode) != 0)
        return 2;
    if (handling & DEEP)
        way->descend(run);
    else
        run();
    return window->wrong;
}

/* ── Observers ────────────────────────────────────────────────────────────────────── */

/* Runs to where it stops itself.  A blocked signal is reported again when it is
 * unblocked. */
static int go_on(pid_t child, int signal, int *status)
{
    do {
        if (ptrace(PTRACE_CONT, child, NULL, signal) != 0 ||
            waitpid(child, status, 0) != child || !WIFSTOPPED(*status))
            return 0;
        signal = SIGUSR1;
    } while (WSTOPSIG(*status) == signal);
    return WSTOPSIG(*status) == SIGSTOP;
}

/* So many steps and then the signal; 0 when the round was over before. */
static int interrupt(pid_t child, unsigned steps)
{
    unsigned at = steps;
    int status = 0;

    while (steps--) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return -1;
        if (WSTOPSIG(status) != SIGTRAP)
            return WSTOPSIG(status) == SIGSTOP ? 0 : -1;
    }
    for (int i = 0; i < 2; i++) /* after the scope, and before the next */
        if (!go_on(child, i ? 0 : SIGUSR1, &status)) {
            fprintf(stderr, "# at step %u: %x\n", at, (unsigned)status);
            return -1;
        }
    return 1;
}

/* The soak goes to each place, the gate to fewer of the late ones, and `make test` to fewer
 * still: the slow path has many. */
static unsigned wider(unsigned steps)
{
    if (tap_is_soak())
        return UINT32_MAX;
    return tap_is_long() || steps < 100 ? 32 : 8;
}

static void interrupt_everywhere(const struct way *how, const char *words,
                                 const char *next, int what)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("most of the instructions that are stopped at would be the sanitizer's");
#endif
#ifndef __x86_64__
    SKIP("an exclusive store does not come about one instruction at a time");
#endif
    unsigned steps = 0, stride = tap_is_soak() ? 1 : 3;
    int status, more = 1;

    way = how;
    mode = words;
    next_mode = next;
    handling = what;
    window = mmap(NULL, sizeof *window, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stay_on_one_cpu();
    pid_t child = fork();
    if (child == 0)
        _exit(be_watched());
    if (!CHECK(waitpid(child, &status, 0) == child))
        return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNTRACED)
        SKIP("nothing can be traced here");
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNSWITCHED)
        SKIP("functions cannot be switched on here");
    /* Each round steps from the beginning: the later the place, the fewer there are. */
    for (; more > 0; steps += stride + steps / wider(steps))
        more = interrupt(child, steps);
    CHECK_INT(more, 0);
    window->over = 1;
    if (more == 0 && ptrace(PTRACE_CONT, child, NULL, NULL) == 0)
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    else
        kill(child, SIGKILL), waitpid(child, &status, 0);
    CHECK(window->handled > 40 / stride);
    CHECK(!(what & EVICTS) || window->evictions > 40 / stride);
    CHECK(!(what & GROWS) || window->growths > 40 / stride);
    fprintf(stderr, "# %u steps, %u signals\n", steps, window->handled);
    munmap(window, sizeof *window);
}

TEST(a_handler_that_pushes_may_come_at_any_instruction)
{
    interrupt_everywhere(&by_scope, "calls", NULL, PUSHES);
}
TEST(a_handler_that_adds_may_come_at_any_instruction)
{
    interrupt_everywhere(&by_scope, "calls", NULL, 0);
}
TEST(a_new_recording_may_begin_at_any_instruction)
{
    interrupt_everywhere(&by_scope, "calls", "calls,budget=1M", RESTARTS);
}
TEST(a_new_recording_may_begin_at_any_instruction_and_a_handler_push)
{
    interrupt_everywhere(&by_scope, "calls", "calls,budget=1M", RESTARTS | PUSHES);
}
TEST(a_new_recording_may_begin_at_any_instruction_in_mode_every)
{
    interrupt_everywhere(&by_scope, "calls", "every=2,budget=1M", RESTARTS);
}
TEST(a_new_recording_may_begin_at_any_instruction_in_mode_exact)
{
    interrupt_everywhere(&by_scope, "calls", "exact,budget=1M", RESTARTS);
}
TEST(a_sample_that_evicts_may_come_at_any_instruction)
{
    interrupt_everywhere(&by_scope, "calls", NULL, EVICTS);
}
TEST(a_sample_that_adds_contexts_may_come_at_any_instruction)
{
    grown_to = 3; /* a number that leads, as a cell, to the program's name */
    for (is_moved = 0; is_moved <= 1; is_moved++) {
        interrupt_everywhere(&by_scope, "calls", NULL, GROWS);
        interrupt_everywhere(&by_push, "calls", NULL, GROWS);
        interrupt_everywhere(&by_hook, "calls", NULL, GROWS);
#ifdef __x86_64__
        interrupt_everywhere(&by_function, "calls,hooks=calls", NULL, GROWS);
#endif
    }
}
TEST(a_handler_may_evict_what_is_being_entered)
{
    interrupt_everywhere(&by_scope, "calls", NULL, PUSHES | EVICTS);
}
TEST(so_it_may_in_a_function_that_tells_of_both_its_ends)
{
    interrupt_everywhere(&by_hook, "calls", NULL, PUSHES);
    interrupt_everywhere(&by_hook, "calls", NULL, PUSHES | EVICTS);
}
TEST(and_a_sample_that_evicts) { interrupt_everywhere(&by_hook, "calls", NULL, EVICTS); }
TEST(and_a_new_recording)
{
    interrupt_everywhere(&by_hook, "calls", "calls,budget=1M", RESTARTS);
    interrupt_everywhere(&by_hook, "calls", "calls,budget=1M", RESTARTS | PUSHES);
}
TEST(so_it_may_if_both_are_inlined_at_one_place)
{
    interrupt_everywhere(&by_inlined, "calls", NULL, PUSHES | EVICTS);
}
TEST(where_a_segment_of_the_stack_ends_too)
{
    interrupt_everywhere(&by_scope, "calls", NULL, PUSHES | EVICTS | DEEP);
    interrupt_everywhere(&by_hook, "calls", NULL, PUSHES | EVICTS | DEEP);
}
TEST(so_they_may_in_a_function_that_tells_of_its_beginning)
{
#ifndef __x86_64__
    SKIP("it is called in another way there");
#endif
    interrupt_everywhere(&by_mcount, "calls", NULL, PUSHES);
    interrupt_everywhere(&by_mcount, "calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_mcount, "calls", NULL, EVICTS);
    interrupt_everywhere(&by_mcount, "calls", "calls,budget=1M", RESTARTS | PUSHES);
}
TEST(a_handler_may_leave_by_longjmp_what_is_being_entered)
{
    interrupt_everywhere(&by_scope, "calls", NULL, PUSHES | JUMPS);
    interrupt_everywhere(&by_hook, "calls", NULL, PUSHES | JUMPS);
#ifdef __x86_64__
    interrupt_everywhere(&by_mcount, "calls", NULL, PUSHES | JUMPS);
#endif
}

TEST(so_it_may_what_is_entered_or_left_where_that_is_timed)
{
    interrupt_everywhere(&by_scope, "exact", NULL, PUSHES | JUMPS);
    interrupt_everywhere(&by_push, "exact", NULL, PUSHES | JUMPS);
    interrupt_everywhere(&by_hook, "exact,hooks=exact", NULL, PUSHES | JUMPS);
}

TEST(a_push_may_be_interrupted_anywhere)
{
    interrupt_everywhere(&by_push, "calls", NULL, PUSHES);
    interrupt_everywhere(&by_push, "calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_push, "calls", "calls,budget=1M", RESTARTS | PUSHES);
    interrupt_everywhere(&by_push, "calls", NULL, PUSHES | JUMPS);
}
TEST(a_step_may_be_interrupted_anywhere)
{
    interrupt_everywhere(&by_step, "calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_step, "calls", NULL, PUSHES | JUMPS);
    interrupt_everywhere(&by_step, "exact,clock=caller", NULL, PUSHES);
    interrupt_everywhere(&by_step, "exact,clock=caller", NULL, PUSHES | JUMPS);
}
TEST(a_tail_call_may_be_interrupted_anywhere)
{
    interrupt_everywhere(&by_tail, "calls", NULL, PUSHES);
    interrupt_everywhere(&by_tail, "calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_tail, "exact", NULL, PUSHES);
}
TEST(a_captured_context_may_be_interrupted_anywhere)
{
    interrupt_everywhere(&by_context, "calls", NULL, PUSHES);
    interrupt_everywhere(&by_context, "calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_context, "exact", NULL, PUSHES);
}
TEST(a_function_that_is_switched_on_may_be_interrupted_anywhere)
{
#ifndef __x86_64__
    SKIP("functions are switched on x86-64 only");
#endif
    interrupt_everywhere(&by_function, "calls,hooks=calls", NULL, PUSHES);
    interrupt_everywhere(&by_function, "calls,hooks=calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_function, "calls,hooks=calls", NULL, PUSHES | JUMPS);
    interrupt_everywhere(&by_function, "calls,hooks=every", NULL, PUSHES);
    interrupt_everywhere(&by_function, "exact,hooks=exact", NULL, PUSHES);
    interrupt_everywhere(&by_function, "exact,hooks=exact", NULL, PUSHES | JUMPS);
}
TEST(so_may_a_tail_call_of_such_a_function)
{
#ifndef __x86_64__
    SKIP("functions are switched on x86-64 only");
#endif
    interrupt_everywhere(&by_jump, "calls,hooks=calls", NULL, PUSHES);
    interrupt_everywhere(&by_jump, "calls,hooks=calls", NULL, PUSHES | EVICTS);
    interrupt_everywhere(&by_jump, "calls,hooks=calls", NULL, PUSHES | JUMPS);
}
