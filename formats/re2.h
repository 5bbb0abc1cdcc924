/* SPDX-License-Identifier: MIT */
/* re2.h - regular expressions of RE2, which Go's tools have, for tt_pattern_new. */
#ifndef TT_RE2_H
#define TT_RE2_H

#include <stddef.h>

/* Writes `text`, an expression of RE2, as one of POSIX that matches the same names, in bytes: not
 * how long a match is.  Returns NULL, or why there is none; then `posix` is undefined. */
const char *tt_re2_to_posix(const char *text, char *posix, size_t size);

#endif
