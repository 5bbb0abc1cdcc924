/* SPDX-License-Identifier: MIT */
/* inflate.h - bzip2, lz4 and xz, by libraries that are loaded when such a file is read. */
#ifndef TT_INFLATE_H
#define TT_INFLATE_H

#include <stddef.h>

enum tt_inflate_kind { TT_INFLATE_BZIP2, TT_INFLATE_LZ4, TT_INFLATE_XZ };

struct tt_inflate;

/* NULL: the library is missing, or there is no memory; *why has the reason. */
struct tt_inflate *tt_inflate_new(enum tt_inflate_kind, const char **why);
void tt_inflate_free(struct tt_inflate *); /* NULL: nothing */

/* Unpacks up to *in bytes into up to *out, and sets both to what was consumed and
 * produced.  1: the member ends there; 0: it continues; less than 0: it is damaged. */
int tt_inflate_step(struct tt_inflate *, const void *from, size_t *in, void *to,
                    size_t *out);

#endif
