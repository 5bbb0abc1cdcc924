/* SPDX-License-Identifier: MIT */
/* kernel-waits.h - what a thread waits for, by the functions of the kernel that it waits
 * in; and what woke it, by those that did. */
#ifndef TT_KERNEL_WAITS_H
#define TT_KERNEL_WAITS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tt_kernel_role {
    TT_KERNEL_NONE,
    TT_KERNEL_TIMER,  /* a timer has ended */
    TT_KERNEL_EXIT,   /* the thread ends */
    TT_KERNEL_INLINE, /* a soft interrupt, for the thread that it runs in */
    TT_KERNEL_ROLES   /* from here on: the index of a wait */
};

struct tt_kernel_waits { /* all zero: no function is known */
    struct tt_kernel_range {
        uint64_t start;
        uint32_t role;
    } * range; /* owned; by start, each up to the next */
    size_t count, room;
};

/* Reads the kernel's functions; users that may not see their addresses get none.  The lines
 * of the file, as of /proc/kallsyms, may be in any order. */
void tt_kernel_waits_load(struct tt_kernel_waits *);
void tt_kernel_waits_read(struct tt_kernel_waits *, FILE *);
void tt_kernel_waits_free(struct tt_kernel_waits *);

/* The name of the wait, "[waits: pipe of]", by the innermost function that is known; NULL:
 * none is.  The name is a constant. */
const char *tt_kernel_wait(const struct tt_kernel_waits *, const uint64_t *chain,
                           uint32_t count);

/* Is such a function among them? */
int tt_kernel_has(const struct tt_kernel_waits *, const uint64_t *chain, uint32_t count,
                  enum tt_kernel_role);

/* The role of a function by its name, "do_wait.cold"; TT_KERNEL_NONE: it has none. */
uint32_t tt_kernel_role_of(const char *name);
const char *tt_kernel_role_wait(uint32_t role);

#endif
