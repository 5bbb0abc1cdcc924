/* SPDX-License-Identifier: MIT */
/* output.h - a file that is there whole, or not at all. */
#ifndef TT_OUTPUT_H
#define TT_OUTPUT_H

#include <stddef.h>

/* Writes to a temporary name beside `path`, then renames; "-" and NULL are standard
 * output.  Complains and returns -TT_ERR_FILE when that cannot be done; what was at `path`
 * is then as it was.  A reader of standard output that has gone away is no error. */
int tt_output_write(const char *path, const void *bytes, size_t size);

#endif
