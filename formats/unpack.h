/* SPDX-License-Identifier: MIT */
/* unpack.h - a stream with the content of a compressed or UTF-16 stream. */
#ifndef TT_UNPACK_H
#define TT_UNPACK_H

#include "source.h"

/* Decompresses gzip, zstd, bzip2, lz4 or xz, and turns text into UTF-8 without a byte order
 * mark; passes other bytes through.  Detects this by the first bytes.  Compressed UTF-16
 * takes two of these, one on the other.  NULL: no memory.  `from` is borrowed. */
struct tt_stream *tt_unpack_new(struct tt_stream *from);
void tt_unpack_free(struct tt_stream *); /* NULL: nothing */

#endif
