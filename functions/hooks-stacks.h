/* SPDX-License-Identifier: MIT */
/* hooks-stacks.h - the program's stack that a hook was called on.
 *
 *      thread's own   ████████████░░░░          each has separate activations, which stay
 *      coroutine           ░░░███               while it does not run
 *      coroutine      ░░░░░░░█████
 *                         low    high           the part seen so far: grows downwards */
#ifndef TT_HOOKS_STACKS_H
#define TT_HOOKS_STACKS_H

#include <signal.h>

#include "hooks-machine.h"
#include "strand.h"
#include "unwind.h"

/* The stack of a hook's caller, from there up. */
void tt_hook_walk(struct tt_unwound *, const struct tt_modules *,
                  const struct tt_hook_call *);

struct tt_hook_here { /* of the current stack; unknown at first */
    uintptr_t low, size;
};
extern __thread struct tt_hook_here tt_hook_here __attribute__((visibility("hidden")));

TT_INLINE int tt_hook_is_here(uintptr_t cfa)
{
    return cfa - tt_hook_here.low <= tt_hook_here.size;
}

/* Switches the thread to the activations of the stack that runs now, if that has changed.
 * Call it with a CFA that is not on the current one.  Does nothing if the program reports
 * its fibers itself. */
void tt_hook_follow(const struct tt_hook_call *, uintptr_t cfa);

/* Blocks the program's handlers: one might need a lock that its thread holds, or leave it
 * locked by longjmp.  Signals of the thread's own faults are still delivered. */
static inline void tt_hook_hold_signals(sigset_t *before)
{
    sigset_t held;

    sigfillset(&held);
    sigdelset(&held, SIGSEGV); /* a stack's end, too */
    sigdelset(&held, SIGBUS);
    sigdelset(&held, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

static inline void tt_hook_let_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* In the child of a fork. */
void tt_hook_stacks_forked(void);

#endif
