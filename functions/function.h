/* SPDX-License-Identifier: MIT */
/* function.h - functions that are switched on: what their thunks do, and how they are
 * made.
 *
 *      f:  jmp thunk ──> thunk:  enter; its stack slot ← after the call
 *          body  <────────────── call body
 *                                leave; return to where the frame says
 *
 * A thunk calls, so that every return is predicted.  The real return address of the
 * function is in the slot of its tt_frame until it returns. */
#ifndef TT_FUNCTION_H
#define TT_FUNCTION_H

#include "stack.h"

/* ── The slow path of thunks ────────────────────────────────────────────────────────
 * On the program's stack, with all of its registers saved.  Async-signal-safe. */

/* The return address is at `slot`.  1: call the function; 0: it goes on without a
 * frame. */
int tt_function_enter(uintptr_t slot, tt_block block);

/* The function has returned to stack address `cfa`; returns where to continue. */
uintptr_t tt_function_leave(uintptr_t cfa);

/* ── Making them ──────────────────────────────────────────────────────────────────── */

struct tt_site_code { /* a function to be, and then its thunk */
    char *at;         /* its no-op */
    tt_block block;
    void *thunk; /* where the no-op is to jump to */
};

/* Makes the thunks of functions that are in one module.  They stay for ever.  NULL, or the
 * reason why it cannot be. */
const char *tt_function_make(struct tt_site_code *, size_t count);

/* Is the function with this no-op on? */
int tt_function_jumps(const char *at);

/* Our code, [start, end): functions that are switched on return there. */
struct tt_function_area {
    uintptr_t start, end;
    struct tt_function_area *next;
};
void tt_function_add(struct tt_function_area *); /* borrowed for ever */
int tt_function_is_ours(uintptr_t address);

/* Return addresses of functions that lost their frame, by their CFA; for unwinders. */
extern struct tt_kept_all {
    struct tt_kept {
        uintptr_t cfa, back; /* cfa 0: unused; back 0: it has returned */
    } * slot;
    size_t size, count; /* of slots, a power of two; of used ones */
} tt_function_kept;

/* Before the first is entered; around fork. */
void tt_function_init(void);
void tt_function_lock(void);
void tt_function_unlock(void);

#endif
