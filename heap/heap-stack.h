/* SPDX-License-Identifier: MIT */
/* heap-stack.h - the site of a stack. */
#ifndef TT_HEAP_STACK_H
#define TT_HEAP_STACK_H

#include "heap-thread.h"

/* The site of a stack that has no number yet. */
struct tt_heap_site *tt_heap_look(struct tt_thread_heap *, uint32_t type,
                                  const struct tt_caller *, const struct tt_frame *at,
                                  struct tt_recalled *);

/* The site of the allocator's caller; NULL: no memory. */
static inline __attribute__((always_inline)) struct tt_heap_site *tt_heap_site_of(
    struct tt_thread_heap *h, uint32_t type, const struct tt_caller *c)
{
    const struct tt_grafting *g = &h->hanging;
    const struct tt_frame *at = tt_graft_activation(g, c->sp);
    struct tt_recalled on = {.low = (uintptr_t)g->stack_low,
                             .high = (uintptr_t)g->stack_end,
                             .end = TT_CFA_OF(at),
                             .most = TT_STEPS_MAX - 2,
                             .generation = h->generation,
                             .guessed = &g->cache,
                             .of = tt_cell_of(&h->thread->tree, at->node) |
                                   (uint64_t)type << 32 | h->forgotten << 40};
    const int is_known = tt_stack_cache(h->recall, c, &on);

    if (TT_UNLIKELY(tt_interpreters_first() != NULL))
        h->scripts = tt_graft_functions(&h->hanging, c->sp);
    return is_known && *on.number && !h->scripts
               ? tt_site_at(*on.number)
               : tt_heap_look(h, type, c, at, is_known ? &on : NULL);
}

#endif
