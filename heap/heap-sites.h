/* SPDX-License-Identifier: MIT */
/* heap-sites.h - who made objects: a context, and what is at hand of it.
 *
 *      object ── site ── context, and its rows          of the thread that made it
 *                 └───── holding                         of the process: what is alive
 *
 * A site belongs to one thread, which alone touches its rows.  Another thread that frees an
 * object has a separate site for that, with the same context. */
#ifndef TT_HEAP_SITES_H
#define TT_HEAP_SITES_H

#include "heap-table.h"
#include "keys.h"
#include "maxima.h"

enum { TT_SITE_AGES = 4, TT_SITE_BANDS = TT_BAND_CENTRE + 1 };

struct tt_thread_heap;

struct tt_heap_site {             /* what each event looks at comes first, in one line */
    struct tt_thread_heap *owner; /* NULL: its thread is over */
    struct tt_space *made;        /* of its owner alone, and so is what is marked *; */
    uint64_t
        seen; /* * the tree's evictions, when these were found; they hold no longer */
    /* Under the lock, which anybody takes: */
    struct tt_holding *holding;          /* NULL: there was no room */
    struct tt_band *band[TT_SITE_BANDS]; /* of its type, block and cost centre; or NULL */
    uint32_t objects;                    /* that refer to it */
    uint32_t index;                      /* never changes */
    struct {
        uint32_t age;
        struct tt_space *row;
    } freed[TT_SITE_AGES]; /* * */
    struct tt_node *node;  /* * */
    uint64_t *temporary;   /* * */
    int below;             /* * */
    uint32_t serial, type; /* never change */
    tt_context context;
    struct tt_heap_site *next; /* of its owner's; of the free ones */
} __attribute__((aligned(64)));

/* A site without a holding; NULL: no memory. */
struct tt_heap_site *tt_site_take(struct tt_thread_heap *owner, tt_context,
                                  uint32_t type);
void tt_site_give(struct tt_heap_site *);

enum { TT_SITES_CHUNK = 1024 };
extern struct tt_heap_site *tt_site_chunk[(1 << TT_SITE_BITS) / TT_SITES_CHUNK];

static inline struct tt_heap_site *tt_site_at(uint32_t index)
{
    return __atomic_load_n(&tt_site_chunk[index / TT_SITES_CHUNK], __ATOMIC_ACQUIRE) +
           index % TT_SITES_CHUNK;
}

/* What is alive of it, at its node, from now on: of one of so many types.  Without a node, or
 * without room, together with all others of its type. */
void tt_site_hold(struct tt_heap_site *, struct tt_recording *, const tt_type *types,
                  uint32_t count);

/* In the child of a fork: no other thread has their lock; and there are none. */
void tt_sites_free(void);
void tt_sites_forked(void);

#endif
