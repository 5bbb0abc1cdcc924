/* SPDX-License-Identifier: MIT */
/* recording.h - the mapped file that everything is tallied into, and its pages. */
#ifndef TT_RECORDING_H
#define TT_RECORDING_H

#include <pthread.h>

#include "clock.h"
#include "file.h"
#include "sample-log.h"

enum { TT_ORDERS = 20 }; /* runs of 2^order pages */

/* In a handle of a context, drawn in context.c. */
enum {
    TT_CONTEXT_BLOCK_SHIFT = 40,
    TT_CONTEXT_GENERATION_BITS = 15, /* at most; fewer when cells need the bits */
};
_Static_assert((1u << TT_CONTEXT_GENERATION_BITS) <= TT_GENERATION_SPENT, "generations");

struct tt_recording {
    char *base; /* the mapping; NULL before the first start */
    struct tt_header *header;
    uint32_t *map;
    struct tt_file file;
    uint32_t epoch;        /* changes with every start and in the child of a fork */
    uint32_t context_bits; /* of a handle of a context: its cell */
    struct tt_options options;
    size_t stem; /* of options.output: what its children's names begin with */

    /* The following is guarded by `lock`. */
    pthread_mutex_t lock;
    const void *holder; /* a thread that has it by tt_pages_try: its tt_self */
    uint32_t *next;     /* a page → the next of its owner, or of the free runs */
    uint16_t *past;     /* a page → the latest generation of the cells that it had */
    size_t next_bytes;  /* of both */
    uint32_t free[TT_ORDERS];
    uint32_t ready;      /* pages below it have their room on disk */
    uint32_t cell_pages; /* of cells, that may still be taken */
    uint32_t attached;   /* strands that point into the mapping, and 1 while it runs */
    int exact;           /* activations may be timed, and */
    int timed;           /* one has been */
    uint64_t preempted;  /* what was tt_clock_preempted as it began, */
    unsigned threads;    /* and of how many threads */
    struct tt_gone gone; /* threads that have left it since */
    struct tt_log log;
};

/* tt_clock_preempted since the recording began, where activations were timed; else 0. */
uint64_t tt_recording_preempted(const struct tt_recording *);
/* The calling thread leaves the recording; it has come to it, again or with the number of one
 * that has ended. */
void tt_recording_left(struct tt_recording *);
void tt_recording_joined(struct tt_recording *, int again);

/* The recording of this process; there is one at a time. */
extern struct tt_recording *tt_recording;

/* The same for callers that do not hold the lock of the threads: it may change at
 * once. */
static inline struct tt_recording *tt_recording_now(void)
{
    return __atomic_load_n(&tt_recording, __ATOMIC_ACQUIRE);
}

/* Makes the file and the mapping.  On failure it removes both; errno is the reason of
 * -TT_ERR_FILE. */
int tt_recording_open(struct tt_recording **, const struct tt_options *);
/* The room that its file needs to begin. */
uint64_t tt_recording_least_size(const struct tt_options *);

/* Opens a recording for the child of a fork, beside the parent's.  When the child may not
 * make a file it is in memory, and the parent's header counts it. */
int tt_recording_fork(struct tt_recording **child, struct tt_recording *parent);

/* In the child of a fork: later stores into this recording, the parent's, stay in the
 * child.  `copy`, which may be NULL, replaces the mapping. */
void tt_recording_detach(struct tt_recording *, void *copy);
void *tt_recording_detached(const struct tt_recording *); /* such a copy, for munmap */

/* Ends the file; the mapping stays until the last strand has let go of it. */
void tt_recording_end(struct tt_recording *, uint64_t ticks);
void tt_recording_hold(struct tt_recording *);
void tt_recording_drop(struct tt_recording *);

/* A run of 2^order pages for an owner (a strand's index + 1; 0: all), zeroed.  Returns its
 * first page's number + 1, or 0 when the budget is used up. */
uint32_t tt_page_take(struct tt_recording *, enum tt_page_type, uint32_t owner,
                      uint32_t order);

/* The same for an owner of `has` pages: the last part of the budget is for others. */
uint32_t tt_page_take_more(struct tt_recording *, enum tt_page_type, uint32_t owner,
                           uint32_t order, uint32_t has);
void tt_page_give(struct tt_recording *, uint32_t page, uint32_t order);

/* How many of a type were never taken so far and may be. */
uint32_t tt_pages_left(struct tt_recording *, enum tt_page_type);

/* For signal handlers: takes the lock and returns 1 if it was free; the caller has it
 * until tt_pages_done, and may take pages meanwhile.  Async-signal-safe. */
int tt_pages_try(struct tt_recording *);
void tt_pages_done(struct tt_recording *);

/* Has the calling thread the lock by tt_pages_try?  If not, the others take it and
 * release it. */
int tt_pages_are_held(const struct tt_recording *);
void tt_pages_lock(struct tt_recording *);
void tt_pages_unlock(struct tt_recording *);

/* All that the mapping at `base` may hold, as its header says. */
TT_INLINE uint64_t tt_base_size(const char *base)
{
    return ((const struct tt_header *)(const void *)base)->size;
}

static inline uint32_t tt_page_cell(const struct tt_recording *r, uint32_t page)
{
    TT_ASSERT(page > 0);
    return r->header->first / TT_CELL_SIZE + (page - 1) * TT_PAGE_CELLS;
}

static inline uint32_t tt_cell_page(const struct tt_recording *r, uint32_t cell)
{
    return (cell - r->header->first / TT_CELL_SIZE) / TT_PAGE_CELLS + 1;
}

TT_INLINE uint32_t tt_page_owner(const struct tt_recording *r, uint32_t page)
{
    return __atomic_load_n(&r->map[page - 1], __ATOMIC_ACQUIRE) >> 8;
}

/* Copies the recording in its present state; the caller unmaps it.  Its size is in *size.
 * Returns NULL if there is no memory. */
void *tt_recording_copy(struct tt_recording *, size_t *size);

/* Adds to a figure that a signal handler of this thread may be adding to as well. */
TT_INLINE void tt_bump(uint64_t *n, uint64_t amount)
{
#if defined(__x86_64__)
    __asm__("addq %1, %0" : "+m"(*n) : "r"(amount));
#else
    (void)__atomic_fetch_add(n, amount, __ATOMIC_RELAXED);
#endif
}

/* Adds to a figure of the process. */
TT_INLINE void tt_bump_shared(uint64_t *n, uint64_t amount)
{
    (void)__atomic_fetch_add(n, amount, __ATOMIC_RELAXED);
}

#endif
