/* SPDX-License-Identifier: MIT */
/* nettrace-spaces.h - mappings and symbols of many processes. */
#ifndef TT_NETTRACE_SPACES_H
#define TT_NETTRACE_SPACES_H

#include "nettrace-methods.h"

struct tt_nettrace_spaces {
    struct tt_vector mapping, symbol; /* sorted in the end */
    struct tt_vector text;            /* char */
    struct tt_pairs ids;              /* of files: build-ids, in the text */
    struct tt_pairs places;           /* blocks of addresses without a symbol */
};

void tt_nettrace_spaces_init(struct tt_nettrace_spaces *, const struct tt_memory *);
/* A number of as many bytes as it needs. */
uint64_t tt_nettrace_varied(struct tt_nettrace_payload *);
/* They take events of Universal.System: 0, or -1 without memory. */
int tt_nettrace_add_mapping(struct tt_nettrace_spaces *, uint64_t pid,
                            struct tt_nettrace_payload);
int tt_nettrace_add_symbol(struct tt_nettrace_spaces *, struct tt_nettrace_payload);
int tt_nettrace_add_about(struct tt_nettrace_spaces *, struct tt_nettrace_payload);
void tt_nettrace_sort_spaces(struct tt_nettrace_spaces *);
/* Returns the block of an address of a process; TT_NONE: no memory. */
uint32_t tt_nettrace_place(struct tt_nettrace_spaces *, struct tt_builder *, uint64_t pid,
                           uint64_t address);

#endif
