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

/* The process's record, made at its first use; NULL without room. */
struct tt_space_record *tt_space_record_make(struct tt_recording *);
static inline struct tt_space_record *tt_space_record(struct tt_recording *r)
{
    uint64_t cell = __atomic_load_n(&r->header->space, __ATOMIC_ACQUIRE);

    return TT_UNLIKELY(!cell) ? tt_space_record_make(r)
                              : (struct tt_space_record *)(void *)tt_cell(r->base, cell);
}

/* Objects of fewer bytes are sampled; 0: none is.  Set when the recording begins. */
extern uint64_t tt_space_rate;

/* tt_alloc for a chosen object. */
tt_context tt_space_make(tt_type, size_t bytes, size_t overhead);

/* How many objects a sampled one of this size counts for. */
uint64_t tt_space_weight(size_t bytes);

/* The object that this thread reports has a number: its uses are known. */
extern __thread int tt_space_numbered;

/* The number of the collection that was begun last. */
uint32_t tt_space_collection(struct tt_recording *);

/* The calling thread, which is busy then.  NULL: off, or it is over. */
struct tt_thread *tt_space_enter(void);

/* The row of a context, or of contexts evicted below it, made at its first use; NULL
 * without room. */
struct tt_space *tt_space_row(struct tt_tree *, struct tt_node *, uint32_t kind,
                              const struct tt_space_way *);

/* How often the generation was collected that a row's objects went to. */
static inline uint32_t tt_space_stamp(const struct tt_space_record *s,
                                      const struct tt_space *row)
{
    uint32_t generation = tt_space_generation(row);

    return s && generation < TT_GENERATIONS
               ? __atomic_load_n(&s->collections[generation], __ATOMIC_RELAXED)
               : 0;
}

/* Adds to a row that is still where it was. */
static inline void tt_space_add(struct tt_space *row, const struct tt_space_record *s,
                                const struct tt_objects *o)
{
    uint32_t stamp = tt_space_stamp(s, row);

    if (TT_UNLIKELY(row->stamp != stamp)) {
        row->gone = row->all;
        TT_BARRIER();
        row->stamp = stamp;
    }
    TT_SHOW(row->all.number, row->all.number + o->number);
    TT_SHOW(row->all.bytes, row->all.bytes + o->bytes);
    TT_SHOW(row->all.overhead, row->all.overhead + o->overhead);
}

/* The result of tt_age. */
static inline unsigned tt_space_age(uint64_t amount)
{
    unsigned n = amount ? 64 - (unsigned)__builtin_clzll(amount) : 0;

    return TT_AGE(n < TT_AGES ? n : TT_AGES - 1);
}

/* Adds to the row of a context, whose handle may be given, and evicts others if there is
 * no room.  Returns the node of the row; without room adds to the type's figures and
 * returns NULL.  The thread is busy. */
struct tt_node *tt_space_charge(struct tt_thread *, struct tt_node *, int below,
                                const struct tt_space_way *, const struct tt_objects *,
                                tt_context *);

/* The type of all objects if types are not distinguished. */
tt_type tt_space_any_type(void);

/* The same for a thread without a strand.  Returns 1 if it was counted. */
int tt_space_stray(const struct tt_space_way *, const struct tt_objects *);

/* The bytes that a context allocated, by its rows. */
uint64_t tt_space_bytes(const struct tt_tree *, const struct tt_node *);

/* Before rows are moved by the next one; afterwards the index is stale. */
void tt_space_evict_begin(struct tt_tree *);

/* Moves the rows of a context that is evicted to one that stays. */
void tt_space_evict(struct tt_tree *, struct tt_node *from, struct tt_node *to);

/* Moves one row of another tree to this context. */
void tt_space_merge(struct tt_tree *, struct tt_node *to, struct tt_space *from);

#endif
