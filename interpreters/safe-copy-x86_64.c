/* SPDX-License-Identifier: MIT */
/* safe-copy-x86_64.c - loads that survive a fault.
 *
 * The handler of the fault sets the program counter from the load to tt_safe_failed.
 * Meanwhile the stack pointer is where the system may put a signal's frame.
 * async-signal-safe */
#include "safe-copy.h"

int tt_safe_loads;
uint32_t tt_safe_readers;
__thread struct tt_safe_thread tt_safe_thread;

__asm__(".text\n\t.p2align 4\n"
        ".hidden tt_safe_copy\n.hidden tt_safe_load\n.hidden tt_safe_load_end\n"
        ".hidden tt_safe_failed\n.globl tt_safe_copy\n.globl tt_safe_load\n"
        ".globl tt_safe_load_end\n.globl tt_safe_failed\n"
        ".type tt_safe_copy, @function\n"
        "tt_safe_copy:\n\t.cfi_startproc\n\t"
        "movq %rsp, %r8\n\t.cfi_def_cfa r8, 8\n\t"
        "testq %rcx, %rcx\n\tcmovneq %rcx, %rsp\n\txorl %eax, %eax\n"
        "subq $1, %rdx\n\tjbe 2f\n"
        "tt_safe_load:\n"
        "1:\tmovups (%rsi,%rax,8), %xmm0\n\tmovups %xmm0, (%rdi,%rax,8)\n\t"
        "addq $2, %rax\n\tcmpq %rdx, %rax\n\tjb 1b\n"
        "2:\tjne 3f\n\tmovq (%rsi,%rax,8), %r9\n"
        "tt_safe_load_end:\n\tmovq %r9, (%rdi,%rax,8)\n"
        "3:\tmovl $1, %eax\n\tmovq %r8, %rsp\n\tretq\n"
        "tt_safe_failed:\n\txorl %eax, %eax\n\tmovq %r8, %rsp\n\tretq\n\t"
        ".cfi_endproc\n\t.size tt_safe_copy, .-tt_safe_copy\n");
