/* SPDX-License-Identifier: MIT */
/* wakes.h - waits for data, for room, and for children, charged to what has ended them.
 *
 *      main ─ read_line ─ [waits: pipe of] ─ make_pipe ─ [woken by] ─ main ─ produce
 *      └ waiter's context ┘                  └ its origin             └ the writer's path
 *
 * The rules of locks.h apply: any thread, handlers too; errno is kept. */
#ifndef TT_WAKES_H
#define TT_WAKES_H

#include <sys/types.h>

#include "locks.h"
#include "wake-board.h"

enum { TT_WAKES = 16 }; /* the most that one wait is for */

struct tt_wake_on {
    int fd;        /* -1: a child */
    uint64_t word; /* of the descriptor */
    uint64_t key;  /* of the event */
    enum tt_lock_kind kind;
    struct tt_wake_slot *slot;
    uint32_t first;
    int is_alone;
};

struct tt_wake_wait {
    uint32_t count; /* 0: it is not recorded */
    struct tt_wake_on *on;
    uint64_t began; /* also if it is not recorded, or 0 */
    tt_context waiter;
    uintptr_t pc;
};

/* The key of the data in a pipe or a socket, or of the room there. */
static inline uint64_t tt_wake_data(uint64_t identity) { return identity | 1; }
static inline uint64_t tt_wake_room(uint64_t identity) { return identity | 2; }

/* What origins are stored by, as those of locks are by addresses: no object has this
 * address. */
static inline const void *tt_wake_origin(uint64_t identity)
{
    return (const void *)(uintptr_t)(identity | (uint64_t)1 << 63); /* NOLINT: a key */
}

/* Ends of the children of a process, and the identity of one. */
uint64_t tt_wake_children(pid_t parent);
uint64_t tt_wake_child(pid_t child);

/* Begins a wait for what is in `on`. */
void tt_wake_begin(struct tt_wake_wait *, const struct tt_caller *);

/* It has ended by an event of this type, of on[i], from any process if `process` is 0. */
void tt_wake_count(const struct tt_wake_wait *, uint32_t i, enum tt_wake_type,
                   pid_t process, uint64_t now);
void tt_wake_end(struct tt_wake_wait *);

/* The event that others wait for is about to happen, by this call; NULL: by the end of the
 * process. */
void tt_wake_note(struct tt_wake_slot *, uint64_t key, enum tt_wake_type,
                  const struct tt_caller *);

#endif
