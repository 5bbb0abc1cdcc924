/* SPDX-License-Identifier: MIT */
/* maps.h - finds the file that an address of a process is in.
 *
 * The lines come from /proc/PID/maps; profilers copy them.  An address in a file is that
 * of its ELF image: an image that was moved begins at its lowest mapping; one at a low
 * address was not moved. */
#ifndef TT_MAPS_H
#define TT_MAPS_H

#include "builder.h"

struct tt_maps {
    const struct tt_memory *memory;
    struct tt_vector map, text; /* sorted by address after tt_maps_sort; char */
};

void tt_maps_init(struct tt_maps *, const struct tt_memory *);
/* Takes "5626ea885000-5626ea886000 r-xp 00001000 fe:00 123  /usr/bin/app", or the same
 * without the columns in the middle: 1; 0: it is none; -TT_ERR_MEMORY. */
int tt_maps_line(struct tt_maps *, const char *line);
void tt_maps_sort(struct tt_maps *);
/* Returns the block of an address: of kind native if it is in a file, to be named by
 * symbols later; otherwise a function named by its address.  TT_NONE: no memory. */
uint32_t tt_maps_block(struct tt_maps *, struct tt_builder *, uint64_t address);
/* Returns the file that contains an address, and the offset from that file's lowest
 * mapping; NULL: none. */
const char *tt_maps_file(const struct tt_maps *, uint64_t address, uint64_t *offset);

#endif
