/* SPDX-License-Identifier: MIT */
/* objects.c - objects that are known by a number: where they came from, and since when.
 *
 * A table of the process, of the live objects alone, in memory of its own.  It is in shards,
 * each a hash table with linear probing under a lock of its own, so that threads seldom
 * meet.  Whoever holds one is in the profiler, and no signal handler waits for it then. */
#include "objects.h"

#include <string.h>
#include <sys/mman.h>

#include "alone.h"
#include "control.h"
#include "series.h"
#include "share.h"
#include "told.h"

enum { SHARDS = 32, FIRST_SIZE = 256 };

struct object {
    uint64_t id; /* 0: none */
    tt_context origin;
    uint64_t bytes;
    uint32_t overhead, type;
    uint32_t generation, collection; /* the last that it survived */
    uint64_t born, first, last;      /* first 0: it was not used so far */
};

static struct shard {
    _Alignas(64) uint32_t lock;
    uint32_t epoch; /* of the recording that its objects belong to */
    uint32_t size, count;
    struct object *at;
} shard[SHARDS];

/* ── Shards ───────────────────────────────────────────────────────────────────────── */

/* What lies on one page of memory, as what is made one after the other mostly does, is side
 * by side here too: a miss of the cache brings the next ones.  Numbers that count from 1 are
 * spread by their last bits, in which addresses are all the same. */
static uint64_t hash_page(uint64_t id) { return (id >> 12) * 0x9e3779b97f4a7c15u; }

static struct shard *shard_of(uint64_t id) { return &shard[hash_page(id) >> 59]; }
_Static_assert(SHARDS == 1 << (64 - 59), "as many as the hash has values");

static uint32_t first_slot(const struct shard *s, uint64_t id)
{
    return ((uint32_t)(hash_page(id) >> 27) + (uint32_t)(id >> 4 & 0xff) +
            (uint32_t)(id & 0xf) * 0x9e3779b1u) &
           (s->size - 1);
}

/* The object, or the free slot where it would be. */
static struct object *find_object(const struct shard *s, uint64_t id)
{
    uint32_t i = first_slot(s, id);

    while (s->at[i].id && s->at[i].id != id)
        i = (i + 1) & (s->size - 1);
    return &s->at[i];
}

