/* SPDX-License-Identifier: MIT */
/* launch.h - runs a program as if its parent had started it directly. */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include <sys/types.h>

enum { TT_LAUNCH_FAILED = 125 };

/* Who has something to do before the program begins; both print why they fail. */
struct tt_launching {
    int (*prepare)(void *arg);              /* in the child */
    int (*started)(void *arg, pid_t child); /* in the parent, while it waits; or NULL */
    void *arg;
};

/* Starts argv[0], found at `path`; argv[-1] is there, for scripts without an interpreter.
 * The child's id; or, when there is no program, minus the status to exit with, after a
 * complaint. */
pid_t tt_launch(const char *path, char **argv, const struct tt_launching *);

/* Waits for its end; signals that are sent to us meanwhile are sent on, those that the
 * terminal sends reach it anyway.  What waitpid says of it. */
int tt_launch_wait(pid_t);

/* Ends this process as that one ended: with its status, or by its signal. */
void tt_launch_end(int wait_status) __attribute__((noreturn));

#endif
