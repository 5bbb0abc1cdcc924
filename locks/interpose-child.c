/* SPDX-License-Identifier: MIT */
/* interpose-child.c - waits for the ends of children, and the ends of processes.
 *
 * A child is named by the call that made it.  At its end it stores its path for its parent,
 * and for the readers of the pipes that it leaves.  A child that is killed stores nothing.
 * The children of vfork, which share their parent's memory, are made unseen. */
#include "interpose-child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "interposing-wakes.h"
#include "preload.h"
#include "system-call.h"

#define NEXT tt_next_locks

/* ── Making one ───────────────────────────────────────────────────────────────────── */

void tt_locks_spawned(pid_t child, uintptr_t at)
{
    const int saved = errno;

    if (tt_locks_are_on())
        tt_lock_made(tt_wake_origin(tt_wake_child(child)), at);
    errno = saved;
}

TT_INTERPOSE pid_t fork(void)
{
    pid_t child;

    (void)tt_has_next_locks();
    child = NEXT.fork();
    if (child > 0)
        tt_locks_spawned(child, TT_RETURN());
    return child;
}

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

/* Has such a child ended already, or is there none?  It stays as it is. */
static int would_return(idtype_t type, id_t id)
{
    siginfo_t info = {0};

    return tt_call_system(SYS_waitid, (long[6]){type, (long)id, (long)(uintptr_t)&info,
                                                WEXITED | WNOHANG | WNOWAIT}) != 0 ||
           info.si_pid;
}

static void begin_wait(struct tt_wake_wait *w, idtype_t type, id_t id, int options,
                       const struct tt_caller *c)
{
    const int saved = errno;

    if (!tt_locks_are_on() || options & WNOHANG || would_return(type, id)) {
        errno = saved;
        return;
    }
    errno = saved;
    w->on[0] = (struct tt_wake_on){
        .fd = -1, .key = tt_wake_children(getpid()), .kind = TT_LOCK_CHILD};
    w->count = 1;
    tt_wake_begin(w, c);
}

/* A child has ended; 0: it was stopped, or the call has failed. */
static void end_wait(struct tt_wake_wait *w, pid_t child)
{
    if (w->count) {
        if (child > 0)
            tt_wake_count(w, 0, TT_WAKE_BY_END, child, tt_clock_monotonic());
        tt_wake_end(w);
    }
    if (child > 0 && tt_locks_are_on())
        tt_lock_gone(tt_wake_origin(tt_wake_child(child)));
}

/* Returns the child if it has ended. */
static pid_t ended(pid_t child, const int *status, int options)
{
    if (child <= 0 || !(options & (WUNTRACED | WCONTINUED)))
        return child;
    return status && (WIFEXITED(*status) || WIFSIGNALED(*status)) ? child : 0;
}

#define WAIT(type, id, status, options, call)                                            \
    do {                                                                                 \
        struct tt_wake_on on_[1];                                                        \
        struct tt_wake_wait wait_ = {.on = on_};                                         \
        struct tt_caller here_ = TT_CALLER();                                            \
        pid_t child_;                                                                    \
        (void)tt_has_next_locks();                                                       \
        begin_wait(&wait_, type, id, options, &here_);                                   \
        child_ = call;                                                                   \
        end_wait(&wait_, ended(child_, status, options));                                \
        return child_;                                                                   \
    } while (0)

static idtype_t type_of(pid_t pid)
{
    return pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID;
}
static id_t id_of(pid_t pid)
{
    return pid > 0 ? (id_t)pid : pid == -1 ? 0 : 0u - (id_t)pid;
}

TT_INTERPOSE pid_t wait(int *status) { WAIT(P_ALL, 0, status, 0, NEXT.wait(status)); }

TT_INTERPOSE pid_t waitpid(pid_t pid, int *status, int options)
{
    WAIT(type_of(pid), id_of(pid), status, options, NEXT.waitpid(pid, status, options));
}

TT_INTERPOSE pid_t wait3(int *status, int options, struct rusage *used)
{
    WAIT(P_ALL, 0, status, options, NEXT.wait3(status, options, used));
}

TT_INTERPOSE pid_t wait4(pid_t pid, int *status, int options, struct rusage *used)
{
    WAIT(type_of(pid), id_of(pid), status, options,
         NEXT.wait4(pid, status, options, used));
}

static pid_t ended_in(int error, const siginfo_t *info)
{
    const int is_end = !error && info &&
                       (info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
                        info->si_code == CLD_DUMPED);

    return is_end ? info->si_pid : 0;
}

TT_INTERPOSE int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    struct tt_wake_on on[1];
    struct tt_wake_wait w = {.on = on};
    struct tt_caller here = TT_CALLER();
    int error;

    (void)tt_has_next_locks();
    if (options & WEXITED)
        begin_wait(&w, type, id, options, &here);
    error = NEXT.waitid(type, id, info, options);
    end_wait(&w, ended_in(error, info));
    return error;
}

/* ── The end of this process ──────────────────────────────────────────────────────── */

static void note_end(uint64_t key, const struct tt_caller *c)
{
    struct tt_wake_slot *slot = tt_wake_awaited(key);

    if (slot)
        tt_wake_note(slot, key, TT_WAKE_BY_END, c);
}

static void note_descriptors(const struct tt_caller *c)
{
    for (int fd = 0; fd < TT_DESCRIPTORS; fd++) {
        const uint64_t word = fd <= STDERR_FILENO ? tt_descriptor(fd)
                                                  : tt_descriptor_word[fd];
        const enum tt_descriptor_kind kind = tt_descriptor_kind(word);
        if ((kind == TT_FD_WRITES || kind == TT_FD_SOCKET) &&
            tt_wake_awaited(tt_wake_data(tt_descriptor_peer(fd, word))) &&
            tt_descriptor_is_still(fd, word))
            note_end(tt_wake_data(tt_descriptor_peer(fd, word)), c);
    }
}

/* From the call that leads here; NULL: main has returned. */
void tt_locks_exits(const struct tt_caller *c)
{
    static pid_t done;
    const int saved = errno;

    if (!tt_locks_are_on() || !tt_preload_is_here() || done == getpid())
        return;
    done = getpid();
    note_descriptors(c);
    note_end(tt_wake_children(getppid()), c);
    errno = saved;
}

TT_INTERPOSE _Noreturn void exit(int status)
{
    struct tt_caller here = TT_CALLER();

    (void)tt_has_next_locks();
    tt_locks_exits(&here);
    NEXT.exit(status);
    __builtin_unreachable();
}
