/* SPDX-License-Identifier: MIT */
/* foreign.h - files that other tools wrote. */
#ifndef TT_FOREIGN_H
#define TT_FOREIGN_H

#include "formats.h"

/* Adds what a file holds, in whatever format it is.  `fd` is at its beginning, and may be a
 * pipe.  Complains and returns a negative error when that cannot be done. */
int tt_foreign_add(struct tt_builder *, const char *path, int fd);

/* How files are read from here on. */
extern struct tt_reading tt_foreign_reading;

/* Those that can be written: the i-th, or NULL. */
const struct tt_format *tt_export_format(size_t i);

#endif
