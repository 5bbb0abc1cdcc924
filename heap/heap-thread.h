/* SPDX-License-Identifier: MIT */
/* heap-thread.h - what the collector of the allocator's events has of a thread: its sites.
 *
 *      thread ── heap ── site ── site ── …       of what it made, and of what others made
 *                                                and it freed
 */
#ifndef TT_HEAP_THREAD_H
#define TT_HEAP_THREAD_H

#include "graft.h"
#include "heap-sites.h"
#include "heap.h"

enum { TT_HEAP_STACK = 64 << 10, TT_HEAP_KEYS_MAX = 1 << 18 };

struct
    tt_thread_heap { /* a thread's own, mapped; its pages are there once they are used */
    struct tt_thread *thread;
    struct tt_recording *recording;
    struct tt_space_record *space;  /* of the process; `none` where there was no room */
    const uint64_t *evicted;        /* how many contexts of the thread were */
    uint64_t evictions, generation; /* that the keys hold for */
    uint64_t forgotten;             /* how often they were */
    struct tt_stack_cache *recall;
    struct tt_keys keys; /* of stacks, contexts, and sites of others */
    struct tt_heap_site *sites;
    uint64_t scripts; /* of the event: what an interpreter runs; 0: nothing */
    void *last;       /* what was made last, if nothing has happened since */
    int *error;       /* errno */
    struct tt_grafting hanging;
    char stack[TT_HEAP_STACK] __attribute__((aligned(64)));
};

extern __thread struct tt_thread_heap *tt_heap_here;
extern tt_type tt_heap_type[TT_HEAP_TYPES]; /* set before the first event */

/* The thread's own, which is busy, up to date; NULL: no memory.  May call malloc. */
struct tt_thread_heap *tt_heap_of(struct tt_thread *);
void tt_heap_end_thread(struct tt_thread *);

/* The process's record, or one that is none. */
struct tt_space_record *tt_heap_space(struct tt_recording *);

/* Where something was evicted, or loaded, what leads to sites is found again. */
void tt_heap_forget_keys(struct tt_thread_heap *);
static inline int tt_heap_is_stale(const struct tt_thread_heap *h)
{
    return h->evictions != *h->evicted || h->generation != tt_modules_generation() ||
           h->keys.count > TT_HEAP_KEYS_MAX;
}

/* Of a context of this thread; `below`: or of what found no room below it.  NULL: no memory. */
struct tt_heap_site *tt_heap_site_of_node(struct tt_thread_heap *, struct tt_node *,
                                          int below, tt_block, uint32_t type);

/* For what another thread has made. */
struct tt_heap_site *tt_heap_site_for(struct tt_thread_heap *,
                                      const struct tt_heap_site *other);

/* Its context's place in the tree, and its rows: again, when cells have moved since. */
void tt_heap_find_place(struct tt_thread_heap *, struct tt_heap_site *);
static inline void tt_heap_place_site(struct tt_thread_heap *h, struct tt_heap_site *s)
{
    if (TT_UNLIKELY(s->seen != h->evictions))
        tt_heap_find_place(h, s);
}

static inline uint64_t tt_heap_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (x ^ x >> 32) | 1;
}

#endif
