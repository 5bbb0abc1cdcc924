/* SPDX-License-Identifier: MIT */
/* code.h - finds callers from instructions, if there is no other information. */
#ifndef TT_CODE_H
#define TT_CODE_H

#include "machine.h"

/* Steps to the caller, by following the code to its return.  0: it is not found, and the
 * registers are unchanged.  Less: with other values of the known registers it is not found
 * either.  Async-signal-safe; needs 3 KB of stack. */
int tt_code_leave(struct tt_registers *, struct tt_peek *, int exact);

/* tt_machine_find_frame for x86-64. */
int tt_code_find_frame(struct tt_registers *, struct tt_peek *, uint64_t function,
                       int32_t offset);

#endif
