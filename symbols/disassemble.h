/* SPDX-License-Identifier: MIT */
/* disassemble.h - code of x86-64 and aarch64 as text, on either. */
#ifndef TT_DISASSEMBLE_H
#define TT_DISASSEMBLE_H

#include <stddef.h>

#include "instruction.h"

/* Disassembles the code of a function at `address`, for the ELF machine.  Returns the
 * number of instructions, which are in *out, to be freed; 0: the reason is in *reason.
 * Bytes that are not an instruction are one called ".byte" each. */
size_t tt_disassemble(unsigned machine, const unsigned char *bytes, size_t size,
                      uint64_t address, struct tt_instruction **out, const char **reason);

#endif
