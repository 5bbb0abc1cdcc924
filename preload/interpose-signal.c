/* SPDX-License-Identifier: MIT */
/* interpose-signal.c - the signal of our timers, which no program can use.
 *
 * The C library reserves the first real-time signals: programs cannot handle, block or
 * wait for them, sigfillset() omits them, and SIGRTMIN comes after them.  Our timers send
 * the one by which pthread_cancel() interrupts a thread.  So nothing has to be hidden
 * from the program, whatever it does with signals.  The library checks the sender of that
 * signal and ignores ours, so it does no harm if its handler is installed for a moment
 * instead of ours.  Our handler passes all other signals on to that of the library. */
#include "interpose-signal.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose-exec.h"
#include "interpose-fault.h"
#include "next-function.h"
#include "peek.h"
#include "preload.h"
#include "sampler.h"
#include "system-call.h"

enum { CANCEL_SIGNAL = 32 }; /* of glibc; musl uses it for its timers */

TT_NEXT_FUNCTION(int, pthread_cancel, pthread_t);

int tt_preload_signal(void) { return CANCEL_SIGNAL; }

/* ── The handler ──────────────────────────────────────────────────────────────────── */

struct system_action { /* in the system's layout */
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* The C library's sigaction refuses this signal.  Debuggers and unwinders recognise the
 * return address of a handler by exactly these bytes; they also read the byte before. */
#if defined __x86_64__
enum { HAS_RESTORER = 0x04000000 };
extern const char tt_signal_return[] __attribute__((visibility("hidden")));
__asm__(".text\n\tnop\n\t.globl tt_signal_return\n\t.type tt_signal_return, @function\n"
        "tt_signal_return:\n\t.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n\t"
        ".size tt_signal_return, .-tt_signal_return\n");
#else
enum { HAS_RESTORER = 0 };
static const char *const tt_signal_return = NULL;
#endif

static struct system_action to_system(const struct sigaction *a)
{
    struct system_action s = {.handler = *(void *const *)&a->sa_handler,
                              .flags = (unsigned long)(unsigned)a->sa_flags};

    memcpy(&s.mask, &a->sa_mask, sizeof s.mask);
    if (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN) {
        s.flags |= HAS_RESTORER;
        s.restorer = (void *)(uintptr_t)tt_signal_return;
    }
    return s;
}

static void from_system(struct sigaction *a, const struct system_action *s)
{
    memset(a, 0, sizeof *a);
    *(void **)&a->sa_handler = s->handler;
    a->sa_flags = (int)(s->flags & ~(unsigned long)HAS_RESTORER);
    memcpy(&a->sa_mask, &s->mask, sizeof s->mask);
}

int tt_preload_sigaction(int number, const struct sigaction *wanted,
                         struct sigaction *before)
{
    struct system_action new = {0}, old = {0};
    long error;

    if (wanted)
        new = to_system(wanted);
    error = tt_call_system(SYS_rt_sigaction,
                           (long[6]){number, wanted ? (long)(uintptr_t) & new : 0,
                                     (long)(uintptr_t)&old, sizeof new.mask});
    if (error || !before)
        return (int)error;
    from_system(before, &old);
    return 0;
}

/* A parent that does not use the C library may have left it blocked. */
void tt_preload_unblock(void)
{
    const uint64_t set = (uint64_t)1 << (CANCEL_SIGNAL - 1);

    (void)tt_call_system(SYS_rt_sigprocmask,
                         (long[6]){SIG_UNBLOCK, (long)(uintptr_t)&set, 0, sizeof set});
}

/* The first call in a process replaces our handler by the C library's. */
TT_INTERPOSE int pthread_cancel(pthread_t thread)
{
    int error = next_pthread_cancel()(thread);

    if (tt_looker && __atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        (void)tt_sampler_signal();
    return error;
}

/* ── Stacks for signals ───────────────────────────────────────────────────────────── */

static __thread stack_t lent; /* ss_sp NULL: none */

static int set_stack(const stack_t *wanted, stack_t *before)
{
    return (int)tt_call_system(
        SYS_sigaltstack, (long[6]){(long)(uintptr_t)wanted, (long)(uintptr_t)before});
}

int tt_preload_lend(char *stack, size_t size)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now = none;
    int saved = errno, done = 0;

    if (set_stack(NULL, &now) == 0) {
        if (stack && (now.ss_flags & SS_DISABLE)) {
            lent = (stack_t){.ss_sp = stack, .ss_size = size};
            done = set_stack(&lent, NULL) == 0;
        } else if (!stack && lent.ss_sp && now.ss_sp == lent.ss_sp) {
            (void)set_stack(&none, NULL);
        }
    }
    if (!done)
        lent.ss_sp = NULL;
    errno = saved;
    return done;
}

/* The system does not change a signal stack that the stack pointer is in.  A handler of the
 * program that runs on a lent one does not know that: the pointer is below it during the call. */
static int set_used_stack(const stack_t *wanted, stack_t *before)
{
    const uint64_t all = UINT64_MAX;
    uint64_t mask;
    long result = SYS_sigaltstack;

    if (tt_call_system(SYS_rt_sigprocmask,
                       (long[6]){SIG_SETMASK, (long)(uintptr_t)&all,
                                 (long)(uintptr_t)&mask, sizeof all}) != 0)
        return -1;
#if defined __x86_64__
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %[low], %%rsp\n\tsyscall\n\t"
                     "movq %%rbx, %%rsp"
                     : "+a"(result)
                     : "D"(wanted), "S"(before), [low] "d"(lent.ss_sp)
                     : "rbx", "rcx", "r11", "memory");
#elif defined __aarch64__
    register long x8 __asm__("x8") = result;
    register long x0 __asm__("x0") = (long)(uintptr_t)wanted;
    register long x1 __asm__("x1") = (long)(uintptr_t)before;

