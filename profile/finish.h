/* SPDX-License-Identifier: MIT */
/* finish.h - writes a builder's image. */
#ifndef TT_FINISH_H
#define TT_FINISH_H

#include "builder.h"

/* Sorts everything and makes the image, from the builder's memory; the caller frees it by
 * tt_memory_put.  After this, the builder can only be freed.  -TT_ERR_MEMORY. */
int tt_builder_finish(struct tt_builder *, void **image, size_t *size);

#endif
