/* SPDX-License-Identifier: MIT */
/* descriptors.h - which pipe, socket or eventfd a file descriptor is.
 *
 * A descriptor is looked at when it is first used, and again before it counts for anything:
 * the program may have closed it unseen, and opened something else.  A pipe is known by its
 * inode, also in other processes; a socket if socketpair made it; an eventfd from eventfd()
 * on, as all have one inode, also in children of fork.
 *
 * All functions may be called by any thread, in handlers too, and keep errno. */
#ifndef TT_DESCRIPTORS_H
#define TT_DESCRIPTORS_H

#include <stdint.h>

enum { TT_DESCRIPTORS = 4096 }; /* greater ones are not known */

enum tt_descriptor_kind {
    TT_FD_UNKNOWN, /* so far */
    TT_FD_OTHER,
    TT_FD_READS, /* of a pipe */
    TT_FD_WRITES,
    TT_FD_SOCKET,
    TT_FD_EVENT
};

/* Its kind, and its identity: that of both ends of a pipe, or of a socket. */
extern uint64_t tt_descriptor_word[TT_DESCRIPTORS];
enum { TT_FD_KIND = 15 };

uint64_t tt_descriptor_look(int fd);

static inline uint64_t tt_descriptor(int fd)
{
    uint64_t word = TT_FD_OTHER;

    if (__builtin_expect((unsigned)fd < TT_DESCRIPTORS, 1))
        word = __atomic_load_n(&tt_descriptor_word[fd], __ATOMIC_RELAXED);
    return __builtin_expect(word == TT_FD_UNKNOWN, 0) ? tt_descriptor_look(fd) : word;
}

static inline enum tt_descriptor_kind tt_descriptor_kind(uint64_t word)
{
    return (enum tt_descriptor_kind)(word & TT_FD_KIND);
}

static inline uint64_t tt_descriptor_identity(uint64_t word)
{
    return word & ~(uint64_t)TT_FD_KIND;
}

/* Where data goes that is written there. */
uint64_t tt_descriptor_peer(int fd, uint64_t word);

/* Is it still what the word says?  If not, it is forgotten. */
int tt_descriptor_is_still(int fd, uint64_t word);

/* It is closed, or becomes a copy of another one. */
void tt_descriptor_forget(int fd);
void tt_descriptor_copy(int from, int to);

/* The call that made them has succeeded.  Return an identity. */
uint64_t tt_descriptor_made_event(int fd);
uint64_t tt_descriptor_made_pair(const int fd[2], uint64_t *peer);

/* Which ones a set of epoll waits for: the known ones. */
void tt_descriptor_watch(int set, int fd);
void tt_descriptor_unwatch(int set, int fd); /* fd -1: all of the set */
unsigned tt_descriptor_watched(int set, int *fd, unsigned most);

#endif
