/* SPDX-License-Identifier: MIT */
/* graft.h - where in its thread's tree a native stack hangs.
 *
 *      root ── scope ── scope            the activations that the thread keeps
 *                        └── f ── g ── h     and what is younger than the last of them
 *
 *      tt_registers_of_context(&h->registers, ucontext);    or the caller's
 *      if (tt_graft_unwind(h) && (tt_graft_find(h, &n) || tt_graft_try(h))) ...
 *      tt_graft_release(h);
 *
 * Mostly the whole path is in the tree already, and no lock is looked at. */
#ifndef TT_GRAFT_H
#define TT_GRAFT_H

#include "interpreted.h"
#include "stack-path.h"
#include "stack.h"
#include "unwind.h"

struct tt_grafting { /* a thread's own, mapped; its pages are there once they are used */
    struct tt_thread *thread;
    const char *stack_low, *stack_end; /* of the thread; NULL: not known */
    struct tt_frame *at;               /* the activation below which the stack hangs */
    struct tt_unwound stack;
    struct tt_hold hold;
    struct tt_peek peek;
    struct tt_registers registers;
    struct tt_native frame[TT_STEPS_MAX];
    struct tt_path path;
    struct tt_unwind_cache cache;
    struct {        /* the functions that interpreters run in it */
        int wanted; /* by who looks: they are shown */
        struct tt_interpreted_stack stack;
        struct tt_interpreted frame[TT_INTERPRETED_MAX];
        struct tt_merged merged[TT_STEPS_MAX];
        uint32_t count; /* of merged ones; 0: the stack is as it is */
        int unplaced;   /* some were not found, or have no loop */
    } script;
    const char *wait; /* what the thread waits for, the innermost step; NULL: nothing */
};

/* Before any other; not in a handler. */
void tt_graft_init(void);

/* Where the calling thread's stack is.  The first call takes the lock that
 * pthread_getattr_np takes, and calls malloc.  The program's malloc may be called with that
 * lock: a thread that records allocations has to know its stack before it runs. */
void tt_graft_find_stack(struct tt_grafting *);
void tt_graft_know_stack(void);

/* The innermost activation that is still there for a stack pointer; mostly it is the top. */
struct tt_frame *tt_graft_search(const struct tt_grafting *, uint64_t sp);
static inline struct tt_frame *tt_graft_activation(const struct tt_grafting *h,
                                                   uint64_t sp)
{
    struct tt_frame *top = h->thread->self->top;

    return top->node != h->thread->tree.limbo && TT_CFA_OF(top) > sp
               ? top
               : tt_graft_search(h, sp);
}

/* Has a stack led to code that no module known so far has?  Once. */
int tt_graft_is_lost(void);

/* Unwinds from the registers to the activation.  1 when there is a stack.  In any case what
 * it holds is to be released.  Async-signal-safe. */
int tt_graft_unwind(struct tt_grafting *);
void tt_graft_release(struct tt_grafting *);

/* The functions alone that interpreters run in the calling thread, to h->script.stack, with
 * h->peek set.  Async-signal-safe. */
void tt_graft_walk(struct tt_grafting *);

/* The same of a thread that sleeps, by another one, with h->peek to read its stack.  It may
 * wake up meanwhile: then the result is anything, and is not to be used. */
int tt_graft_unwind_asleep(struct tt_grafting *);

/* The context, where all of it is there; 0 where it is not, or something is hidden.  Takes
 * no lock.  Async-signal-safe. */
int tt_graft_find(struct tt_grafting *, struct tt_node **);

/* The same, made, with room for it where that is worth it: how many steps of the path were
 * made, to *out.  0: somebody has one of the locks; 1: they are the caller's until
 * tt_graft_done.  Async-signal-safe. */
int tt_graft_make(struct tt_grafting *, struct tt_node **out, uint32_t *made);
void tt_graft_done(struct tt_grafting *);

/* The context of a thread that sleeps, made by another one without taking anything away for
 * it; and that once more, while the thread has not run. */
int tt_graft_make_asleep(struct tt_grafting *, struct tt_node **out, uint32_t *made);
int tt_graft_again(struct tt_grafting *, struct tt_node **out, uint32_t *made);

/* Charges a sample to what was found or made: ticks, or a metric where it is not 0.
 * Async-signal-safe, while busy. */
void tt_graft_charge(struct tt_grafting *, struct tt_node *, uint32_t made,
                     uint64_t amount, uint32_t metric);

/* Calls f(arg) on another stack; the program's may be small.  Async-signal-safe. */
void tt_call_on_stack(char *end, void (*f)(void *), void *arg);

#endif
