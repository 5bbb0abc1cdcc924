/* SPDX-License-Identifier: MIT */
/* event-cache.h - the fast path of objects: caches where an event is counted.
 *
 *      (origin, type, from, to) ── row ── band          per thread, until something is evicted
 *
 * Programs report the same event again and again: objects of this type, made there, were
 * freed.  The row of such an event is cached with the tree, so nearly all events are two
 * look-ups and two changes.  Any other case is refused before anything is changed, and
 * takes the general path (space.c). */
#ifndef TT_EVENT_CACHE_H
#define TT_EVENT_CACHE_H

#include "block.h"
#include "context.h"
#include "exact.h"
#include "space.h"
#include "stack.h"

/* Reading the time costs more than all the rest.  So up to fifteen successive events
 * share the time of the first one; if they are of large objects, only a few do. */
enum { TT_EVENT_CACHE_EVENT = 512, TT_EVENT_CACHE_AT_ONCE = 16 * TT_EVENT_CACHE_EVENT };

TT_INLINE int tt_event_cache_so(struct tt_thread *t, uint64_t bytes)
{
    int64_t left = t->objects.told_so - (int64_t)bytes - TT_EVENT_CACHE_EVENT;

    if (TT_UNLIKELY(left < 0))
        return 0;
    t->objects.told_so = left;
    return 1;
}

TT_INLINE void tt_event_cache_now(struct tt_thread *t, uint64_t now)
{
    t->objects.told_at = now;
    t->objects.told_so = TT_EVENT_CACHE_AT_ONCE;
}

/* Not 0, as those places have that are not in use. */
TT_INLINE uint64_t tt_event_cache_way(tt_type type, uint32_t from, uint32_t to)
{
    return (uint64_t)type | (uint64_t)from << 32 | (uint64_t)to << 48 | 1ull << 63;
}

/* The two places that it may have, once there are any. */
TT_INLINE struct tt_event_cache *tt_event_cache_set(const struct tt_thread *t,
                                                    tt_context origin, uint64_t way)
{
    uint64_t hash = (origin ^ way * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;

    return t->tree.space.told + (hash >> 55 << 1);
}
_Static_assert(TT_EVENT_CACHE == 2 << (64 - 55), "twice as many as the hash has values");

/* NULL: it is not known. */
TT_INLINE struct tt_event_cache *tt_event_cache_find(const struct tt_thread *t,
                                                     tt_context origin, uint64_t way)
{
    struct tt_event_cache *k;

    if (TT_UNLIKELY(!t->tree.space.told))
        return NULL;
    k = tt_event_cache_set(t, origin, way);
    if (TT_UNLIKELY(k->origin != origin || k->way != way)) {
        k++;
        if (k->origin != origin || k->way != way)
            return NULL;
    }
    return k;
}

/* tt_busy_try keeps signal handlers out; this lets them in. */
TT_INLINE void tt_event_cache_end(struct tt_thread *t) { tt_busy_end(&t->busy); }

/* ── While busy ───────────────────────────────────────────────────────────────────── */

/* One object; `generation`, in which its row counts, was not collected since the row's
 * last change. */
TT_INLINE int tt_event_cache_again(struct tt_thread *t, const struct tt_event_cache *k,
                                   uint32_t generation, struct tt_band *band,
                                   size_t bytes, size_t overhead, int64_t change)
{
    const struct tt_space_record *s = k->space;
    struct tt_space *row = k->row;
    int64_t *point;
    uint64_t i;

    if (TT_UNLIKELY(row->stamp !=
                    __atomic_load_n(&s->collections[generation], __ATOMIC_RELAXED)))
        return 0;
    if (band) {
        if (TT_UNLIKELY(__atomic_load_n(&s->collecting, __ATOMIC_RELAXED)))
            return 0;
        if (!tt_event_cache_so(t, bytes))
            tt_event_cache_now(t, tt_clock_cycles() - t->recording->header->start_ticks);
        i = t->objects.told_at >> band->pace.shift;
        if (TT_UNLIKELY(i >= TT_BAND_POINTS))
            return 0;
        point = &band->delta[i];
        TT_SHOW(*point, *point + change);
    }
    TT_SHOW(row->all.number, row->all.number + 1);
    TT_SHOW(row->all.bytes, row->all.bytes + bytes);
    TT_SHOW(row->all.overhead, row->all.overhead + overhead);
    return 1;
}

/* Is this the simple case?  Call it while busy: a handler before may have changed it. */
TT_INLINE int tt_event_cache_may(const struct tt_thread *t)
{
    return __atomic_load_n(&t->modes.tells, __ATOMIC_RELAXED) != 0;
}

/* Counts an object made in the thread's current context; TT_NOWHERE if the case is not
 * simple. */
TT_INLINE tt_context tt_event_cache_make(struct tt_thread *t, tt_type type, size_t bytes,
                                         size_t overhead)
{
    const struct tt_node *n = tt_self.top->node;
    struct tt_event_cache *k;
    tt_context c;

    if (!tt_event_cache_may(t) || t->clock.pauses || n == t->tree.limbo ||
        __atomic_load_n(&tt_block_selecting, __ATOMIC_RELAXED))
        return TT_NOWHERE;
    c = tt_context_make(t->recording, n);
    k = tt_event_cache_find(t, c, tt_event_cache_way(type, TT_NO_GENERATION, 0));
    return k && tt_event_cache_again(t, k, 0, k->there, bytes, overhead, (int64_t)bytes)
               ? c
               : TT_NOWHERE;
}

/* Freed, from a generation or of an age.  0: it is not that simple. */
TT_INLINE int tt_event_cache_free(struct tt_thread *t, tt_context origin, tt_type type,
                                  size_t bytes, size_t overhead, uint32_t from)
{
    struct tt_event_cache *k;

    if (!tt_event_cache_may(t))
        return 0;
    k = tt_event_cache_find(t, origin, tt_event_cache_way(type, from, TT_NO_GENERATION));
    return k && tt_event_cache_again(t, k, from & 0x80 ? 0 : from, k->left, bytes,
                                     overhead, -(int64_t)bytes);
}

#endif
