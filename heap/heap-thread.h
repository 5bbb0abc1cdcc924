/* SPDX-License-Identifier: MIT */
/* heap-thread.h - a thread's part of the collector of the allocator's events: its sites.
 *
 *      thread ── heap ── site ── site ── …       of objects that it made, and of others'
 *                                                that it freed */
#ifndef TT_HEAP_THREAD_H
#define TT_HEAP_THREAD_H

#include "graft.h"
#include "heap-sites.h"
#include "heap.h"

enum { TT_HEAP_STACK = 64 << 10, TT_HEAP_KEYS_MAX = 1 << 18 };

struct tt_thread_heap { /* a thread's own, mapped; pages exist once used */
    struct tt_thread *thread;
    struct tt_recording *recording;
    struct tt_space_record *space;  /* of the process; `none` if there was no room */
    const uint64_t *evicted;        /* counts the thread's evictions */
    uint64_t evictions, generation; /* for which the keys are valid */
    uint64_t forgotten;             /* how often keys were forgotten */
    uint32_t shard;                 /* of its live objects (heap-alive.c) */
    struct tt_stack_cache *recall;
    struct tt_keys keys; /* of stacks, contexts, and sites of others */
    struct tt_heap_site *sites;
    uint64_t scripts; /* of the event: key of interpreted functions; 0: none */
    void *last;       /* the object made last, if nothing happened since */
    int *error;       /* errno */
    struct tt_grafting hanging;
    char stack[TT_HEAP_STACK] __attribute__((aligned(64)));
};

extern __thread struct tt_thread_heap *tt_heap_here;
extern tt_type tt_heap_type[TT_HEAP_TYPES]; /* set before the first event */

/* The busy thread's part, up to date; NULL: no memory.  May call malloc. */
struct tt_thread_heap *tt_heap_of(struct tt_thread *);
void tt_heap_end_thread(struct tt_thread *);

/* The process's record, or a dummy. */
struct tt_space_record *tt_heap_space(struct tt_recording *);

/* After an eviction, or when modules were loaded, keys of sites are found again. */
void tt_heap_forget_keys(struct tt_thread_heap *);
static inline int tt_heap_is_stale(const struct tt_thread_heap *h)
{
    return h->evictions != *h->evicted || h->generation != tt_modules_generation() ||
           h->keys.count > TT_HEAP_KEYS_MAX;
}

/* The site of a context of this thread; `below`: of contexts without room below it.
 * NULL: no memory. */
struct tt_heap_site *tt_heap_site_of_node(struct tt_thread_heap *, struct tt_node *,
                                          int below, tt_block, uint32_t type);

/* The site for objects that another thread has made. */
struct tt_heap_site *tt_heap_site_for(struct tt_thread_heap *,
                                      const struct tt_heap_site *other);

/* Finds its context in the tree, and its rows: again, if cells have moved since, as they may
 * within one event. */
void tt_heap_find_place(struct tt_thread_heap *, struct tt_heap_site *);
static inline void tt_heap_place_site(struct tt_thread_heap *h, struct tt_heap_site *s)
{
    if (TT_UNLIKELY(s->seen != *h->evicted))
        tt_heap_find_place(h, s);
    TT_ASSERT(s->node->kind == TT_CELL_CONTEXT);
}

static inline uint64_t tt_heap_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (x ^ x >> 32) | 1;
}

#endif
