/* SPDX-License-Identifier: MIT */
/* control.h - starting with options that were read already; for the command. */
#ifndef TT_CONTROL_H
#define TT_CONTROL_H

#include "options.h"

int tt_start_with(const struct tt_options *);

/* A copy of the recording as it stands, in memory of the caller's (munmap); NULL when
 * there is none, or no memory. */
void *tt_snapshot(size_t *size);

#endif
