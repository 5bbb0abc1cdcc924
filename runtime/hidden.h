/* SPDX-License-Identifier: MIT */
/* hidden.h - which blocks arcs hide from a context, where that was found out before.
 *
 *      context, chain of hiders ──> their tallies
 *
 * A place is written while the thread is charging, and that may be a handler's sample. */
#ifndef TT_HIDDEN_H
#define TT_HIDDEN_H

#include "stack.h"

TT_INLINE uint64_t tt_hidden_word(const struct tt_thread *t, const struct tt_node *n)
{
    return tt_cell_of(&t->tree, n) | (uint64_t)n->generation << 32;
}

/* The cache slot of this context with the chain of hiders, and its key; NULL if the chain
 * is too long. */
TT_INLINE struct tt_hidden *tt_hidden_place(struct tt_thread *t, const struct tt_node *n,
                                            struct tt_hidden *key)
{
    uint64_t hash = key->at[0] = tt_hidden_word(t, n), word;
    const struct tt_node *arc;
    uint32_t cells = 1;

    for (struct tt_frame *h = t->stack.hider; h; h = h->hider) {
        if (cells + 2 > TT_HIDDEN_CELLS)
            return NULL;
        arc = tt_cell(t->tree.base, tt_frame_cell(h));
        if (arc->kind != TT_CELL_ARC) {
            key->at[cells++] = tt_hidden_word(t, tt_frame_below(h)->node);
            arc = h->node;
        }
        word = key->at[cells++] = tt_hidden_word(t, arc);
        hash = hash * 31 + word;
    }
    key->cells = cells;
    key->count = 0;
    return &t->charging.hidden[hash * 0x9e3779b97f4a7c15u >> 57];
}
_Static_assert(TT_HIDDENS == 1 << (64 - 57), "as many as the hash has values");

TT_INLINE int tt_hidden_is_of(const struct tt_hidden *h, const struct tt_hidden *key)
{
    uint32_t i = 0;

    while (i < key->cells && h->at[i] == key->at[i])
        i++;
    return i == key->cells && h->cells == i;
}

/* The cached result for this context; returns 0 if there is none, and then *known is not
 * set.  A handler in between may have replaced the entry. */
TT_INLINE int tt_hidden_find(struct tt_thread *t, const struct tt_node *n,
                             struct tt_hidden *known)
{
    const struct tt_hidden *at = tt_hidden_place(t, n, known);

    if (!at || !tt_hidden_is_of(at, known))
        return 0;
    known->count = at->count;
    for (uint32_t i = 0; i < TT_HIDDEN_BLOCKS; i++)
        known->tally[i] = at->tally[i];
    TT_BARRIER();
    return tt_hidden_is_of(at, known);
}

TT_INLINE struct tt_tally *tt_hidden_tally(const struct tt_thread *t,
                                           const struct tt_hidden *h, uint32_t i)
{
    return (struct tt_tally *)(void *)tt_cell(t->tree.base, h->tally[i]);
}

TT_INLINE int tt_hidden_has(const struct tt_thread *t, const struct tt_hidden *h,
                            tt_block block)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (tt_hidden_tally(t, h, i)->key == block)
            return 1;
    return 0;
}

TT_INLINE void tt_hidden_charge(const struct tt_thread *t, const struct tt_hidden *h,
                                uint64_t ticks)
{
    for (uint32_t i = 0; i < h->count; i++)
        tt_bump(&tt_hidden_tally(t, h, i)->hidden, ticks);
}

#endif
