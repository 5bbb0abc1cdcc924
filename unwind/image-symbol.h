/* SPDX-License-Identifier: MIT */
/* image-symbol.h - symbols that an image exports. */
#ifndef TT_IMAGE_SYMBOL_H
#define TT_IMAGE_SYMBOL_H

#include "image.h"

/* Of a file: the link-time address of a symbol that it exports; 0: there is none. */
uint64_t tt_image_symbol(const struct tt_image *, const char *name);

#endif
