/* SPDX-License-Identifier: MIT */
/* interpose-fault.c - handles faults of our loads from an interpreter's memory, before
 * the program.
 *
 *      the system's action   ours ─ a load of tt_safe_copy: it goes on after it
 *                              └─── anything else: the program's handler, in our place
 *
 * This is active only once an interpreter was found.  The program's action is then in a
 * variable.  The system's action differs from it only in the handler, so that masks,
 * stacks and restarts are the program's.  During the program's calls the system has the
 * program's action: ours is removed before them and put back after.  If the program
 * ignores the signal or wants its handler once, ours is not put back, and tt_safe_read
 * lets the system copy. */
#include "interpose-fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "brief-lock.h"
#include "interpose-signal.h"
#include "native-sampler.h"
#include "next-function.h"
#include "preload.h"
#include "safe-copy.h"
#include "system-call.h"

typedef void (*handler)(int);

static struct {
    int wanted;    /* an interpreter was found */
    uint32_t lock; /* held with all signals blocked */
    uint64_t
        program; /* its handler, and whether that is of type SA_SIGINFO: read by faults */
} front;
static const uint64_t WITH_INFO = (uint64_t)1 << 63; /* no address has that bit */

/* ── Faults ───────────────────────────────────────────────────────────────────────── */

#if defined __x86_64__
static int resume_load(ucontext_t *u)
{
    greg_t *pc = &u->uc_mcontext.gregs[REG_RIP];

    if (*pc < (greg_t)(uintptr_t)tt_safe_load ||
        *pc >= (greg_t)(uintptr_t)tt_safe_load_end)
        return 0;
    *pc = (greg_t)(uintptr_t)tt_safe_failed;
    return 1;
}
enum { RESUMES = 1 };
#else
static int resume_load(ucontext_t *u)
{
    (void)u;
    return 0;
}
enum { RESUMES = 0 };
#endif

/* A signal that was sent, and is no fault, is sent again after our handler has
 * returned. */
static int put_off(int number, siginfo_t *info, ucontext_t *u)
{
    if (info->si_code > 0 || tt_safe_thread.direct != TT_SAFE_IN_HANDLER)
        return 0;
    tt_safe_thread.direct = 0;
    sigaddset(&u->uc_sigmask, number);
    return tt_call_system(SYS_rt_tgsigqueueinfo,
                          (long[6]){getpid(), (long)syscall(SYS_gettid), number,
                                    (long)(uintptr_t)info}) == 0;
}

/* The default action: a fault recurs after this, and a sent signal is sent again. */
static void end_program(int number, const siginfo_t *info)
{
    const struct sigaction end = {.sa_handler = SIG_DFL};

    (void)tt_preload_sigaction(number, &end, NULL);
    if (info->si_code <= 0)
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* async-signal-safe */
static void on_fault(int number, siginfo_t *info, void *context)
{
    uint64_t program;
    int saved = errno;

    if (resume_load(context))
        return;
    if (put_off(number, info, context)) {
        errno = saved;
        return;
    }
    program = __atomic_load_n(&front.program, __ATOMIC_ACQUIRE);
    if (program & WITH_INFO)
        ((void (*)(int, siginfo_t *, void *))(uintptr_t)(program & ~WITH_INFO))(
            number, info, context);
    else if (program)
        ((handler)(uintptr_t)program)(number);
    else
        end_program(number, info);
}

/* ── The action ───────────────────────────────────────────────────────────────────── */

static int is_ours(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == on_fault;
}

static void take_front(void)
{
    struct sigaction a;
    uint64_t program;

    if (tt_preload_sigaction(SIGSEGV, NULL, &a) != 0 || is_ours(&a) ||
        a.sa_handler == SIG_IGN || (a.sa_flags & (int)SA_RESETHAND))
        return;
    program = (uintptr_t)a.sa_handler;
    if (program && (a.sa_flags & SA_SIGINFO))
        program |= WITH_INFO;
    __atomic_store_n(&front.program, program, __ATOMIC_RELEASE);
    a.sa_sigaction = on_fault;
    a.sa_flags |= SA_SIGINFO;
    tt_safe_loads = tt_preload_sigaction(SIGSEGV, &a, NULL) == 0;
}

static void leave_front(void)
{
    struct sigaction a;
    uint64_t program = front.program;

    tt_safe_loads = 0;
    if (tt_preload_sigaction(SIGSEGV, NULL, &a) != 0 || !is_ours(&a))
        return;
    if (!(program & WITH_INFO))
        a.sa_flags &= ~SA_SIGINFO;
    a.sa_handler = (handler)(uintptr_t)(program & ~WITH_INFO);
    (void)tt_preload_sigaction(SIGSEGV, &a, NULL);
}

struct aside {
    int is_aside;
    sigset_t mask;
};

/* A child of vfork has our memory, but separate actions. */
static void step_aside(struct aside *a, int number)
{
    sigset_t all;

    a->is_aside = front.wanted && number == SIGSEGV && tt_preload_is_here();
    if (!a->is_aside)
        return;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &a->mask);
    tt_brief_lock(&front.lock);
    leave_front();
}

