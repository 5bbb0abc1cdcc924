/* SPDX-License-Identifier: MIT */
/* statistics.h - sums of squares, activations, and how figures spread over strands. */
#ifndef TT_STATISTICS_H
#define TT_STATISTICS_H

#include "profile.h"

/* Returns the nearest whole number. */
uint64_t tt_whole(double x);

void tt_sum128_add(struct tt_sum128 *, const struct tt_sum128 *);
void tt_sum128_add_square(struct tt_sum128 *, uint64_t x); /* x², exactly */
double tt_sum128_value(const struct tt_sum128 *);

/* Mean and population deviation of n figures, from their sum and the sum of their
 * squares; 0 if there are none. */
double tt_mean(uint64_t count, uint64_t sum);
double tt_deviation(uint64_t count, uint64_t sum, const struct tt_sum128 *square);

/* Are there significantly fewer samples than the rate and the time would give?  Their
 * number varies no more than that of random events: four deviations of those, and the
 * first and last sample, are chance. */
int tt_rate_is_missed(uint64_t samples, uint64_t ns, double hz);

/* Computes how far each of n figures is from their median, in deviations of the middle
 * half (1.4826 times the median of distances), which a few outliers do not change; all 0
 * if more than half are equal.  -TT_ERR_MEMORY. */
int tt_away_from_median(const double *x, double *away, size_t n,
                        const struct tt_memory *);

/* Of equal figures, that of the strand that comes first is kept: NULL, the one with the least
 * number. */
struct tt_strand_order {
    int (*is_before)(const void *arg, uint32_t strand, uint32_t other);
    const void *arg;
};

/* Adds the activations of `from`; keeps whose min and max were. */
void tt_times_add(struct tt_times_row *, const struct tt_times_row *from,
                  const struct tt_strand_order *);

/* Adds one strand's figure, or another spread, to a spread that began as zeros. */
void tt_spread_take(struct tt_spread *, uint32_t strand, uint64_t amount,
                    const struct tt_strand_order *);
void tt_spread_add(struct tt_spread *, const struct tt_spread *from,
                   const struct tt_strand_order *);

/* Are they strands of one process?  Those are adjacent. */
int tt_is_one_process(const struct tt_profile *, uint32_t strand, uint32_t other);

/* Computes how a metric's figures of contexts spread over strands, or over processes,
 * each represented by one of its strands, from the entries of the profile: one spread for
 * each context, of its self or of its total.  NULL: no memory. */
enum tt_spreading { TT_OVER_STRANDS, TT_OVER_PROCESSES };
struct tt_spread *tt_spread_of(const struct tt_profile *, uint32_t metric, int of_self,
                               enum tt_spreading, const struct tt_memory *);

#endif
