/* SPDX-License-Identifier: MIT */
/* identity.h - identities of blocks and contexts, independent of their numbers.
 *
 * Numbers change if a profile is read again, merged or filtered.  The identity of a block
 * is a hash of its name, kind, module, file and place; the path of a context is a hash of
 * the identities from the root to it.  Both are the same in every profile, on every
 * machine, and are written as a '#' and 16 hexadecimal digits. */
#ifndef TT_IDENTITY_H
#define TT_IDENTITY_H

#include "profile.h"

enum { TT_IDENTITY_SIZE = 17 }; /* bytes: 16 digits and a NUL */

/* Takes time in proportion to the block's texts. */
uint64_t tt_block_identity(const struct tt_profile *, uint32_t block);
/* The same of a row whose texts are these. */
uint64_t tt_row_identity(const struct tt_block_row *, const char *name,
                         const char *module, const char *file);

/* The path of a child, by its parent's path and its own block. */
uint64_t tt_path_below(uint64_t parent, uint64_t identity);
/* Returns the path of a context.  Takes a step for each ancestor, and for each sibling
 * before one. */
uint64_t tt_path_of(const struct tt_profile *, uint32_t context);
/* Finds the context with a path; TT_NONE: there is none.  Tries `near` first; if it is
 * another one, searches all contexts.  -TT_ERR_MEMORY. */
int tt_path_find(const struct tt_profile *, uint64_t path, uint32_t near,
                 const struct tt_memory *, uint32_t *context);

void tt_identity_text(uint64_t identity, char text[TT_IDENTITY_SIZE]);
/* Reads the last 17 characters of a text, "#0123456789abcdef"; 0 if they are not that. */
int tt_identity_read(const char *text, uint64_t *identity);

#endif
