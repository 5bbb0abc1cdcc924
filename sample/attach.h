/* SPDX-License-Identifier: MIT */
/* attach.h - a process recorded from outside: its samples, put into the tree of the thread
 * that each is of, as they come. */
#ifndef TT_ATTACH_H
#define TT_ATTACH_H

#include "perf-events.h"

struct tt_attach;

/* What is wanted of a machine: processes below a cgroup, of a user; all zero: all. */
struct tt_attach_filter {
    const char *cgroup; /* borrowed: a path below the root of cgroups; NULL: any */
    int has_user;
    uid_t user;
};

/* With a recording that has been started.  0; or a negative error, and `reason` says what
 * went wrong and what to do. */
int tt_attach_open(struct tt_attach **, const struct tt_perf_options *,
                   const struct tt_attach_filter *, char *reason, size_t size);
void tt_attach_start(struct tt_attach *);

/* Takes what has come until now; to be called again after so many ms at the latest. */
unsigned tt_attach_step(struct tt_attach *);

/* Ends the samples and takes the last of them. */
void tt_attach_stop(struct tt_attach *);

/* Calls back for the programs that became unseen when they began, as the system ends the events
 * of those with more rights than their user; for all of them after tt_attach_stop. */
void tt_attach_unseen(const struct tt_attach *,
                      void (*each)(void *arg, const char *program), void *arg);
void tt_attach_close(struct tt_attach *);

/* Says in the recording's header what it is of, and `why` from outside. */
void tt_attach_describe(const struct tt_attach *, const char *program, const char *why);

#endif
