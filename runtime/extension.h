/* SPDX-License-Identifier: MIT */
/* extension.h - figures beside the cells of a tree. */
#ifndef TT_EXTENSION_H
#define TT_EXTENSION_H

#include "tree.h"

/* A block's tally, an edge's times, a context's loss: made at their first use, NULL
 * without room; the others return NULL if there is none yet. */
struct tt_tally *tt_tree_tally(struct tt_tree *, tt_block block);
struct tt_times *tt_tree_times(struct tt_tree *, struct tt_node *edge);
struct tt_loss *tt_tree_loss(struct tt_tree *, struct tt_node *context);
struct tt_tally *tt_tree_tally_find(const struct tt_tree *, tt_block block);
struct tt_loss *tt_tree_loss_find(const struct tt_tree *, const struct tt_node *context);

/* The same for a large extension of any kind; and an existing one, of any kind but
 * space. */
void *tt_tree_extension(struct tt_tree *, struct tt_node *, uint32_t kind,
                        uint32_t order);
void *tt_tree_extension_find(const struct tt_tree *, const uint32_t *chain,
                             uint32_t kind);

static inline int tt_is_space(uint32_t kind)
{
    return kind == TT_CELL_SPACE || kind == TT_CELL_SPACE_BELOW;
}

/* Links an extension that was taken; gives all of a chain back. */
void tt_tree_link(const struct tt_tree *, uint32_t *chain, void *extension,
                  uint32_t kind);
void tt_tree_give_extensions(struct tt_tree *, uint32_t *chain);

/* The amount of a metric on a chain of extensions, initially 0; NULL without room. */
uint64_t *tt_tree_metric_amount(struct tt_tree *, uint32_t *chain, uint32_t metric);

/* The same of a context, with the cells that an eviction needs to keep the amount; and of
 * amounts evicted below `n`: on the nearest ancestor that has room. */
uint64_t *tt_tree_metric_of(struct tt_tree *, struct tt_node *, uint32_t metric);
uint64_t *tt_tree_metric_below(struct tt_tree *, struct tt_node *n, uint32_t metric);

/* Adds to a metric of a block without a context, below `n`.  0: there is no room. */
int tt_tree_metric_evicted(struct tt_tree *, struct tt_node *n, tt_block, uint32_t metric,
                           uint64_t amount);

/* Adds to a metric on a chain of extensions; async-signal-safe if it is already there. */
int tt_tree_metric(struct tt_tree *, uint32_t *chain, uint32_t metric, uint64_t amount);

/* Frees an array that has an entry for each of `size` blocks; NULL: does nothing. */
void tt_by_block_free(uint32_t *array, uint32_t size);

int tt_marks_grow(struct tt_marks *, uint32_t size);
void tt_marks_fini(struct tt_marks *);

#endif
