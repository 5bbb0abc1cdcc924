/* SPDX-License-Identifier: MIT */
/* system-call.h - system calls without the C library's function. */
#ifndef TT_SYSTEM_CALL_H
#define TT_SYSTEM_CALL_H

#include <errno.h>

/* The C library's syscall once the system refuses calls from our code; else NULL. */
extern long (*tt_system_function)(long, ...) __attribute__((weak, visibility("hidden")));

/* The same as the library's syscall, without looking that up: allocators call such
 * functions, and the loader allocates. */
static inline long tt_call_system(long number, const long a[6])
{
    long result = number;

    if (__builtin_expect(&tt_system_function && tt_system_function, 0))
        return tt_system_function(number, a[0], a[1], a[2], a[3], a[4], a[5]);
#if defined __x86_64__
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];

    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    result = x0;
#endif
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

#endif
