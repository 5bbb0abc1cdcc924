/* SPDX-License-Identifier: MIT */
/* wall.h - threads that wait, looked at as those are that run.
 *
 *      a thread of ours, which shares no files with the program, goes round:
 *        who has not run since it was looked at stands where it stood: charge that again
 *        who runs has CPU timers; what it waits for a processor is added to their samples
 *        who waits, and has not been looked at, is sent a signal, once
 *
 * The handler sees to it that the program is not told of that signal: the call that was
 * interrupted goes on. */
#ifndef TT_WALL_H
#define TT_WALL_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

struct tt_thread;

struct tt_where { /* what the system says of a thread that does not run */
    long number;  /* of the system call; -1: none */
    uint64_t argument[6], sp, pc;
};

enum tt_wall_state { /* of what is known of a thread that waits */
                     TT_WALL_UNKNOWN,
                     TT_WALL_ASKED,  /* a signal is on its way; the handler ends that */
                     TT_WALL_LOOKED, /* its stack was found; does it wait again? */
                     TT_WALL_KNOWN,  /* it does, and has not run since */
};

struct tt_wall { /* of a thread; all zero until tt_wall_begin */
    int ready;
    clockid_t clock;
    int tid;
    uint64_t last, cpu; /* all time until then, and all CPU time, are accounted for; ns */
    uint64_t owed;      /* ns that it waited, and that no sample has yet: atomic */
    uint64_t deadline;  /* when the time limit of a call that was made again is over */
    struct tt_where at; /* where it was when it was asked */
    int state;          /* enum tt_wall_state */
    uint64_t left;      /* its CPU time when the handler was left */
    int64_t queued;     /* ns that it ran or could have, beyond its CPU time */
};

/* Has the rounds begin, `hz` in a second, where the system says where threads are; and end.
 * In the child of a fork there are none until they begin again. */
int tt_wall_start(uint32_t hz);
void tt_wall_stop(void);
void tt_wall_forked(void);

/* By a thread of its own. */
void tt_wall_begin(struct tt_wall *);

/* A signal that is none of a timer's: 1 when it was sent by the rounds, and is dealt with.
 * Async-signal-safe. */
int tt_wall_signal(struct tt_thread *, const siginfo_t *, void *context);

/* The CPU time that a sample is of, as a stretch of time.  Async-signal-safe. */
uint64_t tt_wall_stretch(struct tt_wall *, uint64_t ns);

/* CPU time of the rounds so far, ns. */
uint64_t tt_wall_cpu(void);

#endif
