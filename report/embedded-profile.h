/* SPDX-License-Identifier: MIT */
/* embedded-profile.h - a profile in as few bytes as it can be sent in: what a page carries.
 *
 *      ┌ header ─┬ section table ─┬ section ─┬ section ─┬ …
 *      └─────────┴── as they are ─┴ packed, one behind the other
 *
 * It is made of an image, and becomes the same image again, but for two things that no
 * view looks at: bytes between sections are 0, and texts that facts keep for a format are
 * empty.  It is worth being compressed. */
#ifndef TT_EMBEDDED_PROFILE_H
#define TT_EMBEDDED_PROFILE_H

#include "profile.h"

/* Adds the packed profile to a vector of bytes.  -TT_ERR_MEMORY. */
int tt_embedded_pack(const struct tt_profile *, struct tt_vector *bytes);

/* The image is the caller's, of `*size` bytes from `memory`.  -TT_ERR_FORMAT when this is
 * no packed profile; whether it holds a profile says tt_profile_open. */
int tt_embedded_unpack(const void *embedded, size_t bytes, const struct tt_memory *memory,
                       void **image, size_t *size);

#endif
