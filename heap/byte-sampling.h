/* SPDX-License-Identifier: MIT */
/* byte-sampling.h - chooses the sampled bytes, and the weight of a sampled object. */
#ifndef TT_BYTE_SAMPLING_H
#define TT_BYTE_SAMPLING_H

#include <stdint.h>

/* A generator of each thread; never 0. */
struct tt_byte_sampling {
    uint64_t state;
};

void tt_byte_sampling_seed(struct tt_byte_sampling *, uint64_t);

/* The number of bytes up to the next sampled one: exponential, `rate` on average. */
uint64_t tt_byte_sampling_gap(struct tt_byte_sampling *, uint64_t rate);

/* The number of objects of this size, and of bytes, that one counts for, if an object is
 * sampled with probability 1 - e^(-size/rate).  Rounded so that the mean is right. */
void tt_byte_sampling_weigh(struct tt_byte_sampling *, uint64_t size, uint64_t rate,
                            uint64_t *number, uint64_t *bytes);

#endif
