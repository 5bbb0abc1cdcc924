/* SPDX-License-Identifier: MIT */
/* mapped-array.h - an array that grows, in a separate mapping: the heap is the host's. */
#ifndef TT_MAPPED_ARRAY_H
#define TT_MAPPED_ARRAY_H

#include <stddef.h>

/* All zero is an empty one. */
struct tt_mapped_array {
    void *bytes; /* owned */
    size_t used, room;
};

/* Adds `size` bytes at the end and returns them; NULL without memory, and nothing has
 * changed.  May move the earlier bytes. */
void *tt_mapped_array_add(struct tt_mapped_array *, size_t size);
void tt_mapped_array_fini(struct tt_mapped_array *);

#endif
