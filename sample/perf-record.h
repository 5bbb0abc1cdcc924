/* SPDX-License-Identifier: MIT */
/* perf-record.h - decodes a record of perf events. */
#ifndef TT_PERF_RECORD_H
#define TT_PERF_RECORD_H

#include "perf-events.h"

/* What a sample has beside the fields of all. */
enum { TT_PERF_HAS_PERIOD = 1, TT_PERF_HAS_RAW = 2 };

/* Decodes a record of the kernel; NONE if it is none of these, or damaged.  A sample
 * without a period has no weight.  tt_perf_decode_copy: of an event that has copied
 * frames. */
void tt_perf_decode(struct tt_perf_event *, const void *record, size_t size,
                    unsigned fields);
void tt_perf_decode_copy(struct tt_perf_event *, const void *record, size_t size);

#endif
