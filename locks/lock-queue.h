/* SPDX-License-Identifier: MIT */
/* lock-queue.h - a lock with waiting threads: their number, and its releases.
 *
 *      waits since ─┬─────────┬──────┬───── has it
 *                   └ release └ release └ release: a time, and a path (lock-paths.h)
 *
 * A thread that releases a lock while others wait for it stores its context; a waiter
 * reads there the threads that it waited for, in their order.  If a waiter does not
 * return, because it was cancelled or left by longjmp, releases are stored unread, up to
 * a limit. */
#ifndef TT_LOCK_QUEUE_H
#define TT_LOCK_QUEUE_H

#include "lock-table.h"
#include "tallytree.h"

enum { TT_LOCK_RELEASES = 64 };

struct tt_lock_queue {
    uintptr_t address;    /* of the lock; 0: none */
    struct tt_lock *lock; /* in the table */
    uint32_t waiters, unread;
    uint32_t count; /* releases stored so far; the next one's index is the remainder */
    uint32_t epoch; /* of the recording of `name` */
    tt_block name;  /* the block that names the lock; 0: not known yet */
    int is_symbol;  /* the lock is in a module's data, and not named by its origin */
    struct tt_lock_release {
        uint64_t when; /* ns; 0: it is being written; stored last */
        uint32_t path, spare;
    } release[TT_LOCK_RELEASES];
};

/* Adds a waiter, from the call at `caller` on.  NULL: there is no room. */
struct tt_lock_queue *tt_lock_queue_join(const void *lock, uintptr_t caller);
void tt_lock_queue_leave(struct tt_lock_queue *);

/* Ends the lock's queue, if it has one without waiters. */
void tt_lock_queue_end(struct tt_lock *);

/* The lock has another origin now. */
static inline void tt_lock_unname(const struct tt_lock *l)
{
    struct tt_lock_queue *q = __atomic_load_n(&l->queue, __ATOMIC_ACQUIRE);

    if (q)
        __atomic_store_n(&q->name, 0, __ATOMIC_RELEASE);
}

static inline int tt_lock_queue_waits(const struct tt_lock_queue *q)
{
    return q && __atomic_load_n(&q->waiters, __ATOMIC_RELAXED);
}

void tt_lock_queue_release(struct tt_lock_queue *, uint64_t when, uint32_t path);

/* In the child of a fork: there are no waiters. */
void tt_lock_queues_forked(void);

#endif
