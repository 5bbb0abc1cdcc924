/* SPDX-License-Identifier: MIT */
/* naming.h - replaces blocks by chains of blocks. */
#ifndef TT_NAMING_H
#define TT_NAMING_H

#include "builder.h"

/* How blocks are replaced by chains of blocks.  A context of such a block becomes a
 * chain of contexts, and contexts with the same path become one.  Self goes to the
 * innermost, calls to the outermost; hidden figures of the block count for all blocks of
 * the chain, so their sum may be too high.  The spread of figures in a summary is lost.
 * Facts called "unresolved" are left out: the caller counts them again. */
struct tt_naming {
    /* Returns how many blocks replace this one, from the outermost inwards, at *chain,
     * which is valid until the next call; 0: it is kept.  Called once for each block, in
     * the order of tt_blocks_by_place. */
    size_t (*chain)(void *arg, const struct tt_block_info *,
                    const struct tt_block_info **chain);
    void *arg;
    /* Returns the place in the sources of each block of the last chain; NULL: addresses
     * are not kept.  A block for a line of a function has no file here. */
    const struct tt_source_line *(*lines)(void *arg);
    /* Returns the build-id, or the like, of the file that names a block;
     * NULL: it is the block's file. */
    const char *(*file)(void *arg, const struct tt_block_info *);
};
struct tt_source_line {
    const char *file;
    uint32_t line, column;
};
/* Returns all blocks but the root in the order of modules, files and offsets; to be freed
 * by tt_memory_put, with the size of p->blocks.  NULL: no memory. */
uint32_t *tt_blocks_by_place(const struct tt_profile *, const struct tt_memory *);

/* The builder's blocks that replace each block of a profile, outermost first:
 * link[first[b] … first[b + 1] - 1], at least one. */
struct tt_chains {
    uint32_t *first;
    struct tt_vector link;
    uint32_t blocks;
    uint32_t *place; /* of each block: the builder's, or TT_NONE */
};
int tt_chains_make(struct tt_builder *, const struct tt_profile *,
                   const struct tt_naming *, struct tt_chains *);
void tt_chains_free(struct tt_builder *, struct tt_chains *);
/* Adds the figures of a slow activation, with chains in place of blocks.  0 or an
 * error. */
int tt_chains_slow(const struct tt_chains *, const struct tt_slow_figure *, size_t count,
                   struct tt_vector *named);

#endif
