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
    const char *path;      /* "": none, it only replaces earlier mappings */
};

struct tt_regions {       /* all zero at first */
    struct tt_region *at; /* paths are owned */
    size_t count, room;
};

/* Adds the mappings in /proc/PID/maps.  0; -TT_ERR_FILE: it cannot be read;
 * -TT_ERR_MEMORY. */
int tt_regions_read(struct tt_regions *, pid_t);

/* Adds a mapping, which replaces those it overlaps.  0 or -TT_ERR_MEMORY. */
int tt_regions_add(struct tt_regions *, const struct tt_region *);

/* Adds all mappings of another one, as a child of fork has its parent's. */
int tt_regions_copy(struct tt_regions *, const struct tt_regions *);
void tt_regions_fini(struct tt_regions *); /* all zero again */

/* Opens the mapped file, and not another one that has its name now; -1: not found.
 * /proc/PID/root is the file system as that process sees it, if it is in a container or a
 * folder was renamed; if it has ended, its path here is used. */
int tt_region_open(const struct tt_region *, pid_t);

#endif
