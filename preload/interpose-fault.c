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
#include <time.h>
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

/* A load beyond the end of a mapped file raises SIGBUS. */
enum { SEGV, BUS, FAULTS };
static const int fault_number[FAULTS] = {SIGSEGV, SIGBUS};

static struct {
    int wanted;    /* an interpreter was found */
    uint32_t lock; /* held with all signals blocked */
    struct action {
        /* The program's handler, and whether that is of type SA_SIGINFO: read by faults. */
        uint64_t program;
        int is_taken; /* the system has our handler */
    } fault[FAULTS];
} front;
static const uint64_t WITH_INFO = (uint64_t)1 << 63; /* no address has that bit */

/* ── Faults ───────────────────────────────────────────────────────────────────────── */

static int is_fault(int number, const siginfo_t *info)
{
    return info->si_code > 0 && !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

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
    if (is_fault(number, info) || tt_safe_thread.direct != TT_SAFE_IN_HANDLER)
        return 0;
    tt_safe_thread.direct = 0;
    for (int i = 0; i < FAULTS; i++)
        sigaddset(&u->uc_sigmask, fault_number[i]);
    return tt_call_system(SYS_rt_tgsigqueueinfo,
                          (long[6]){getpid(), (long)syscall(SYS_gettid), number,
                                    (long)(uintptr_t)info}) == 0;
}

/* The default action: a fault recurs after this, and another signal is sent again.  What raised
 * SIGBUS may be gone: a file grows, too. */
