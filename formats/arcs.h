/* SPDX-License-Identifier: MIT */
/* arcs.h - a call graph becomes a tree of contexts.
 *
 * Some tools keep the cost of each function, and of each call between two functions, but
 * no paths.  A function with one caller is placed below that caller, which is exact.  A
 * function with several callers is placed below each of them, with the share of its cost
 * that those calls had; the functions that it calls are shared in the same proportion,
 * which is an estimate.  Always exact: the self cost of each function, its calls, and its
 * inclusive cost according to its calls (stated.h).
 *
 *      main ─▶ a ─▶ c ─▶ d       main ── a ── c ── d         each c: what the calls
 *         └──▶ b ──▲                 └── b ── c ── d         from there cost
 *
 * Functions that call each other in cycles are entered as one: each occurs once below the
 * entry, and calls that lead back are arcs.  Shares that are too small to be followed end
 * in "elsewhere below". */
#ifndef TT_ARCS_H
#define TT_ARCS_H

#include "builder.h"
#include "pairs.h"

struct tt_arc_function {
    uint32_t block; /* of the builder */
    uint32_t first; /* its arcs, once they are in order */
};

struct tt_arc {
    uint32_t from, to; /* functions */
    uint64_t calls;
};

struct tt_arcs {
    struct tt_builder *b; /* borrowed */
    const struct tt_memory *memory;
    uint32_t events;
    struct tt_pairs by_block;
    struct tt_index by_ends;     /* of arcs */
    struct tt_vector function;   /* struct tt_arc_function */
    struct tt_vector arc;        /* struct tt_arc */
    struct tt_vector self, cost; /* uint64_t: `events` of each function, of each arc */
    uint64_t *sum;               /* owned; of all figures of an event */
    uint64_t calls;              /* all together */
    const uint64_t
        *inclusive; /* borrowed: `events` of each function, as the file has them;
                                  NULL: they are what its calls say */
    int by_calls;   /* the cost of calls is unknown: it is in proportion to their number;
                     for one event */
};

int tt_arcs_init(struct tt_arcs *, struct tt_builder *, const struct tt_memory *,
                 uint32_t events); /* -TT_ERR_MEMORY */

/* The number of a function or a call; TT_NONE: no memory. */
uint32_t tt_arcs_function(struct tt_arcs *, uint32_t block);
/* Adds another function for that block, which has the same name. */
uint32_t tt_arcs_namesake(struct tt_arcs *, uint32_t block);
uint32_t tt_arcs_arc(struct tt_arcs *, uint32_t from, uint32_t to, uint64_t calls);
/* Adds `count` figures, of the first events.  -TT_ERR_FORMAT: the sum does not fit 64
 * bits. */
int tt_arcs_add_self(struct tt_arcs *, uint32_t function, const uint64_t *,
                     uint32_t count);
int tt_arcs_add_cost(struct tt_arcs *, uint32_t arc, const uint64_t *, uint32_t count);

/* Adds all of it to the builder, each event as its metric in `metric`; `calls`: the
 * metric of calls, or TT_NONE. -TT_ERR_MEMORY. */
int tt_arcs_finish(struct tt_arcs *, const uint32_t *metric, uint32_t calls);

#endif
