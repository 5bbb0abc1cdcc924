/* SPDX-License-Identifier: MIT */
/* context.h - handles of contexts: context.c has a drawing. */
#ifndef TT_CONTEXT_H
#define TT_CONTEXT_H

#include "strand.h"

static inline uint32_t tt_context_generations(const struct tt_recording *r)
{
    return 1u << (TT_CONTEXT_BLOCK_SHIFT - r->context_bits);
}

/* The cell in a handle; 0: the handle has only a block. */
static inline uint32_t tt_context_cell(const struct tt_recording *r, tt_context c)
{
    return (uint32_t)c & ((1u << r->context_bits) - 1);
}

/* Encodes a generation in a handle, and back.  Recordings have different generations. */
static inline uint32_t tt_context_stir(const struct tt_recording *r, uint64_t generation)
{
    return ((uint32_t)generation ^ r->epoch * 0x9e5u) & (tt_context_generations(r) - 1);
}

static inline uint32_t tt_context_generation(const struct tt_recording *r, tt_context c)
{
    return tt_context_stir(r, c >> r->context_bits);
}

/* The handle of a node; 0 for a root.  A cell that was reused too often to have a
 * generation for this handle alone gives one with the block and nothing else. */
static inline tt_context tt_context_make(const struct tt_recording *r,
                                         const struct tt_node *n)
{
    uint64_t cell = (uint64_t)((const char *)n - r->base) / TT_CELL_SIZE,
             block = (uint64_t)n->key << TT_CONTEXT_BLOCK_SHIFT;

    if (!n->parent)
        return 0;
    if (n->generation >= tt_context_generations(r) || cell >> r->context_bits)
        return block;
    return cell | (uint64_t)tt_context_stir(r, n->generation) << r->context_bits | block;
}

/* Is it the handle of that cell's node?  A root has none. */
static inline int tt_context_is_of(const struct tt_recording *r, const struct tt_node *n,
                                   tt_context c)
{
    uint64_t high = (uint64_t)n->key << (TT_CONTEXT_BLOCK_SHIFT - r->context_bits) |
                    tt_context_stir(r, n->generation);

    return high == c >> r->context_bits && n->generation < tt_context_generations(r) &&
           n->parent;
}

/* The handle of a frame's context. */
tt_context tt_context_of(struct tt_thread *, const struct tt_frame *);

/* The context in this tree for a handle.  It is always of the handle's block: an evicted
 * one comes back below the nearest ancestor that is left.  NULL: there is no room. */
struct tt_node *tt_context_place(struct tt_thread *, tt_context);

/* The handle of a frame without room, whose costs go below `n`. */
tt_context tt_context_below(struct tt_thread *, const struct tt_frame *,
                            const struct tt_node *n);

/* The handle of a context; of one that found no room below it, with that one's block. */
tt_context tt_context_at(struct tt_thread *, const struct tt_node *, tt_block);

/* The node of a handle; *below: the context was below that node and was evicted, or had
 * no room.  NULL: only the block is known. */
struct tt_node *tt_context_find(struct tt_thread *, tt_context, int *below);

#endif
