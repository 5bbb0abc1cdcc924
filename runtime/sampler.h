/* SPDX-License-Identifier: MIT */
/* sampler.h - samples the strands, by timers or by a sampler thread. */
#ifndef TT_SAMPLER_H
#define TT_SAMPLER_H

#include <signal.h>

#include "recording.h"

struct tt_thread;

/* Of a thread. */
struct tt_sampler_state {
    void *timer;
    int armed, has_timer;
    uint64_t cpu;   /* already accounted for, ns; also written by the sampler thread */
    int clock;      /* the thread's CPU clock */
    uint64_t spent; /* on sampling, ns */
    uint64_t mean;  /* of the last ones, ns */
    void *looker;   /* the data of tt_looker */
    uint64_t start; /* its CPU time when it was armed, ns */
};

/* Samples native stacks when a thread's timer rings, instead of the current activation
 * alone; set before tt_start, for good.  NULL: not used.  The thread itself calls all of
 * these. */
struct tt_looker {
    int signal;    /* that the timers send */
    uint64_t open; /* signals that its handler does not block */
    /* The system's, where sigaction is not it. */
    int (*action)(int, const struct sigaction *, struct sigaction *);
    /* Begins sampling a thread; 0 on success.  And ends it. */
    int (*begin)(struct tt_thread *);
    void (*end)(struct tt_thread *);
    /* In the signal's handler, with the thread's CPU time that is in no sample so far, in
     * ns.  Returns 0 if the next sample shall have it. */
    int (*look)(struct tt_thread *, void *context, uint64_t ns);
};
extern const struct tt_looker *tt_looker;

/* Installs our handler, which calls the one that was there for signals that are not ours.
 * To be called again when another one may have taken its place. */
int tt_sampler_signal(void);

/* Sets what a foreign signal shall do, and returns what it did; either may be NULL. */
void tt_sampler_pass(const struct sigaction *wanted, struct sigaction *before);

/* Begins and ends sampling for a recording that has a sampled kind; nothing otherwise. */
int tt_sampler_start(struct tt_recording *);
void tt_sampler_stop(struct tt_recording *);

/* The calling thread's own timer, or its place in the sampler thread's round. */
void tt_sampler_arm(struct tt_thread *);
void tt_sampler_disarm(struct tt_thread *);

/* Blocks the calling thread's timer signal, also a pending one, until the timer goes on.
 * A signal that is pending at an exec would end the new program.  Async-signal-safe. */
void tt_sampler_hush(const struct tt_thread *);
void tt_sampler_resume(const struct tt_thread *);

/* After a pause: its time is not charged. */
void tt_sampler_skip(struct tt_thread *);

/* Ends sampling for good, of all threads: after this the system may kill the program for
 * unexpected system calls. */
void tt_sampler_cease(void);

/* CPU time until now of all threads that were ever sampled, ns, without their time before
 * sampling began. */
uint64_t tt_sampler_seen(void);

/* In the child of a fork: the timers and the sampler thread are the parent's. */
void tt_sampler_forked(struct tt_recording *);

#endif
