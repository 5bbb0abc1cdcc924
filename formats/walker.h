/* SPDX-License-Identifier: MIT */
/* walker.h - finds the callers in a copied stack, and functions in files.  A reader may be
 * given one; it uses the files that ran, and this machine's unwinder. */
#ifndef TT_WALKER_H
#define TT_WALKER_H

#include <stddef.h>
#include <stdint.h>

struct tt_walk_region {
    uint64_t start, end, offset;
    const char *path;
    char id[41]; /* its build-id, in hexadecimal, or "" */
};

struct tt_copied_stack {
    uint64_t space; /* of the same number, the same regions */
    const struct tt_walk_region *region;
    size_t regions;
    uint64_t mask;         /* of the registers, as the system has it */
    const uint64_t *value; /* those of the mask, in its order */
    const char *stack;     /* the copied stack, from the stack pointer on */
    size_t stack_size;
};

struct tt_walker {
    /* Does it know the regions of this space already? */
    int (*knows)(void *arg, uint64_t space);
    /* Writes the addresses of the calls, from the place of the registers on; returns how
     * many. */
    size_t (*walk)(void *arg, const struct tt_copied_stack *, uint64_t *to, size_t room);
    /* Returns the function at an address of a file, valid until the next call; NULL: not
     * known. */
    const char *(*function)(void *arg, const char *path, uint64_t address);
    void *arg;
};

#endif
