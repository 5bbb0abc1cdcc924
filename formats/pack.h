/* SPDX-License-Identifier: MIT */
/* pack.h - compresses the output of a writer by gzip. */
#ifndef TT_PACK_H
#define TT_PACK_H

#include <stddef.h>

struct tt_pack;

/* Passes the compressed bytes on to `put`.  NULL: no memory. */
struct tt_pack *tt_pack_new(int (*put)(void *arg, const void *bytes, size_t size),
                            void *arg);
int tt_pack_put(void *pack, const void *bytes, size_t size); /* 0, or an error */
int tt_pack_finish(struct tt_pack *);                        /* the same */
void tt_pack_free(struct tt_pack *);                         /* NULL: nothing */

#endif
