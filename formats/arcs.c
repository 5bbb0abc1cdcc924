/* SPDX-License-Identifier: MIT */
/* arcs.c - the calls between functions, as they are read.  graph-to-tree.c makes the tree. */
#include "arcs.h"

#include <string.h>

#include "graph-to-tree.h"

int tt_arcs_init(struct tt_arcs *a, struct tt_builder *b, const struct tt_memory *memory,
                 uint32_t events)
{
    *a = (struct tt_arcs){.b = b, .memory = memory, .events = events};
    tt_pairs_init(&a->by_block, memory);
    tt_vector_init(&a->function, memory, sizeof(struct tt_arc_function));
    tt_vector_init(&a->arc, memory, sizeof(struct tt_arc));
    tt_vector_init(&a->self, memory, sizeof(uint64_t));
    tt_vector_init(&a->cost, memory, sizeof(uint64_t));
    a->sum = tt_memory_get(memory, events * sizeof *a->sum);
    return a->sum ? 0 : -TT_ERR_MEMORY;
}

uint32_t tt_arcs_namesake(struct tt_arcs *a, uint32_t block)
{
    struct tt_arc_function *f = block == TT_NONE ? NULL : tt_vector_add(&a->function, 1);

    if (!f || !tt_vector_add(&a->self, a->events))
        return TT_NONE;
    f->block = block;
    return (uint32_t)a->function.count - 1;
}

uint32_t tt_arcs_function(struct tt_arcs *a, uint32_t block)
{
    int is_new;
    uint32_t *number = tt_pairs_get(&a->by_block, block, 0, &is_new);

    if (!number || block == TT_NONE)
        return TT_NONE;
    if (!is_new)
        return *number;
    return *number = tt_arcs_namesake(a, block);
}

uint32_t tt_arcs_arc(struct tt_arcs *a, uint32_t from, uint32_t to, uint64_t calls)
{
    const uint32_t ends[] = {from, to};
    int is_new;
    uint32_t number = tt_index_get(&a->by_ends, &a->arc, ends, sizeof ends, &is_new);

    if (number == TT_NO_NUMBER || (is_new && !tt_vector_add(&a->cost, a->events)))
        return TT_NONE;
    if (!__builtin_add_overflow(a->calls, calls, &a->calls))
        ((struct tt_arc *)a->arc.item)[number].calls += calls; /* it fits, as all do */
    return number;
}

static int add(struct tt_arcs *a, uint64_t *to, const uint64_t *figure, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < a->events; i++) {
        if (__builtin_add_overflow(a->sum[i], figure[i], &a->sum[i]))
            return -TT_ERR_FORMAT;
        to[i] += figure[i];
    }
    return 0;
}

int tt_arcs_add_self(struct tt_arcs *a, uint32_t function, const uint64_t *figure,
                     uint32_t count)
{
    return add(a, (uint64_t *)a->self.item + (size_t)function * a->events, figure, count);
}

int tt_arcs_add_cost(struct tt_arcs *a, uint32_t arc, const uint64_t *figure,
                     uint32_t count)
{
    return add(a, (uint64_t *)a->cost.item + (size_t)arc * a->events, figure, count);
}

/* Sorts the arcs by the function that they begin at. */
static int order_arcs(struct tt_arcs *a)
{
    size_t functions = a->function.count, arcs = a->arc.count;
    struct tt_arc_function *f;
    const struct tt_arc *from = a->arc.item;
    const uint64_t *cost = a->cost.item;
    struct tt_vector arc, costs;

    tt_vector_init(&arc, a->memory, sizeof(struct tt_arc));
    tt_vector_init(&costs, a->memory, sizeof(uint64_t));
    if (!tt_vector_add(&a->function, 1) || !tt_vector_add(&arc, arcs) ||
        !tt_vector_add(&costs, arcs * a->events)) {
        tt_vector_fini(&arc);
        tt_vector_fini(&costs);
        return -TT_ERR_MEMORY;
    }
    f = a->function.item;
    for (size_t i = 0; i < arcs; i++)
        f[from[i].from + 1].first++;
    for (size_t i = 0; i < functions; i++)
        f[i + 1].first += f[i].first;
    for (size_t i = arcs; i-- > 0;) { /* from the end: those of one keep their order */
        size_t at = --f[from[i].from + 1].first;
        ((struct tt_arc *)arc.item)[at] = from[i];
        memcpy((uint64_t *)costs.item + at * a->events, cost + i * a->events,
               a->events * sizeof *cost);
    }
    /* Each `first` has gone down to where the one before it ends: move them up by one. */
    for (size_t i = 0; i < functions; i++)
        f[i].first = f[i + 1].first;
    f[functions].first = (uint32_t)arcs;
    tt_vector_fini(&a->arc);
    tt_vector_fini(&a->cost);
    a->arc = arc;
    a->cost = costs;
    return 0;
}

int tt_arcs_finish(struct tt_arcs *a, const uint32_t *metric, uint32_t calls)
{
    int error = order_arcs(a);

    tt_pairs_fini(&a->by_block); /* nothing is looked up any more */
    tt_index_fini(&a->by_ends, a->memory);
    return error ?: tt_graph_to_tree(a, metric, calls);
}