    __asm__ volatile("mov x9, sp\n\tmov sp, %[low]\n\tsvc 0\n\tmov sp, x9"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), [low] "r"(lent.ss_sp)
                     : "x9", "memory");
    result = x0;
#endif
    (void)tt_call_system(SYS_rt_sigprocmask,
                         (long[6]){SIG_SETMASK, (long)(uintptr_t)&mask, 0, sizeof mask});
    if (result < 0)
        errno = (int)-result;
    return result < 0 ? -1 : 0;
}

static int has_lent(stack_t *now)
{
    return set_stack(NULL, now) == 0 && now->ss_sp == lent.ss_sp;
}

/* If the program has no signal stack it is shown none; when it removes its own, it sees
 * none again.  The system reads and writes the program's memory: it may refuse an address. */
TT_INTERPOSE int sigaltstack(const stack_t *wanted, stack_t *before)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now = none;
    int saved = errno, error = set_stack(wanted, before);

    if (!lent.ss_sp)
        return error;
    if (error && errno == EPERM && has_lent(&now)) {
        errno = saved;
        error = set_used_stack(wanted, before);
    }
    if (!error && before && before->ss_sp == lent.ss_sp)
        *before = none;
    saved = errno;
    if (wanted && set_stack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
        (void)set_stack(&lent, NULL);
    errno = saved;
    return error;
}

/* ── Limits that the program sets itself ──────────────────────────────────────────── */

long tt_preload_call(long number, ...) __attribute__((used, visibility("hidden")));

/* The C library's syscall. */
long (*tt_next_syscall)(long, ...)
    __attribute__((used, visibility("hidden"))) = tt_preload_call;
long (*tt_system_function)(long, ...);

