/* SPDX-License-Identifier: MIT */
/* regions.h - the code mappings of another process: files, and their addresses.
 *
 * Read from /proc/PID/maps, or built from the system's report of each mapping, in the
 * order in which they were made: a new one replaces the earlier ones below it. */
#ifndef TT_REGIONS_H
#define TT_REGIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tt_region {
    uint64_t start, end, offset, inode;
    unsigned major, minor; /* of the inode's device */
    const char *path;      /* "": none, which only takes away what lay there */
};

struct tt_regions {       /* all zero at first */
    struct tt_region *at; /* paths are owned */
    size_t count, room;
};

/* Adds what /proc/PID/maps has.  0, -TT_ERR_FILE: it cannot be read, -TT_ERR_MEMORY. */
int tt_regions_read(struct tt_regions *, pid_t);

/* Adds a mapping, which takes away what it overlaps.  0 or -TT_ERR_MEMORY. */
int tt_regions_add(struct tt_regions *, const struct tt_region *);

/* Adds all of another's, as a child of fork has its parent's. */
int tt_regions_copy(struct tt_regions *, const struct tt_regions *);
void tt_regions_fini(struct tt_regions *); /* all zero again */

/* The file that is mapped there, and not another that has its name by now; -1 without one.
 * /proc/PID/root is how files look from here, if the process lives in a container or their
 * folder was renamed; where it has ended, its name here must do. */
int tt_region_open(const struct tt_region *, pid_t);

#endif
