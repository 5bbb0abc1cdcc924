/* SPDX-License-Identifier: MIT */
/* patchable.h - where the compiler left room for functions to be switched on.
 *
 *      -fpatchable-function-entry=5      __patchable_function_entries has their addresses
 *      -pg -mfentry -mnop-mcount         a no-op at the beginning; with -mrecord-mcount
 *                                        their addresses are in __mcount_loc */
#ifndef TT_PATCHABLE_H
#define TT_PATCHABLE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "image.h"

/* A loaded module, as the loader reports it. */
struct tt_loaded {
    char path[PATH_MAX]; /* of its file; empty: that may not be read */
    char build_id[2 * TT_BUILD_ID_MAX + 1];
    uint64_t bias;
    uintptr_t start, end; /* of all its segments */
    const Elf64_Phdr *phdr;
    unsigned phdrs;
};

/* Calls `each` for all modules except this code's own and those without a file.  None is
 * loaded or unloaded meanwhile: `each` must not do so either.  The result differs from
 * tt_loaded_changes if modules have changed since. */
uint64_t tt_loaded_each(void (*each)(void *arg, const struct tt_loaded *), void *arg);
uint64_t tt_loaded_changes(void);

struct tt_found {
    char *at;         /* the no-op */
    uint64_t offset;  /* the function's, from the module's bias */
    const char *name; /* in the file, which is mapped; NULL: not known */
    enum {
        TT_FOUND_KEPT,
        TT_FOUND_THINNED,
        TT_FOUND_TOLD
    } thinned; /* it costs too much */
};

struct tt_patchable {
    struct tt_found *found; /* in order of their addresses */
    size_t count;
    void *file; /* mapped */
    size_t size;
    int borrowed;
};

/* The functions of a module, all off; count 0: there are none, or it cannot be read. */
void tt_patchable_find(struct tt_patchable *, const struct tt_loaded *);

/* Names for functions found before; `found` is borrowed meanwhile. */
void tt_patchable_name(struct tt_patchable *, const struct tt_loaded *,
                       struct tt_found *found, size_t count);
void tt_patchable_fini(struct tt_patchable *);

#endif