static void end_program(int number, const siginfo_t *info)
{
    const struct sigaction end = {.sa_handler = SIG_DFL};

    (void)tt_preload_sigaction(number, &end, NULL);
    if (number == SIGBUS || !is_fault(number, info))
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* async-signal-safe */
static void on_fault(int number, siginfo_t *info, void *context)
{
    uint64_t program;
    int saved = errno;

    if (is_fault(number, info) && resume_load(context))
        return;
    if (put_off(number, info, context)) {
        errno = saved;
        return;
    }
    program = __atomic_load_n(&front.fault[number == SIGBUS].program, __ATOMIC_ACQUIRE);
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

static void set_safe_loads(void)
{
    __atomic_store_n(&tt_safe_loads,
                     front.fault[SEGV].is_taken && front.fault[BUS].is_taken,
                     __ATOMIC_SEQ_CST);
}

/* Loads of other threads may still fault.  Not forever: a handler of the program that has
 * interrupted one may be waiting for our lock. */
static void await_loads(void)
{
    enum { TIMES = 100 };
    const struct timespec moment = {0, 50000};
    const uint32_t own = (uint32_t)tt_safe_thread.counted;

    for (int i = 0;
         i < TIMES && __atomic_load_n(&tt_safe_readers, __ATOMIC_SEQ_CST) > own; i++)
        (void)tt_call_system(SYS_nanosleep, (long[6]){(long)(uintptr_t)&moment});
}

static void take_front(int fault)
{
    const int number = fault_number[fault];
    struct action *f = &front.fault[fault];
    struct sigaction a;
    uint64_t program;

    if (tt_preload_sigaction(number, NULL, &a) != 0 || is_ours(&a) ||
        a.sa_handler == SIG_IGN || (a.sa_flags & (int)SA_RESETHAND))
        return;
    program = (uintptr_t)a.sa_handler;
    if (program && (a.sa_flags & SA_SIGINFO))
        program |= WITH_INFO;
    __atomic_store_n(&f->program, program, __ATOMIC_RELEASE);
    a.sa_sigaction = on_fault;
    a.sa_flags |= SA_SIGINFO;
    f->is_taken = tt_preload_sigaction(number, &a, NULL) == 0;
    set_safe_loads();
}

static void leave_front(int fault)
{
    const int number = fault_number[fault];
    const uint64_t program = front.fault[fault].program;
    struct sigaction a;

    front.fault[fault].is_taken = 0;
    set_safe_loads();
    await_loads();
    if (tt_preload_sigaction(number, NULL, &a) != 0 || !is_ours(&a))
        return;
    if (!(program & WITH_INFO))
        a.sa_flags &= ~SA_SIGINFO;
    a.sa_handler = (handler)(uintptr_t)(program & ~WITH_INFO);
    (void)tt_preload_sigaction(number, &a, NULL);
}

struct aside {
    int is_aside, fault;
    sigset_t mask;
};

static void lock_front(sigset_t *mask)
{
    sigset_t all;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, mask);
    tt_brief_lock(&front.lock);
}

static void unlock_front(const sigset_t *mask)
{
    tt_brief_unlock(&front.lock);
    (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
}

/* A child of vfork has our memory, but separate actions.  The lock is taken also before an
 * interpreter was found: another thread may be finding one. */
static void step_aside(struct aside *a, int number)
{
    a->fault = number == SIGBUS;
    a->is_aside = number == fault_number[a->fault] && tt_preload_is_here();
    if (!a->is_aside)
        return;
    lock_front(&a->mask);
    if (front.wanted)
        leave_front(a->fault);
}

static void step_back(const struct aside *a)
{
    int saved = errno;

    if (!a->is_aside)
        return;
    if (front.wanted)
        take_front(a->fault);
    unlock_front(&a->mask);
    errno = saved;
}

/* ── The calls ────────────────────────────────────────────────────────────────────── */

enum {
    SIGACTION,
    SIGNAL,
    BSD_SIGNAL,
    SSIGNAL,
    SYSV_SIGNAL,
    SIGSET,
    SIGIGNORE,
    SIGINTERRUPT,
    CALLS
};
static void *next[CALLS];

/* Handlers call these, too, and cannot look up the next ones. */
void tt_preload_find_actions(void)
{
    static const char *const names[CALLS] = {"sigaction", "signal",      "bsd_signal",
                                             "ssignal",   "sysv_signal", "sigset",
                                             "sigignore", "siginterrupt"};

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

/* The C library has both names. */
int also_sigaction(int, const struct sigaction *,
                   struct sigaction *) __asm__("__sigaction");

static int set_action(int number, const struct sigaction *wanted,
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

TT_INTERPOSE int sigaction(int number, const struct sigaction *wanted,
                           struct sigaction *before)
{
    return set_action(number, wanted, before);
}

TT_INTERPOSE int also_sigaction(int number, const struct sigaction *wanted,
                                struct sigaction *before)
{
    return set_action(number, wanted, before);
}

/* As the system's call. */
long tt_preload_set_action(const long a[6])
{
    struct aside aside;
    long result;

    step_aside(&aside, (int)a[0]);
    result = tt_call_system(SYS_rt_sigaction, a);
    step_back(&aside);
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

/* sigset() also blocks or unblocks the signal, and returns whether it was blocked: in the
 * program's mask, which is put back after this. */
static handler set_in_mask(int number, handler wanted, sigset_t *mask)
{
    __typeof__(sigaction) *call = (__typeof__(sigaction) *)next_call(SIGACTION);
    const int was_blocked = sigismember(mask, number);
    struct sigaction before, action = {.sa_handler = wanted};

    if (call(number, wanted == SIG_HOLD ? NULL : &action, &before) != 0)
        return SIG_ERR;
    if (wanted == SIG_HOLD)
        sigaddset(mask, number);
    else
        sigdelset(mask, number);
    return was_blocked ? SIG_HOLD : before.sa_handler;
}

TT_INTERPOSE handler sigset(int number, handler wanted);
handler sigset(int number, handler wanted)
{
    __typeof__(signal) *call = (__typeof__(signal) *)next_call(SIGSET);
    struct aside a;
    handler result;

    step_aside(&a, number);
    result = a.is_aside && wanted != SIG_ERR ? set_in_mask(number, wanted, &a.mask)
                                             : call(number, wanted);
    step_back(&a);
    return result;
}

/* Strict programs call signal() by this name. */
handler also_sysv_signal(int, handler) __asm__("__sysv_signal");
TT_INTERPOSE handler also_sysv_signal(int number, handler wanted)
{
    return set_handler(SYSV_SIGNAL, number, wanted);
}

TT_INTERPOSE int siginterrupt(int number, int interrupts)
{
    int (*call)(int, int) = (int (*)(int, int))next_call(SIGINTERRUPT), result;
    struct aside a;

    step_aside(&a, number);
    result = call(number, interrupts);
    step_back(&a);
    return result;
}

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
    sigset_t mask;
    int is_first;

    if (!RESUMES)
        return;
    lock_front(&mask);
    is_first = !front.wanted;
    front.wanted = 1;
    for (int i = 0; is_first && i < FAULTS; i++) {
        take_front(i);
        tt_native_sampler.open |= (uint64_t)1 << (fault_number[i] - 1);
    }
    unlock_front(&mask);
    if (is_first && tt_looker)
        (void)tt_sampler_signal();
}

void tt_preload_faults_forked(void)
{
    front.lock = TT_BRIEF_FREE;
    tt_safe_readers = (uint32_t)tt_safe_thread.counted;
}
