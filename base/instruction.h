/* SPDX-License-Identifier: MIT */
/* instruction.h - an instruction of a program's code, as text. */
#ifndef TT_INSTRUCTION_H
#define TT_INSTRUCTION_H

#include <stdint.h>

enum tt_flow { TT_FLOW_ON, TT_FLOW_JUMP, TT_FLOW_CALL };

enum { TT_INSTRUCTION_BYTES = 16, TT_INSTRUCTION_TEXT = 208 };

struct tt_instruction {
    uint64_t address, target; /* target: where a jump or call leads; 0: not known */
    uint32_t size;
    enum tt_flow flow;
    uint8_t byte[TT_INSTRUCTION_BYTES];
    char text[TT_INSTRUCTION_TEXT]; /* without the target, where that is known */
};

#endif
