/* SPDX-License-Identifier: MIT */
/* interpose-unmap.h - memory that the program maps itself. */
#ifndef TT_INTERPOSE_UNMAP_H
#define TT_INTERPOSE_UNMAP_H

#include <stddef.h>

struct tt_caller;

/* The program has mapped it. */
void tt_heap_mapped(void *, size_t size, const struct tt_caller *);

#endif
