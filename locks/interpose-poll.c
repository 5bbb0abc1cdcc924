/* SPDX-License-Identifier: MIT */
/* interpose-poll.c - waits for any of several descriptors.
 *
 * If the call would wait, those of them that are pipes, sockets or eventfds are waited for;
 * the wait counts if one of them has ended it.  The call may have invalid pointers, for
 * which the system returns an error: they are not followed here before the system has. */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "interposing-wakes.h"
#include "system-call.h"

#define NEXT tt_next_locks

enum { LOOKED_AT = 1024 }; /* descriptors */

/* `list` adds what is waited for to `wait_`; nothing: the call is not recorded. */
#define WAITS(may, list, call)                                                           \
    do {                                                                                 \
        (void)tt_has_next_locks();                                                       \
        if (tt_locks_are_on() && (may)) {                                                \
            struct tt_wake_on on_[TT_WAKES];                                             \
            struct tt_wake_wait wait_ = {.on = on_};                                     \
            int result_;                                                                 \
            list;                                                                        \
            if (wait_.count) {                                                           \
                struct tt_caller here_ = TT_CALLER();                                    \
                tt_channel_begin_any(&wait_, &here_);                                    \
                result_ = call;                                                          \
                tt_channel_end_any(&wait_, result_);                                     \
                return result_;                                                          \
            }                                                                            \
        }                                                                                \
        return call;                                                                     \
    } while (0)

/* ── poll ─────────────────────────────────────────────────────────────────────────── */

int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
                size_t);

/* Is it a time of nothing?  A timeval and a timespec have the same form; NULL is none. */
static int is_at_once(const void *timeout)
{
    long time[2] = {1, 0};
    struct iovec to = {time, sizeof time},
                 from = {(void *)(uintptr_t)timeout, sizeof time};
    const int saved = errno;

    if (timeout)
        (void)tt_call_system(SYS_process_vm_readv,
                             (long[6]){tt_lock_process(), (long)(uintptr_t)&to, 1,
                                       (long)(uintptr_t)&from, 1});
    errno = saved;
    return !time[0] && !time[1];
}

/* The system says whether the list is valid, and one is ready. */
static void list_polled(struct tt_wake_wait *w, struct pollfd *p, nfds_t count)
{
    const struct timespec none = {0, 0};
    const int saved = errno;

    if (count > LOOKED_AT ||
        tt_call_system(SYS_ppoll, (long[6]){(long)(uintptr_t)p, (long)count,
                                            (long)(uintptr_t)&none}) != 0)
        count = 0;
    errno = saved;
    for (nfds_t i = 0; i < count; i++) {
        const uint64_t word = p[i].fd < 0 ? (uint64_t)TT_FD_OTHER
                                          : tt_descriptor(p[i].fd);
        if (p[i].events & POLLIN)
            tt_channel_add(w, p[i].fd, word, TT_FOR_DATA);
        if (p[i].events & POLLOUT)
            tt_channel_add(w, p[i].fd, word, TT_FOR_ROOM);
    }
}

TT_INTERPOSE int poll(struct pollfd *p, nfds_t count, int timeout)
{
    WAITS(count && timeout, list_polled(&wait_, p, count), NEXT.poll(p, count, timeout));
}

TT_INTERPOSE int __poll_chk(struct pollfd *p, nfds_t count, int timeout, size_t room)
{
    WAITS(count && timeout && count <= room / sizeof *p, list_polled(&wait_, p, count),
          NEXT.__poll_chk(p, count, timeout, room));
}

TT_INTERPOSE int ppoll(struct pollfd *p, nfds_t count, const struct timespec *timeout,
                       const sigset_t *mask)
{
    WAITS(count && !is_at_once(timeout), list_polled(&wait_, p, count),
          NEXT.ppoll(p, count, timeout, mask));
}

TT_INTERPOSE int __ppoll_chk(struct pollfd *p, nfds_t count,
                             const struct timespec *timeout, const sigset_t *mask,
                             size_t room)
{
    WAITS(count && count <= room / sizeof *p && !is_at_once(timeout),
          list_polled(&wait_, p, count), NEXT.__ppoll_chk(p, count, timeout, mask, room));
}

