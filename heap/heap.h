/* SPDX-License-Identifier: MIT */
/* heap.h - charges events of the allocator to their contexts.
 *
 *      p = next_malloc(size);
 *      if (tt_heap_on && p && tt_heap_wants(size))
 *          tt_heap_made(p, size, TT_HEAP_MALLOC, &caller);
 *
 * Any thread may call any of these at any time, in a signal handler too: a handler's
 * event that interrupts this code is only counted. errno is kept.  None of them calls
 * malloc, except a thread's first event. */
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

/* Call it before the recording begins.  `rate` 0: records every event; else one event in
 * `rate` bytes, at random from the seed.  `usable` returns the real size of an object, and may
 * be NULL. */
void tt_heap_start(uint64_t rate, uint64_t seed, size_t (*usable)(void *));
/* Counts events only between these times, by the system's clock; end 0: no end. */
void tt_heap_window(uint64_t begin, uint64_t end);
void tt_heap_stop(void);
/* The process ends at once: what threads have counted is added up.  Async-signal-safe. */
void tt_heap_settle(void);
void tt_heap_forked(void); /* in the child */

extern int tt_heap_on;
extern int tt_heap_maps;         /* memory that the program maps is recorded, too */
extern int tt_heap_new_is_sized; /* `usable` knows objects of type new */

/* The bytes that this thread allocates until the next sample; always negative if every
 * event is recorded. */
extern __thread int64_t tt_heap_gap;

/* An object was made, whose size tt_heap_wants; NULL: the allocation failed.  The test is
 * inline, so that other objects cost no call; the sizes of failed allocations, which may
 * be anything, must not reach it. */
void tt_heap_made(void *, size_t size, enum tt_heap_type, const struct tt_caller *);
static inline int tt_heap_wants(size_t size)
{
    return (tt_heap_gap -= (int64_t)size) < 0;
}

/* An object is about to be freed.  `maybe`: it may be a recorded one. */
void tt_heap_gone(void *);
static inline int tt_heap_maybe(const void *p)
{
    return tt_heap_table_maybe((uintptr_t)p);
}

/* An object is about to be resized, and perhaps moved; then the result: it was freed, or
 * it is at `to` now, or unchanged if `to` is NULL. */
struct tt_heap_move {
    void *from;
    struct tt_object object; /* address 0: not recorded */
};
void tt_heap_move(struct tt_heap_move *, void *from);
void tt_heap_freed(const struct tt_heap_move *);
void tt_heap_moved(const struct tt_heap_move *, void *to, size_t size, enum tt_heap_type,
                   const struct tt_caller *);

/* Memory that the program maps.  A call of the system has ended all mappings in `gone`, and mapped
 * `size` bytes in `made`, whole pages, instead of what was there; either may be NULL.  `stamp` of
 * what is gone: before the call; of what is made: UINT64_MAX. */
struct tt_heap_range {
    uint64_t from, to, stamp;
};
uint64_t tt_heap_before_unmap(void);
void tt_heap_remap(const struct tt_heap_range *gone, const struct tt_heap_range *made,
                   size_t size, const struct tt_caller *);

#endif
