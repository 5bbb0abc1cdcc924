/* SPDX-License-Identifier: MIT */
/* thunk.c - jumps from the fast path in tallytree/scope.h to the slow path.
 *
 * An ordinary call costs time even if it is never made: the function around it must keep
 * its live values in registers that a call preserves, and must save these first.  So the
 * header does not call: it jumps here, and is jumped back to, from code that looks to the
 * compiler like a few instructions that change some registers.
 *
 *      rax             where to go on; then the result
 *      rdx, rcx, r8    arguments; lost, as are r9 to r11 and the vector registers
 *      rdi, rsi        kept, with all that a call keeps
 *
 * Up to 128 bytes below the stack pointer may be in use, and it need not be aligned.  The
 * unwind information describes this, too, for code that unwinds the stack meanwhile. */
#include "stack.h"

#ifdef TT_THUNKS

#define THUNK(name, function)                                                            \
    __asm__(".pushsection .text\n"                                                       \
            ".globl " name "\n"                                                          \
            ".type " name ", @function\n"                                                \
            ".balign 64\n" name ":\n"                                                    \
            ".cfi_startproc\n"                                                           \
            ".cfi_def_cfa rsp, 0\n"                                                      \
            ".cfi_register rip, rax\n"                                                   \
            "leaq -128(%rsp), %rsp\n"                                                    \
            ".cfi_def_cfa_offset 128\n"                                                  \
            "pushq %rax\n"                                                               \
            ".cfi_def_cfa_offset 136\n"                                                  \
            ".cfi_offset rip, -136\n"                                                    \
            "pushq %rdi\n"                                                               \
            ".cfi_def_cfa_offset 144\n"                                                  \
            "pushq %rsi\n"                                                               \
            ".cfi_def_cfa_offset 152\n"                                                  \
            "testb $8, %spl\n"                                                           \
            "jne 2f\n"                                                                   \
            "call " function "\n"                                                        \
            "1: popq %rsi\n"                                                             \
            ".cfi_def_cfa_offset 144\n"                                                  \
            "popq %rdi\n"                                                                \
            ".cfi_def_cfa_offset 136\n"                                                  \
            "popq %rcx\n"                                                                \
            ".cfi_def_cfa_offset 128\n"                                                  \
            ".cfi_register rip, rcx\n"                                                   \
            "leaq 128(%rsp), %rsp\n"                                                     \
            ".cfi_def_cfa_offset 0\n"                                                    \
            "notrack jmp *%rcx\n"                                                        \
            ".cfi_def_cfa_offset 152\n"                                                  \
            ".cfi_offset rip, -136\n"                                                    \
            "2: pushq %rsi\n" /* an odd number of words: one more */                     \
            ".cfi_def_cfa_offset 160\n"                                                  \
            "call " function "\n"                                                        \
            "popq %rsi\n"                                                                \
            ".cfi_def_cfa_offset 152\n"                                                  \
            "jmp 1b\n"                                                                   \
            ".cfi_endproc\n"                                                             \
            ".size " name ", . - " name "\n"                                             \
            ".popsection\n")

THUNK("tt_thunk_enter", "tt_jumped_enter");
THUNK("tt_thunk_leave", "tt_jumped_leave");
THUNK("tt_thunk_time", "tt_jumped_time");

#endif