static int grow_shard(struct shard *s)
{
    struct shard grown = {.size = s->size ? s->size * 2 : FIRST_SIZE};
    void *p = mmap(NULL, grown.size * sizeof *grown.at, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return -TT_ERR_MEMORY;
    grown.at = p;
    for (uint32_t i = 0; i < s->size; i++)
        if (s->at[i].id)
            *find_object(&grown, s->at[i].id) = s->at[i];
    if (s->at)
        munmap(s->at, s->size * sizeof *s->at);
    s->at = grown.at;
    s->size = grown.size;
    return 0;
}

/* What comes after it and would not be found any more moves up. */
static void remove_object(struct shard *s, struct object *o)
{
    uint32_t hole = (uint32_t)(o - s->at), i = hole;

    s->count--;
    for (;;) {
        i = (i + 1) & (s->size - 1);
        if (!s->at[i].id)
            break;
        if (((i - first_slot(s, s->at[i].id)) & (s->size - 1)) >=
            ((i - hole) & (s->size - 1))) {
            s->at[hole] = s->at[i];
            hole = i;
        }
    }
    s->at[hole].id = 0;
}

/* Objects of another recording are nobody's any more. */
static void turn_shard(struct shard *s, const struct tt_recording *r)
{
    if (s->epoch == r->epoch)
        return;
    s->epoch = r->epoch;
    s->count = 0;
    if (s->at)
        munmap(s->at, s->size * sizeof *s->at);
    s->at = NULL;
    s->size = 0;
}

static struct object *add_object(struct shard *s, const struct object *o)
{
    struct object *slot;

    if (s->count * 2 >= s->size && grow_shard(s) != 0)
        return NULL;
    slot = find_object(s, o->id);
    s->count += !slot->id;
    *slot = *o;
    return slot;
}

/* ── Whose turn it is ─────────────────────────────────────────────────────────────── */

/* Some time before it is looked at, so that its memory is on the way meanwhile. */
static inline void prefetch_object(uint64_t id)
{
    const struct shard *s = shard_of(id);

    __builtin_prefetch(&s->at[first_slot(s, id)], 1);
}

/* While it holds a lock a thread is in the profiler; without a strand it is not, and no
 * handler of its own makes one.  1: it was in there before. */
static inline int hold_off_handlers(struct tt_thread *t)
{
    int before = 0;

    if (t)
        before = t->busy++ != 0;
    TT_BARRIER();
    return before;
}

static inline void let_handlers_in(struct tt_thread *t)
{
    TT_BARRIER();
    if (t)
        t->busy--;
}

/* Locks the shard of an object, unless that might mean to wait for oneself. */
static inline struct shard *lock_shard(uint64_t id, int busy)
{
    struct shard *s = shard_of(id);
    const struct tt_recording *r;

    if (TT_UNLIKELY(!tt_brief_try(&s->lock))) {
        if (busy || tt_holds_locks() || tt_block_held())
            return NULL;
        tt_brief_lock(&s->lock);
    }
    r = tt_recording_now();
    if (r)
        turn_shard(s, r);
    return s;
}

/* Locks the shard, finds the object and takes it out; 0 when there is none. */
static inline int take_object(uint64_t id, struct object *out)
{
    struct tt_thread *t = tt_self.thread;
    struct shard *s = lock_shard(id, hold_off_handlers(t));
    struct object *o;
    int found = 0;

    if (s) {
        o = s->size ? find_object(s, id) : NULL;
        found = o && o->id;
        if (found) {
            *out = *o;
            remove_object(s, o);
        }
        tt_brief_unlock(&s->lock);
    }
    let_handlers_in(t);
    return found;
}

/* One that finds no room is counted. */
static inline void put_object(struct tt_recording *r, const struct object *o)
{
    struct tt_thread *t = tt_self.thread;
    struct shard *s = lock_shard(o->id, hold_off_handlers(t));

    if (!s || !add_object(s, o))
        tt_bump_shared(&r->header->lost_objects, 1);
    if (s)
        tt_brief_unlock(&s->lock);
    let_handlers_in(t);
}

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

uint64_t tt_space_now(const struct tt_recording *r)
{
    const struct tt_thread *t = tt_self.thread;

    if (tt_clock_in_use() == TT_CLOCK_CALLER)
        return t ? t->ticks : 0;
    return tt_clock_now() - r->header->start_ticks;
}

/* Where the fast path may be gone it takes this time, and does not ask again. */
static inline uint64_t time_to_tell(const struct tt_recording *r)
{
    struct tt_thread *t = tt_self.thread;
    uint64_t now;

    if (!t || t->busy || t->recording != r || !tt_told_may(t))
        return tt_space_now(r);
    now = tt_clock_cycles() - r->header->start_ticks;
    tt_told_now(t, now);
    return now;
}

/* In µs, or in ticks of the caller's own. */
static uint64_t age_of(const struct tt_recording *r, const struct object *o, uint64_t now)
{
    uint64_t ticks = now - o->born, rate = r->header->ticks_per_second;

    if ((int64_t)ticks < 0)
        return 0;
    if (tt_clock_in_use() == TT_CLOCK_CALLER || !rate)
        return ticks;
    if (ticks < UINT64_MAX / 1000000)
        return ticks * 1000000 / rate;
    return (uint64_t)((unsigned __int128)ticks * 1000000 / rate);
}

static void end_life(struct tt_thread *t, const struct object *o, uint64_t died)
{
    struct tt_life l = {o->born, o->first - 1, o->last - 1, died, o->first != 0};

    tt_bands_life(t, &l, (int64_t)(o->bytes * tt_space_weight(o->bytes)));
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* `make` tells of it, unless it is one that is not recorded. */
static tt_context new_object(uint64_t id, tt_type type, size_t bytes, size_t overhead,
                             tt_context (*make)(tt_type, size_t, size_t))
{
    struct tt_recording *r = tt_recording_now();
    struct object o = {
        .id = id, .bytes = bytes, .overhead = (uint32_t)overhead, .type = type};

    tt_space_numbered++;
    o.origin = make(type, bytes, overhead);
    tt_space_numbered--;
    if (o.origin == TT_NOWHERE || !r || !id)
        return o.origin;
    o.born = tt_space_now(r);
    put_object(r, &o);
    return o.origin;
}

tt_context tt_object_new(uint64_t id, tt_type type, size_t bytes, size_t overhead)
{
    struct tt_recording *r = tt_recording_now();
    struct object o = {
        .id = id, .bytes = bytes, .overhead = (uint32_t)overhead, .type = type};

    TT_HAND_ON(tt_object_new, id, type, bytes, overhead);
    if (TT_UNLIKELY(!r || !id))
        return new_object(id, type, bytes, overhead, tt_alloc);
    prefetch_object(id);
    o.born = time_to_tell(r);
    o.origin = tt_told_made(type, bytes, overhead);
    if (TT_UNLIKELY(o.origin == TT_NOWHERE))
        return new_object(id, type, bytes, overhead, tt_alloc);
    put_object(r, &o);
    return o.origin;
}

uint64_t tt_object_weight(size_t bytes)
{
    TT_HAND_ON(tt_object_weight, bytes);
    return tt_space_weight(bytes);
}

tt_context tt_object_picked(uint64_t id, tt_type type, size_t bytes, size_t overhead)
{
    TT_HAND_ON(tt_object_picked, id, type, bytes, overhead);
    return new_object(id, type, bytes, overhead, tt_space_make);
}

void tt_object_use(uint64_t id)
{
    struct tt_thread *t = tt_self.thread;
    struct shard *s;
    struct object *o;

    TT_HAND_OVER(tt_object_use, id);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !id)
        return;
    s = lock_shard(id, hold_off_handlers(t));
    o = s && s->size ? find_object(s, id) : NULL;
    if (o && o->id) {
        o->last = tt_space_now(tt_recording_now()) + 1; /* 0 stands for never */
        if (!o->first)
            o->first = o->last;
    }
    if (s)
        tt_brief_unlock(&s->lock);
    let_handlers_in(t);
}

static void tell_freed(const struct object *o, uint32_t from)
{
    tt_space_numbered++;
    tt_free(o->origin, o->type, o->bytes, o->overhead, from);
    tt_space_numbered--;
}

void tt_object_free(uint64_t id)
{
    struct tt_recording *r = tt_recording_now();
    struct tt_thread *t;
    struct object o;
    uint64_t now;
    uint32_t from;

    TT_HAND_OVER(tt_object_free, id);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !id || !r)
        return;
    prefetch_object(id);
    now = time_to_tell(r);
    if (!take_object(id, &o))
        return;
    from = o.generation ? o.generation : tt_age(age_of(r, &o, now));
    if (!tt_told_freed(o.origin, o.type, o.bytes, o.overhead, from))
        tell_freed(&o, from);
    t = r->options.series & 1u << TT_BAND_USE ? tt_thread_enter() : NULL;
    if (t) {
        end_life(t, &o, now);
        tt_thread_leave(t);
    }
}

