/* SPDX-License-Identifier: MIT */
/* read-objects.h - from a recording's rows of space to those of a profile. */
#ifndef TT_READ_OBJECTS_H
#define TT_READ_OBJECTS_H

#include "read-series.h"

struct tt_objects_taken {
    struct tt_builder *b;
    const struct tt_picture *p;
    struct tt_vector state; /* of each context, type and generation: what came and went */
    uint32_t context;       /* whose rows are taken */
    uint32_t allocated, objects, live,
        live_objects; /* metrics; TT_NONE before the first row */
    struct tt_maxima maxima;
    uint32_t *taken;     /* by cell: the builder's context + 1 */
    unsigned char *held; /* by type: is it known for each context what is alive? */
    int failed;
};

void tt_objects_init(struct tt_objects_taken *, struct tt_builder *,
                     const struct tt_picture *);

/* Takes the rows of a cell of the recording, for the builder's `context` and the current
 * strand. */
void tt_objects_take(struct tt_objects_taken *, uint32_t context, uint32_t cell);

/* After all strands, once: adds figures that need the sum over strands, alive and dead,
 * to the current strand.  -TT_ERR_MEMORY. */
int tt_objects_finish(struct tt_objects_taken *);

#endif
