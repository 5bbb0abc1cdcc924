/* SPDX-License-Identifier: MIT */
/* stepping.h - SIGTRAP after each instruction of the calling thread. */
#ifndef STEPPING_H
#define STEPPING_H

#ifdef __x86_64__

static inline void set_stepping(int on)
{
    if (on)
        __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\t"
                         "popfq\n\tleaq 128(%%rsp), %%rsp"
                         :
                         :
                         : "memory", "cc");
    else
        __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\t"
                         "popfq\n\tleaq 128(%%rsp), %%rsp"
                         :
                         :
                         : "memory", "cc");
}

#endif
#endif
