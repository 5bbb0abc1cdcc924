/* SPDX-License-Identifier: MIT */
/* recording.h - from the recording that a process writes to a profile. */
#ifndef TT_PROFILE_RECORDING_H
#define TT_PROFILE_RECORDING_H

#include "builder.h"
#include "picture.h"

/* Adds what a recording holds.  Time of clocks that count something else is converted to
 * nanoseconds, in running sums, so that what is rounded does not add up.
 * -TT_ERR_MEMORY. */
int tt_builder_recording(struct tt_builder *, const struct tt_picture *);

#endif
