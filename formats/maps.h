/* SPDX-License-Identifier: MIT */
/* maps.h - which file an address of a process lies in.
 *
 * From the lines of /proc/PID/maps that profilers copy.  An address in a file is that of its
 * ELF image: an image that was moved begins at its lowest mapping, one that lies low was not
 * moved. */
#ifndef TT_MAPS_H
#define TT_MAPS_H

#include "builder.h"

struct tt_maps {
    const struct tt_memory *memory;
    struct tt_vector map,
        text; /* in the order of addresses, once they are sorted; char */
};

void tt_maps_init(struct tt_maps *, const struct tt_memory *);
void tt_maps_fini(struct tt_maps *);
/* "5626ea885000-5626ea886000 r-xp 00001000 fe:00 123  /usr/bin/app", or the like without
 * what stands in between: 1; 0: it is none; -TT_ERR_MEMORY. */
int tt_maps_line(struct tt_maps *, const char *line);
void tt_maps_sort(struct tt_maps *);
/* The block of an address: in a file, of kind native, and found by symbols later on; or else
 * a function that is called by its address.  TT_NONE: no memory. */
uint32_t tt_maps_block(struct tt_maps *, struct tt_builder *, uint64_t address);
/* The file that an address lies in, and how far behind that file's lowest mapping; NULL:
 * none. */
const char *tt_maps_file(const struct tt_maps *, uint64_t address, uint64_t *offset);

#endif