/* ── select ───────────────────────────────────────────────────────────────────────── */

enum { BITS = 8 * sizeof(unsigned long), WORDS = LOOKED_AT / BITS };

/* 0: it is no valid set. */
static int copy_set(unsigned long out[WORDS], fd_set *set, int count)
{
    const size_t size = ((size_t)count + BITS - 1) / BITS * sizeof *out;
    struct iovec to = {out, size}, from = {set, size};
    const int saved = errno;
    long copied;

    if (!set)
        return 1;
    copied = tt_call_system(
        SYS_process_vm_readv,
        (long[6]){tt_lock_process(), (long)(uintptr_t)&to, 1, (long)(uintptr_t)&from, 1});
    errno = saved;
    return copied == (long)size;
}

static void list_set(struct tt_wake_wait *w, const unsigned long set[WORDS], int count,
                     enum tt_channel_for what)
{
    for (int fd = 0; fd < count; fd++)
        if (!set[fd / BITS])
            fd |= (int)BITS - 1;
        else if (set[fd / BITS] >> fd % BITS & 1)
            tt_channel_add(w, fd, tt_descriptor(fd), what);
}

static void list_selected(struct tt_wake_wait *w, int count, fd_set *reads,
                          fd_set *writes)
{
    unsigned long data[WORDS] = {0}, room[WORDS] = {0};

    if (!copy_set(data, reads, count) || !copy_set(room, writes, count))
        return;
    list_set(w, data, count, TT_FOR_DATA);
    list_set(w, room, count, TT_FOR_ROOM);
}

static int can_select(int count, const fd_set *reads, const fd_set *writes)
{
    return count > 0 && count <= LOOKED_AT && (reads || writes);
}

TT_INTERPOSE int select(int count, fd_set *__restrict reads, fd_set *__restrict writes,
                        fd_set *__restrict errors, struct timeval *__restrict timeout)
{
    WAITS(can_select(count, reads, writes) && !is_at_once(timeout),
          list_selected(&wait_, count, reads, writes),
          NEXT.select(count, reads, writes, errors, timeout));
}

TT_INTERPOSE int pselect(int count, fd_set *__restrict reads, fd_set *__restrict writes,
                         fd_set *__restrict errors,
                         const struct timespec *__restrict timeout,
                         const sigset_t *__restrict mask)
{
    WAITS(can_select(count, reads, writes) && !is_at_once(timeout),
          list_selected(&wait_, count, reads, writes),
          NEXT.pselect(count, reads, writes, errors, timeout, mask));
}

/* ── epoll ────────────────────────────────────────────────────────────────────────── */

static void list_watched(struct tt_wake_wait *w, int set)
{
    int fd[TT_WAKES];
    const unsigned count = tt_descriptor_watched(set, fd, TT_WAKES);

    for (unsigned i = 0; i < count; i++)
        tt_channel_add(w, fd[i], tt_descriptor(fd[i]), TT_FOR_DATA);
}

TT_INTERPOSE int epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    int error;

    (void)tt_has_next_locks();
    error = NEXT.epoll_ctl(set, what, fd, event);
    if (error || !tt_locks_are_on())
        return error;
    if (what != EPOLL_CTL_DEL && event && (event->events & EPOLLIN))
        tt_descriptor_watch(set, fd);
    else
        tt_descriptor_unwatch(set, fd);
    return error;
}

TT_INTERPOSE int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    WAITS(timeout, list_watched(&wait_, set),
          NEXT.epoll_wait(set, events, most, timeout));
}

TT_INTERPOSE int epoll_pwait(int set, struct epoll_event *events, int most, int timeout,
                             const sigset_t *mask)
{
    WAITS(timeout, list_watched(&wait_, set),
          NEXT.epoll_pwait(set, events, most, timeout, mask));
}

int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *,
                 const sigset_t *);
TT_INTERPOSE int epoll_pwait2(int set, struct epoll_event *events, int most,
                              const struct timespec *timeout, const sigset_t *mask)
{
    if (tt_has_next_locks() && !NEXT.epoll_pwait2) {
        errno = ENOSYS;
        return -1;
    }
    WAITS(1, list_watched(&wait_, set),
          NEXT.epoll_pwait2(set, events, most, timeout, mask));
}
