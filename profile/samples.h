/* SPDX-License-Identifier: MIT */
/* samples.h - the samples of a profile by time. */
#ifndef TT_SAMPLES_H
#define TT_SAMPLES_H

#include "builder.h"
#include "range.h"

struct tt_order;

/* Bits of a strand: it and the context are numbers of the caller's; and the row is a
 * stretch (stretches.h). */
#define TT_SAMPLE_UNPLACED 0x80000000u
#define TT_SAMPLE_STRETCH 0x40000000u

/* Adds a sample by time for the current strand, with a part of a metric; `ran`: see
 * tt_sample_row.  Above the cap, samples are combined.  Of samples of several metrics only
 * those of one are kept. */
void tt_builder_sample(struct tt_builder *, uint32_t metric, uint32_t context,
                       uint64_t time, uint64_t weight, uint64_t ran);

/* Makes room for `count` more samples. */
void tt_builder_expect_samples(struct tt_builder *, size_t count);

/* Adds a row as it is; TT_NONE as its context: it is none.  Takes the samples of a metric from
 * now on, and no others: 0, if those that are there are preferred. */
void tt_samples_add(struct tt_builder *, const struct tt_sample_row *);
int tt_samples_prefer(struct tt_builder *, uint32_t metric);

/* The same, of a context and a strand that have only numbers of the caller's so far. */
void tt_builder_sample_later(struct tt_builder *, uint32_t context, uint32_t strand,
                             uint64_t time, uint64_t weight);
/* Gives those their contexts and strands, of each number; TT_NONE: its samples are left
 * out, or without a strand.  `context` NULL: all are left out. */
void tt_builder_place_samples(struct tt_builder *, uint32_t metric,
                              const uint32_t *context, const uint32_t *strand);

/* Adds the samples by time of a checked profile that are in a range; other metrics are
 * unknown there. */
int tt_builder_range(struct tt_builder *, const struct tt_profile *,
                     const struct tt_range *, const uint32_t *context);

void tt_samples_gather(struct tt_builder *, const struct tt_profile *,
                       const uint32_t *context, const uint32_t *strand, uint32_t metric,
                       const struct tt_range *);
/* Keeps the samples within their cap, when there are no more to come and numbers are still
 * the builder's; then the order of the file. */
int tt_samples_end(struct tt_builder *);
void tt_order_samples(struct tt_builder *, const struct tt_order *);

/* The metric that the weights of samples are parts of: time, or another one that is a
 * profile's time, such as cycles; else the number of samples.  TT_NONE: there is none. */
uint32_t tt_samples_metric(const struct tt_profile *);

#endif
