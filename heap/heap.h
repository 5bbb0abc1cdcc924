/* SPDX-License-Identifier: MIT */
/* heap.h - events of the allocator, charged to where they happen.
 *
 *      p = next_malloc(size);
 *      if (tt_heap_on)
 *          tt_heap_made(p, size, TT_HEAP_MALLOC, &caller);
 *
 * Any thread may call any of these at any time, in a signal handler too: one that has
 * interrupted us goes unseen, and is counted.  errno is kept.  None of them calls malloc,
 * but for a thread's first. */
#ifndef TT_HEAP_H
#define TT_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "heap-table.h"
#include "stack-cache.h"

enum tt_heap_type {
    TT_HEAP_MALLOC,
    TT_HEAP_CALLOC,
    TT_HEAP_REALLOC,
    TT_HEAP_ALIGNED,
    TT_HEAP_NEW,
    TT_HEAP_MMAP,
    TT_HEAP_TYPES
};

/* Before the recording begins.  `rate` 0: every event is recorded; or else one in so many bytes,
 * by chances that follow from the seed.  `usable` tells how large an object really is, and may be
 * NULL. */
void tt_heap_start(uint64_t rate, uint64_t seed, size_t (*usable)(void *));
/* Events count between these times alone, by the system's clock; end 0: until it stops. */
void tt_heap_window(uint64_t begin, uint64_t end);
void tt_heap_stop(void);
void tt_heap_forked(void); /* in the child */

extern int tt_heap_on;
extern int tt_heap_maps; /* what the program maps is recorded too */

/* How many bytes this thread allocates until the next sample; kept negative where every
 * event is recorded. */
extern __thread int64_t tt_heap_gap;

/* The object was made; NULL: it was not.  The first test of it is here, so that what is not
 * sampled costs no call. */
void tt_heap_made(void *, size_t size, enum tt_heap_type, const struct tt_caller *);
static inline int tt_heap_wants(size_t size)
{
    return (tt_heap_gap -= (int64_t)size) < 0;
}

/* It is about to be freed.  `maybe`: it may be one of those that are recorded. */
void tt_heap_gone(void *);
static inline int tt_heap_maybe(const void *p)
{
    return tt_heap_table_maybe((uintptr_t)p);
}

/* It is about to get another size, and perhaps another place; and what became of it: it was
 * freed, or it is at `to` now, or where that is NULL as it was. */
struct tt_heap_move {
    void *from;
    struct tt_object object; /* address 0: not known */
};
void tt_heap_move(struct tt_heap_move *, void *from);
void tt_heap_freed(const struct tt_heap_move *);
void tt_heap_moved(const struct tt_heap_move *, void *to, size_t size, enum tt_heap_type,
                   const struct tt_caller *);

#endif
