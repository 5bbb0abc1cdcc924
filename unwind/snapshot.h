/* SPDX-License-Identifier: MIT */
/* snapshot.h - a snapshot while it is made. */
#ifndef TT_SNAPSHOT_H
#define TT_SNAPSHOT_H

#include "mapped-array.h"
#include "modules.h"

struct tt_snapshot {
    struct tt_modules modules; /* first: the public part */
    struct tt_mapped_array mappings;
    struct tt_snapshot *next; /* retired ones */
    uint32_t quiet;           /* retired: counters that were seen at zero */
};

/* An empty one; NULL without memory. */
struct tt_snapshot *tt_snapshot_new(void);
void tt_snapshot_free(struct tt_snapshot *);

/* Adds the code of an image that is loaded at its bias; with `only`, just the part within
 * that mapping.  0 or -TT_ERR_MEMORY. */
int tt_snapshot_add(struct tt_snapshot *, struct tt_image *, const char *path,
                    const struct tt_mapping *only);

/* The same for a known module. */
struct tt_known;
int tt_snapshot_add_known(struct tt_snapshot *, struct tt_known *,
                          const struct tt_image *, const struct tt_mapping *only);

int tt_snapshot_add_mapping(struct tt_snapshot *, const struct tt_mapping *);

/* Sorts it; after that nothing may be added. */
void tt_snapshot_finish(struct tt_snapshot *);

#endif
