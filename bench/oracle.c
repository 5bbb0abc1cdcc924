/* SPDX-License-Identifier: MIT */
/* oracle.c - policy `edge` worked out naively; see oracle.h. */
#include "oracle.h"

#include <stdlib.h>

struct oracle_edge {
    uint64_t key; /* node << 32 | block; blocks start at 1, so 0 is a free place */
    uint32_t target;
};

/* This is a bench: without memory there is nothing to say. */
static void *check(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

static struct oracle_edge *find_edge(const struct oracle *o, uint32_t node,
                                     uint32_t block)
{
    uint64_t key = (uint64_t)node << 32 | block;
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 20; /* Fibonacci hashing */

    while (o->edges[at & o->edge_mask].key && o->edges[at & o->edge_mask].key != key)
        at++;
    return &o->edges[at & o->edge_mask];
}

static void grow_edges(struct oracle *o)
{
    struct oracle_edge *old = o->edges;
    uint64_t places = o->edge_mask + 1;

    o->edge_mask = 2 * places - 1;
    o->edges = check(calloc(2 * places, sizeof *old));
    for (uint64_t i = 0; i < places; i++)
        if (old[i].key)
            *find_edge(o, (uint32_t)(old[i].key >> 32), (uint32_t)old[i].key) = old[i];
    free(old);
}

static uint32_t add_edge(struct oracle *o, uint32_t node, uint32_t block, uint32_t target)
{
    struct oracle_edge *edge = find_edge(o, node, block);

    edge->key = (uint64_t)node << 32 | block;
    edge->target = target;
    if (2 * ++o->edge_count > o->edge_mask)
        grow_edges(o);
    return target;
}

uint32_t oracle_child(const struct oracle *o, uint32_t node, uint32_t block)
{
    const struct oracle_edge *edge = find_edge(o, node, block);

    return edge->key && o->nodes[edge->target].parent == node ? edge->target : 0;
}

/* ── Nodes ────────────────────────────────────────────────────────────────────────── */

static uint32_t new_node(struct oracle *o, uint32_t parent, uint32_t block)
{
    if (o->node_count == o->node_room) {
        o->node_room *= 2;
        o->nodes = check(realloc(o->nodes, o->node_room * sizeof *o->nodes));
    }
    o->nodes[o->node_count] = (struct oracle_node){.parent = parent, .block = block};
    return o->node_count++;
}

void oracle_init(struct oracle *o, uint32_t blocks)
{
    *o = (struct oracle){.node_room = 1024, .block_count = blocks + 1, .edge_mask = 1023};
    o->nodes = check(calloc(o->node_room, sizeof *o->nodes));
    o->blocks = check(calloc(blocks + 1, sizeof *o->blocks));
    o->edges = check(calloc(o->edge_mask + 1, sizeof *o->edges));
    new_node(o, 0, 0);
}

static uint32_t resolve(struct oracle *o, uint32_t node, uint32_t block)
{
    const struct oracle_node *nodes = o->nodes;

    for (uint32_t n = node; n != 0; n = nodes[n].parent)
        if (nodes[n].block == block && nodes[nodes[n].parent].block == nodes[node].block)
            return n;
    return new_node(o, node, block);
}

uint32_t oracle_push(struct oracle *o, uint32_t node, uint32_t block)
{
    const struct oracle_edge *edge = find_edge(o, node, block);
    uint32_t target = edge->key ? edge->target
                                : add_edge(o, node, block, resolve(o, node, block));

    o->nodes[target].calls++;
    o->blocks[block].calls++;
    if (o->blocks[block].active++ == 0)
        o->blocks[block].entered = o->ticks;
    return target;
}

void oracle_pop(struct oracle *o, uint32_t block)
{
    if (--o->blocks[block].active == 0)
        o->blocks[block].inclusive += o->ticks - o->blocks[block].entered;
}

void oracle_tick(struct oracle *o, uint32_t node, uint64_t ticks)
{
    o->ticks += ticks;
    o->nodes[node].self += ticks;
    o->blocks[o->nodes[node].block].self += ticks;
}

void oracle_add_up(struct oracle *o)
{
    for (uint32_t i = o->node_count - 1; i > 0; i--) {
        o->nodes[i].total += o->nodes[i].self;
        o->nodes[o->nodes[i].parent].total += o->nodes[i].total;
    }
    o->nodes[0].total += o->nodes[0].self;
}
