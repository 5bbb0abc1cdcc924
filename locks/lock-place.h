/* SPDX-License-Identifier: MIT */
/* lock-place.h - what the collector of waits has of a thread, and where its stack stands.
 *
 *      caller ─ stack recalled or unwound ─ context in the thread's tree ─ path
 */
#ifndef TT_LOCK_PLACE_H
#define TT_LOCK_PLACE_H

#include "graft.h"
#include "keys.h"
#include "lock-paths.h"
#include "stack-cache.h"

enum {
    TT_LOCK_STACK = 64 << 10,
    TT_LOCK_PLACES = 4096,
    TT_LOCK_CHARGES = 8,
    TT_LOCK_SHARES = 8
};

struct tt_lock_place { /* of a context of this thread; 0 is the root */
    tt_context context;
    int below; /* of what found no room below it */
    int is_pathed;
    uint32_t path;
};

/* A wait that is over, and not in the tree yet. */
struct tt_lock_charge {
    tt_context waiter;
    uint32_t kind; /* enum tt_lock_kind */
    int is_symbol;
    tt_block name;
    uintptr_t taken; /* by whom the lock was held, if it was not released; or 0 */
    uint64_t ns;
    uint32_t shares;
    struct tt_lock_share {
        uint32_t path;
        uint64_t ns;
    } share[TT_LOCK_SHARES];
};

struct
    tt_lock_thread { /* a thread's own, mapped; its pages are there once they are used */
    struct tt_thread *thread;
    struct tt_recording *recording;
    const uint64_t *evicted;        /* how many contexts of the thread were */
    uint64_t evictions, generation; /* that the keys hold for */
    uint64_t forgotten;             /* how often they were */
    struct tt_stack_cache *recall;
    struct tt_keys keys; /* of stacks, and of what was charged */
    uint32_t charges;
    struct tt_lock_charge charge[TT_LOCK_CHARGES];
    uint32_t places;
    struct tt_lock_place place[TT_LOCK_PLACES];
    tt_block block[TT_LOCK_PATH_DEPTH]; /* of a path that is looked at */
    struct tt_grafting hanging;
    char stack[TT_LOCK_STACK] __attribute__((aligned(64)));
};

extern __thread struct tt_lock_thread *tt_lock_here;

/* The thread's own, which is busy, up to date; NULL: no memory. */
struct tt_lock_thread *tt_lock_thread_of(struct tt_thread *);
void tt_lock_thread_free(struct tt_lock_thread *);
void tt_lock_places_forget(struct tt_lock_thread *);

/* Where the caller stands; if its function, or one that called it, is the one where the lock
 * was taken, which the call did that returns to `taken`, then where that was.  0: no room. */
struct tt_lock_place *tt_lock_place(struct tt_lock_thread *, const struct tt_caller *,
                                    uintptr_t taken);

/* The path of a place. */
uint32_t tt_lock_place_path(struct tt_lock_thread *, struct tt_lock_place *);

/* The block of a function or of a datum, called by the module and the address, to be named as
 * a function is.  The tree's, the blocks' and the pages' locks are the caller's. */
tt_block tt_lock_block(struct tt_recording *, uintptr_t address, int *is_symbol);

static inline uint64_t tt_lock_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (x ^ x >> 32) | 1;
}

#endif
