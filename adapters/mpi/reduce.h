/* SPDX-License-Identifier: MIT */
/* reduce.h - a process's profile, to which others' are added one by one.
 *
 * What comes out is the same whatever the order and the grouping; in memory are the sum,
 * the one that is added, and what becomes of both. */
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

/* From a recording; its names are looked up by whoever reads the profile. */
TT_API int tt_reduction_read(struct tt_reduction *, const char *path);
/* Adds a profile.  What would be larger than `most` bytes keeps no figures by strand, but
 * how they spread over strands; and of what is larger than `budget` bytes even so, the
 * smallest contexts become a part of their callers' `elsewhere`, until it is not. */
TT_API int tt_reduction_add(struct tt_reduction *, const void *image, size_t size,
                            size_t most, size_t budget);
/* Under a temporary name first, then renamed. */
TT_API int tt_reduction_write(const struct tt_reduction *, const char *path);
TT_API void tt_reduction_free(struct tt_reduction *);

#ifdef __cplusplus
}
#endif
#endif