static void step_back(const struct aside *a)
{
    int saved = errno;

    if (!a->is_aside)
        return;
    take_front();
    tt_brief_unlock(&front.lock);
    (void)pthread_sigmask(SIG_SETMASK, &a->mask, NULL);
    errno = saved;
}

/* ── The calls ────────────────────────────────────────────────────────────────────── */

enum { SIGACTION, SIGNAL, BSD_SIGNAL, SSIGNAL, SYSV_SIGNAL, SIGSET, SIGIGNORE, CALLS };
static void *next[CALLS];

/* Handlers call these, too, and cannot look up the next ones. */
void tt_preload_find_actions(void)
{
    static const char *const names[CALLS] = {"sigaction", "signal",      "bsd_signal",
                                             "ssignal",   "sysv_signal", "sigset",
                                             "sigignore"};

    for (int i = 0; i < CALLS; i++)
        if (!__atomic_load_n(&next[i], __ATOMIC_ACQUIRE))
            __atomic_store_n(&next[i], tt_next_function(names[i]), __ATOMIC_RELEASE);
}

static void *next_call(int i)
{
    if (!__atomic_load_n(&next[i], __ATOMIC_ACQUIRE))
        tt_preload_find_actions();
    return next[i];
}

TT_INTERPOSE int sigaction(int number, const struct sigaction *wanted,
                           struct sigaction *before)
{
    __typeof__(sigaction) *call = (__typeof__(sigaction) *)next_call(SIGACTION);
    struct aside a;
    int result;

    step_aside(&a, number);
    result = call(number, wanted, before);
    step_back(&a);
    return result;
}

static handler set_handler(int which, int number, handler wanted)
{
    __typeof__(signal) *call = (__typeof__(signal) *)next_call(which);
    struct aside a;
    handler result;

    step_aside(&a, number);
    result = call(number, wanted);
    step_back(&a);
    return result;
}

#define HANDLER(name, index)                                                             \
    TT_INTERPOSE handler name(int, handler);                                             \
    handler name(int number, handler wanted)                                             \
    {                                                                                    \
        return set_handler(index, number, wanted);                                       \
    }                                                                                    \
    struct tt_semicolon

HANDLER(signal, SIGNAL);
HANDLER(bsd_signal, BSD_SIGNAL);
HANDLER(ssignal, SSIGNAL);
HANDLER(sysv_signal, SYSV_SIGNAL);
HANDLER(sigset, SIGSET);

TT_INTERPOSE int sigignore(int number);
int sigignore(int number)
{
    int (*call)(int) = (int (*)(int))next_call(SIGIGNORE), result;
    struct aside a;

    step_aside(&a, number);
    result = call(number);
    step_back(&a);
    return result;
}

/* ── Start ────────────────────────────────────────────────────────────────────────── */

void tt_preload_resume_loads(void)
{
    if (front.wanted || !RESUMES)
        return;
    front.wanted = 1;
    take_front();
    tt_native_sampler.open |= (uint64_t)1 << (SIGSEGV - 1);
    if (tt_looker)
        (void)tt_sampler_signal();
}

void tt_preload_faults_forked(void) { front.lock = TT_BRIEF_FREE; }
