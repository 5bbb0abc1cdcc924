/* SPDX-License-Identifier: MIT */
/* interpose-channel.c - reading and writing pipes, sockets and eventfds.
 *
 * A call with another descriptor costs a look into a table.  A call that reads asks first
 * whether there is data, and one that writes whether there is room; it sees whether threads
 * wait for its event.  The call itself is not changed.  Calls by the C library itself, as of
 * its buffered files, are not seen.  A thread may be cancelled in many of these functions:
 * then the code after them does not run, and nothing depends on it. */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposing-wakes.h"
#include "system-call.h"

#define NEXT tt_next_locks

/* Is it a call that waits? */
static int waits(int flags) { return !(flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)); }

#define READS(type, fd, waits, bytes, call)                                              \
    do {                                                                                 \
        const uint64_t word_ = tt_word_now(fd);                                          \
        if (tt_is_channel(word_)) {                                                      \
            struct tt_wake_on on_[1];                                                    \
            struct tt_wake_wait wait_ = {.on = on_, .began = 0};                         \
            struct tt_caller here_ = TT_CALLER();                                        \
            type result_;                                                                \
            TT_NOTE_WAKE(fd, word_, tt_wake_room(tt_descriptor_identity(word_)),         \
                         TT_WAKE_BY_DATA);                                               \
            if (waits)                                                                   \
                tt_channel_begin(&wait_, fd, word_, TT_FOR_DATA, 0, &here_);             \
            result_ = call;                                                              \
            tt_channel_end(&wait_, fd, bytes);                                           \
            return result_;                                                              \
        }                                                                                \
        return call;                                                                     \
    } while (0)

#define WRITES(type, fd, waits, size, call)                                              \
    do {                                                                                 \
        const uint64_t word_ = tt_word_now(fd);                                          \
        if (tt_is_channel(word_)) {                                                      \
            struct tt_wake_on on_[1];                                                    \
            struct tt_wake_wait wait_ = {.on = on_, .began = 0};                         \
            struct tt_caller here_ = TT_CALLER();                                        \
            type result_;                                                                \
            TT_NOTE_WAKE(fd, word_, tt_wake_data(tt_descriptor_peer(fd, word_)),         \
                         TT_WAKE_BY_DATA);                                               \
            if (waits)                                                                   \
                tt_channel_begin(&wait_, fd, word_, TT_FOR_ROOM, size, &here_);          \
            result_ = call;                                                              \
            tt_channel_end(&wait_, fd, result_);                                         \
            return result_;                                                              \
        }                                                                                \
        return call;                                                                     \
    } while (0)

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *__restrict, size_t, size_t, int,
                       struct sockaddr *__restrict, socklen_t *__restrict);

/* An allocator may read a file while the functions are looked for. */
TT_INTERPOSE ssize_t read(int fd, void *data, size_t size)
{
    if (!tt_has_next_locks())
        return tt_call_system(SYS_read, (long[6]){fd, (long)(uintptr_t)data, (long)size});
    READS(ssize_t, fd, size > 0, result_, NEXT.read(fd, data, size));
}

TT_INTERPOSE ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, size > 0, result_, NEXT.__read_chk(fd, data, size, room));
}

TT_INTERPOSE ssize_t readv(int fd, const struct iovec *data, int count)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, 1, result_, NEXT.readv(fd, data, count));
}

TT_INTERPOSE ssize_t recv(int fd, void *data, size_t size, int flags)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, waits(flags), result_, NEXT.recv(fd, data, size, flags));
}

TT_INTERPOSE ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, waits(flags), result_,
          NEXT.__recv_chk(fd, data, size, room, flags));
}

TT_INTERPOSE ssize_t recvfrom(int fd, void *__restrict data, size_t size, int flags,
                              struct sockaddr *__restrict from,
                              socklen_t *__restrict length)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, waits(flags), result_,
          NEXT.recvfrom(fd, data, size, flags, from, length));
}

TT_INTERPOSE ssize_t __recvfrom_chk(int fd, void *__restrict data, size_t size,
                                    size_t room, int flags,
                                    struct sockaddr *__restrict from,
                                    socklen_t *__restrict length)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, waits(flags), result_,
          NEXT.__recvfrom_chk(fd, data, size, room, flags, from, length));
}

TT_INTERPOSE ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    (void)tt_has_next_locks();
    READS(ssize_t, fd, waits(flags), result_, NEXT.recvmsg(fd, message, flags));
}

TT_INTERPOSE int eventfd_read(int fd, eventfd_t *value)
{
    (void)tt_has_next_locks();
    READS(int, fd, 1, result_ == 0 ? 8 : -1, NEXT.eventfd_read(fd, value));
}

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

TT_INTERPOSE ssize_t write(int fd, const void *data, size_t size)
{
    if (!tt_has_next_locks())
        return tt_call_system(SYS_write,
                              (long[6]){fd, (long)(uintptr_t)data, (long)size});
    WRITES(ssize_t, fd, size > 0, size, NEXT.write(fd, data, size));
}

TT_INTERPOSE ssize_t writev(int fd, const struct iovec *data, int count)
{
    (void)tt_has_next_locks();
    WRITES(ssize_t, fd, 1, 0, NEXT.writev(fd, data, count));
}

