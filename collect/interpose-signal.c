/* SPDX-License-Identifier: MIT */
/* interpose-signal.c - the program's signals stay its own, and ours stays deliverable.
 *
 * Our timers use a signal that programs hardly ever do.  What the program asks of it is
 * kept and done when the signal is not from our timers; from the sets that it blocks or
 * waits for it is taken out, so that a sample never comes late, and is never mistaken for
 * what the program waits for.  All other signals pass through. */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"
#include "sampler.h"

TT_AFTER_US(int, sigaction, int, const struct sigaction *, struct sigaction *);
TT_AFTER_US(sighandler_t, signal, int, sighandler_t);
TT_AFTER_US(int, sigprocmask, int, const sigset_t *, sigset_t *);
TT_AFTER_US(int, pthread_sigmask, int, const sigset_t *, sigset_t *);
TT_AFTER_US(int, sigwait, const sigset_t *, int *);
TT_AFTER_US(int, sigwaitinfo, const sigset_t *, siginfo_t *);
TT_AFTER_US(int, sigtimedwait, const sigset_t *, siginfo_t *, const struct timespec *);
TT_AFTER_US(int, signalfd, int, const sigset_t *, int);

/* A handler must not ask the loader. */
void tt_preload_find(void)
{
    (void)next_sigaction(), (void)next_signal(), (void)next_sigprocmask();
    (void)next_pthread_sigmask(), (void)next_sigwait(), (void)next_sigwaitinfo();
    (void)next_sigtimedwait(), (void)next_signalfd();
}

static int is_ours(int number) { return tt_looker && number == tt_preload_signal(); }

/* The set without our signal. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *room)
{
    if (!set || !tt_looker || sigismember(set, tt_preload_signal()) != 1)
        return set;
    *room = *set;
    sigdelset(room, tt_preload_signal());
    return room;
}

/* ── Handlers ─────────────────────────────────────────────────────────────────────── */

int tt_preload_sigaction(int number, const struct sigaction *wanted,
                         struct sigaction *before)
{
    return next_sigaction()(number, wanted, before);
}

TT_INTERPOSE int sigaction(int number, const struct sigaction *wanted,
                           struct sigaction *before)
{
    struct sigaction changed;

    if (is_ours(number)) {
        struct sigaction copy;
        if (wanted)
            copy = *wanted;
        tt_sampler_instead(wanted ? &copy : NULL, before);
        return 0;
    }
    if (wanted && tt_looker) {
        changed = *wanted;
        sigdelset(&changed.sa_mask, tt_preload_signal());
        wanted = &changed;
    }
    return next_sigaction()(number, wanted, before);
}

TT_INTERPOSE sighandler_t signal(int number, sighandler_t handler)
{
    struct sigaction wanted, before;

    if (!is_ours(number))
        return next_signal()(number, handler);
    memset(&wanted, 0, sizeof wanted);
    wanted.sa_handler = handler;
    wanted.sa_flags = SA_RESTART;
    tt_sampler_instead(&wanted, &before);
    return before.sa_handler;
}

/* ── Sets ─────────────────────────────────────────────────────────────────────────── */

TT_INTERPOSE int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    sigset_t room;

    return next_sigprocmask()(how, how == SIG_UNBLOCK ? set : without_ours(set, &room),
                              before);
}

TT_INTERPOSE int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    sigset_t room;

    return next_pthread_sigmask()(
        how, how == SIG_UNBLOCK ? set : without_ours(set, &room), before);
}

TT_INTERPOSE int sigwait(const sigset_t *set, int *number)
{
    sigset_t room;

    return next_sigwait()(without_ours(set, &room), number);
}

TT_INTERPOSE int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t room;

    return next_sigwaitinfo()(without_ours(set, &room), info);
}

TT_INTERPOSE int sigtimedwait(const sigset_t *set, siginfo_t *info,
                              const struct timespec *limit)
{
    sigset_t room;

    return next_sigtimedwait()(without_ours(set, &room), info, limit);
}

TT_INTERPOSE int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t room;

    return next_signalfd()(fd, without_ours(set, &room), flags);
}

/* ── Sandboxes ────────────────────────────────────────────────────────────────────── */

/* A filter of system calls does not know of ours, and kills for them. */
static void before_filter(void)
{
    if (tt_looker && __atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        tt_preload_cease();
}

TT_INTERPOSE int prctl(int option, ...)
{
    long a[6] = {option};
    va_list list;

    va_start(list, option);
    for (int i = 1; i < 5; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (option == PR_SET_SECCOMP)
        before_filter();
    return (int)tt_call_system(SYS_prctl, a);
}

TT_INTERPOSE long syscall(long number, ...)
{
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_seccomp && a[0] != SECCOMP_GET_ACTION_AVAIL &&
        a[0] != SECCOMP_GET_NOTIF_SIZES)
        before_filter();
    if (number == SYS_prctl && a[0] == PR_SET_SECCOMP)
        before_filter();
    return tt_call_system(number, a);
}
