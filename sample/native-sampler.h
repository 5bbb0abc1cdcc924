/* SPDX-License-Identifier: MIT */
/* native-sampler.h - samples native stacks into their threads' trees. */
#ifndef TT_NATIVE_SAMPLER_H
#define TT_NATIVE_SAMPLER_H

#include "sampler.h"

/* The value for tt_looker. */
extern struct tt_looker tt_native_sampler;

struct tt_native_sampler_options {
    uint64_t begin, end; /* when samples count, by the system's clock; 0: always */
    int wall;            /* waiting threads are sampled, too */
    uint32_t metric;     /* gets the CPU time below activations that a clock times */
};

struct tt_wall;
struct tt_thread;

/* wall.c's data of a thread, with the threads locked or by the thread itself; NULL: it is
 * not sampled. */
struct tt_wall *tt_native_sampler_wall(struct tt_thread *);

struct tt_stack_copy { /* of the thread that samples others */
    char bytes[16 << 10];
};

struct tt_sleeper { /* a sleeping thread, as the system reports it */
    uint64_t pc, sp;
    const char *wait; /* the call that it waits in */
    struct tt_stack_copy *copy;
    int (*still_sleeps)(void *arg); /* 1: it has not run since that was read */
    void *arg;
};

/* Charges a sleeping thread's time to its stack; by another thread, while it cannot end.
 * 1: charged; 0: it woke up, or a lock is taken. */
int tt_native_sampler_asleep(struct tt_thread *, struct tt_wall *, struct tt_sleeper *,
                             uint64_t ns);

/* Charges the same context again, for a thread that has not run since. */
int tt_native_sampler_again(struct tt_thread *, struct tt_wall *, uint64_t ns);

/* Makes this the calling thread's alternate signal stack, if it has none, and returns 1;
 * NULL removes it.  Set by the preload library; NULL: threads keep what they have. */
extern int (*tt_native_sampler_lend)(char *, size_t);

/* Before tt_start. */
void tt_native_sampler_init(const struct tt_native_sampler_options *);

#endif
