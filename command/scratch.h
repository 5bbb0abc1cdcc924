/* SPDX-License-Identifier: MIT */
/* scratch.h - memory for the engine that the kernel can write to disk: large pieces are
 * in files. */
#ifndef TT_SCRATCH_H
#define TT_SCRATCH_H

#include "memory.h"

/* Pieces from 64 MiB on are mapped from a nameless file in TMPDIR, /tmp or /var/tmp; if
 * no such file can be made, or it has no room, they are ordinary memory. */
extern const struct tt_memory tt_scratch;

/* Opens a nameless file there, for reading and writing; -1: there can be none. */
int tt_scratch_file(void);

#endif
