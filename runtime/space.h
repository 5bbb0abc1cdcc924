/* SPDX-License-Identifier: MIT */
/* space.h - rows of objects on contexts, and events of objects; see rows.c, space.c. */
#ifndef TT_SPACE_H
#define TT_SPACE_H

#include "journal.h"
#include "strand.h"

/* An event of objects: their type, the generations they come from and go to. */
struct tt_space_way {
    tt_type type;
    uint32_t from, to;
};

/* Objects of fewer bytes are sampled; 0: none is.  Set when the recording begins. */
extern uint64_t tt_space_rate;

/* tt_alloc for a chosen object. */
tt_context tt_space_make(tt_type, size_t bytes, size_t overhead);

/* How many objects a sampled one of this size counts for. */
uint64_t tt_space_weight(size_t bytes);

/* The object that this thread reports has a number: its uses are known. */
extern __thread int tt_space_numbered;

/* The calling thread, which is busy then.  NULL: off, or it is over. */
struct tt_thread *tt_space_enter(void);

/* The result of tt_age. */
static inline unsigned tt_space_age(uint64_t amount)
{
    unsigned n = amount ? 64 - (unsigned)__builtin_clzll(amount) : 0;

    return TT_AGE(n < TT_AGES ? n : TT_AGES - 1);
}

/* Adds to the row of a context, whose handle may be given, and evicts others if there is
 * no room; without room adds to the type's figures.  Returns the node, which may be another
 * one after an eviction; NULL: the recording does not have the type.  The thread is busy. */
struct tt_node *tt_space_charge(struct tt_thread *, struct tt_node *, int below,
                                const struct tt_space_way *, const struct tt_objects *,
                                tt_context *);

/* The type of all objects if types are not distinguished. */
tt_type tt_space_any_type(void);

/* The same for a thread without a strand.  Returns 1 if it was counted. */
int tt_space_stray(const struct tt_space_way *, const struct tt_objects *);

#endif
