/* SPDX-License-Identifier: MIT */
/* oracle.h - the tree that recursion policy `edge` means, by its definition and without a
 * cap: what the runtime's tree is held against.
 *
 *      a push of X at P goes to the node on P's path that was reached by the same edge,
 *      from a node of P's block to X, if there is one; else to a child of P
 *
 * It takes whatever memory it takes. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stddef.h>
#include <stdint.h>

struct oracle_node {
    uint32_t parent, block;
    uint64_t calls, self, total;
};

struct oracle_block {
    uint64_t calls, self;
    uint64_t inclusive;       /* ticks while it was on the stack */
    uint64_t active, entered; /* activations now; `ticks` when the first of them began */
};

struct oracle {
    struct oracle_node *nodes; /* [0] is the root, of block 0 */
    uint32_t node_count, node_room;
    struct oracle_block *blocks; /* [0] is the root's */
    uint32_t block_count;
    uint64_t ticks;
    struct oracle_edge *edges; /* a hash table: from a node, to a block → a node */
    uint64_t edge_count, edge_mask;
};

/* Blocks are 1 to `blocks`.  Both end the program when there is no memory. */
void oracle_init(struct oracle *, uint32_t blocks);
uint32_t oracle_push(struct oracle *, uint32_t node, uint32_t block);

void oracle_pop(struct oracle *, uint32_t block);
void oracle_tick(struct oracle *, uint32_t node, uint64_t ticks);

/* Fills in the totals; parents come before their children. */
void oracle_add_up(struct oracle *);

/* The child of this block, or 0. */
uint32_t oracle_child(const struct oracle *, uint32_t node, uint32_t block);

#endif
