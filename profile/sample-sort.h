/* SPDX-License-Identifier: MIT */
/* sample-sort.h - the two orders of samples. */
#ifndef TT_SAMPLE_SORT_H
#define TT_SAMPLE_SORT_H

#include <stddef.h>

#include "format.h"

/* These compare by all fields, so equal rows are alike. */
int tt_sample_by_time(const void *, const void *);
int tt_sample_by_strand(const void *, const void *);

/* Sorts rows by time, or by strand and then by time. */
void tt_sort_samples(struct tt_sample_row *, size_t count, int is_by_strand);

#endif
