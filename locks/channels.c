/* SPDX-License-Identifier: MIT */
/* channels.c - pipes, sockets and eventfds as what threads wait for.
 *
 * Would the call wait?  poll() says it, without changing anything: one more system call of
 * each read.  Only then the descriptor is looked at again, and the wait recorded.  Writers
 * wait less, and mostly again and again, for a reader that is too slow. */
#include "channels.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "clock.h"
#include "system-call.h"

enum { ASKED = 64 };

static const uint64_t took_long = 20000; /* ns */

static struct {
    unsigned char room;    /* for how many writes the system is asked for room */
    unsigned char returns; /* a call has not waited, as for O_NONBLOCK */
} hints[TT_DESCRIPTORS];

/* ── What is waited for ───────────────────────────────────────────────────────────── */

static int can_wait(enum tt_descriptor_kind kind, enum tt_channel_for what)
{
    static const unsigned char can[][2] = {[TT_FD_READS] = {1, 0},
                                           [TT_FD_WRITES] = {0, 1},
                                           [TT_FD_SOCKET] = {1, 1},
                                           [TT_FD_EVENT] = {1, 0}};

    return kind > TT_FD_OTHER && can[kind][what];
}

static enum tt_lock_kind kind_of(enum tt_descriptor_kind kind, enum tt_channel_for what)
{
    if (kind == TT_FD_EVENT)
        return TT_LOCK_EVENTFD;
    if (kind == TT_FD_SOCKET)
        return what == TT_FOR_DATA ? TT_LOCK_SOCKET : TT_LOCK_SOCKET_ROOM;
    return what == TT_FOR_DATA ? TT_LOCK_PIPE : TT_LOCK_PIPE_ROOM;
}

void tt_channel_add(struct tt_wake_wait *w, int fd, uint64_t word,
                    enum tt_channel_for what)
{
    if (!can_wait(tt_descriptor_kind(word), what) || w->count == TT_WAKES)
        return;
    w->on[w->count++] = (struct tt_wake_on){
        .fd = fd,
        .word = word,
        .key = what == TT_FOR_DATA ? tt_wake_data(tt_descriptor_identity(word))
                                   : tt_wake_room(tt_descriptor_peer(fd, word)),
        .kind = kind_of(tt_descriptor_kind(word), what)};
}

static int is_for_room(const struct tt_wake_on *on)
{
    return on->kind == TT_LOCK_PIPE_ROOM || on->kind == TT_LOCK_SOCKET_ROOM;
}

/* What poll() says about those without waiting; the first one that is ready, or -1. */
static int find_ready(const struct tt_wake_wait *w, short *events)
{
    struct pollfd p[TT_WAKES];
    const struct timespec none = {0, 0};
    long a[6] = {(long)(uintptr_t)p, w->count, (long)(uintptr_t)&none};

    for (uint32_t i = 0; i < w->count; i++)
        p[i] = (struct pollfd){.fd = w->on[i].fd,
                               .events = is_for_room(&w->on[i]) ? POLLOUT : POLLIN};
    if (tt_call_system(SYS_ppoll, a) <= 0)
        return -1;
    for (uint32_t i = 0; i < w->count; i++)
        if (p[i].revents) {
            *events = p[i].revents;
            return (int)i;
        }
    return -1;
}

/* ── One ──────────────────────────────────────────────────────────────────────────── */

/* Is there less room in the pipe than a large write needs? */
static int is_too_large(int fd, size_t size)
{
    int used = 0;
    long room;

    if (size <= PIPE_BUF)
        return 0;
    room = tt_call_system(SYS_fcntl, (long[6]){fd, F_GETPIPE_SZ});
    return room > 0 &&
           tt_call_system(SYS_ioctl, (long[6]){fd, FIONREAD, (long)(uintptr_t)&used}) ==
               0 &&
           (unsigned long)room < (unsigned long)used + size;
}

static int would_wait(const struct tt_wake_wait *w, size_t size)
{
    const int fd = w->on[0].fd;
    short events;

    if (find_ready(w, &events) >= 0 && !(w->on[0].kind == TT_LOCK_PIPE_ROOM &&
                                         events == POLLOUT && is_too_large(fd, size)))
        return 0;
    if (__atomic_load_n(&hints[fd].returns, __ATOMIC_RELAXED) &&
        tt_call_system(SYS_fcntl, (long[6]){fd, F_GETFL}) & O_NONBLOCK)
        return 0;
    return tt_descriptor_is_still(fd, w->on[0].word);
}

/* Has a write there lately waited, or is it large? */
static int may_want_room(struct tt_wake_wait *w, int fd, size_t size)
{
    const unsigned char left = __atomic_load_n(&hints[fd].room, __ATOMIC_RELAXED);

    if (left)
        __atomic_store_n(&hints[fd].room, left - 1, __ATOMIC_RELAXED);
    if (left || size > PIPE_BUF)
        return 1;
    w->began = tt_clock_monotonic();
    return 0;
}

void tt_channel_begin(struct tt_wake_wait *w, int fd, uint64_t word,
                      enum tt_channel_for what, size_t size, const struct tt_caller *c)
{
    const int saved = errno;

    w->count = 0;
    if (what == TT_FOR_ROOM && !may_want_room(w, fd, size))
        return;
    tt_channel_add(w, fd, word, what);
    if (w->count && would_wait(w, size))
        tt_wake_begin(w, c);
    else
        w->count = 0;
    errno = saved;
}

void tt_channel_end(struct tt_wake_wait *w, int fd, long result)
{
    const uint64_t now = w->began ? tt_clock_monotonic() : 0;

    if (w->began && now - w->began > took_long)
        __atomic_store_n(&hints[fd].room, ASKED, __ATOMIC_RELAXED);
    if (!w->count)
        return;
    if (result < 0 && errno == EAGAIN)
        __atomic_store_n(&hints[fd].returns, 1, __ATOMIC_RELAXED);
    if (result >= 0)
        tt_wake_count(w, 0,
                      result || is_for_room(&w->on[0]) ? TT_WAKE_BY_DATA : TT_WAKE_BY_END,
                      0, now);
    tt_wake_end(w);
}

/* ── Any of several ───────────────────────────────────────────────────────────────── */

void tt_channel_begin_any(struct tt_wake_wait *w, const struct tt_caller *c)
{
    const int saved = errno;
    uint32_t kept = 0;
    short events;

    if (find_ready(w, &events) >= 0) {
        w->count = 0;
        errno = saved;
        return;
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (tt_descriptor_is_still(w->on[i].fd, w->on[i].word))
            w->on[kept++] = w->on[i];
    w->count = kept;
    if (kept)
        tt_wake_begin(w, c);
    errno = saved;
}

void tt_channel_end_any(struct tt_wake_wait *w, int ready)
{
    const int saved = errno;
    const uint64_t now = tt_clock_monotonic();
    short events = 0;
    int i;

    if (!w->count)
        return;
    i = ready > 0 ? find_ready(w, &events) : -1;
    if (i >= 0)
        tt_wake_count(w, (uint32_t)i,
                      events & (POLLIN | POLLOUT) ? TT_WAKE_BY_DATA : TT_WAKE_BY_END, 0,
                      now);
    tt_wake_end(w);
    errno = saved;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

void tt_channel_note(struct tt_wake_slot *s, int fd, uint64_t word, uint64_t key,
                     enum tt_wake_type type, const struct tt_caller *c)
{
    if (tt_descriptor_is_still(fd, word))
        tt_wake_note(s, key, type, c);
}
