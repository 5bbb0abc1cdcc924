/* SPDX-License-Identifier: MIT */
/* code.h - finds callers from instructions, if there is no other information. */
#ifndef TT_CODE_H
#define TT_CODE_H

#include "machine.h"

/* Steps to the caller, by following the code to its return.  0: it is not found, and the
 * registers are unchanged.  Less: with other values of the known registers it is not found
 * either.  Async-signal-safe; needs 4 KB of stack. */
int tt_code_leave(struct tt_registers *, struct tt_peek *, int exact,
                  struct tt_departure *);

/* The same step again, from the same code.  0: a word is not readable, or it is no step up the
 * stack; the registers are unchanged.  The caller checks the return address. */
int tt_code_follow(const struct tt_departure *, struct tt_registers *, struct tt_peek *);

/* tt_machine_find_frame for x86-64. */
int tt_code_find_frame(struct tt_registers *, struct tt_peek *, uint64_t function,
                       int32_t offset);

#endif
