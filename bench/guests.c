/* SPDX-License-Identifier: MIT */
/* guests.c - what the functions of an interpreter add to the look at a stack, in any program.
 *
 * Preloaded into an interpreter, this interrupts it a hundred times in a second of CPU time.
 * The interrupted stack is unwound natively, and with the interpreter's functions: with other
 * data in the processor's caches, as most samples find it, and warm, again and again.  One
 * thread alone is looked at: the first that was interrupted after the start.  Prints rows of a
 * table, and ends the program. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "bench.h"
#include "graft.h"
#include "strand.h"

enum { WARM = 10, MAX = 4000, STACK = 256 << 10, START_US = 1500000 };

static struct tt_grafting graft;
static double ns[2][2][MAX], added[2][MAX], natives[MAX], functions[MAX]; /* warm, with */
static size_t stacks, bad, empty;
static volatile int owner, stopped;
static char spare[STACK] __attribute__((aligned(64)));

/* Frames of compiled code are native ones. */
static int unwind_natively(const ucontext_t *context)
{
    struct tt_grafting *g = &graft;

    g->stack = (struct tt_unwound){.frame = g->frame,
                                   .room = TT_STEPS_MAX - 2,
                                   .cache = &g->cache,
                                   .generated = tt_interpreters_generated()};
    tt_registers_of_context(&g->registers, context);
    tt_modules_hold(&g->hold);
    tt_peek_own(&g->peek, (const char *)g->registers.value[TT_REGISTER_SP], g->stack_end);
    tt_native_unwind(&g->stack, g->hold.modules, &g->registers, &g->peek);
    tt_modules_release(&g->hold);
    return g->stack.count != 0;
}

static int unwind(const ucontext_t *context)
{
    int done;

    tt_registers_of_context(&graft.registers, context);
    done = tt_graft_unwind(&graft);
    tt_graft_release(&graft);
    return done;
}

static double time_of(const ucontext_t *context, int with, int times)
{
    double begin = bench_now();

    for (int i = 0; i < times; i++)
        bad += !(with ? unwind(context) : unwind_natively(context));
    return (bench_now() - begin) / times;
}

static void measure(void *arg)
{
    const ucontext_t *context = arg;

    (void)unwind(context);
    natives[stacks] = graft.stack.count;
    functions[stacks] = graft.script.stack.count;
    if (!graft.script.stack.count && ++empty)
        return;
    for (int warm = 0; warm < 2; warm++) {
        for (unsigned i = 0; i < 2; i++) {
            const int with = (stacks + i) & 1;
            if (!warm)
                bench_drop_caches();
            ns[warm][with][stacks] = time_of(context, with, warm ? WARM : 1);
        }
        added[warm][stacks] = ns[warm][1][stacks] - ns[warm][0][stacks];
    }
    stacks++;
}

static struct sigaction program; /* its action for faults, which machines for Java need */

/* Loads that fault are resumed, as the recorder does it. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    greg_t *pc = &u->uc_mcontext.gregs[REG_RIP];

    if (*pc >= (greg_t)(uintptr_t)tt_safe_load &&
        *pc < (greg_t)(uintptr_t)tt_safe_load_end)
        *pc = (greg_t)(uintptr_t)tt_safe_failed;
    else if (program.sa_flags & SA_SIGINFO)
        program.sa_sigaction(number, info, context);
    else
        (void)signal(number, SIG_DFL);
}

static void catch_faults(void)
{
    struct sigaction action;

    sigaction(SIGSEGV, NULL, &program);
    action = program;
    action.sa_sigaction = on_fault;
    action.sa_flags |= SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
}

static void begin(int tid)
{
    struct tt_thread *t = tt_thread_enter();

    if (!t)
        return;
    graft.thread = t;
    tt_graft_find_stack(&graft);
    graft.script.wanted = 1;
    tt_safe_loads = 1;
    owner = tid;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int tid = (int)syscall(SYS_gettid), saved = errno;
    const char *name = getenv("GUESTS_THREAD");
    char comm[20] = "";

    (void)number;
    (void)info;
    (void)pthread_getname_np(pthread_self(), comm, sizeof comm);
    if (!stopped && stacks < MAX && !owner && (!name || strcmp(name, comm) == 0) &&
        (!name || tid != getpid()))
        begin(tid);
    if (!stopped && stacks < MAX && owner == tid) {
        tt_safe_thread.direct = TT_SAFE_CALLED;
        tt_call_on_stack(spare + sizeof spare, measure, context);
    }
    errno = saved;
}

static void row(int warm)
{
    double unwound = bench_median(ns[warm][0], stacks),
           walked = bench_median(added[warm], stacks);

    printf("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n",
           tt_interpreters_first()->name, warm ? "warm" : "cold",
           bench_median(natives, stacks), bench_median(functions, stacks), unwound,
           walked, walked / unwound);
}

static void finish(void)
{
    stopped = 1;
    usleep(200000);
    if (!stacks) {
        printf("guests: %s: no stack of %zu could be used\n",
               tt_interpreters_first()->name, empty + bad);
        (void)fflush(stdout);
        _exit(1);
    }
    row(1);
    row(0);
    (void)fflush(stdout);
    _exit(0);
}

static _Noreturn void give_up(const char *why, int error)
{
    printf("guests: %s %d\n", why, error);
    (void)fflush(stdout);
    _exit(1);
}

static void *run(void *seconds)
{
    const struct itimerval every = {{0, 10000}, {0, 10000}};
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigset_t all;
    char words[100];
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    usleep(START_US); /* code is compiled meanwhile */
    tt_graft_init();
    tt_interpreters_find();
    (void)snprintf(words, sizeof words, "output=/tmp/guests.%d", getpid());
    if (!tt_interpreters_first())
        give_up("no interpreter was found", 0);
    if (tt_interpreters_first()->off)
        give_up(tt_interpreters_first()->off, 0);
    error = tt_start(words);
    if (error)
        give_up("cannot begin", error);
    unlink(words + sizeof "output=" - 1);
    action.sa_mask = all;
    sigdelset(&action.sa_mask, SIGSEGV);
    sigaction(SIGPROF, &action, NULL);
    catch_faults();
    setitimer(ITIMER_PROF, &every, NULL);
    for (double end = bench_now() + atof(seconds) * 1e9;
         bench_now() < end && stacks < MAX;)
        usleep(100000);
    finish();
    return NULL;
}

static __attribute__((constructor)) void construct(void)
{
    const char *seconds = getenv("GUESTS_SECONDS");
    pthread_t t;

    unsetenv("LD_PRELOAD");
    if (seconds)
        (void)pthread_create(&t, NULL, run, (void *)(uintptr_t)seconds);
}
