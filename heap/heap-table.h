/* SPDX-License-Identifier: MIT */
/* heap-table.h - the data of each live object, by its address.
 *
 *      address  ->  site and time, bytes, number, overhead
 *
 * As large as the program has objects; its memory comes from the system.  Removing never
 * fails.  Thread-safe, but not for a handler that has interrupted one of these
 * functions. */
#ifndef TT_HEAP_TABLE_H
#define TT_HEAP_TABLE_H

#include <stdint.h>

struct tt_object {
    uint64_t address;  /* 0: none */
    uint64_t bytes;    /* of all that it counts for */
    uint64_t made;     /* tt_made: its site, and the time */
    uint32_t number;   /* of objects that it counts for: 1, except for samples */
    uint32_t overhead; /* of each of them */
};

/* A site's index and a time, of which the low forty bits are kept. */
enum { TT_SITE_BITS = 24 };

static inline uint64_t tt_made(uint32_t site, uint64_t born)
{
    return born << TT_SITE_BITS | site;
}

static inline uint32_t tt_made_by(const struct tt_object *o)
{
    return (uint32_t)o->made & ((1u << TT_SITE_BITS) - 1);
}

/* How long before `now` it was made. */
static inline uint64_t tt_made_ago(const struct tt_object *o, uint64_t now)
{
    return ((now << TT_SITE_BITS) - o->made) >> TT_SITE_BITS;
}

/* The number of tables; each has a lock. */
enum { TT_HEAP_SHARDS_BITS = 6 };
extern struct tt_heap_shard {
    _Alignas(64) uint32_t lock;
    uint32_t count;
    uint64_t mask; /* places - 1 */
    struct tt_object *object;
} tt_heap_shard[1 << TT_HEAP_SHARDS_BITS];

static inline uint64_t tt_heap_hash(uint64_t address)
{
    return (address >> 4) * 0x9e3779b97f4a7c15u;
}

/* By parts of the address space: allocators give each thread its own, so threads seldom share a
 * table, or its cache lines. */
static inline struct tt_heap_shard *tt_heap_shard_of(uint64_t address)
{
    enum { PART_BITS = 20 };
    const uint64_t part = address >> PART_BITS;

    return &tt_heap_shard[(part + 11 * (part >> TT_HEAP_SHARDS_BITS)) %
                          (1u << TT_HEAP_SHARDS_BITS)];
}

static inline uint64_t tt_heap_place(uint64_t hash, uint64_t mask)
{
    return hash >> 20 & mask;
}

/* To be called some time before the next one, which is then faster. */
static inline void tt_heap_table_prefetch(uint64_t address)
{
    const uint64_t hash = tt_heap_hash(address);
    const struct tt_heap_shard *s = tt_heap_shard_of(address);

    __builtin_prefetch(&s->object[tt_heap_place(hash, s->mask)], 1);
}

/* Adds an object; returns 1 if that address had one already, whose end was missed: moves
 * that to *before. -1: there is no memory. */
int tt_heap_table_add(const struct tt_object *, struct tt_object *before);

/* Removes an object; returns 1 if it was there, and moves it to *out. */
int tt_heap_table_remove(uint64_t address, struct tt_object *out);

/* May an address be in the table?  Counts the addresses in each class.  A free comes
 * after its object was added.  If most objects are in the table, nothing is counted. */
enum { TT_HEAP_CLASSES = 8192 };
extern uint32_t tt_heap_classes[TT_HEAP_CLASSES];
extern int tt_heap_classed; /* set before the first one is added */

static inline uint32_t tt_heap_class(uint64_t address)
{
    return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 51);
}

static inline int tt_heap_table_maybe(uint64_t address)
{
    return !tt_heap_classed ||
           __atomic_load_n(&tt_heap_classes[tt_heap_class(address)], __ATOMIC_RELAXED);
}

#ifdef TT_CHECKED
/* The first error in the table, which no other thread uses; "" if there is none. */
const char *tt_heap_table_check(void);
#endif

/* In the child of a fork: frees the locks. */
void tt_heap_table_free(void);

/* The same, and empties the table. */
void tt_heap_table_forked(void);

#endif
