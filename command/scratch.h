/* SPDX-License-Identifier: MIT */
/* scratch.h - memory for the engine that need not be memory: large pieces lie in files. */
#ifndef TT_SCRATCH_H
#define TT_SCRATCH_H

#include "memory.h"

/* Pieces from 64 MiB on are mapped from a nameless file in TMPDIR, /tmp or /var/tmp; where
 * no such file can be made, or there is no room in it, they are ordinary memory. */
extern const struct tt_memory tt_scratch;

#endif
