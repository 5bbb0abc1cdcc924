/* SPDX-License-Identifier: MIT */
/* calibrate.h - measures the overhead of the exact mode where it runs. */
#ifndef TT_CALIBRATE_H
#define TT_CALIBRATE_H

#include "recording.h"

/* Fills in header.inside and header.outside, by the clock that was chosen.  Takes 0.5 ms. */
void tt_calibrate(struct tt_header *);

/* Another process of this machine has measured them by the processor's counter. */
void tt_calibration_know(const struct tt_bracket *inside,
                         const struct tt_bracket *outside);

#endif
