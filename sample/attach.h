/* SPDX-License-Identifier: MIT */
/* attach.h - records a process from outside: puts each of its samples into the tree of
 * its thread, as they come. */
#ifndef TT_ATTACH_H
#define TT_ATTACH_H

#include "perf-events.h"

struct tt_attach;

/* What to record: all zero: everything. */
struct tt_attach_filter {
    int is_bare; /* no functions of interpreters */
    /* Of a machine, the processes below a cgroup, of a user. */
    const char *cgroup; /* borrowed: a path below the root of cgroups; NULL: any */
    int has_user;
    uid_t user;
};

/* Call it after the recording has started.  Returns 0 or a negative error, with the error
 * and its remedy in `reason`. */
int tt_attach_open(struct tt_attach **, const struct tt_perf_options *,
                   const struct tt_attach_filter *, char *reason, size_t size);
void tt_attach_start(struct tt_attach *);

/* Takes the events before that time, mostly tt_attach_settled: older ones have been written.
 * Returns the ms within which it must be called again. */
unsigned tt_attach_step(struct tt_attach *, uint64_t before);
uint64_t tt_attach_settled(void);

/* For one of several recordings that share no moment.  tt_attach_skip is tt_attach_step without
 * samples.  tt_attach_begin makes that time the beginning of the recording; earlier samples are
 * left out.  tt_attach_note_end stores how far it goes, for a recorder that is killed. */
unsigned tt_attach_skip(struct tt_attach *, uint64_t before);
void tt_attach_begin(struct tt_attach *, uint64_t from);
void tt_attach_note_end(uint64_t until);

/* Stops sampling and takes the last samples before that time (UINT64_MAX: all). */
void tt_attach_stop(struct tt_attach *, uint64_t until);

/* Calls `each` for programs that became unseen when they began, as the system ends the
 * events of programs with more rights than their user; complete after tt_attach_stop. */
void tt_attach_unseen(const struct tt_attach *,
                      void (*each)(void *arg, const char *program), void *arg);
void tt_attach_close(struct tt_attach *);

/* 0: time in the kernel is not recorded, for the stored reason. */
int tt_attach_has_kernel(const struct tt_attach *, char *reason, size_t size);

/* Stores in the recording's header what was recorded, and `why` from outside. */
void tt_attach_describe(const struct tt_attach *, const char *program, const char *why);

#endif
