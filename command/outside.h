/* SPDX-License-Identifier: MIT */
/* outside.h - records processes from outside: by perf events, without loading
 * anything. */
#ifndef TT_OUTSIDE_H
#define TT_OUTSIDE_H

#include "attach.h"
#include "running.h"

struct tt_outside_options {
    const char *words;      /* of the runtime's options */
    double delay, duration; /* seconds; duration 0: until it ends */
    struct tt_counter counter[TT_COUNTERS_MAX];
    uint32_t counters;
    int is_asked_for; /* to record from outside: no reason needs to be given */
    uint32_t stack;   /* bytes of each sample's that are copied */
    enum tt_perf_side side;
    int is_machine;                 /* all processes, and those that are wanted of them */
    const unsigned char *processor; /* of each: is it recorded?  NULL: all are */
    struct tt_attach_filter filter;
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

#endif
