/* SPDX-License-Identifier: MIT */
/* embedded-profile.h - a profile in as few bytes as possible, for a page.
 *
 *      ┌ header ─┬ section table ─┬ section ─┬ section ─┬ …
 *      └─────────┴── unchanged  ──┴ packed, one after the other
 *
 * It is made from an image, and becomes the same image again, except for two things that
 * no view uses: bytes between sections are 0, and texts that facts keep for a format are
 * empty.  It should be compressed. */
#ifndef TT_EMBEDDED_PROFILE_H
#define TT_EMBEDDED_PROFILE_H

#include "profile.h"

/* Adds the packed profile to a vector of bytes.  -TT_ERR_MEMORY. */
int tt_embedded_pack(const struct tt_profile *, struct tt_vector *bytes);

/* Unpacks into an image that the caller owns, of `*size` bytes from `memory`.
 * -TT_ERR_FORMAT: it is no packed profile; tt_profile_open checks the content. */
int tt_embedded_unpack(const void *embedded, size_t bytes, const struct tt_memory *memory,
                       void **image, size_t *size);

#endif
