/* SPDX-License-Identifier: MIT */
/* heap-sites.h - the sites that made objects: a context, and cached data of it.
 *
 *      object ── site ── context, and its rows          of the thread that made it
 *                 └───── holding                         of the process: live objects
 *
 * A site belongs to one thread, which alone uses its rows.  Another thread that frees an
 * object has a separate site for that, with the same context. */
#ifndef TT_HEAP_SITES_H
#define TT_HEAP_SITES_H

#include "heap-table.h"
#include "keys.h"
#include "maxima.h"

enum { TT_SITE_AGES = 4, TT_SITE_BANDS = TT_BAND_CENTRE + 1 };

struct tt_thread_heap;

struct tt_heap_site {             /* fields of each event first, in one cache line */
    struct tt_thread_heap *owner; /* NULL: its thread has ended */
    struct tt_space *made;        /* of its owner alone, as all fields with a * */
    uint64_t seen;                /* * evictions of the tree for which these are valid */
    /* Under its shard's lock, for any thread: */
    struct tt_holding *holding;          /* NULL: there was no room */
    struct tt_band *band[TT_SITE_BANDS]; /* of its type, block and cost centre; or NULL */
    uint32_t objects;                    /* number of objects that refer to it */
    uint32_t index, shard; /* never change; shard: its lock is for these (heap-alive.c) */
    int is_changed;        /* bytes are pending for its bands */
    struct {
        uint32_t age;
        struct tt_space *row;
    } freed[TT_SITE_AGES]; /* * */
    struct tt_node *node;  /* * */
    uint64_t *temporary;   /* * */
    int below;             /* * */
    int has_key;           /* * its owner finds it by its node */
    uint32_t serial, type; /* never change */
    tt_context context;
    struct tt_heap_site *next;         /* of its owner's sites, or of the free ones */
    struct tt_heap_site *next_changed; /* of its shard, under the lock of that, too */
    int64_t pending;
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

/* Gives it a holding for its live objects at its node; of one of `count` types.  Without
 * a node, or without room, it shares the holding of its type: 0. */
int tt_site_hold(struct tt_heap_site *, struct tt_recording *, const tt_type *types,
                 uint32_t count);

/* In the child of a fork: frees the lock; and drops all sites. */
void tt_sites_free(void);
void tt_sites_forked(void);

#endif
