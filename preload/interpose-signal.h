/* SPDX-License-Identifier: MIT */
/* interpose-signal.h - signals, and calls of the system itself. */
#ifndef TT_INTERPOSE_SIGNAL_H
#define TT_INTERPOSE_SIGNAL_H

#include <signal.h>
#include <stddef.h>

/* The signal of our timers; and unblocks it in the calling thread. */
int tt_preload_signal(void);
void tt_preload_unblock(void);

/* The system's sigaction. */
int tt_preload_sigaction(int, const struct sigaction *, struct sigaction *);

/* The system's sigaltstack: see tt_native_sampler_lend. */
int tt_preload_lend(char *stack, size_t size);

/* Looks for the C library's syscall. */
void tt_preload_find_syscall(void);

#endif
