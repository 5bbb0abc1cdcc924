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

#include <sys/types.h>

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
    TT_LOCK_PIPE,
    TT_LOCK_PIPE_ROOM,
    TT_LOCK_SOCKET,
    TT_LOCK_SOCKET_ROOM,
    TT_LOCK_EVENTFD,
    TT_LOCK_CHILD,
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
 * end 0: no end.  `folder` is that of the recordings. */
void tt_locks_start(const char *folder, uint64_t begin, uint64_t end);
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

/* ── For other collectors of waits ────────────────────────────────────────────────── */

struct tt_lock_charge;
struct tt_lock_thread;

/* Around what must not be interrupted by an event of a handler.  0: the caller has
 * interrupted such code, or is not seen. */
int tt_lock_event_begin(void);
void tt_lock_event_end(void);

/* In between: the calling thread's part, until tt_lock_leave; NULL: it is not recorded, or
 * not now. */
struct tt_lock_thread *tt_lock_enter(void);
void tt_lock_leave(struct tt_lock_thread *);

/* A new wait of the thread, for the lock of this queue; NULL: it has no name. */
struct tt_lock_charge *tt_lock_charge_add(struct tt_lock_thread *,
                                          struct tt_lock_queue *);

int tt_lock_is_outside(uint64_t now); /* of the time in which waits count */
void tt_lock_lost(void);              /* a wait is not recorded, for want of room */
pid_t tt_lock_process(void);          /* that records */

#endif
