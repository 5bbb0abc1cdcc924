/* SPDX-License-Identifier: MIT */
/* lock-table.h - the data of a lock, by its address: a cache that forgets.
 *
 *      address ─ bucket of four ─ { taken: where it was taken last, made: its origin, queue }
 *
 * No operation waits: a new lock in a full bucket replaces another one without waiters.
 * Each lock has a cache line for itself, so that two locks do not slow each other
 * down. */
#ifndef TT_LOCK_TABLE_H
#define TT_LOCK_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { TT_LOCKS_BITS = 14, TT_LOCK_WAYS = 4 };

struct tt_lock_queue;

struct tt_lock {
    _Alignas(64) uintptr_t address; /* 0: free; 1: being replaced */
    uintptr_t taken;                /* return address of the call that took it last */
    uintptr_t made;                 /* of its initialisation, or else its first use */
    struct tt_lock_queue *queue;    /* of waiting threads; NULL: never contended */
};

extern struct tt_lock tt_lock_table[1 << TT_LOCKS_BITS];

static inline struct tt_lock *tt_lock_bucket(const void *lock)
{
    uint64_t hash = ((uintptr_t)lock >> 3) * 0x9e3779b97f4a7c15u;

    return &tt_lock_table[hash >> (64 - TT_LOCKS_BITS) & ~(uint64_t)(TT_LOCK_WAYS - 1)];
}

/* NULL: not known, or not any more. */
static inline struct tt_lock *tt_lock_find(const void *lock)
{
    struct tt_lock *l = tt_lock_bucket(lock);

    for (int i = 0; i < TT_LOCK_WAYS; i++, l++)
        if (__atomic_load_n(&l->address, __ATOMIC_RELAXED) == (uintptr_t)lock)
            return l;
    return NULL;
}

/* Adds it, with its origin.  NULL: all others in its bucket have waiters. */
struct tt_lock *tt_lock_add(const void *lock, uintptr_t made);

/* Frees its entry, if it has no waiters. */
void tt_lock_forget(const void *lock);

/* The lock was taken; the call returns to `taken`.  An equal value is not written again:
 * so readers on many processors share the line. */
static inline void tt_lock_taken(const void *lock, uintptr_t taken)
{
    struct tt_lock *l = tt_lock_find(lock);

    if (__builtin_expect(!l, 0))
        l = tt_lock_add(lock, taken);
    if (l && __atomic_load_n(&l->taken, __ATOMIC_RELAXED) != taken)
        __atomic_store_n(&l->taken, taken, __ATOMIC_RELAXED);
}

#endif
