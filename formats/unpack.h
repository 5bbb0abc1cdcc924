/* SPDX-License-Identifier: MIT */
/* unpack.h - a stream of what a compressed or UTF-16 stream holds. */
#ifndef TT_UNPACK_H
#define TT_UNPACK_H

#include "source.h"

/* Gives what gzip, zstd, bzip2 or xz packed, and text as UTF-8 without a byte order mark; anything
 * else as it is.  Finds out from the first bytes.  Packed text takes two of these, one on the
 * other.  NULL: no memory.  `from` is borrowed. */
struct tt_stream *tt_unpack_new(struct tt_stream *from);
void tt_unpack_free(struct tt_stream *); /* NULL: nothing */

#endif
