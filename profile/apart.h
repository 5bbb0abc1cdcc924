/* SPDX-License-Identifier: MIT */
/* apart.h - distinguishes blocks with the same name. */
#ifndef TT_APART_H
#define TT_APART_H

#include "profile.h"

/* Writes what distinguishes a block from others of its name in the whole profile, before
 * filters: "libx.so:list.c:12".  Returns its length, 0 if the name is unique; as
 * snprintf. */
size_t tt_block_apart(const struct tt_profile *, uint32_t block, char *to, size_t size);
/* Returns how many blocks of the whole profile have the name; the first of them, as
 * patterns. */
uint32_t tt_namesakes(const struct tt_profile *, const char *name, char *to, size_t size);

#endif
