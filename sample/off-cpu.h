/* SPDX-License-Identifier: MIT */
/* off-cpu.h - what a thread's switches say about its waits, from outside.
 *
 *      runs ──┐ sleeps                waking │ scheduling delay ┌── runs
 *             └── wait time ─────────────────┴──────────────────┘
 *
 * The context of the wait is the stack where the thread went to sleep, and that of what woke
 * it.  Either may be missing if the system had no room for it; the times are those of the
 * switches, which are not lost. */
#ifndef TT_OFF_CPU_H
#define TT_OFF_CPU_H

#include "stack-path.h"
#include "strand.h"

struct tt_steps {    /* a path, outermost first */
    tt_block *block; /* owned */
    uint32_t count, room;
};

struct tt_off_cpu { /* of a thread; all zero at first */
    uint64_t out;   /* ns: since when it has not run; 0: it runs, or that is not known */
    uint64_t woken; /* ns: the last waking; 0: none since it ran */
    uint64_t in;    /* ns: it runs again, and what woke it is not known yet */
    int is_new;     /* the switch that belongs to the stack is still to come */
    int is_preempted;
    int is_ignored;   /* it is no wait: of a thread of the kernel */
    const char *kind; /* a constant; NULL: the stack was lost */
    tt_block lock;    /* named after the waiting function */
    struct tt_steps waiter, waker;
};

/* Before the recording begins: the metrics. */
void tt_off_cpu_start(void);
void tt_off_cpu_free(struct tt_off_cpu *);

/* Replaces the steps by a prefix (0: none) and a path; 0: no memory, and none are left. */
int tt_steps_set(struct tt_steps *, tt_block prefix, const struct tt_path *);
int tt_steps_add(struct tt_steps *, tt_block);

/* The thread has switched: out, at a time; in: then its wait is charged as soon as its waking
 * is known.  Clocks of processors differ a little, so that the waking may come later. */
void tt_off_cpu_out(struct tt_off_cpu *, struct tt_thread *, uint64_t now,
                    int is_preempted);
void tt_off_cpu_in(struct tt_off_cpu *, struct tt_thread *, uint64_t now);

/* A waking: is it of this wait?  Then o->waker is to be set, and the second one called. */
int tt_off_cpu_is_woken(const struct tt_off_cpu *, uint64_t now);
void tt_off_cpu_woken(struct tt_off_cpu *, struct tt_thread *, uint64_t now);

/* Charges a wait whose waking has not been seen, if there is one; thread NULL: there is
 * none.  Then nothing is known of the thread. */
void tt_off_cpu_settle(struct tt_off_cpu *, struct tt_thread *);

#endif
