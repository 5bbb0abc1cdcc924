/* SPDX-License-Identifier: MIT */
/* memray-heap.h - the figures of what is allocated at a site. */
#ifndef TT_MEMRAY_HEAP_H
#define TT_MEMRAY_HEAP_H

#include "memray.h"

/* All that return int return 0, or an error, noted. */

void tt_memray_heap_init(struct tt_memray *);

/* Returns the figures of a site, valid until the next call; NULL: no memory, noted. */
struct tt_memray_figures *tt_memray_place(struct tt_memray *,
                                          const struct tt_memray_site *);
int tt_memray_allocate(struct tt_memray *, const struct tt_memray_site *,
                       uint64_t address, uint64_t size);
void tt_memray_free(struct tt_memray *, uint64_t address);
int tt_memray_unmap(struct tt_memray *, uint64_t address, uint64_t size);
/* Adds all figures to the builder. */
int tt_memray_finish(struct tt_memray *);

#endif
