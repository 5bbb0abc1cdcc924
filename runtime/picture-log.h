/* SPDX-License-Identifier: MIT */
/* picture-log.h - the samples of a picture by time. */
#ifndef TT_PICTURE_LOG_H
#define TT_PICTURE_LOG_H

#include "picture.h"

/* An entry of the sample log: the share of a context's samples that were charged at a time, in
 * ticks since the recording began.  Calls back for each, page by page; *lost: ticks of samples
 * that are not in the log.  0 or -TT_ERR_MEMORY. */
struct tt_picture_sample {
    uint32_t context; /* index */
    uint64_t time, weight, samples;
};
typedef void tt_picture_each_sample(void *arg, const struct tt_picture_sample *);
int tt_picture_log(const struct tt_picture *, tt_picture_each_sample *each, void *arg,
                   uint64_t *lost);

size_t tt_picture_log_size(const struct tt_picture *); /* entries, at most */

/* The context (index) of a cell that samples refer to: its own, or the one that it was evicted
 * to, or the strand's root; UINT32_MAX: unknown. */
uint32_t tt_picture_logged(const struct tt_picture *, uint32_t cell);

#endif