static void cease(const char *until)
{
    if (tt_looker && __atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        tt_preload_cease(until);
}

/* A filter of system calls does not know ours, and would kill the process for them.  What
 * it starts inherits the filter. */
static void before_filter(void)
{
    tt_preload_start_without_us();
    cease("; until it filtered its calls, without what it then started");
}

/* Without a filter the call only asks: can there be filters? */
static int is_filter(const long a[6]) { return a[1] != SECCOMP_MODE_FILTER || a[2]; }

static void before_prctl(const long a[6])
{
    if (a[0] == PR_SET_SECCOMP && is_filter(a))
        before_filter();
    if (a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV) {
        tt_preload_start_without_us();
        cease("; until it forbade the counter, without what it then started");
    }
    if (a[0] == PR_SET_SYSCALL_USER_DISPATCH && a[1] != PR_SYS_DISPATCH_OFF) {
        cease("; until it handled its system calls itself");
        if (tt_next_syscall != tt_preload_call)
            tt_system_function = tt_next_syscall;
    }
}

TT_INTERPOSE int prctl(int option, ...)
{
    long a[6] = {option};
    va_list list;

    va_start(list, option);
    for (int i = 1; i < 5; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    before_prctl(a);
    return (int)tt_call_system(SYS_prctl, a);
}

/* ── Namespaces ───────────────────────────────────────────────────────────────────── */

TT_INTERPOSE int unshare(int flags)
{
    return (int)tt_preload_call_alone(SYS_unshare, (long[6]){flags});
}

TT_INTERPOSE int setns(int fd, int type)
{
    return (int)tt_preload_call_alone(SYS_setns, (long[6]){fd, type});
}

/* ── Calls by number ──────────────────────────────────────────────────────────────── */

/* Some programs reset all signals before they start another program, by calls that the C
 * library does not see.  Our timers' signal would kill them: the action they set is kept
 * for signals that are not ours. */
static long set_our_action(const long a[6])
{
    const struct system_action *wanted = (const void *)(uintptr_t)a[1];
    struct system_action *out = (void *)(uintptr_t)a[2];
    struct sigaction new, old;
    long error = tt_call_system(SYS_rt_sigaction,
                                (long[6]){a[0], 0, a[2], a[3]}); /* EFAULT */

    if (error)
        return error;
    if (wanted &&
        (!tt_peek_can((uintptr_t)wanted) || !tt_peek_can((uintptr_t)(wanted + 1) - 1))) {
        errno = EFAULT;
        return -1;
    }
    if (wanted)
        from_system(&new, wanted);
    tt_sampler_pass(wanted ? &new : NULL, &old);
    if (out)
        *out = to_system(&old);
    return 0;
}

static int is_our_action(long number, const long a[6])
{
    return number == SYS_rt_sigaction && a[0] == CANCEL_SIGNAL && tt_looker &&
           __atomic_load_n(&tt_on, __ATOMIC_RELAXED) && tt_preload_is_here();
}

static long become(long number, const long a[6])
{
    tt_preload_leave();
    return tt_preload_stay((int)tt_call_system(number, a));
}

long tt_preload_call(long number, ...)
{
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_seccomp && a[0] != SECCOMP_GET_ACTION_AVAIL &&
        a[0] != SECCOMP_GET_NOTIF_SIZES && (a[0] != SECCOMP_SET_MODE_FILTER || a[2]))
        before_filter();
    if (number == SYS_prctl)
        before_prctl(a);
    if (is_our_action(number, a))
        return set_our_action(a);
    if (number == SYS_rt_sigaction)
        return tt_preload_set_action(a);
    if (number == SYS_execve)
        return tt_preload_execve(a);
    if (number == SYS_execveat)
        return become(number, a);
    if (number == SYS_unshare || number == SYS_setns)
        return tt_preload_call_alone(number, a);
    return tt_call_system(number, a);
}

/* A child that begins on a stack that the program gives it, or on its parent's, must not
 * return through a frame of this library: these calls jump to the C library's function,
 * and leave no frame here. */
void tt_preload_find_syscall(void)
{
    void *next = tt_next_function("syscall");

    if (next)
        *(void **)&tt_next_syscall = next;
}

#if defined __x86_64__
__asm__(
    ".text\n\t.globl syscall\n\t.type syscall, @function\nsyscall:\n\t.cfi_startproc\n\t"
    "cmpq $58, %rdi\n\tje 1f\n\t"                             /* vfork */
    "cmpq $435, %rdi\n\tje 1f\n\t"                            /* clone3 */
    "cmpq $56, %rdi\n\tjne 2f\n\ttestq %rdx, %rdx\n\tje 2f\n" /* clone, with a stack */
    "1:\tjmpq *tt_next_syscall(%rip)\n2:\tjmp tt_preload_call\n\t"
    ".cfi_endproc\n\t.size syscall, .-syscall\n");
_Static_assert(SYS_vfork == 58 && SYS_clone3 == 435 && SYS_clone == 56,
               "as in the above");
#elif defined __aarch64__
__asm__(
    ".text\n\t.globl syscall\n\t.type syscall, %function\nsyscall:\n\t.cfi_startproc\n\t"
    "cmp x0, #435\n\tb.eq 1f\n\t"             /* clone3 */
    "cmp x0, #220\n\tb.ne 2f\n\tcbz x2, 2f\n" /* clone, with a stack */
    "1:\tadrp x16, tt_next_syscall\n\tldr x16, [x16, :lo12:tt_next_syscall]\n\tbr x16\n"
    "2:\tb tt_preload_call\n\t.cfi_endproc\n\t.size syscall, .-syscall\n");
_Static_assert(SYS_clone3 == 435 && SYS_clone == 220, "as in the above");
#endif
