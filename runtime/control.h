/* SPDX-License-Identifier: MIT */
/* control.h - starting with options that were read already; for the command. */
#ifndef TT_CONTROL_H
#define TT_CONTROL_H

#include "options.h"

int tt_start_with(const struct tt_options *);

/* Keeps this library loaded for good. */
void tt_stay_loaded(void);

/* The library was loaded with the program, and stays anyway: the call above would run its
 * constructors, which may not have run yet. */
extern int tt_stays_loaded;

/* Locks that the calling thread has, or is about to take; set by the code that takes
 * them. */
struct tt_work {
    int control, threads, blocks, objects;
    int stack; /* the thread's own lock, while its stack is asked for */
};
extern __thread struct tt_work tt_work;

/* This is a child that was forked amid the profiler's work.  All locks were made free in it, and no
 * recording begins. */
extern int tt_unusable;

static inline int tt_holds_locks(void)
{
    return (tt_work.control | tt_work.threads | tt_work.blocks | tt_work.objects |
            tt_work.stack) != 0;
}

/* The calling thread is in the profiler: a signal handler must wait for nothing of it. */
int tt_is_at_work(void);
/* The same for a function that the program called with this stack pointer: many registers may
 * have been saved on the stack since. */
int tt_is_at_work_below(uintptr_t sp);

/* Is a collector amid an event?  A fork is then like one amid the profiler's work.  NULL:
 * there is no collector. */
extern int (*tt_is_collecting)(void);

/* After this the recording does not change, and its code makes no system call: not when a
 * thread ends, nor at a fork. */
void tt_cease(void);
int tt_has_ceased(void);

/* Is this a child that no handler of fork has seen?  Its recording is its parent's. */
extern const uint32_t *tt_seen;
static inline int tt_is_unseen(void)
{
    return !__atomic_load_n(__atomic_load_n(&tt_seen, __ATOMIC_RELAXED),
                            __ATOMIC_RELAXED);
}

/* Copies the recording in its present state; the caller unmaps it.  Returns NULL if there
 * is no recording or no memory. */
void *tt_snapshot(size_t *size);

#endif
