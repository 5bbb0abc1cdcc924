/* SPDX-License-Identifier: MIT */
/* look.h - native stacks, sampled into the tree of the thread that they are of. */
#ifndef TT_LOOK_H
#define TT_LOOK_H

#include "sampler.h"

/* What tt_looker is set to. */
extern struct tt_looker tt_native_looker;

struct tt_look_options {
    uint64_t begin, end; /* when samples count, by the system's clock; 0: always */
    int wall;            /* threads that wait are looked at too */
    uint32_t metric;     /* that has the CPU time below activations that a clock times */
};

struct tt_wall;
struct tt_thread;

/* What wall.c has of a thread, with the threads locked or by the thread itself; NULL: it is
 * not looked at. */
struct tt_wall *tt_look_wall(struct tt_thread *);

/* A look of the thread's own at where it waits.  1: charged.  Async-signal-safe. */
int tt_look_waiting(struct tt_thread *, void *context, uint64_t ns, const char *wait);

/* By another thread: that look once more, of one that has not run since.  1: charged. */
int tt_look_again(struct tt_thread *, uint64_t ns);

/* Before tt_start. */
void tt_look_init(const struct tt_look_options *);

#endif
