/* SPDX-License-Identifier: MIT */
/* descriptors.c - which pipe, socket or eventfd a file descriptor is.
 *
 * A child of vfork has other descriptors but its parent's memory: what it forgets here, its
 * parent looks at again; an eventfd it must not forget. */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "lock-place.h"
#include "preload.h"
#include "system-call.h"
#include "wake-board.h"

enum { WATCHED = 512 };

uint64_t tt_descriptor_word[TT_DESCRIPTORS];

static struct {
    uint64_t peer[TT_DESCRIPTORS]; /* of sockets */
    dev_t event_device;            /* of all eventfds */
    ino_t event_inode;
    uint32_t watched;        /* entries of `watch` in use, at most */
    uint64_t watch[WATCHED]; /* set << 32 | descriptor; 0: free */
} known;

/* ── Looking ──────────────────────────────────────────────────────────────────────── */

static uint64_t identity_of(uint64_t a, uint64_t b)
{
    const uint64_t mixed = tt_lock_mix(a * 0x9e3779b97f4a7c15u + b);

    return tt_descriptor_identity(mixed) | (TT_FD_KIND + 1);
}

static enum tt_descriptor_kind end_of_pipe(int fd)
{
    const long flags = tt_call_system(SYS_fcntl, (long[6]){fd, F_GETFL});

    if (flags < 0 || (flags & O_ACCMODE) == O_RDWR)
        return TT_FD_OTHER;
    return (flags & O_ACCMODE) == O_WRONLY ? TT_FD_WRITES : TT_FD_READS;
}

/* Returns a word, and the peer of a socket; TT_FD_UNKNOWN if there is no such file. */
static uint64_t look(int fd, uint64_t *peer)
{
    enum tt_descriptor_kind kind = TT_FD_OTHER;
    uint64_t identity;
    struct stat s;

    *peer = 0;
    if (fstat(fd, &s) != 0)
        return TT_FD_UNKNOWN;
    identity = identity_of(s.st_dev, s.st_ino);
    if (S_ISFIFO(s.st_mode)) {
        kind = end_of_pipe(fd);
    } else if (S_ISSOCK(s.st_mode)) {
        *peer = tt_wake_peer(identity);
        kind = *peer ? TT_FD_SOCKET : TT_FD_OTHER;
    }
    return kind == TT_FD_OTHER ? TT_FD_OTHER : identity | (uint64_t)kind;
}

static void keep(int fd, uint64_t word, uint64_t peer)
{
    __atomic_store_n(&known.peer[fd], peer, __ATOMIC_RELEASE);
    __atomic_store_n(&tt_descriptor_word[fd], word, __ATOMIC_RELEASE);
}

uint64_t tt_descriptor_look(int fd)
{
    const int saved = errno;
    uint64_t peer, word = look(fd, &peer);

    if (word != TT_FD_UNKNOWN)
        keep(fd, word, peer);
    errno = saved;
    return word == TT_FD_UNKNOWN ? TT_FD_OTHER : word;
}

uint64_t tt_descriptor_peer(int fd, uint64_t word)
{
    return tt_descriptor_kind(word) == TT_FD_SOCKET
               ? __atomic_load_n(&known.peer[fd], __ATOMIC_ACQUIRE)
               : tt_descriptor_identity(word);
}

/* It was the one end of a pipe, and pipes keep their ends. */
static int is_same(int fd, uint64_t word)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return 0;
    if (tt_descriptor_kind(word) == TT_FD_EVENT)
        return s.st_dev == known.event_device && s.st_ino == known.event_inode;
    return (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode)) &&
           identity_of(s.st_dev, s.st_ino) == tt_descriptor_identity(word);
}

