/* SPDX-License-Identifier: MIT */
/* wake.h - what `tallytree on` and a process that is asked to switch agree on.
 *
 *      command                          process
 *      writes WAKE_PATH, 0600
 *      sigqueue(signal, number) ──────> handler: a thread is started
 *                                       reads the request, does it
 *      reads the answer, unlinks <───── writes it behind the request
 *
 * A request is lines of KEY=VALUE, an answer the same, from WAKE_ANSWER on; its last line is
 * a full stop. */
#ifndef TT_WAKE_H
#define TT_WAKE_H

#include <signal.h>

/* Where the process finds the file of request NUMBER; its own number first. */
#define TT_WAKE_PATH "/tmp/tallytree.%d.%08x"
#define TT_WAKE_LIBRARY "libtallytree-switch.so"

enum { TT_WAKE_ANSWER = 8192, TT_WAKE_SIZE = 16384 };

static inline int tt_wake_signal(void) { return SIGRTMAX - 6; }

#endif
