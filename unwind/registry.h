/* SPDX-License-Identifier: MIT */
/* registry.h - every module ever seen, and its table while that is of use. */
#ifndef TT_REGISTRY_H
#define TT_REGISTRY_H

#include "modules.h"

/* For the thread that holds the registry: one at a time, see modules.c. */
struct tt_known {
    struct tt_module module;
    struct tt_known *next;
    struct tt_rules *rules; /* owned; NULL: none, or not compiled */
    uint64_t mark;          /* identity of objects without build-id */
    uint64_t used;          /* generation of the last snapshot it was in */
    int compiled;           /* rules were looked for */
};

/* The module of this image, with its table; NULL without memory. */
struct tt_known *tt_registry_find(struct tt_image *, const char *path);

/* Frees tables that no snapshot from `generation` on has, except the last few. */
void tt_registry_trim(uint64_t generation);

/* Frees the tables of all modules; no snapshot may be left but this process's.  How many bytes
 * they have. */
void tt_modules_trim(void);
size_t tt_modules_size(void);

/* Code that is in no file: "[jit]" with where its names are, "[kernel]" with its boot's id.
 * NULL without memory. */
const struct tt_module *tt_modules_other(const char *path, const char *mark);

/* Calls `each` for each module ever seen, in the order of their ids. */
void tt_modules_each(void (*each)(void *arg, const struct tt_module *), void *arg);

#endif
