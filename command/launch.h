/* SPDX-License-Identifier: MIT */
/* launch.h - runs a program as if its parent had started it directly. */
#ifndef TT_LAUNCH_H
#define TT_LAUNCH_H

#include <sys/types.h>

enum { TT_LAUNCH_FAILED = 125 };

/* Functions to run before the program begins; both print why they fail. */
struct tt_launching {
    int (*prepare)(void *arg);              /* in the child */
    int (*started)(void *arg, pid_t child); /* in the parent, while it waits; or NULL */
    void *arg;
};

/* Starts argv[0], found at `path`; argv[-1] is available, for scripts without an
 * interpreter.  Returns the child's id; if there is no program, complains and returns
 * minus the status to exit with. */
pid_t tt_launch(const char *path, char **argv, const struct tt_launching *);

/* Waits for its end.  Passes on signals that are sent to us meanwhile; those of the
 * terminal reach the child anyway.  Stops when the child stops, and goes on when it does.
 * Returns the status of waitpid. */
int tt_launch_wait(pid_t);

/* If the child has stopped, stops as well, until it goes on: before the wait. */
void tt_launch_follow(pid_t);

/* Ends this process like that one: with its status, or by its signal. */
void tt_launch_end(int wait_status) __attribute__((noreturn));

#endif
