/* SPDX-License-Identifier: MIT */
/* load.h - reads a recording. */
#ifndef TT_LOAD_H
#define TT_LOAD_H

#include "picture.h"

/* Reads a recording from a file; complains and returns an error if it cannot.  A file
 * that is still being written is read until a copy is consistent. */
int tt_load(struct tt_picture *, const char *path);
void tt_unload(struct tt_picture *);

#endif
