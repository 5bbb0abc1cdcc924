/* SPDX-License-Identifier: MIT */
/* function-x86_64.c - the thunks of functions, on x86-64.
 *
 *      area    ┌ header: leave, ways to the slow path ┬ thunk ┬ thunk ┬ …   256 bytes each
 *      mirror  └ jmp thunk, as far from each function as from any other
 *
 * A thunk is the template below with the function's numbers filled in.  It is the fast
 * path of tt_scope_enter, in registers that it saves below the stack pointer: it must not
 * change any other, as a compiler that knows the function relies on those that it does
 * not change.
 *
 * A function that begins with five no-ops of one byte can jump only where each byte of
 * the distance is harmless by itself (see patch.h): one such distance is used for the
 * whole module, and code at that distance jumps on.
 *
 * Pages are written first and become executable then, and are never both. */
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "function-frames.h"
#include "function-quick.h"
#include "function.h"

/* ── What is written there ────────────────────────────────────────────────────────── */

enum fix {
    FIX_TOP,
    FIX_HOOKS,
    FIX_BASE,
    FIX_PICKING,
    FIX_BLOCK,
    FIX_ARC,
    FIX_BODY,
    FIX_ENTER,
    FIX_LEAVE,
    FIX_DIRECT,
};

struct fixup {
    uint32_t at, what;
};

/* Remembers where the four bytes are that end `back` bytes before here. */
#define FIXUP(section, template, what, back)                                             \
    ".pushsection " section ",\"a\",@progbits\n"                                         \
    ".long 9f - " back " - 4 - " template ", " what "\n"                                 \
                                          ".popsection\n9:\n"
#define FIX_(what, back) FIXUP(".rodata.tt_fixups", "tt_thunk_template", what, back)
#define HEADER_FIX(what, back)                                                           \
    FIXUP(".rodata.tt_header_fixups", "tt_header_template", what, back)
#define FIX(what) FIX_(what, "0")
#define TOP FIX("%c[top]")
#define DIRECT FIX("%c[direct]")
#define BASE FIX("%c[base]")
#define PICKING FIX_("%c[picking]", "1")
#define BLOCK FIX("%c[block]")
#define ARC FIX("%c[arc]")
#define BODY FIX("%c[body]")
#define ENTER FIX("%c[enter]")
#define LEAVE FIX("%c[leave]")
#define HEADER_TOP HEADER_FIX("%c[top]", "0")
#define HEADER_HOOKS HEADER_FIX("%c[hooks]", "0")
#define HEADER_BASE HEADER_FIX("%c[base]", "0")
#define HEADER_PICKING HEADER_FIX("%c[picking]", "0")
#define HEADER_PICKING_1 HEADER_FIX("%c[picking]", "1")

/* What the assembler below takes from C. */
#define FIELD(name, type, field) [name] "i"(offsetof(struct type, field))
#define OPERANDS                                                                         \
    FIELD(node, tt_frame, node), FIELD(cfa, tt_frame, cfa), FIELD(slot, tt_frame, slot), \
        FIELD(table, tt_node, table), FIELD(mask, tt_node, mask),                        \
        FIELD(target, tt_node, target), FIELD(calls, tt_node, calls),                    \
        FIELD(next, tt_node, next), FIELD(key, tt_node, key),                            \
        [frame] "i"(sizeof(struct tt_frame)), [shift] "i"(CELL_SHIFT),                   \
        [is_arc] "i"(TT_KEY_ARC), [fast] "i"(TT_CFA_FUNCTION | 1), [top] "i"(FIX_TOP),   \
        [hooks] "i"(FIX_HOOKS), [base] "i"(FIX_BASE), [picking] "i"(FIX_PICKING),        \
        [block] "i"(FIX_BLOCK), [arc] "i"(FIX_ARC), [body] "i"(FIX_BODY),                \
        [enter] "i"(FIX_ENTER), [leave] "i"(FIX_LEAVE), [direct] "i"(FIX_DIRECT)
