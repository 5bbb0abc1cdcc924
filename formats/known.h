/* SPDX-License-Identifier: MIT */
/* known.h - kinds of files that are recognized but not read. */
#ifndef TT_KNOWN_H
#define TT_KNOWN_H

#include <stddef.h>

/* Returns what such a file is, and what converts it to a format that is read, for "FILE:
 * this is …"; NULL: it is none of these.  `head` is the beginning of the file, up to 64
 * KiB. */
const char *tt_known_kind(const char *head, size_t size);

#endif