int tt_descriptor_is_still(int fd, uint64_t word)
{
    const int saved = errno;
    const int is_still = is_same(fd, word);

    if (!is_still)
        (void)__atomic_compare_exchange_n(&tt_descriptor_word[fd], &word, TT_FD_UNKNOWN,
                                          0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    errno = saved;
    return is_still;
}

/* ── Changes ──────────────────────────────────────────────────────────────────────── */

void tt_descriptor_forget(int fd)
{
    uint64_t word;

    if ((unsigned)fd >= TT_DESCRIPTORS)
        return;
    word = __atomic_load_n(&tt_descriptor_word[fd], __ATOMIC_RELAXED);
    if ((word != TT_FD_UNKNOWN || __atomic_load_n(&known.watched, __ATOMIC_RELAXED)) &&
        !tt_preload_is_here()) {
        /* A child of vfork closes its own descriptor, and has our memory.  What is known of
         * pipes is found again. */
        if (tt_descriptor_kind(word) != TT_FD_EVENT)
            __atomic_store_n(&tt_descriptor_word[fd], TT_FD_UNKNOWN, __ATOMIC_RELAXED);
        return;
    }
    __atomic_store_n(&tt_descriptor_word[fd], TT_FD_UNKNOWN, __ATOMIC_RELAXED);
    tt_descriptor_unwatch(-1, fd);
    tt_descriptor_unwatch(fd, -1);
}

void tt_descriptor_copy(int from, int to)
{
    uint64_t word;

    if ((unsigned)from >= TT_DESCRIPTORS || (unsigned)to >= TT_DESCRIPTORS || from == to)
        return;
    word = __atomic_load_n(&tt_descriptor_word[from], __ATOMIC_RELAXED);
    tt_descriptor_forget(to);
    if (tt_descriptor_kind(word) == TT_FD_EVENT && tt_preload_is_here())
        keep(to, word, 0);
}

uint64_t tt_descriptor_made_event(int fd)
{
    const int saved = errno;
    struct stat s;
    uint64_t identity = 0;

    if ((unsigned)fd < TT_DESCRIPTORS && fstat(fd, &s) == 0) {
        known.event_device = s.st_dev;
        known.event_inode = s.st_ino;
        identity = identity_of((uint64_t)getpid() << 32 | (unsigned)fd,
                               tt_clock_monotonic());
        keep(fd, identity | TT_FD_EVENT, 0);
    }
    errno = saved;
    return identity;
}

uint64_t tt_descriptor_made_pair(const int fd[2], uint64_t *peer)
{
    const int saved = errno;
    struct stat a, b;
    uint64_t identity = 0;

    if (fstat(fd[0], &a) == 0 && fstat(fd[1], &b) == 0) {
        identity = identity_of(a.st_dev, a.st_ino);
        *peer = identity_of(b.st_dev, b.st_ino);
        tt_wake_connect(identity, *peer);
        tt_wake_connect(*peer, identity);
    }
    tt_descriptor_forget(fd[0]);
    tt_descriptor_forget(fd[1]);
    errno = saved;
    return identity;
}

/* ── Sets of epoll ────────────────────────────────────────────────────────────────── */

void tt_descriptor_watch(int set, int fd)
{
    const uint64_t entry = (uint64_t)(uint32_t)set << 32 | (uint32_t)fd;
    uint32_t watched;

    if (set <= 0 || tt_descriptor_kind(tt_descriptor(fd)) <= TT_FD_OTHER)
        return;
    tt_descriptor_unwatch(set, fd);
    for (uint32_t i = 0; i < WATCHED; i++) {
        uint64_t is_free = 0;
        if (!__atomic_compare_exchange_n(&known.watch[i], &is_free, entry, 0,
                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            continue;
        watched = __atomic_load_n(&known.watched, __ATOMIC_RELAXED);
        while (watched <= i &&
               !__atomic_compare_exchange_n(&known.watched, &watched, i + 1, 0,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        return;
    }
}

/* -1 is any of them. */
void tt_descriptor_unwatch(int set, int fd)
{
    const uint32_t watched = __atomic_load_n(&known.watched, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < watched; i++) {
        uint64_t entry = __atomic_load_n(&known.watch[i], __ATOMIC_RELAXED);
        if (entry && (set < 0 || (int)(entry >> 32) == set) &&
            (fd < 0 || (int)(uint32_t)entry == fd))
            (void)__atomic_compare_exchange_n(&known.watch[i], &entry, 0, 0,
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

unsigned tt_descriptor_watched(int set, int *fd, unsigned most)
{
    const uint32_t watched = __atomic_load_n(&known.watched, __ATOMIC_RELAXED);
    unsigned count = 0;

    for (uint32_t i = 0; i < watched && count < most; i++) {
        const uint64_t entry = __atomic_load_n(&known.watch[i], __ATOMIC_ACQUIRE);
        if (entry && (int)(entry >> 32) == set)
            fd[count++] = (int)(uint32_t)entry;
    }
    return count;
}