#define TEMPLATE(name) static __attribute__((used)) void name(void)
enum { CELL_SHIFT = 6 };
_Static_assert(sizeof(struct tt_node) == 1 << CELL_SHIFT, "cell");

/* eax: the block, r8: where it is pushed.  Then rdx: the edge that a fast path may take, r8:
 * where it leads. */
#define FIND_EDGE                                                                          \
    "movl %c[mask](%%r8), %%edx\n"                                                         \
    "andl %%eax, %%edx\n"                                                                  \
    "movl %c[table](%%r8), %%r8d\n"                                                        \
    "addq %%rdx, %%r8\n"                                                                   \
    "movq %%fs:0, %%rdx\n" HEADER_BASE "movl (%%rdx,%%r8,4), %%edx\n"                      \
    "1: shlq %[shift], %%rdx\n"                                                            \
    "je 7f\n"                                                                              \
    "leaq 16+%c[fast](%%rsp), %%r8\n"                                                      \
    "cmpq %%r8, %c[cfa](%%rcx)\n" /* after a handler's pushes there may be no such edge */ \
    "jne 7f\n"                                                                             \
    "addq %%fs:0, %%rdx\n" HEADER_BASE "movl %c[key](%%rdx), %%r8d\n"                      \
    "subl %%eax, %%r8d\n"                                                                  \
    "je 2f\n"                                                                              \
    "cmpl %[is_arc], %%r8d\n"                                                              \
    "je 2f\n"                                                                              \
    "movl %c[next](%%rdx), %%edx\n"                                                        \
    "jmp 1b\n"                                                                             \
    "2: movq %c[calls](%%rdx), %%r8\n"                                                     \
    "incq %%r8\n"                                                                          \
    "testq %%r8, %%fs:0\n" HEADER_PICKING "jne 10f\n"                                      \
    "cmpq $0, %%fs:0\n" HEADER_PICKING_1 "jne 7f\n" /* this one is to be timed */          \
    "10: movl %c[target](%%rdx), %%r8d\n"                                                  \
    "shlq %[shift], %%r8\n"                                                                \
    "addq %%fs:0, %%r8\n" HEADER_BASE

#define COUNT                                                                            \
    "cmpq $0, %%fs:0\n" HEADER_PICKING_1 "je 3f\n"                                       \
    "incq %c[calls](%%rdx)\n"                                                            \
    "3:\n"
#define RESTORE                                                                          \
    "movq -8(%%rsp), %%rax\n"                                                            \
    "movq -16(%%rsp), %%rcx\n"                                                           \
    "movq -24(%%rsp), %%rdx\n"                                                           \
    "movq -32(%%rsp), %%r8\n"

/* A tail call, if the return address is a thunk's. */
#define REPLACE                                                                          \
    "6: jne 7f\n"                                                                        \
    "subq tt_header_words+16(%%rip), %%rdx\n"                                            \
    "cmpq tt_header_words+24(%%rip), %%rdx\n"                                            \
    "jae 7f\n"                                                                           \
    "movq %c[node]-2*%c[frame](%%rcx), %%r8\n" /* the caller's caller's */               \
        FIND_EDGE "movq %%r8, %c[node]-%c[frame](%%rcx)\n"                               \
    "leaq 16+%c[fast](%%rsp), %%r8\n"                                                    \
    "cmpq %%r8, %c[cfa](%%rcx)\n"                                                        \
    "jne 7f\n" COUNT RESTORE "cmpq %%rsp, %%rsp\n"                                       \
    "ret\n"

/* The fast path of tt_scope_enter, with the protocol of tallytree/frame.h.  rax: the frame,
 * rdx: the edge.  Other cases begin again in the header. */
