/* SPDX-License-Identifier: MIT */
/* foreign.h - files that other tools wrote. */
#ifndef TT_FOREIGN_H
#define TT_FOREIGN_H

#include "flags.h"
#include "formats.h"

/* Adds the content of a file, in any format, and the format's flags to *flags.  `fd` is
 * at its beginning, and may be a pipe.  Complains and returns a negative error if this
 * fails. */
int tt_foreign_add(struct tt_builder *, const char *path, int fd, unsigned *flags);

/* Detects the format of an open file, read from its beginning; NULL: none that is
 * known. */
const struct tt_format *tt_foreign_format(int fd);

/* Flags for how traces of events become contexts, and for the program of a profile, as
 * rows of a table of flags. */
enum { TT_FOREIGN_RECURSION = 3000, TT_FOREIGN_BUDGET, TT_FOREIGN_EXECUTABLE };
/* Takes one of them, for all files that are read from here on: 1; 0: it is another flag.
 * Complains in the name of `command`, and returns less than 0, if its value is wrong. */
int tt_foreign_take(const char *command, const struct tt_flag *, const char *value);

#endif
