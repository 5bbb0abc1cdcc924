/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* window-test.c - a signal comes between any two instructions of entering and leaving a
 * scope, or a function whose compiler has it say so, and its handler leaves nothing as it
 * was: another recording has begun, or what was about to be entered has been evicted, or it
 * does not return.
 *
 * A child is let run one instruction at a time, up to the next place for the signal. */
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "block.h"
#include "hooks-quick.h"
#include "next-function.h"
#include "one-cpu.h"
#include "preload.h"
#include "recorded.h"
#include "stack.h"
#include "tap.h"

enum { UNTRACED = 77 }; /* what a child ends with that may not be traced */
enum handling { RESTARTS = 1, PUSHES = 2, EVICTS = 4, DEEP = 8, JUMPS = 16 };

static struct window { /* shared with the child */
    int over, wrong;
    unsigned handled, entered, evictions;
} * window;

static const char *mode, *next_mode;
static int handling;
static sigjmp_buf back;
static volatile int may_jump;

/* As a sample's does where there is no room, in the midst of anything but the slow path. */
static void evict(void)
{
    struct tt_thread *t = tt_self.thread;

    if (!(handling & EVICTS) || !t || t->busy)
        return;
    t->busy++;
    window->evictions += tt_evict_tree(&t->tree, t) != 0;
    t->busy--;
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
static int is_deep(void) { return tt_self.thread->end - tt_self.top <= 2; }

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
    int is_hook;
} by_scope = {scope_watched, scope_inner, NULL, scope_descend, 0},
  by_push = {push_watched, push_inner, NULL, NULL, 0},
  by_hook = {hook_watched, hook_inner, NULL, hook_descend, 1},
  by_mcount = {mcount_watched, mcount_inner, mcount_next, NULL, 1}, *way;

/* hooks.c looks for the C library's own, which are not to be called here. */
void *tt_next_function(const char *name)
{
    (void)name;
    return NULL;
}

static const char *name_of_watched(void)
{
    return way->is_hook
               ? tt_block_entry(tt_hook_find((uintptr_t)way->watched)->block)->info.name
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
    else if (handling & EVICTS)
        evict();
    else
        tt_add(tt_metric_get("handled", ""), 1);
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

/* Runs up to the first stop after it. */
static void be_interrupted(void)
{
    tt_mark mark = tt_mark_get();

    may_jump = handling & JUMPS;
    if (sigsetjmp(back, 1) == 0) {
        stop();
        call();
    } else if (way == &by_push) {
        tt_unwind(mark);
    }
    may_jump = 0;
    stop();
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
    watched_block = tt_block_get("watched", NULL, 0, 0);
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
    int status;

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

static void interrupt_everywhere(const struct way *how, const char *words,
                                 const char *next, int what)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("most of the instructions that are stopped at would be the sanitizer's");
#endif
#ifndef __x86_64__
    SKIP("an exclusive store does not come about one instruction at a time");
#endif
    unsigned steps = 0, stride = tap_is_long() ? 1 : 3;
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
    for (; more > 0; steps += stride)
        more = interrupt(child, steps);
    CHECK_INT(more, 0);
    window->over = 1;
    if (more == 0 && ptrace(PTRACE_CONT, child, NULL, NULL) == 0)
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    else
        kill(child, SIGKILL), waitpid(child, &status, 0);
    CHECK(window->handled > 40 / stride);
    CHECK(!(what & EVICTS) || window->evictions > 40 / stride);
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