TEMPLATE(thunk_template)
{
    __asm__ volatile(
        ".pushsection .rodata.tt_fixups,\"a\",@progbits\n"
        ".balign 4\n"
        ".globl tt_thunk_fixups\n.hidden tt_thunk_fixups\n"
        "tt_thunk_fixups:\n"
        ".popsection\n"
        ".pushsection .rodata.tt_template,\"a\",@progbits\n"
        ".globl tt_thunk_template, tt_thunk_start, tt_thunk_call, tt_thunk_end\n"
        ".hidden tt_thunk_template, tt_thunk_start, tt_thunk_call, tt_thunk_end\n"
        "tt_thunk_template:\n"
        "3: cmpl $0x7fffffff, %c[key](%%rdx)\n" ARC "jne 5f\n"
        "movl %c[target](%%rdx), %%ecx\n"
        "shlq %[shift], %%rcx\n"
        "addq %%fs:0, %%rcx\n" BASE "movq %%rcx, %c[node](%%rax)\n"
        "jmp 4f\n"
        "6: subq %[frame], %%rax\n" /* a handler's frame was there */
        "movq %%rax, %%fs:0\n" TOP "5: movl $0x7fffffff, %%eax\n" BLOCK
        "call . + 0x1000\n" ENTER "jne 7f\n"
        "jmp . + 0x1000\n" BODY "tt_thunk_start:\n"
        "movq %%rax, -16(%%rsp)\n"
        "movq %%rcx, -24(%%rsp)\n"
        "movq %%rdx, -32(%%rsp)\n"
        "movq %%fs:0, %%rax\n" TOP "addq %[frame], %%rax\n"
        "cmpq %%fs:0, %%rax\n" DIRECT "jae 5b\n"
        "movq %%rsp, %c[slot](%%rax)\n"           /* claim */
        "movq %c[node]-%c[frame](%%rax), %%rcx\n" /* the caller's */
        "movl %c[mask](%%rcx), %%edx\n"
        "andl $0x7fffffff, %%edx\n" BLOCK "movl %c[table](%%rcx), %%ecx\n"
        "addq %%rcx, %%rdx\n"
        "movq %%fs:0, %%rcx\n" BASE "movl (%%rcx,%%rdx,4), %%edx\n"
        "shlq %[shift], %%rdx\n"
        "addq %%rcx, %%rdx\n"
        "cmpl $0x7fffffff, %c[key](%%rdx)\n" BLOCK "jne 3b\n"
        "movq %%rdx, %c[node](%%rax)\n"      /* fill: a context is its own target */
        "4: leaq 8+%c[fast](%%rsp), %%rcx\n" /* its caller's stack ends there, and flags */
        "cmpq %%rcx, %c[cfa]-%c[frame](%%rax)\n" /* is the caller's frame dead? */
        "jbe 5b\n"
        "movq %%rcx, %c[cfa](%%rax)\n"
        "movq %%rax, %%fs:0\n" TOP      /* publish */
        "cmpq %%rsp, %c[slot](%%rax)\n" /* verify */
        "jne 6b\n"
        "cmpb $0, %%fs:0\n" PICKING "je 8f\n"
        "incq %c[calls](%%rdx)\n"
        "8: movq (%%rsp), %%rcx\n" /* where it returns to */
        "movq %%rcx, %c[slot](%%rax)\n"
        "movq -16(%%rsp), %%rax\n"
        "movq -24(%%rsp), %%rcx\n"
        "movq -32(%%rsp), %%rdx\n"
        "7: leaq 8(%%rsp), %%rsp\n"
        "tt_thunk_call: call . + 0x1000\n" BODY "jmp . + 0x1000\n" LEAVE "tt_thunk_end:\n"
        ".popsection\n"
        ".pushsection .rodata.tt_fixups,\"a\",@progbits\n"
        ".globl tt_thunk_fixups_end\n.hidden tt_thunk_fixups_end\n"
        "tt_thunk_fixups_end:\n"
        ".popsection\n" ::OPERANDS);
}

