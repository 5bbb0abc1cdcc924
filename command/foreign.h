/* SPDX-License-Identifier: MIT */
/* foreign.h - files that other tools wrote. */
#ifndef TT_FOREIGN_H
#define TT_FOREIGN_H

#include "flags.h"
#include "formats.h"

/* Adds what a file holds, in whatever format it is, and the format's flags to *flags.  `fd` is
 * at its beginning, and may be a pipe.  Complains and returns a negative error when that
 * cannot be done. */
int tt_foreign_add(struct tt_builder *, const char *path, int fd, unsigned *flags);

/* The format of an open file, read from its beginning; NULL: none that is known. */
const struct tt_format *tt_foreign_format(int fd);

/* The flags that say how traces of events become contexts, and which program a profile is
 * of, in rows of a table of flags. */
enum { TT_FOREIGN_RECURSION = 3000, TT_FOREIGN_BUDGET, TT_FOREIGN_EXECUTABLE };
/* Takes one of them, for all files that are read from here on: 1; 0: it is another.
 * Complains in the name of `command`, and returns less than 0, when its value is wrong. */
int tt_foreign_take(const char *command, const struct tt_flag *, const char *value);

/* Those that can be written: the i-th, or NULL. */
const struct tt_format *tt_export_format(size_t i);

#endif
