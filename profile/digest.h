/* SPDX-License-Identifier: MIT */
/* digest.h - the data that the first views of a large profile need, in one place of the
 * file.
 *
 *      columns    ▁▁▁▁▁▂▁▁▁▁▁▁▁▁▁▂▁▁▁▁▁▁▁▁▁▁▂▁▁▁▁▁▁▁▁▁▂▁▁▁▁▁▁    gigabytes, of which a view
 *                      │         │          │         │           needs a page here and there
 *      digest          ▂         ▂          ▂         ▂           side by side
 *
 * It has every context that is at least of a certain size in any of the metrics, and the
 * sums of the contexts of each block, and of the calls between blocks.  The parents of a
 * context in it are in it too, as they are no smaller.  A view that shows no smaller
 * contexts finds everything in the digest, and its answer is the same as from the
 * columns. */
#ifndef TT_DIGEST_H
#define TT_DIGEST_H

#include "profile.h"

enum {
    TT_DIGEST_FROM = 1 << 22, /* contexts; fewer are looked at in no time */
    TT_DIGEST_ROWS = 1 << 16
};

/* Counts the edges between blocks that a digest of this tree has: all of them, or 0 if
 * they are not few compared to its contexts (a part of them would be no answer).  Reads
 * only contexts, arcs and their blocks.  -TT_ERR_MEMORY. */
int tt_digest_edges(const struct tt_profile *, uint32_t *edges);

/* Fills the parts of an image that are its digest: the last ones of its section table,
 * with rows and edges that the header does not count yet.  All other parts are complete.
 * 0; -TT_ERR_FORMAT: it is no image; -TT_ERR_MEMORY. */
int tt_digest_fill(void *image, size_t size, uint32_t rows, const struct tt_memory *);

#endif
