/* SPDX-License-Identifier: MIT */
/* wall.h - samples sleeping threads from another thread of the process.
 *
 *      a thread of ours, which shares no files with the program, makes rounds:
 *        a running thread has CPU timers; its wait for a CPU is added to their samples
 *        a sleeping thread is sampled: its call, and its stack
 *        a thread that has not run since is charged there again
 *
 * No signal is sent: the program's system calls are not disturbed. */
#ifndef TT_WALL_H
#define TT_WALL_H

#include <stdint.h>
#include <time.h>

struct tt_wall { /* of a thread; all zero until tt_wall_begin; the rounds', but for... */
    int ready;   /* ... this: the thread's */
    uint32_t held;  /* the rounds are using it: an atomic futex */
    int64_t queued; /* ns that it ran or could have, beyond its CPU time: atomic */
    clockid_t clock;
    int tid;
    uint64_t last, cpu; /* all time and all CPU time until then is accounted for; ns */
    uint64_t owed;      /* ns that it slept and that are not in a sample so far */
    int known;          /* its context is known, unless it has run since `cpu` */
    uint32_t looks;
    int denied; /* the system does not show where it sleeps */
};

/* Starts the rounds, `hz` in a second, if the system shows where threads are; stops them.
 * In the child of a fork there are none until they are started again. */
int tt_wall_start(uint32_t hz);
void tt_wall_stop(void);
void tt_wall_forked(void);

/* For a call that needs the process to have one thread.  1: our threads have ended until
 * tt_wall_resume; 0: there are none, or others; less: they end later, and for good.  The
 * second is for a call that the C library makes in each thread, and ends the program if
 * the results differ: 0 also if our threads have the rights of the calling one. */
int tt_wall_pause(void);
int tt_wall_pause_unequal(void);
int tt_wall_resume(void);

/* By the thread itself; it is not sampled any more when the second returns. */
void tt_wall_begin(struct tt_wall *);
void tt_wall_end(struct tt_wall *);

/* The duration that a CPU sample counts for, with waits for a processor.
 * Async-signal-safe. */
uint64_t tt_wall_stretch(struct tt_wall *, uint64_t ns);

/* CPU time of the rounds so far, ns. */
uint64_t tt_wall_cpu(void);

#endif