/* Code that thunks share: it is near them, and need not be near this library.  First the
 * return path; then entering if the edge is not the first of its bucket, and for tail
 * calls.  There eax is the block, and a thunk's return address is on the stack.
 *
 * At a tail call the function's return address is a thunk's: the frame becomes that of
 * the called function, and the thunk jumps instead of calling (the zero flag says so).
 *
 * Here the next frame's cfa is stored first and read last, in place of the slot. */
TEMPLATE(header_template)
{
    __asm__ volatile(
        ".pushsection .rodata.tt_header_fixups,\"a\",@progbits\n"
        ".balign 4\n"
        ".globl tt_header_fixups\n.hidden tt_header_fixups\n"
        "tt_header_fixups:\n"
        ".popsection\n"
        ".pushsection .rodata.tt_template,\"a\",@progbits\n"
        ".globl tt_header_template, tt_header_leave, tt_header_left, tt_header_enter\n"
        ".globl tt_header_words, tt_header_end\n"
        ".hidden tt_header_template, tt_header_leave, tt_header_left, tt_header_enter\n"
        ".hidden tt_header_words, tt_header_end\n"
        ".balign 64\n"
        "tt_header_template:\n"
        "2: jmpq *tt_header_words(%%rip)\n"
        "tt_header_leave:\n"
        "movq %%rax, -16(%%rsp)\n"
        "movq %%rcx, -24(%%rsp)\n"
        "movq %%fs:0, %%rax\n" HEADER_TOP "leaq %c[fast](%%rsp), %%rcx\n"
        "cmpq %%rcx, %c[cfa](%%rax)\n"
        "jne 2b\n"
        "pushq %c[slot](%%rax)\n" /* where to */
        "tt_header_left:\n"
        "subq %[frame], %%rax\n"
        "movq %%rax, %%fs:0\n" HEADER_TOP "movq -8(%%rsp), %%rax\n"
        "movq -16(%%rsp), %%rcx\n"
        "ret\n"
        ".balign 64\n"
        "tt_header_enter:\n"
        "movq %%r8, -32(%%rsp)\n"
        "movq %%fs:0, %%rcx\n" HEADER_TOP "addq %[frame], %%rcx\n"
        "cmpq %%fs:0, %%rcx\n" HEADER_HOOKS "jae 7f\n"
        "leaq 16+%c[fast](%%rsp), %%r8\n"
        "movq %%r8, %c[cfa](%%rcx)\n" /* cfa: stored first, so that it covers the others */
        "movq 8(%%rsp), %%rdx\n"
        "movq %%rdx, %c[slot](%%rcx)\n"
        "cmpq %%r8, %c[cfa]-%c[frame](%%rcx)\n" /* is the caller's frame dead? */
        "jbe 6f\n"
        "movq %c[node]-%c[frame](%%rcx), %%r8\n" /* the caller's */
        FIND_EDGE "movq %%r8, %c[node](%%rcx)\n"
        "leaq 16+%c[fast](%%rsp), %%r8\n"
        "movq %%rcx, %%fs:0\n" HEADER_TOP "cmpq %%r8, %c[cfa](%%rcx)\n"
        "jne 8f\n" COUNT /* not zero, by now */
            RESTORE "ret\n" REPLACE
        "8: subq %[frame], %%rcx\n" /* a handler's frame was there */
        "movq %%rcx, %%fs:0\n" HEADER_TOP "7: movq -32(%%rsp), %%r8\n"
        "jmpq *tt_header_words+8(%%rip)\n"
        ".balign 8\n"
        "tt_header_words: .quad 0, 0, 0, 0\n"
        "tt_header_end:\n"
        ".popsection\n"
        ".pushsection .rodata.tt_header_fixups,\"a\",@progbits\n"
        ".globl tt_header_fixups_end\n.hidden tt_header_fixups_end\n"
        "tt_header_fixups_end:\n"
        ".popsection\n" ::OPERANDS);
}

