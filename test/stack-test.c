/* SPDX-License-Identifier: MIT */
/* stack-test.c - stacks unwound by the profiler's own tables: their root, their frames, and
 * what is said of stacks that are not right. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tap.h"
#include "unwind.h"

enum { ROOM = 512 };

static struct tt_native frame[ROOM];
static struct tt_unwound stack = {.frame = frame, .room = ROOM};

/* ── Looking ──────────────────────────────────────────────────────────────────────── */

static void look(const void *ucontext, const char *end)
{
    struct tt_registers r;
    struct tt_peek peek;
    struct tt_hold hold;
    const char *sp;

    tt_registers_of_context(&r, ucontext);
    sp = (const char *)(uintptr_t)r.value[TT_REGISTER_SP];
    tt_peek_own(&peek, sp, end);
    tt_modules_hold(&hold);
    tt_native_unwind(&stack, hold.modules, &r, &peek);
    tt_modules_release(&hold);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    look(ucontext, NULL);
}

static void handle(int number)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART};

    sigaction(number, &action, NULL);
}

/* The place among the frames of the function; -1: it is not there. */
static int find(void *function)
{
    for (unsigned i = 0; i < stack.count; i++)
        if (frame[i].function == (uintptr_t)function)
            return (int)i;
    return -1;
}

/* ── Tests ────────────────────────────────────────────────────────────────────────── */

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE void inner(void)
{
    raise(SIGUSR1);
    __asm__ volatile("");
}

static NOINLINE void outer(void)
{
    inner();
    __asm__ volatile("");
}

TEST(a_stack_leads_from_the_signal_to_the_root)
{
    CHECK_INT(tt_modules_refresh(), 0);
    handle(SIGUSR1);
    outer();
    CHECK_STR(tt_unwind_reason(stack.end), tt_unwind_reason(TT_UNWIND_ROOT));
    CHECK(find((void *)inner) > 0);
    CHECK_INT(find((void *)outer), find((void *)inner) + 1);
}

static int compare(const void *a, const void *b)
{
    if (!stack.count)
        raise(SIGUSR1);
    return *(const int *)a - *(const int *)b;
}

TEST(a_callback_of_the_c_library_leads_to_who_called_it)
{
    int n[] = {3, 1, 2};

    stack.count = 0;
    qsort(n, 3, sizeof *n, compare);
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK(find((void *)compare) > 0);
    CHECK(find((void *)a_callback_of_the_c_library_leads_to_who_called_it) >
          find((void *)compare));
}

static void *thread(void *arg)
{
    outer();
    return arg;
}

TEST(a_thread_has_a_root_of_its_own)
{
    pthread_t t;

    stack.count = 0;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK(find((void *)thread) > find((void *)outer));
}

static void on_alarm(int number)
{
    (void)number;
    inner();
}

TEST(a_handler_leads_to_what_it_interrupted)
{
    unsigned signals = 0;

    signal(SIGUSR2, on_alarm);
    raise(SIGUSR2);
    for (unsigned i = 0; i < stack.count; i++)
        signals += (frame[i].flags & TT_NATIVE_SIGNAL) != 0;
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK_INT(signals, 1);
    CHECK(find((void *)a_handler_leads_to_what_it_interrupted) > find((void *)on_alarm));
}
