/* SPDX-License-Identifier: MIT */
/* digest.h - what the first views of a large profile show, in one place of the file.
 *
 *      columns    ▁▁▁▁▁▂▁▁▁▁▁▁▁▁▁▂▁▁▁▁▁▁▁▁▁▁▂▁▁▁▁▁▁▁▁▁▂▁▁▁▁▁▁    gigabytes, of which a view
 *                      │         │          │         │           needs a page here and there
 *      digest          ▂         ▂          ▂         ▂           side by side
 *
 * It has every context that is at least so large in any of the metrics, and what the
 * contexts of each block, and the calls of one block by another, add up to.  Whoever is in
 * it has its parents in it: they are no smaller.  A view that wants none that are smaller
 * finds in it all that it shows, and its answer is the same as from the columns. */
#ifndef TT_DIGEST_H
#define TT_DIGEST_H

#include "profile.h"

enum {
    TT_DIGEST_FROM = 1 << 22, /* contexts; fewer are looked at in no time */
    TT_DIGEST_ROWS = 1 << 16
};

/* How many edges between blocks a digest of this tree has: all that there are, or 0 where
 * they are not few beside its contexts, of which a part would be no answer.  Of the profile
 * contexts and arcs are looked at, and their blocks.  -TT_ERR_MEMORY. */
int tt_digest_edges(const struct tt_profile *, uint32_t *edges);

/* Fills the parts of an image that are its digest: the last ones of its section table,
 * with rows and edges that the header does not count yet.  All others are complete.  0,
 * -TT_ERR_FORMAT when it is no image, -TT_ERR_MEMORY. */
int tt_digest_fill(void *image, size_t size, uint32_t rows, const struct tt_memory *);

#endif
