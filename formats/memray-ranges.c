/* SPDX-License-Identifier: MIT */
/* memray-ranges.c - ranges of addresses that are mapped, in order.
 *
 * They are a treap: a search tree by address, in which the range with the greatest random
 * weight is on top.  So it is balanced, whatever the addresses are. */
#include "memray-ranges.h"
#include "memray.h"
#include "random.h"

struct node {
    struct tt_memray_range range;
    uint64_t weight;
    uint32_t below,
        above; /* from 1 on; 0: none.  An unused node has the next in `below` */
};

void tt_memray_ranges_init(struct tt_memray_ranges *r, const struct tt_memory *memory)
{
    *r = (struct tt_memray_ranges){.random = (uintptr_t)r | 1};
    tt_vector_init(&r->node, memory, sizeof(struct node));
}

static struct node *node_at(const struct tt_memray_ranges *r, uint32_t number)
{
    return (struct node *)r->node.item + number - 1;
}

/* Splits a tree into the ranges that start before an address, and the others. */
static void split(const struct tt_memray_ranges *r, uint32_t tree, uint64_t address,
                  uint32_t *low, uint32_t *high)
{
    while (tree) {
        struct node *n = node_at(r, tree);
        if (n->range.start < address) {
            *low = tree;
            low = &n->above;
            tree = n->above;
        } else {
            *high = tree;
            high = &n->below;
            tree = n->below;
        }
    }
    *low = *high = 0;
}

/* Makes one tree of two, the second of which is above the first. */
static void join(const struct tt_memray_ranges *r, uint32_t low, uint32_t high,
                 uint32_t *to)
{
    while (low && high)
        if (node_at(r, low)->weight > node_at(r, high)->weight) {
            *to = low;
            to = &node_at(r, low)->above;
            low = *to;
        } else {
            *to = high;
            to = &node_at(r, high)->below;
            high = *to;
        }
    *to = low ? low : high;
}

int tt_memray_ranges_add(struct tt_memray_ranges *r, struct tt_memray_range range)
{
    uint32_t number = r->unused, low, high;
    struct node *n = number ? node_at(r, number) : tt_vector_add(&r->node, 1);

    if (!n)
        return -TT_ERR_MEMORY;
    if (number)
        r->unused = n->below;
    else
        number = (uint32_t)r->node.count;
    *n = (struct node){.range = range, .weight = tt_random(&r->random)};
    split(r, r->top, range.start, &low, &high);
    join(r, low, number, &low);
    join(r, low, high, &r->top);
    return 0;
}

struct tt_memray_range *tt_memray_ranges_around(const struct tt_memray_ranges *r,
                                                uint64_t address)
{
    struct tt_memray_range *last = NULL;

    for (uint32_t number = r->top; number;) {
        struct node *n = node_at(r, number);
        if (n->range.start < address)
            last = &n->range;
        number = n->range.start < address ? n->above : n->below;
    }
    return last && last->end > address ? last : NULL;
}

int tt_memray_ranges_take(struct tt_memray_ranges *r, uint64_t start, uint64_t end,
                          struct tt_memray_range *range)
{
    uint32_t low, taken, high;

    split(r, r->top, start, &low, &high);
    split(r, high, end, &taken, &high);
    const uint32_t number = taken;
    if (number) {
        struct node *n = node_at(r, number);
        *range = n->range;
        join(r, n->below, n->above, &taken);
        n->below = r->unused;
        r->unused = number;
    }
    join(r, low, taken, &low);
    join(r, low, high, &r->top);
    return number != 0;
}
