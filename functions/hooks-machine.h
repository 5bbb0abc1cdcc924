/* SPDX-License-Identifier: MIT */
/* hooks-machine.h - what -pg calls, by machine. */
#ifndef TT_HOOKS_MACHINE_H
#define TT_HOOKS_MACHINE_H

#include <stdint.h>

struct tt_hook_call {     /* of a hook */
    uintptr_t pc, sp, fp; /* where it returns to, and its caller's registers then */
    uintptr_t function;   /* that it was told of; 0: none */
    uintptr_t back;       /* where that returns to; 0: it lies on the stack */
};

/* Finds what we stand before, which has its calls too. */
void tt_hooks_machine(void);

/* 1: counted, or there is nothing to count.  Uses no registers but the general ones. */
int tt_hook_quickly(const struct tt_hook_call *);
void tt_hook_slowly(const struct tt_hook_call *);

#endif
