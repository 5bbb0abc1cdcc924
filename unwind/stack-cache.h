/* SPDX-License-Identifier: MIT */
/* stack-cache.h - recognises a stack that was seen before, without unwinding it again.
 *
 *      (pc, sp) ─ segment ─ (pc, sp) ─ segment ─ ... ─ root
 *                 "this return address is at sp+24, that one at sp+72, ..."
 *
 * A segment is the result of the rules for some frames when they were walked: the words
 * of the stack that led from caller to caller.  While they have the same values the walk
 * would take the same steps, so it is enough to compare them, all at once; the next
 * segment begins where this one ends.  The result is one number for all return addresses
 * of the stack. */
#ifndef TT_STACK_CACHE_H
#define TT_STACK_CACHE_H

#include "unwind.h"

/* The caller's registers once a function returns. */
struct tt_caller {
    uint64_t pc, sp, fp;
};

/* The call site of the function that uses this. */
#if defined __x86_64__
#define TT_CALLER_SP() ((uintptr_t)__builtin_frame_address(0) + 16)
#else
#define TT_CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
#endif
#define TT_CALLER()                                                                      \
    (struct tt_caller)                                                                   \
    {                                                                                    \
        (uintptr_t) __builtin_return_address(0), TT_CALLER_SP(),                         \
            *(const uint64_t *)__builtin_frame_address(0)                                \
    }

struct tt_stack_cache; /* a thread's own, mapped */

struct tt_stack_cache *tt_stack_cache_new(void); /* NULL: no memory */
void tt_stack_cache_free(struct tt_stack_cache *);

struct tt_recalled {
    uint64_t low, high;  /* the thread's stack, readable from the caller's sp on */
    uint64_t end;        /* only frames whose stack pointer is below count */
    uint32_t most;       /* of frames */
    uint64_t generation; /* of the modules now */
    const struct tt_unwind_cache
        *guessed;     /* of the unwinder for the stacks not found here */
    uint64_t of;      /* the number's owner */
    uint64_t key;     /* the result */
    uint32_t *number; /* kept with exactly this stack: 0 until the caller sets it, and
                       * again after it was forgotten */
};

/* Returns 1, and the key; 0 if the rules alone do not lead to the root.  Then unwind the
 * stack, which also gives its key (tt_stack_cache_frame).  Not in a handler. */
int tt_stack_cache(struct tt_stack_cache *, const struct tt_caller *,
                   struct tt_recalled *);

/* A key is 0 at first; frames are added from the innermost outwards.  *power is 1 at first. */
void tt_stack_cache_frame(uint64_t *key, uint64_t *power, uint64_t pc);

#endif
