/* SPDX-License-Identifier: MIT */
/* locks.h - waits for locks, charged to the waiter, the lock, and its holder.
 *
 *      main ─ worker ─ put ─ [waits: mutex] ─ queue_lock ─ [held by] ─ main ─ worker ─ slow
 *      └ waiter's context ┘                   └ the lock               └ the holder's path
 *
 * Any thread may call any of these at any time, in a signal handler too: a handler's
 * event that interrupts this code is only counted. errno is kept.  None of them calls
 * malloc. */
#ifndef TT_LOCKS_H
#define TT_LOCKS_H

#include "lock-queue.h"
#include "stack-cache.h"

enum tt_lock_kind {
    TT_LOCK_MUTEX,
    TT_LOCK_READ,
    TT_LOCK_WRITE,
    TT_LOCK_CONDITION, /* from here on: events caused by another thread */
    TT_LOCK_SEMAPHORE,
    TT_LOCK_BARRIER,
    TT_LOCK_THREAD,
    TT_LOCK_KINDS
};

struct tt_lock_wait {
    struct tt_lock_queue *queue; /* NULL: not recorded */
    uint64_t began;
    tt_context waiter;
    uintptr_t taken; /* where the holder took it; or 0 */
    uint32_t first;  /* the first of the queue's releases that may count */
    enum tt_lock_kind kind;
    int counts; /* it was a wait, and not an error */
};

extern int tt_locks_on;

/* Before the recording begins.  Waits count between these times, by the system's clock;
 * end 0: no end. */
void tt_locks_start(uint64_t begin, uint64_t end);
void tt_locks_stop(void);
void tt_locks_forked(void); /* in the child */

/* Begins and ends a wait for a lock that was not free; the wait counts only if `counts`
 * is set in between. */
void tt_lock_wait_begin(struct tt_lock_wait *, const void *lock, enum tt_lock_kind,
                        const struct tt_caller *);
void tt_lock_wait_end(struct tt_lock_wait *);

/* A lock is initialised, by the call that returns to `made`; or destroyed. */
void tt_lock_made(const void *lock, uintptr_t made);
void tt_lock_gone(const void *lock);

/* The lock, taken by the call that returned to `taken` (or 0), is about to be released;
 * or an event that others wait for is about to happen. */
void tt_lock_note_release(struct tt_lock_queue *, const struct tt_caller *,
                          uintptr_t taken);

/* The number of the thread's waits that are not in the tree yet: tt_lock_settle adds
 * them.  Call it when the thread holds no lock that others may want. */
extern __thread uint32_t tt_lock_unsettled;
void tt_lock_settle(void);

#endif
