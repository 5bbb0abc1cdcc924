/* SPDX-License-Identifier: MIT */
/* native-sampler.h - native stacks, sampled into the tree of the thread that they are of. */
#ifndef TT_NATIVE_SAMPLER_H
#define TT_NATIVE_SAMPLER_H

#include "sampler.h"

/* What tt_looker is set to. */
extern struct tt_looker tt_native_sampler;

struct tt_native_sampler_options {
    uint64_t begin, end; /* when samples count, by the system's clock; 0: always */
    int wall;            /* threads that wait are looked at too */
    uint32_t metric;     /* that has the CPU time below activations that a clock times */
};

struct tt_wall;
struct tt_thread;

/* What wall.c has of a thread, with the threads locked or by the thread itself; NULL: it is
 * not looked at. */
struct tt_wall *tt_native_sampler_wall(struct tt_thread *);

struct tt_stack_copy { /* of the thread that looks at others */
    char bytes[16 << 10];
};

struct tt_sleeper { /* where a thread sleeps, as the system says */
    uint64_t pc, sp;
    const char *wait; /* for what */
    struct tt_stack_copy *copy;
    int (*still_sleeps)(void *arg); /* 1 when it has not run since that was read */
    void *arg;
};

/* By another thread, while it cannot end: where it sleeps gets so much time.  1: charged; 0:
 * it woke up, or somebody has a lock. */
int tt_native_sampler_asleep(struct tt_thread *, struct tt_wall *, struct tt_sleeper *,
                             uint64_t ns);

/* The same place once more, of one that has not run since. */
int tt_native_sampler_again(struct tt_thread *, struct tt_wall *, uint64_t ns);

/* Makes this the calling thread's stack for signals, if it has none: 1; NULL takes it away
 * again.  Set by the library that is loaded into a program; NULL: threads keep what they
 * have. */
extern int (*tt_native_sampler_lend)(char *, size_t);

/* Before tt_start. */
void tt_native_sampler_init(const struct tt_native_sampler_options *);

#endif
