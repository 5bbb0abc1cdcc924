/* SPDX-License-Identifier: MIT */
/* nettrace-methods.h - the methods of .NET, by address. */
#ifndef TT_NETTRACE_METHODS_H
#define TT_NETTRACE_METHODS_H

#include "builder.h"
#include "pairs.h"

struct tt_nettrace_method {
    uint64_t pid, start, size, module;
    size_t name; /* in `text` */
    uint32_t block, order;
};

struct tt_nettrace_methods {
    const struct tt_memory *memory;
    struct tt_vector method; /* struct tt_nettrace_method; sorted in the end */
    struct tt_vector text;   /* char: names, each with its end */
    struct tt_vector path;   /* size_t: of a module, in `text` */
    struct tt_pairs modules; /* of a process: index of its path + 1 */
    struct tt_pairs places;  /* blocks of addresses in no method */
};

/* A payload that is being read: numbers, and texts of UTF-16 up to a 0. */
struct tt_nettrace_payload {
    const char *at, *end;
};
uint64_t tt_nettrace_number(struct tt_nettrace_payload *, int size);
/* Adds a text to a vector of characters, without its end: 0, or -1 without memory. */
int tt_nettrace_text(struct tt_nettrace_payload *, struct tt_vector *to);

void tt_nettrace_methods_init(struct tt_nettrace_methods *, const struct tt_memory *);
int tt_nettrace_add_method(struct tt_nettrace_methods *, uint64_t pid,
                           struct tt_nettrace_payload);
int tt_nettrace_add_module(struct tt_nettrace_methods *, uint64_t pid,
                           struct tt_nettrace_payload);
void tt_nettrace_sort(struct tt_nettrace_methods *);
/* Is an address of a process in a method? */
int tt_nettrace_is_method(const struct tt_nettrace_methods *, uint64_t pid,
                          uint64_t address);
/* Returns the block of an address; TT_NONE: no memory. */
uint32_t tt_nettrace_block(struct tt_nettrace_methods *, struct tt_builder *,
                           uint64_t pid, uint64_t address);

#endif
