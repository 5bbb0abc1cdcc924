/* SPDX-License-Identifier: MIT */
/* lock-table.c - the data of a lock, by its address. */
#include "lock-table.h"

#include <stddef.h>

enum { FREE, CHANGING };

struct tt_lock tt_lock_table[1 << TT_LOCKS_BITS];

/* Reserves an entry for the caller, by the address CHANGING.  0: another lock has it now,
 * or threads wait for its lock. */
static int take(struct tt_lock *l, uintptr_t address)
{
    if (address == CHANGING ||
        (address != FREE && __atomic_load_n(&l->queue, __ATOMIC_RELAXED)) ||
        !__atomic_compare_exchange_n(&l->address, &address, CHANGING, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return 0;
    if (!__atomic_load_n(&l->queue, __ATOMIC_RELAXED))
        return 1;
    __atomic_store_n(&l->address, address, __ATOMIC_RELEASE);
    return 0;
}

/* Two threads may add one lock at the same time: the second entry is never found, and
 * replaced later. */
struct tt_lock *tt_lock_add(const void *lock, uintptr_t made)
{
    struct tt_lock *bucket = tt_lock_bucket(lock), *l;
    const unsigned turn = (unsigned)((uintptr_t)lock >> 6); /* the entry to replace */

    for (unsigned i = 0; i < 2 * TT_LOCK_WAYS; i++) {
        const int is_free = i < TT_LOCK_WAYS; /* free entries first */
        uintptr_t address;

        l = &bucket[(is_free ? i : turn + i) % TT_LOCK_WAYS];
        address = __atomic_load_n(&l->address, __ATOMIC_RELAXED);
        if ((is_free && address != FREE) || !take(l, address))
            continue;
        l->taken = 0;
        l->made = made;
        __atomic_store_n(&l->address, (uintptr_t)lock, __ATOMIC_RELEASE);
        return l;
    }
    return NULL;
}

void tt_lock_forget(const void *lock)
{
    struct tt_lock *l = tt_lock_find(lock);

    if (l && take(l, (uintptr_t)lock))
        __atomic_store_n(&l->address, FREE, __ATOMIC_RELEASE);
}
