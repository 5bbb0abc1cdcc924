/* SPDX-License-Identifier: MIT */
/* hooks-x86_64.c - mcount and __fentry__: called while all registers of the caller are in
 * use, arguments too.
 *
 *      mcount        after `push %rbp; mov %rsp, %rbp`: the CFA is %rbp + 16
 *      __fentry__    at the very beginning: the CFA is above the caller's return address
 *
 * Both end in the C library's own, with all registers restored: gmon.out does not
 * change. */
#include <cpuid.h>
#include <stdint.h>

#include "hooks-machine.h"
#include "hooks-quick.h"
#include "hooks.h"
#include "next-function.h"

enum { VECTORS = 0xe7, CONTROLLED = 1 << 27 /* of cpuid 1: the system saves more */ };

uint32_t tt_hooks_vectors __attribute__((visibility("hidden")));
void *tt_hooks_mcount __attribute__((visibility("hidden"))),
    *tt_hooks_fentry __attribute__((visibility("hidden")));

/* %rbp: the caller's, then the return address.  A struct tt_hook_call is at (%rsp). */
#define HOOK(name, sp, fp, next)                                                         \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n"             \
            ".cfi_startproc\n"                                                           \
            "pushq %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbp, -16\n"               \
            "movq %rsp, %rbp\n.cfi_def_cfa_register rbp\n"                               \
            "pushq %rax\npushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\n"               \
            "pushq %r8\npushq %r9\npushq %r10\npushq %r11\npushq %rbx\n"                 \
            "subq $48, %rsp\nandq $-16, %rsp\n"                                          \
            "movq 8(%rbp), %rax\nmovq %rax, (%rsp)\n" sp "movq %rax, 8(%rsp)\n" fp       \
            "movq %rax, 16(%rsp)\nmovq $0, 24(%rsp)\nmovq $0, 32(%rsp)\n"                \
            "movq %rsp, %rbx\nmovq %rsp, %rdi\ncall tt_hook_quickly\n"                   \
            "testl %eax, %eax\njne 2f\n"                                                 \
            "subq $2752, %rsp\nandq $-64, %rsp\n"                                        \
            "movl tt_hooks_vectors(%rip), %eax\nxorl %edx, %edx\n"                       \
            "testl %eax, %eax\nje 3f\n"                                                  \
            "movq %rdx, 512(%rsp)\nmovq %rdx, 520(%rsp)\nmovq %rdx, 528(%rsp)\n"         \
            "movq %rdx, 536(%rsp)\nmovq %rdx, 544(%rsp)\nmovq %rdx, 552(%rsp)\n"         \
            "movq %rdx, 560(%rsp)\nmovq %rdx, 568(%rsp)\nxsave64 (%rsp)\n"               \
            "movq %rbx, %rdi\ncall tt_hook_slowly\n"                                     \
            "movl tt_hooks_vectors(%rip), %eax\nxorl %edx, %edx\nxrstor64 (%rsp)\n"      \
            "jmp 2f\n"                                                                   \
            "3: fxsave64 (%rsp)\nmovq %rbx, %rdi\ncall tt_hook_slowly\n"                 \
            "fxrstor64 (%rsp)\n"                                                         \
            "2: leaq -80(%rbp), %rsp\n"                                                  \
            "popq %rbx\npopq %r11\npopq %r10\npopq %r9\npopq %r8\n"                      \
            "popq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\npopq %rax\npopq %rbp\n"         \
            ".cfi_def_cfa rsp, 8\n.cfi_restore rbp\n"                                    \
            "cmpq $0, " next "(%rip)\nje 1f\njmpq *" next "(%rip)\n1: ret\n"             \
            ".cfi_endproc\n.size " name ", . - " name "\n")

/* The hook's caller's registers, of which one step leads to the CFA. */
HOOK("mcount", "leaq 16(%rbp), %rax\n", "movq (%rbp), %rax\n", "tt_hooks_mcount");
HOOK("_mcount", "leaq 16(%rbp), %rax\n", "movq (%rbp), %rax\n", "tt_hooks_mcount");
HOOK("__fentry__", "leaq 16(%rbp), %rax\n", "movq (%rbp), %rax\n", "tt_hooks_fentry");

static uint32_t saved_vectors(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & CONTROLLED))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a & VECTORS;
}

void tt_hooks_machine(void)
{
    tt_hooks_vectors = saved_vectors();
    tt_hooks_mcount = tt_next_function("mcount");
    tt_hooks_fentry = tt_next_function("__fentry__");
}
