/* SPDX-License-Identifier: MIT */
/* calibrate.h - what the exact mode itself costs, measured where it runs. */
#ifndef TT_CALIBRATE_H
#define TT_CALIBRATE_H

#include "recording.h"

/* Fills in header.inside and header.outside. */
void tt_calibrate(struct tt_header *);

#endif
