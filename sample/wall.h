/* SPDX-License-Identifier: MIT */
/* wall.h - threads that sleep, seen from another thread of the process.
 *
 *      a thread of ours, which shares no files with the program, goes round:
 *        a thread that runs has CPU timers; its wait for a processor is added to their samples
 *        a thread that sleeps is looked at: where, and its stack
 *        one that has not run since is charged there again
 *
 * No signal is sent: the program's system calls are as they would be without us. */
#ifndef TT_WALL_H
#define TT_WALL_H

#include <stdint.h>
#include <time.h>

struct tt_wall { /* of a thread; all zero until tt_wall_begin; the rounds', but for... */
    int ready;   /* ... this: the thread's */
    uint32_t held;  /* the rounds are at it: an atomic futex */
    int64_t queued; /* ns that it ran or could have, beyond its CPU time: atomic */
    clockid_t clock;
    int tid;
    uint64_t last, cpu; /* all time until then, and all CPU time, are accounted for; ns */
    uint64_t owed;      /* ns that it slept, and that no sample has yet */
    int known;          /* where it sleeps, unless it has run since `cpu` */
    uint32_t looks;
    int denied; /* the system does not say where it sleeps */
};

/* Has the rounds begin, `hz` in a second, where the system says where threads are; and end.
 * In the child of a fork there are none until they begin again. */
int tt_wall_start(uint32_t hz);
void tt_wall_stop(void);
void tt_wall_forked(void);

/* By a separate thread; it is not looked at any more when the second returns. */
void tt_wall_begin(struct tt_wall *);
void tt_wall_end(struct tt_wall *);

/* The CPU time that a sample is of, as a stretch of time.  Async-signal-safe. */
uint64_t tt_wall_stretch(struct tt_wall *, uint64_t ns);

/* CPU time of the rounds so far, ns. */
uint64_t tt_wall_cpu(void);

#endif