extern const char tt_thunk_template[], tt_thunk_start[], tt_thunk_call[], tt_thunk_end[];
extern const struct fixup tt_thunk_fixups[], tt_thunk_fixups_end[];
extern const char tt_header_template[], tt_header_leave[], tt_header_left[],
    tt_header_enter[], tt_header_words[], tt_header_end[];
extern const struct fixup tt_header_fixups[], tt_header_fixups_end[];

/* ── The slow path ────────────────────────────────────────────────────────────────── */

/* Arguments and results may be in vector registers of any size, and the C library's
 * string functions use these, too: all of them are saved, in tt_state_size bytes.  0: by
 * fxsave. */
uint32_t tt_state_size __attribute__((visibility("hidden")));
uint32_t tt_state_compact
    __attribute__((visibility("hidden"))); /* omit unused state: a third of the time */

enum { STATE_COMPONENTS = 0xe6 }; /* SSE, AVX, AVX-512 */

#define SAVE_STATE                                                                       \
    "movl tt_state_size(%rip), %eax\n"                                                   \
    "testl %eax, %eax\n"                                                                 \
    "je 3f\n"                                                                            \
    "subq %rax, %rsp\n"                                                                  \
    "andq $-64, %rsp\n"                                                                  \
    "xorl %edx, %edx\n"                                                                  \
    "movq %rdx, 512(%rsp)\nmovq %rdx, 520(%rsp)\n"                                       \
    "movq %rdx, 528(%rsp)\nmovq %rdx, 536(%rsp)\n"                                       \
    "movq %rdx, 544(%rsp)\nmovq %rdx, 552(%rsp)\n"                                       \
    "movq %rdx, 560(%rsp)\nmovq %rdx, 568(%rsp)\n"                                       \
    "movl $0xe6, %eax\n"                                                                 \
    "cmpl $0, tt_state_compact(%rip)\n"                                                  \
    "jne 6f\n"                                                                           \
    "xsave64 (%rsp)\n"                                                                   \
    "jmp 4f\n"                                                                           \
    "6: xsavec64 (%rsp)\n"                                                               \
    "jmp 4f\n"                                                                           \
    "3: subq $512, %rsp\n"                                                               \
    "andq $-64, %rsp\n"                                                                  \
    "fxsave64 (%rsp)\n"                                                                  \
    "4:\n"

#define RESTORE_STATE                                                                    \
    "cmpl $0, tt_state_size(%rip)\n"                                                     \
    "je 3f\n"                                                                            \
    "movl $0xe6, %eax\n"                                                                 \
    "xorl %edx, %edx\n"                                                                  \
    "xrstor64 (%rsp)\n"                                                                  \
    "jmp 4f\n"                                                                           \
    "3: fxrstor64 (%rsp)\n"                                                              \
    "4:\n"

void tt_slow_enter(void) __attribute__((visibility("hidden")));
void tt_slow_leave(void) __attribute__((visibility("hidden")));

/* Called by a thunk, eax being the block: the return address of the function is above its
 * own, and three registers are saved below that.  Not zero: call the function. */
