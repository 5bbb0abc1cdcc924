/* SPDX-License-Identifier: MIT */
/* remote-control.h - the protocol of `tallytree on` and a process that is asked to
 * switch.
 *
 *      command                          process
 *      writes TT_REMOTE_PATH, 0600
 *      signal with the number ────────> handler: starts a thread, or marks it busy
 *      sends it again while busy        the thread marks it taken, reads it, does it
 *      reads the answer, unlinks <───── writes it after the request
 *
 * A request is lines of KEY=VALUE, an answer the same, from TT_REMOTE_ANSWER on; its last
 * line is a full stop.  The byte before the answer is the mark. */
#ifndef TT_REMOTE_CONTROL_H
#define TT_REMOTE_CONTROL_H

#include <signal.h>

/* The file of request NUMBER; the process's own number comes first. */
#define TT_REMOTE_PATH "/tmp/tallytree.%d.%08x"
#define TT_REMOTE_LIBRARY "libtallytree-switch.so"

enum {
    TT_REMOTE_ANSWER = 8192,
    TT_REMOTE_SIZE = 16384,
    TT_REMOTE_MARK = TT_REMOTE_ANSWER - 1
};

/* Busy: the thread that took the signal cannot start a thread now.  Taken: no other
 * signal is needed. */
enum { TT_REMOTE_BUSY = 'b', TT_REMOTE_TAKEN = 't' };

static inline int tt_remote_signal(void) { return SIGRTMAX - 6; }

#endif
