/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* window-test.c - a signal comes between any two instructions of entering and leaving a
 * scope, and its handler leaves nothing as it was: another recording has begun.
 *
 * A child is let run one instruction at a time, up to the next place for the signal. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "recorded.h"
#include "tap.h"

enum handling { RESTARTS = 1, PUSHES = 2 };

static struct window { /* shared with the child */
    int over, wrong;
    unsigned handled, entered;
} * window;

static const char *mode, *next_mode;
static int handling;

static __attribute__((noinline)) void inner(void) { TT_SCOPE("inner"); }

static void on_signal(int number)
{
    (void)number;
    if (handling & RESTARTS) {
        window->wrong |= tt_stop() != 0 && tt_stop() != -TT_ERR_BUSY;
        (void)tt_start(next_mode);
    }
    if (handling & PUSHES)
        inner();
    else
        tt_add(tt_metric_get("handled", ""), 1);
    window->handled++;
}

static __attribute__((noinline)) void watched(void)
{
    TT_SCOPE("watched");
    window->entered++;
}

static void check(unsigned entered)
{
    struct recorded r = recorded_here();
    uint64_t calls = recorded_calls(&r, "watched");

    window->wrong |= r.error ||
                     (handling & RESTARTS ? calls > entered : calls != entered);
    recorded_free(&r);
}

/* Not raise: while it is in there, musl's lets no signal in. */
static void stop(void) { (void)kill(getpid(), SIGSTOP); }

static int be_watched(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigaction(SIGUSR1, &action, NULL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || tt_start(mode) != 0)
        return 2;
    watched();
    while (!window->over) {
        tt_mark mark = tt_mark_get();
        stop();
        watched();
        stop();
        window->wrong |= tt_mark_get() != mark;
        watched();
        check(window->entered);
    }
    return window->wrong;
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
    for (int i = 0; i < 2; i++) /* to behind the scope, and to before the next */
        if (ptrace(PTRACE_CONT, child, NULL, i ? 0 : SIGUSR1) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
            WSTOPSIG(status) != SIGSTOP) {
            fprintf(stderr, "# at step %u: %x\n", at, (unsigned)status);
            return -1;
        }
    return 1;
}

static void interrupt_everywhere(const char *words, const char *next, int what)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("most of the instructions that are stopped at would be the sanitizer's");
#endif
#ifndef __x86_64__
    SKIP("an exclusive store does not come about one instruction at a time");
#endif
    unsigned steps = 0;
    int status, more = 1;

    mode = words;
    next_mode = next;
    handling = what;
    window = mmap(NULL, sizeof *window, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(be_watched());
    if (!CHECK(waitpid(child, &status, 0) == child))
        return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        SKIP("nothing can be traced here");
    while (more > 0)
        more = interrupt(child, steps++);
    CHECK_INT(more, 0);
    window->over = 1;
    if (more == 0 && ptrace(PTRACE_CONT, child, NULL, NULL) == 0)
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    else
        kill(child, SIGKILL), waitpid(child, &status, 0);
    CHECK(window->handled > 40);
    fprintf(stderr, "# %u steps, %u signals\n", steps, window->handled);
    munmap(window, sizeof *window);
}

TEST(a_handler_that_pushes_may_come_at_any_instruction)
{
    interrupt_everywhere("calls", NULL, PUSHES);
}
TEST(a_handler_that_adds_may_come_at_any_instruction)
{
    interrupt_everywhere("calls", NULL, 0);
}
TEST(a_new_recording_may_begin_at_any_instruction)
{
    interrupt_everywhere("calls", "calls,budget=1M", RESTARTS);
}
TEST(a_new_recording_may_begin_at_any_instruction_and_a_handler_push)
{
    interrupt_everywhere("calls", "calls,budget=1M", RESTARTS | PUSHES);
}
TEST(a_new_recording_may_begin_at_any_instruction_in_mode_every)
{
    interrupt_everywhere("calls", "every=2,budget=1M", RESTARTS);
}
TEST(a_new_recording_may_begin_at_any_instruction_in_mode_exact)
{
    interrupt_everywhere("calls", "exact,budget=1M", RESTARTS);
}