__asm__(".pushsection .text\n"
        ".globl tt_slow_enter\n.hidden tt_slow_enter\n.type tt_slow_enter, @function\n"
        "tt_slow_enter:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa rsp, 16\n"
        ".cfi_offset rip, -8\n"
        "leaq -40(%rsp), %rsp\n"
        ".cfi_def_cfa_offset 56\n"
        "pushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\npushq %r11\n"
        ".cfi_def_cfa_offset 104\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 112\n"
        ".cfi_offset rbp, -112\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register rbp\n"
        "pushq %rbx\n"
        ".cfi_offset rbx, -120\n"
        "movl %eax, %ebx\n"
        "leaq 104(%rbp), %rdi\n"
        "movl %eax, %esi\n"
        "andq $-16, %rsp\n"
        "call tt_function_enter_quickly\n"
        "movl %eax, %ecx\n"
        "testl %eax, %eax\n"
        "jns 5f\n"
        "leaq 104(%rbp), %rdi\n"
        "movl %ebx, %esi\n" SAVE_STATE "call tt_function_enter\n"
        "movl %eax, %ecx\n" RESTORE_STATE "5: movq -8(%rbp), %rbx\n"
        "movq %rbp, %rsp\n"
        "popq %rbp\n"
        ".cfi_def_cfa rsp, 104\n"
        "testl %ecx, %ecx\n" /* and nothing below changes the flag */
        "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\n"
        ".cfi_def_cfa_offset 56\n"
        "movq 32(%rsp), %rax\n"
        "movq 24(%rsp), %rcx\n"
        "movq 16(%rsp), %rdx\n"
        "leaq 40(%rsp), %rsp\n"
        ".cfi_def_cfa_offset 16\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size tt_slow_enter, . - tt_slow_enter\n"
        /* Jumped to where a function has returned, with two registers saved. */
        ".globl tt_slow_leave\n.hidden tt_slow_leave\n.type tt_slow_leave, @function\n"
        "tt_slow_leave:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "leaq -48(%rsp), %rsp\n"
        "pushq %rdx\npushq %rsi\npushq %rdi\n"
        "pushq %r8\npushq %r9\npushq %r10\npushq %r11\n"
        "pushq %rbp\n"
        "movq %rsp, %rbp\n"
        "leaq 112(%rbp), %rdi\n"
        "andq $-16, %rsp\n"
        "call tt_function_leave_quickly\n"
        "movq %rax, 104(%rbp)\n"
        "testq %rax, %rax\n"
        "jne 5f\n"
        "leaq 112(%rbp), %rdi\n" SAVE_STATE "call tt_function_leave\n"
        "movq %rax, 104(%rbp)\n" RESTORE_STATE "5: movq %rbp, %rsp\n"
        "popq %rbp\n"
        "popq %r11\npopq %r10\npopq %r9\npopq %r8\n"
        "popq %rdi\npopq %rsi\npopq %rdx\n"
        "movq 32(%rsp), %rax\n"
        "movq 24(%rsp), %rcx\n"
        "leaq 40(%rsp), %rsp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size tt_slow_leave, . - tt_slow_leave\n"
        ".popsection\n");

static void find_state_size(void)
{
    enum { LEGACY = 512 + 64, XSAVE = 1 << 27, COMPONENTS = 8 };
    uint32_t a, b, c, d, size = LEGACY;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & XSAVE))
        return;
    for (uint32_t i = 2; i < COMPONENTS; i++) {
        if (!(STATE_COMPONENTS >> i & 1))
            continue;
        __cpuid_count(0xd, i, a, b, c, d);
        if (a && a + b > size)
            size = a + b;
    }
    __cpuid_count(0xd, 1, a, b, c, d);
    tt_state_compact = a >> 1 & 1;
    tt_state_size = size;
}

/* ── Room near the code ───────────────────────────────────────────────────────────── */

enum { THUNK_SIZE = 256, HEADER = 1024, PAGE = 4096 };
#define PAGE_UP(n) (((n) + PAGE - 1) & ~(size_t)(PAGE - 1))

static char *map_at(uintptr_t address, size_t size)
{
    void *p = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (p != MAP_FAILED && p != (void *)address) { /* an old kernel takes it for a hint */
        munmap(p, size);
        return NULL;
    }
    return p == MAP_FAILED ? NULL : p;
}

