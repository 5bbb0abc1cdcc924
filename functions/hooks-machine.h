/* SPDX-License-Identifier: MIT */
/* hooks-machine.h - the hooks of -pg, by machine. */
#ifndef TT_HOOKS_MACHINE_H
#define TT_HOOKS_MACHINE_H

#include <stdint.h>

struct tt_hook_call {     /* of a hook */
    uintptr_t pc, sp, fp; /* its return address, and its caller's registers then */
    uintptr_t function;   /* that it was called with; 0: none */
    uintptr_t back;       /* the function's return address; 0: it is on the stack */
};

/* Finds the C library's hooks, which are called, too. */
void tt_hooks_machine(void);

#endif
