/* SPDX-License-Identifier: MIT */
/* memray-stacks.h - stacks of frames of Python and of native code. */
#ifndef TT_MEMRAY_STACKS_H
#define TT_MEMRAY_STACKS_H

#include "memray.h"

/* All that return int return 0, or an error, noted. */

void tt_memray_stacks_init(struct tt_memray *);

/* Describes a frame of Python by a key of two numbers; a later description replaces it.
 * is_entry: the interpreter was called for it; or it goes on in its caller's loop. */
int tt_memray_frame(struct tt_memray *, uint64_t a, uint64_t b, uint32_t block,
                    int is_entry);
/* Returns the number of the frame with this key, or of an unknown one; TT_NONE: no
 * memory, noted. */
uint32_t tt_memray_find_frame(struct tt_memray *, uint64_t a, uint64_t b);
/* Returns the node of a frame below another; 0: no memory, noted. */
uint32_t tt_memray_node(struct tt_memray *, uint32_t parent, uint32_t frame);
int tt_memray_native(struct tt_memray *, uint64_t address, uint64_t parent);
/* A new list of images begins; an image that lies there, from `base` on. */
int tt_memray_images(struct tt_memray *);
int tt_memray_image(struct tt_memray *, uint64_t start, uint64_t size, uint64_t base,
                    size_t path);
/* Returns the context of a site; TT_NONE: no memory, noted. */
uint32_t tt_memray_context(struct tt_memray *, const struct tt_memray_site *);

#endif
