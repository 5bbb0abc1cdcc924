/* SPDX-License-Identifier: MIT */
/* rows.h - rows of objects on contexts. */
#ifndef TT_ROWS_H
#define TT_ROWS_H

#include "space.h"

/* The index, for use by others: the value stored for a key at a context, or
 * 0. */
uint32_t tt_space_known(struct tt_tree *, uint32_t context, uint32_t key, uint32_t way);
void tt_space_know(struct tt_tree *, uint32_t context, uint32_t key, uint32_t way,
                   uint32_t what);

/* Where the index begins to look.  Contexts are many, keys and ways few. */
static inline uint32_t tt_space_home(uint32_t context, uint32_t key, uint32_t way)
{
    uint64_t h = (((uint64_t)context << 32 | way) ^ (uint64_t)key << 16) *
                 0x9e3779b97f4a7c15u;

    return (uint32_t)((h ^ h >> 32) * 0xd6e8feb86659fd93u >> 32);
}

/* The process's record, made at its first use; NULL without room. */
struct tt_space_record *tt_space_record_make(struct tt_recording *);
static inline struct tt_space_record *tt_space_record(struct tt_recording *r)
{
    uint64_t cell = __atomic_load_n(&r->header->space, __ATOMIC_ACQUIRE);

    return TT_UNLIKELY(!cell) ? tt_space_record_make(r)
                              : (struct tt_space_record *)(void *)tt_cell(r->base, cell);
}

/* The number of the collection that was begun last. */
uint32_t tt_space_collection(struct tt_recording *);

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

/* The bytes that a context allocated, by its rows. */
uint64_t tt_space_bytes(const struct tt_tree *, const struct tt_node *);

/* Before rows are moved by the next one; afterwards the index is stale. */
void tt_space_evict_begin(struct tt_tree *);

/* Moves the rows of a context that is evicted to one that stays. */
void tt_space_evict(struct tt_tree *, struct tt_node *from, struct tt_node *to);

/* Moves one row of another tree to this context. */
void tt_space_merge(struct tt_tree *, struct tt_node *to, struct tt_space *from);

#endif