/* Below the module, as memory above it may be about to grow; else far above. */
static char *map_near(uintptr_t low, uintptr_t high, size_t size)
{
    const uintptr_t step = 1 << 20, reach = (uintptr_t)1 << 31, far = (uintptr_t)1 << 30;
    char *p = NULL;

    low &= ~(uintptr_t)(PAGE - 1);
    high = PAGE_UP(high);
    for (uintptr_t off = size; !p && off < low && high - low + off < reach - step;
         off += step)
        p = map_at(low - off, size);
    for (uintptr_t off = far; !p && high - low + off + size < reach - step; off += step)
        p = map_at(high + off, size);
    return p;
}

/* ── Filling in ───────────────────────────────────────────────────────────────────── */

/* Between two labels of the assembler's. */
static size_t between(const void *from, const void *to)
{
    return (uintptr_t)to - (uintptr_t)from;
}

static void put(char *at, uint32_t value) { memcpy(at, &value, sizeof value); }

/* It counts from the end of its four bytes. */
static void put_distance(char *at, const char *to)
{
    put(at, (uint32_t)((uintptr_t)to - (uintptr_t)at - 4));
}

/* The same in all threads, as the library was loaded before they began. */
static uint32_t thread_offset(const void *field)
{
    uintptr_t self;

    __asm__("movq %%fs:0, %0" : "=r"(self));
    return (uint32_t)((uintptr_t)field - self);
}

/* Fills in a field that is the same in all thunks. */
static void fix_field(char *at, uint32_t what)
{
    const void *field = what == FIX_TOP      ? (void *)&tt_self.top
                        : what == FIX_HOOKS  ? (void *)&tt_self.hooks
                        : what == FIX_DIRECT ? (void *)&tt_self.direct
                        : what == FIX_BASE   ? (void *)&tt_self.base
                                             : (void *)&tt_self.picking;

    put(at, thread_offset(field));
}

static void fill_header(char *header, size_t size)
{
    const uintptr_t words[4] = {(uintptr_t)tt_slow_leave, (uintptr_t)tt_slow_enter,
                                (uintptr_t)header, size};
    const struct fixup *f = tt_header_fixups;

    TT_ASSERT(between(tt_header_template, tt_header_end) <= HEADER);
    memcpy(header, tt_header_template, between(tt_header_template, tt_header_end));
    for (size_t i = 0; i < between(f, tt_header_fixups_end) / sizeof *f; i++)
        fix_field(header + f[i].at, f[i].what);
    memcpy(header + between(tt_header_template, tt_header_words), words, sizeof words);
}

static void fill_thunk(char *thunk, char *header, const struct tt_site_code *s)
{
    enum { SITE = 5 };
    const struct fixup *f = tt_thunk_fixups;

    TT_ASSERT(between(tt_thunk_template, tt_thunk_end) <= THUNK_SIZE);
    memcpy(thunk, tt_thunk_template, between(tt_thunk_template, tt_thunk_end));
    for (; between(f, tt_thunk_fixups_end) > 0; f++) {
        char *at = thunk + f->at;

        switch ((enum fix)f->what) {
        case FIX_TOP:
        case FIX_HOOKS:
        case FIX_DIRECT:
        case FIX_BASE:
        case FIX_PICKING:
            fix_field(at, f->what);
            break;
        case FIX_BLOCK:
            put(at, s->block);
            break;
        case FIX_ARC:
            put(at, s->block | TT_KEY_ARC);
            break;
        case FIX_BODY:
            put_distance(at, s->at + SITE);
            break;
        case FIX_ENTER:
            put_distance(at, header + between(tt_header_template, tt_header_enter));
            break;
        case FIX_LEAVE:
            put_distance(at, header + between(tt_header_template, tt_header_leave));
            break;
        }
    }
}

/* ── Mirrors ──────────────────────────────────────────────────────────────────────── */

static int is_many(const char *at) { return at[0] == '\x90' && at[1] == '\x90'; }

/* The address of the mirror of `at`. */
static uintptr_t mirrored(const char *at, uint32_t distance)
{
    enum { SITE = 5 };

    return (uintptr_t)at + SITE + (uintptr_t)(intptr_t)(int32_t)distance;
}

