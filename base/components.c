/* SPDX-License-Identifier: MIT */
/* components.c - Tarjan's algorithm with a separate stack. */
#include "components.h"

#include "assertion.h"
#include "tallytree.h"

#define NONE UINT32_MAX

struct tarjan {
    const struct tt_digraph *g;
    uint32_t *component, components;
    uint32_t *index;  /* of each node: when it was found, from 1; 0: not yet */
    uint32_t *low;    /* the earliest on the stack that it leads to */
    uint32_t *next;   /* its next edge to follow */
    uint32_t *caller; /* where it was found from; NONE: a beginning */
    uint32_t *stack;  /* those that have no component yet */
    uint32_t found, height;
};

static uint32_t number_at(const uint32_t *numbers, size_t size, uint32_t i)
{
    return *(const uint32_t *)(const void *)((const char *)numbers + i * size);
}

static uint32_t first_of(const struct tarjan *x, uint32_t node)
{
    return number_at(x->g->first, x->g->first_size, node);
}

static void find_node(struct tarjan *x, uint32_t node, uint32_t caller)
{
    x->index[node] = x->low[node] = ++x->found;
    x->next[node] = first_of(x, node);
    x->caller[node] = caller;
    x->stack[x->height++] = node;
    x->component[node] = NONE;
}

static void close_component(struct tarjan *x, uint32_t node)
{
    uint32_t member;

    do {
        TT_ASSERT(x->height);
        member = x->stack[--x->height];
        x->component[member] = x->components;
    } while (member != node);
    x->components++;
}

static void search_from(struct tarjan *x, uint32_t start)
{
    uint32_t at = start, to;

    find_node(x, start, NONE);
    while (at != NONE) {
        if (x->next[at] < first_of(x, at + 1)) {
            to = number_at(x->g->to, x->g->to_size, x->next[at]++);
            TT_ASSERT(to < x->g->nodes);
            if (!x->index[to]) {
                find_node(x, to, at);
                at = to;
            } else if (x->component[to] == NONE && x->index[to] < x->low[at]) {
                x->low[at] = x->index[to];
            }
            continue;
        }
        if (x->low[at] == x->index[at])
            close_component(x, at);
        to = x->caller[at];
        if (to != NONE && x->low[at] < x->low[to])
            x->low[to] = x->low[at];
        at = to;
    }
    TT_ASSERT(!x->height);
}

int tt_components_find(const struct tt_digraph *g, const struct tt_memory *m,
                       uint32_t *component, uint32_t *components)
{
    const size_t n = g->nodes;
    uint32_t *room = tt_memory_get(m, n * 5 * sizeof *room);
    struct tarjan x = {.g = g, .component = component};

    if (!room)
        return -TT_ERR_MEMORY;
    x.index = room;
    x.low = room + n;
    x.next = room + 2 * n;
    x.caller = room + 3 * n;
    x.stack = room + 4 * n;
    for (uint32_t i = 0; i < n; i++)
        if (!x.index[i])
            search_from(&x, i);
    *components = x.components;
    tt_memory_put(m, room);
    return 0;
}
