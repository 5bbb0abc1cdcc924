/* SPDX-License-Identifier: MIT */
/* graft.h - finds the place of a native stack in its thread's tree.
 *
 *      root ── scope ── scope            the activations that the thread keeps
 *                        └── f ── g ── h     and the frames above the last of them
 *
 *      tt_registers_of_context(&h->registers, ucontext);    or the caller's
 *      if (tt_graft_unwind(h) && (tt_graft_find(h, &n) || tt_graft_try(h))) ...
 *      tt_graft_release(h);
 *
 * Mostly the whole path is in the tree already, and no lock is needed. */
#ifndef TT_GRAFT_H
#define TT_GRAFT_H

#include "interpreted.h"
#include "stack-path.h"
#include "stack.h"
#include "unwind.h"

struct tt_grafting { /* a thread's own, mapped; pages exist once used */
    struct tt_thread *thread;
    const char *stack_low, *stack_end; /* of the thread; NULL: not known */
    struct tt_frame *at;               /* the stack is grafted below this activation */
    struct tt_unwound stack;
    struct tt_hold hold;
    struct tt_peek peek;
    struct tt_registers registers;
    struct tt_native frame[TT_STEPS_MAX];
    struct tt_path path;
    struct tt_unwind_cache cache;
    struct {        /* interpreted functions on the stack */
        int wanted; /* by the sampler: show them */
        struct tt_interpreted_stack stack;
        struct tt_interpreted frame[TT_INTERPRETED_MAX];
        struct tt_merged merged[TT_STEPS_MAX];
        uint32_t count; /* of merged frames; 0: the stack is all native */
        int unplaced;   /* some were not found, or have no loop */
        int way;        /* to read memory in a call: tt_safe_thread.direct */
    } script;
    const char *wait; /* what the thread waits for, as innermost step; NULL: none */
};

/* Before any other function; not in a handler. */
void tt_graft_init(void);

/* Finds the calling thread's stack.  The first call takes the lock of pthread_getattr_np,
 * and calls malloc.  The program's malloc may be called with that lock: a thread that
 * records allocations has to know its stack before it runs. */
void tt_graft_find_stack(struct tt_grafting *);
void tt_graft_know_stack(void);

/* The innermost valid activation for a stack pointer; mostly it is the top. */
struct tt_frame *tt_graft_search(const struct tt_grafting *, uint64_t sp);
static inline struct tt_frame *tt_graft_activation(const struct tt_grafting *h,
                                                   uint64_t sp)
{
    struct tt_frame *top = h->thread->self->top;

    return top->node != h->thread->tree.limbo && TT_CFA_OF(top) > sp
               ? top
               : tt_graft_search(h, sp);
}

/* Has a stack led to code outside of all known modules?  Returns 1 once. */
int tt_graft_is_lost(void);

/* Removes the innermost frames, up to that native one. */
void tt_graft_remove(struct tt_grafting *, uint32_t native);

/* Unwinds from the registers to the activation; 1 if there is a stack.  Call
 * tt_graft_release in any case.  Async-signal-safe. */
int tt_graft_unwind(struct tt_grafting *);

/* The same, from the return address of a call into the profiler. */
struct tt_caller;
int tt_graft_unwind_call(struct tt_grafting *, const struct tt_caller *);
void tt_graft_release(struct tt_grafting *);

/* In a call, not in a handler: a key of the interpreted functions below the caller with
 * this stack pointer, whose native stacks are the same.  0: none. */
uint64_t tt_graft_functions(struct tt_grafting *, uint64_t sp);

/* From outside: merges the stack, `kernels` frames of which are the kernel's, with the
 * functions that the interpreter runs for the thread with this state. */
void tt_graft_merge(struct tt_grafting *, struct tt_interpreter *, uint64_t state,
                    uint32_t kernels);

/* The same for a thread that sleeps, by another one, with h->peek to read its stack.  It
 * may wake up meanwhile: then the result is arbitrary, and must not be used. */
int tt_graft_unwind_asleep(struct tt_grafting *);

/* The context, if all of it exists; 0 if not, or if something is hidden.  Takes no lock.
 * Async-signal-safe. */
int tt_graft_find(struct tt_grafting *, struct tt_node **);

/* The same, but makes missing nodes, evicting others if that is worth it; *made is the
 * number of steps of the path in the tree.  Returns 0 if one of the locks is taken; 1:
 * the caller has them until tt_graft_done.  Async-signal-safe. */
int tt_graft_make(struct tt_grafting *, struct tt_node **out, uint32_t *made);
void tt_graft_done(struct tt_grafting *);

/* With the locks (descent.h) held: only the steps, in h->path; 0 on failure. */
int tt_graft_path(struct tt_grafting *);

/* The context of a thread that sleeps, made by another one without evicting anything from
 * it; and the same context again, if the thread has not run since. */
int tt_graft_make_asleep(struct tt_grafting *, struct tt_node **out, uint32_t *made);
int tt_graft_again(struct tt_grafting *, struct tt_node **out, uint32_t *made);

/* Charges a sample to a node found or made: ticks, or a metric if that is not 0.
 * Async-signal-safe, while busy. */
void tt_graft_charge(struct tt_grafting *, struct tt_node *, uint32_t made,
                     uint64_t amount, uint32_t metric);

/* Calls f(arg) on another stack; the program's may be small.  Async-signal-safe. */
void tt_call_on_stack(char *end, void (*f)(void *), void *arg);

/* The same in a call of the program, for a walk: its reads may be loads, if faults can be resumed
 * here. */
void tt_graft_call(struct tt_grafting *, char *end, void (*f)(void *), void *arg);

#endif
