/* SPDX-License-Identifier: MIT */
/* cancel.h - the program's threads are not cancelled in our code.
 *
 * Opening, growing and closing files are points where the C library ends a thread that
 * another one has cancelled.  Calls that lead here are no such points: malloc, dlopen, the
 * start of a thread, a push.  The thread would end early, and with our locks held. */
#ifndef TT_CANCEL_H
#define TT_CANCEL_H

#include <pthread.h>
#include <stddef.h>

static inline int tt_cancel_off(void)
{
    int before = PTHREAD_CANCEL_ENABLE;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void tt_cancel_back(const int *before)
{
    (void)pthread_setcancelstate(*before, NULL);
}

/* A declaration: until the end of the block.  Async-signal-safe. */
#define TT_NOT_CANCELLED()                                                               \
    __attribute__((cleanup(tt_cancel_back), unused))                                     \
    const int cancelled_before_ = tt_cancel_off()

#endif
