/* SPDX-License-Identifier: MIT */
/* lock-place.h - a thread's part of the collector of waits, and the context of its stack.
 *
 *      caller ─ stack cached or unwound ─ context in the thread's tree ─ path */
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

struct tt_lock_place { /* a context of this thread; 0 is the root */
    tt_context context;
    int below; /* of contexts without room below it */
    int is_pathed;
    uint32_t path;
};

/* A finished wait that is not in the tree yet. */
struct tt_lock_charge {
    tt_context waiter;
    uint32_t kind; /* enum tt_lock_kind */
    int is_symbol;
    tt_block name;
    uintptr_t taken; /* call by which the lock was taken, if it is still held; or 0 */
    uint64_t ns;
    uint32_t shares;
    struct tt_lock_share {
        uint32_t path;
        uint64_t ns;
    } share[TT_LOCK_SHARES];
};

struct tt_lock_thread { /* a thread's own, mapped; pages exist once used */
    struct tt_thread *thread;
    struct tt_recording *recording;
    const uint64_t *evicted;        /* counts the thread's evictions */
    uint64_t evictions, generation; /* for which the keys are valid */
    uint64_t forgotten;             /* how often keys were forgotten */
    struct tt_stack_cache *recall;
    struct tt_keys keys; /* of stacks, and of charged places */
    uint32_t charges;
    struct tt_lock_charge charge[TT_LOCK_CHARGES];
    uint32_t places;
    struct tt_lock_place place[TT_LOCK_PLACES];
    tt_block block[TT_LOCK_PATH_DEPTH]; /* of the path in use */
    struct tt_grafting hanging;
    char stack[TT_LOCK_STACK] __attribute__((aligned(64)));
};

extern __thread struct tt_lock_thread *tt_lock_here;

/* The busy thread's part, up to date; NULL: no memory. */
struct tt_lock_thread *tt_lock_thread_of(struct tt_thread *);
void tt_lock_thread_free(struct tt_lock_thread *);
void tt_lock_places_forget(struct tt_lock_thread *);

/* The caller's context.  If its function, or one that called it, took the lock by the
 * call that returns to `taken`, the context of that call.  NULL: no room. */
struct tt_lock_place *tt_lock_place(struct tt_lock_thread *, const struct tt_caller *,
                                    uintptr_t taken);

/* The path of a place. */
uint32_t tt_lock_place_path(struct tt_lock_thread *, struct tt_lock_place *);

/* The block of a function or of a datum, named by the module and the address until it is
 * named as a function is.  The caller holds the locks of the tree, the blocks and the
 * pages. */
tt_block tt_lock_block(struct tt_recording *, uintptr_t address, int *is_symbol);

static inline uint64_t tt_lock_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (x ^ x >> 32) | 1;
}

#endif