void tt_object_survive(uint64_t id, uint64_t moved, unsigned to)
{
    struct tt_recording *r = tt_recording_now();
    struct object o;
    uint32_t from;

    TT_HAND_OVER(tt_object_survive, id, moved, to);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !id || !r || !take_object(id, &o))
        return;
    from = o.generation;
    o.id = moved ? moved : id;
    o.generation = to < TT_GENERATIONS ? to : from + 1;
    if (o.generation >= TT_GENERATIONS)
        o.generation = TT_GENERATIONS - 1;
    o.collection = tt_space_collection(r);
    put_object(r, &o);
    tt_space_numbered++;
    tt_survive(o.origin, o.type, o.bytes, o.overhead, from, o.generation);
    tt_space_numbered--;
}

/* ── The end of a collection ──────────────────────────────────────────────────────── */

/* From behind a free slot on, so that what moves up is seen after all. */
static void sweep_shard(struct tt_thread *t, struct shard *s, uint32_t generation)
{
    const uint32_t collection = tt_space_collection(t->recording);
    uint64_t died = tt_space_record(t->recording)->collecting_since;
    uint32_t free = 0;

    while (free < s->size && s->at[free].id)
        free++;
    for (uint32_t k = 1; k <= s->size; k++) {
        struct object *o = &s->at[(free + k) & (s->size - 1)];
        while (o->id && o->generation <= generation && o->collection != collection) {
            end_life(t, o, died);
            remove_object(s, o);
        }
    }
}

void tt_objects_sweep(struct tt_thread *t, uint32_t generation)
{
    for (int i = 0; i < SHARDS; i++) {
        tt_brief_lock(&shard[i].lock);
        turn_shard(&shard[i], t->recording);
        if (shard[i].count)
            sweep_shard(t, &shard[i], generation);
        tt_brief_unlock(&shard[i].lock);
    }
}

void tt_objects_end(struct tt_thread *t)
{
    for (int i = 0; i < SHARDS; i++) {
        tt_brief_lock(&shard[i].lock);
        turn_shard(&shard[i], t->recording);
        for (uint32_t k = 0; k < shard[i].size; k++)
            if (shard[i].at[k].id)
                end_life(t, &shard[i].at[k], TT_STILL);
        tt_brief_unlock(&shard[i].lock);
    }
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

void tt_objects_lock(void)
{
    for (int i = 0; i < SHARDS; i++)
        tt_brief_lock(&shard[i].lock);
}

void tt_objects_unlock(void)
{
    for (int i = 0; i < SHARDS; i++)
        tt_brief_unlock(&shard[i].lock);
}

void tt_objects_forget_lock(void)
{
    for (int i = 0; i < SHARDS; i++)
        shard[i].lock = 0;
}
