/* SPDX-License-Identifier: MIT */
/* probes.c - a nop for each probe, and a note with its address and its arguments:
 * SystemTap's format, which perf, bpftrace and gdb read. */
#include "probes.h"

#define SEMAPHORE __attribute__((section(".probes"), used, visibility("hidden")))

volatile uint16_t tt_otel_memory_alloc_semaphore SEMAPHORE,
    tt_otel_memory_free_semaphore SEMAPHORE;

/* clang-format off */
#define NOTE(name, arguments)                                                            \
    "990: nop\n"                                                                         \
    ".pushsection .note.stapsdt,\"\",\"note\"\n"                                         \
    ".balign 4\n"                                                                        \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                   \
    "991: .asciz \"stapsdt\"\n"                                                          \
    "992: .balign 4\n"                                                                   \
    "993: .8byte 990b, _.stapsdt.base, tt_otel_memory_" name "_semaphore\n"              \
    ".asciz \"otel_memory\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n"            \
    "994: .balign 4\n"                                                                   \
    ".popsection\n"                                                                      \
    ".ifndef _.stapsdt.base\n"                                                           \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"              \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                                     \
    "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"                                \
    ".popsection\n.endif\n"
/* clang-format on */

#if defined __x86_64__
#define FIRST "rdi"
#define SECOND "rsi"
#define THIRD "rdx"
#define ARGUMENT(name) "8@%%" name
#elif defined __aarch64__
#define FIRST "x0"
#define SECOND "x1"
#define THIRD "x2"
#define ARGUMENT(name) "8@" name
#endif

__attribute__((noinline)) void tt_probe_alloc(const void *p, uint64_t size,
                                              uint64_t weighted)
{
    register const void *a __asm__(FIRST) = p;
    register uint64_t b __asm__(SECOND) = size, c __asm__(THIRD) = weighted;

    __asm__ volatile(
        NOTE("alloc", ARGUMENT(FIRST) " " ARGUMENT(SECOND) " " ARGUMENT(THIRD))::"r"(a),
        "r"(b), "r"(c));
}

__attribute__((noinline)) void tt_probe_free(const void *p)
{
    register const void *a __asm__(FIRST) = p;

    __asm__ volatile(NOTE("free", ARGUMENT(FIRST))::"r"(a));
}
