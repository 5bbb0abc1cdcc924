/* SPDX-License-Identifier: MIT */
/* reduce.h - a process's profile, to which those of others are added one by one.
 *
 * The result does not depend on the order or the grouping; memory holds only the sum, the
 * added profile, and the new sum. */
#ifndef TT_REDUCE_H
#define TT_REDUCE_H

#include <stddef.h>

#include <tallytree.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tt_reduction {
    void *image; /* a profile's file */
    size_t size;
};

/* Each gives 0 or a negative enum tt_error, and leaves what there was on failure. */

/* Reads a recording; names are looked up later, by the reader of the profile. */
TT_API int tt_reduction_read(struct tt_reduction *, const char *path);
/* Adds a profile.  If the sum is larger than `most` bytes, it keeps the spread of figures
 * over strands instead of figures by strand.  If it is then still larger than `budget`
 * bytes, the smallest contexts are moved to their callers' `elsewhere`, until it is
 * not. */
TT_API int tt_reduction_add(struct tt_reduction *, const void *image, size_t size,
                            size_t most, size_t budget);
/* Writes a temporary file first, then renames it. */
TT_API int tt_reduction_write(const struct tt_reduction *, const char *path);
TT_API void tt_reduction_free(struct tt_reduction *);

#ifdef __cplusplus
}
#endif
#endif
