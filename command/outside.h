/* SPDX-License-Identifier: MIT */
/* outside.h - records processes from outside: by perf events, without loading
 * anything. */
#ifndef TT_OUTSIDE_H
#define TT_OUTSIDE_H

#include "attach.h"
#include "running.h"

/* One of several recordings, a process each, in which each moment is in one of them.  It is
 * shared with the process that starts them.  The next one is ready before this one ends: it
 * throws away what this one takes, and takes what comes after that. */
struct tt_interval {
    const struct tt_interval *previous; /* NULL: it begins at once */
    const char *folder;                 /* borrowed: of the profiles */
    int lock;                           /* a descriptor to be closed when it is over */
    /* ms since 1970.  after: the end of what was recorded before, without a previous one, or
     * 0; to: 0 until it is known. */
    uint64_t after, from, to;
    uint64_t
        taken; /* by the monotonic clock: it has what came before; 0: it has not begun */
    /* Written by one process, read by another.  ready: it may follow; stop: it shall end;
     * over: all above is known; ended: so have the recorded processes. */
    int ready, stop, over, ended;
};

struct tt_outside_options {
    const char *words;      /* of the runtime's options */
    double delay, duration; /* seconds; duration 0: until it ends */
    struct tt_counter counter[TT_COUNTERS_MAX];
    uint32_t counters;
    int is_kernel_asked_for; /* it is said if time in the kernel cannot be recorded */
    int is_asked_for;        /* to record from outside: no reason needs to be given */
    uint32_t stack;          /* bytes of each sample's that are copied */
    uint32_t wait_stack;     /* of threads that wait or wake others; 0: no waits */
    enum tt_perf_side side;
    int is_machine;                 /* all processes, and those that are wanted of them */
    const unsigned char *processor; /* of each: is it recorded?  NULL: all are */
    struct tt_attach_filter filter;
    struct tt_interval *interval; /* NULL: it is no part of a chain */
    /* Called when it is recorded, with the path of the recording, which is then removed at the
     * end; NULL: it becomes a profile. */
    void (*began)(void *arg, const char *recording);
    void *arg;
};

/* Runs the program that was found, for as long as which the machine is recorded, and ends
 * like it; returns the status to exit with if it could not be run. */
int tt_outside_go(struct tt_running *, const struct tt_outside_options *);

/* Records the machine, until a signal ends this process, or the duration is over. */
int tt_outside_machine(struct tt_running *, const struct tt_outside_options *);

/* Records running processes, with their present and future children, until the last of
 * them ends, or a signal ends this process; returns the status to exit with. */
int tt_outside_attach(struct tt_running *, const pid_t *, size_t count,
                      const struct tt_outside_options *);

/* Makes the profile of the recording that an interval left in its folder, r->folder, when its
 * recorder was killed, and removes that; 0, or a negative error after a complaint. */
int tt_outside_recover(struct tt_running *r);
/* Removes that, with what is beside it. */
void tt_outside_drop(const char *folder, const char *recording);

#endif
