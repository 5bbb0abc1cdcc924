/* SPDX-License-Identifier: MIT */
/* interposing.h - shared by the functions that interpose those of locks. */
#ifndef TT_INTERPOSING_H
#define TT_INTERPOSING_H

#include <errno.h>

#include "locks.h"
#include "next-function.h"
#include "next-locks.h"

/* The return address of the interposed call. */
#define TT_RETURN() ((uintptr_t)__builtin_return_address(0))

static inline int tt_locks_are_on(void)
{
    return __builtin_expect(__atomic_load_n(&tt_locks_on, __ATOMIC_RELAXED), 1) != 0;
}

/* Has it got the lock, or timed out? -1 is also a semaphore's result. */
static inline int tt_lock_has_waited(int result)
{
    return result == 0 || result == EOWNERDEAD || result == ETIMEDOUT ||
           result == thrd_timedout || result == -1;
}

/* Runs `call`, which waits, as a wait for `lock`; `result` is what it returns. */
#define TT_WAIT(result, lock, kind, call)                                                \
    do {                                                                                 \
        struct tt_caller caller_ = TT_CALLER();                                          \
        struct tt_lock_wait wait_;                                                       \
        tt_lock_wait_begin(&wait_, lock, kind, &caller_);                                \
        (result) = (call);                                                               \
        wait_.counts = tt_lock_has_waited(result);                                       \
        tt_lock_wait_end(&wait_);                                                        \
    } while (0)

/* Work before a lock is released, or before an event that others wait for. */
#define TT_NOTE_RELEASE(lock)                                                            \
    do {                                                                                 \
        struct tt_lock *lock_ = tt_lock_find(lock);                                      \
        if (__builtin_expect(lock_ && lock_->queue, 0) &&                                \
            tt_lock_queue_waits(lock_->queue)) {                                         \
            struct tt_caller caller_ = TT_CALLER();                                      \
            tt_lock_note_release(lock_->queue, &caller_, lock_->taken);                  \
        }                                                                                \
    } while (0)

/* Work after it. */
static inline void tt_lock_released(void)
{
    if (__builtin_expect(tt_lock_unsettled, 0))
        tt_lock_settle();
}

#endif
