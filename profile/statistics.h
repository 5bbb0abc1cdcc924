/* SPDX-License-Identifier: MIT */
/* statistics.h - sums of squares, activations, and how figures spread over strands. */
#ifndef TT_STATISTICS_H
#define TT_STATISTICS_H

#include "profile.h"

/* The nearest whole number that there is. */
uint64_t tt_whole(double x);

void tt_sum128_add(struct tt_sum128 *, const struct tt_sum128 *);
void tt_sum128_add_square(struct tt_sum128 *, uint64_t x); /* x², exactly */
double tt_sum128_value(const struct tt_sum128 *);

/* Mean and population deviation of n figures by their sum and the sum of their squares;
 * 0 when there are none. */
double tt_mean(uint64_t count, uint64_t sum);
double tt_deviation(uint64_t count, uint64_t sum, const struct tt_sum128 *square);

/* Are these too few samples of so much time for a rate, beyond what chance does?  How many
 * there are varies no more than events that come at random: four deviations of those, and
 * the first and last one, are chance. */
int tt_rate_is_missed(uint64_t samples, uint64_t ns, double hz);

/* How far each of n figures is from their median, in deviations as the middle half of them
 * has it (1.4826 times the median of distances), which a few strays do not move; all 0 when
 * more than half are equal.  -TT_ERR_MEMORY. */
int tt_away_from_median(const double *x, double *away, size_t n,
                        const struct tt_memory *);

/* Adds the activations of `from`; keeps whose min and max were. */
void tt_times_add(struct tt_times_row *, const struct tt_times_row *from);

/* Takes one strand's figure, or another spread, into a spread that began as zeros. */
void tt_spread_take(struct tt_spread *, uint32_t strand, uint64_t amount);
void tt_spread_add(struct tt_spread *, const struct tt_spread *from);

/* Are they strands of one process?  Those stand together. */
int tt_is_one_process(const struct tt_profile *, uint32_t strand, uint32_t other);

/* How a metric's figures of contexts spread over strands, or over processes, each known by
 * one of its strands, from the entries of the profile: one for each context, of its self or
 * of its total.  NULL: no memory. */
enum tt_spreading { TT_OVER_STRANDS, TT_OVER_PROCESSES };
struct tt_spread *tt_spread_of(const struct tt_profile *, uint32_t metric, int of_self,
                               enum tt_spreading, const struct tt_memory *);

#endif