TT_INTERPOSE ssize_t send(int fd, const void *data, size_t size, int flags)
{
    (void)tt_has_next_locks();
    WRITES(ssize_t, fd, waits(flags), size, NEXT.send(fd, data, size, flags));
}

TT_INTERPOSE ssize_t sendto(int fd, const void *data, size_t size, int flags,
                            const struct sockaddr *to, socklen_t length)
{
    (void)tt_has_next_locks();
    WRITES(ssize_t, fd, waits(flags), size,
           NEXT.sendto(fd, data, size, flags, to, length));
}

TT_INTERPOSE ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    (void)tt_has_next_locks();
    WRITES(ssize_t, fd, waits(flags), 0, NEXT.sendmsg(fd, message, flags));
}

TT_INTERPOSE int eventfd_write(int fd, eventfd_t value)
{
    (void)tt_has_next_locks();
    WRITES(int, fd, 1, 8, NEXT.eventfd_write(fd, value));
}

/* ── Beginning ────────────────────────────────────────────────────────────────────── */

/* Keeps where something was made. */
static void made(uint64_t identity, uintptr_t at)
{
    const int saved = errno;

    if (identity)
        tt_lock_made(tt_wake_origin(identity), at);
    errno = saved;
}

static void made_pipe(const int fd[2], uintptr_t at)
{
    tt_descriptor_forget(fd[0]);
    tt_descriptor_forget(fd[1]);
    made(tt_descriptor_identity(tt_descriptor(fd[0])), at);
    (void)tt_descriptor(fd[1]); /* it may be closed unused */
}

static void made_pair(const int fd[2], uintptr_t at)
{
    uint64_t peer = 0, identity = tt_descriptor_made_pair(fd, &peer);

    made(identity, at);
    made(peer, at);
}

TT_INTERPOSE int pipe(int fd[2])
{
    int error;

    (void)tt_has_next_locks();
    error = NEXT.pipe(fd);
    if (!error && tt_locks_are_on())
        made_pipe(fd, TT_RETURN());
    return error;
}

TT_INTERPOSE int pipe2(int fd[2], int flags)
{
    int error;

    (void)tt_has_next_locks();
    error = NEXT.pipe2(fd, flags);
    if (!error && tt_locks_are_on())
        made_pipe(fd, TT_RETURN());
    return error;
}

TT_INTERPOSE int socketpair(int domain, int type, int protocol, int fd[2])
{
    int error;

    (void)tt_has_next_locks();
    error = NEXT.socketpair(domain, type, protocol, fd);
    if (!error && tt_locks_are_on())
        made_pair(fd, TT_RETURN());
    return error;
}

TT_INTERPOSE int eventfd(unsigned value, int flags)
{
    int fd;

    (void)tt_has_next_locks();
    fd = NEXT.eventfd(value, flags);
    if (fd >= 0 && tt_locks_are_on())
        made(tt_descriptor_made_event(fd), TT_RETURN());
    return fd;
}

/* ── Ending ───────────────────────────────────────────────────────────────────────── */

/* The number may be another thread's next descriptor once it is closed: it is forgotten
 * before. */
TT_INTERPOSE int close(int fd)
{
    if (!tt_has_next_locks())
        return (int)tt_call_system(SYS_close, (long[6]){fd});
    if (tt_locks_are_on() && (unsigned)fd < TT_DESCRIPTORS) {
        const uint64_t word = tt_descriptor_word[fd];
        if (tt_is_channel(word))
            TT_NOTE_END(fd, word);
        tt_descriptor_forget(fd);
    }
    return NEXT.close(fd);
}

TT_INTERPOSE int shutdown(int fd, int how)
{
    (void)tt_has_next_locks();
    if (how != SHUT_RD) {
        const uint64_t word = tt_word_now(fd);
        if (tt_is_channel(word))
            TT_NOTE_END(fd, word);
    }
    return NEXT.shutdown(fd, how);
}

TT_INTERPOSE int dup(int from)
{
    int fd;

    (void)tt_has_next_locks();
    fd = NEXT.dup(from);
    if (fd >= 0 && tt_locks_are_on())
        tt_descriptor_copy(from, fd);
    return fd;
}

#define COPIES(from, to, call)                                                           \
    do {                                                                                 \
        int fd_;                                                                         \
        (void)tt_has_next_locks();                                                       \
        if (!tt_locks_are_on() || (unsigned)(to) >= TT_DESCRIPTORS)                      \
            return call;                                                                 \
        if ((from) != (to) && tt_is_channel(tt_descriptor_word[to]))                     \
            TT_NOTE_END(to, tt_descriptor_word[to]);                                     \
        fd_ = call;                                                                      \
        if (fd_ >= 0)                                                                    \
            tt_descriptor_copy(from, to);                                                \
        return fd_;                                                                      \
    } while (0)

TT_INTERPOSE int dup2(int from, int to) { COPIES(from, to, NEXT.dup2(from, to)); }

TT_INTERPOSE int dup3(int from, int to, int flags)
{
    COPIES(from, to, NEXT.dup3(from, to, flags));
}