/* The nearest first. */
static char *map_mirror(const char *low, const char *high, uint32_t *distance)
{
    static const unsigned char last[] = {0xf9, 0xf8, 0xf5, 0x26, 0x2e, 0x36, 0x3e, 0x90},
                               third[] = {0x90, 0xf5, 0xf8, 0xf9, 0x26, 0x2e, 0x36, 0x3e};
    char *p = NULL;

    for (size_t i = 0; i < sizeof last; i++)
        for (size_t j = 0; !p && j < sizeof third; j++) {
            uintptr_t start, end;
            *distance = (uint32_t)last[i] << 24 | (uint32_t)third[j] << 16 | 0x9090;
            start = mirrored(low, *distance) & ~(uintptr_t)(PAGE - 1);
            end = PAGE_UP(mirrored(high, *distance) + 5);
            if (end > start)
                p = map_at(start, end - start);
        }
    return p;
}

static const char *make_mirror(struct tt_site_code *s, size_t count)
{
    const char *low = NULL, *high = NULL;
    uint32_t distance;
    char *p, *at;

    for (size_t i = 0; i < count; i++)
        if (is_many(s[i].at)) {
            low = !low || s[i].at < low ? s[i].at : low;
            high = s[i].at > high ? s[i].at : high;
        }
    if (!low)
        return NULL;
    p = map_mirror(low, high, &distance);
    if (!p)
        return "there is no room where its functions can jump to";
    for (size_t i = 0; i < count; i++) {
        if (!is_many(s[i].at))
            continue;
        at = (char *)mirrored(s[i].at, distance);
        *at = '\xe9';
        put_distance(at + 1, s[i].thunk);
        s[i].thunk = at;
    }
    if (mprotect(p, PAGE_UP(mirrored(high, distance) + 5) - (uintptr_t)p,
                 PROT_READ | PROT_EXEC) == 0)
        return NULL;
    return "no memory may become executable here";
}

int tt_function_jumps(const char *at) { return *(const volatile char *)at == '\xe9'; }

/* ── Making ───────────────────────────────────────────────────────────────────────── */

static void find_range(const struct tt_site_code *s, size_t count, uintptr_t *low,
                       uintptr_t *high)
{
    *low = UINTPTR_MAX;
    *high = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)s[i].at;
        *low = at < *low ? at : *low;
        *high = at > *high ? at : *high;
    }
}

const char *tt_function_make(struct tt_site_code *s, size_t count)
{
    size_t size = PAGE_UP(HEADER + count * THUNK_SIZE);
    struct tt_function_area *a;
    uintptr_t low, high;
    char *p;

    _Static_assert(sizeof *a <= PAGE, "area");
    if (!tt_state_size)
        find_state_size();
    find_range(s, count, &low, &high);
    p = map_near(low, high, size + PAGE);
    if (!p)
        return "there is no room near its code";
    a = (struct tt_function_area *)(void *)(p + size);
    fill_header(p, size);
    for (size_t i = 0; i < count; i++) {
        char *thunk = p + HEADER + i * THUNK_SIZE;
        fill_thunk(thunk, p, &s[i]);
        s[i].thunk = thunk + between(tt_thunk_template, tt_thunk_start);
    }
    if (mprotect(p, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(p, size + PAGE);
        return "no memory may become executable here";
    }
    a->start = (uintptr_t)p;
    a->end = (uintptr_t)p + size;
    tt_function_frames(a, &(struct tt_function_places){
                              .left = between(tt_header_template, tt_header_left),
                              .thunks = HEADER,
                              .size = THUNK_SIZE,
                              .call = between(tt_thunk_template, tt_thunk_call),
                              .after = between(tt_thunk_template, tt_thunk_end)});
    tt_function_add(a);
    return make_mirror(s, count);
}
