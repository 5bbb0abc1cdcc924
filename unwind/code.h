/* SPDX-License-Identifier: MIT */
/* code.h - reading instructions, where nothing else says how to leave them. */
#ifndef TT_CODE_H
#define TT_CODE_H

#include "machine.h"

/* To the caller, by going on in the code to where it returns.  0: it is not found, and the
 * registers are untouched.  Async-signal-safe; needs 3 KB of stack. */
int tt_code_leave(struct tt_registers *, struct tt_peek *, int exact);

/* tt_machine_find_frame, of x86-64. */
int tt_code_find_frame(struct tt_registers *, struct tt_peek *, uint64_t function,
                       int32_t offset);

#endif
