/* SPDX-License-Identifier: MIT */
/* objects.c - objects that are known by a number: where they came from, and since when.
 *
 * A table of the process, of the live objects alone, in separate memory.  It is in shards,
 * each a hash table with linear probing under a separate lock, so that threads seldom
 * meet.  Whoever holds one is in the profiler, and no signal handler waits for it then. */
#include "objects.h"

#include <string.h>
#include <sys/mman.h>

#include "brief-lock.h"
#include "control.h"
#include "event-cache.h"
#include "open-table.h"
#include "rows.h"
#include "series.h"
#include "share.h"

enum { SHARDS = 32, FIRST_SIZE = 256 };

struct object {
    uint64_t id;
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
    uint64_t *id; /* 0: free */
    struct object *at;
} shard[SHARDS];

/* ── Shards ───────────────────────────────────────────────────────────────────────── */

/* Objects on one page of memory are mostly made one after the other.  They are side by
 * side here, too: a cache miss also brings the next ones.  Ids that count from 1 are
 * spread by their last bits, which are the same in all addresses. */
static inline uint64_t hash_page(uint64_t id) { return (id >> 12) * 0x9e3779b97f4a7c15u; }

static inline struct shard *shard_of(uint64_t hash) { return &shard[hash >> 59]; }
_Static_assert(SHARDS == 1 << (64 - 59), "as many as the hash has values");

static inline uint64_t home_of(uint64_t id, uint64_t mask)
{
    return ((uint32_t)(hash_page(id) >> 27) + (uint32_t)(id >> 4 & 0xff) +
            (uint32_t)(id & 0xf) * 0x9e3779b1u) &
           mask;
}

/* The object's slot, or the free one where it would be. */
static inline uint32_t find_slot(const struct shard *s, uint64_t id)
{
    TT_ASSERT(s->size && (s->size & (s->size - 1)) == 0 && s->count < s->size);
    return (uint32_t)tt_open_find(s->id, sizeof *s->id, s->size - 1, home_of, id);
}

static void set_slot(struct shard *s, uint32_t i, const struct object *o)
{
    TT_ASSERT(o->id && i < s->size);
    s->id[i] = o->id;
    s->at[i] = *o;
}

static size_t size_of_slots(uint32_t slots)
{
    return slots * (sizeof(struct object) + sizeof(uint64_t));
}

static void give_slots(struct shard *s)
{
    if (s->at)
        munmap(s->at, size_of_slots(s->size));
}

static __attribute__((noinline)) int grow_shard(struct shard *s)
{
    struct shard grown = {.size = s->size ? s->size * 2 : FIRST_SIZE};
    void *p = mmap(NULL, size_of_slots(grown.size), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return -TT_ERR_MEMORY;
    grown.at = p;
    grown.id = (uint64_t *)(void *)(grown.at + grown.size);
    for (uint32_t i = 0; i < s->size; i++)
        if (s->id[i])
            set_slot(&grown, find_slot(&grown, s->id[i]), &s->at[i]);
    TT_ASSERT(s->count * 2 <= grown.size);
    give_slots(s);
    s->at = grown.at;
    s->id = grown.id;
    s->size = grown.size;
    return 0;
}

static inline void empty_slot(struct shard *s, uint32_t hole)
{
    uint32_t from;

    TT_ASSERT(s->count > 0 && s->id[hole]);
    s->count--;
    while ((from = (uint32_t)tt_open_next(s->id, sizeof *s->id, s->size - 1, home_of,
                                          hole)) != hole) {
        set_slot(s, hole, &s->at[from]);
        hole = from;
    }
    s->id[hole] = 0;
}

/* Drops the objects of another recording. */
static void turn_shard(struct shard *s, const struct tt_recording *r)
{
    if (s->epoch == r->epoch)
        return;
    s->epoch = r->epoch;
    s->count = 0;
    give_slots(s);
    s->at = NULL;
    s->id = NULL;
    s->size = 0;
}

/* 0: there is no memory. */
static inline int add_object(struct shard *s, const struct object *o)
{
    uint32_t i;

    if (TT_UNLIKELY(s->count * 2 >= s->size) && grow_shard(s) != 0)
        return 0;
    i = find_slot(s, o->id);
    s->count += !s->id[i];
    set_slot(s, i, o);
    return 1;
}

/* Takes it out; 0: it is not there. */
static inline int remove_object(struct shard *s, uint64_t id, struct object *out)
{
    uint32_t i = find_slot(s, id);

    if (!s->id[i])
        return 0;
    *out = s->at[i];
    empty_slot(s, i);
    return 1;
}

/* ── Whose turn it is ─────────────────────────────────────────────────────────────── */

/* While it holds a lock a thread is in the profiler, be it without a strand.  1: it was there
 * before, and must not wait for a lock that may be its own. */
static int hold_off_handlers(struct tt_thread *t)
{
    const int before = tt_is_at_work();

    if (t)
        tt_busy_enter(&t->busy);
    else if (!before)
        tt_work.objects = 1;
    TT_BARRIER();
    return before;
}

static void let_handlers_in(struct tt_thread *t, int before)
{
    if (t)
        tt_busy_leave(&t->busy);
    else if (!before)
        tt_work.objects = 0;
}

/* The shard of an object, locked; NULL: that cannot be waited for. */
static struct shard *lock_shard(uint64_t hash, int before)
{
    struct shard *s = shard_of(hash);
    const struct tt_recording *r;

    if (!tt_brief_try(&s->lock)) {
        if (before)
            return NULL;
        tt_brief_lock(&s->lock);
    }
    r = tt_recording_now();
    if (r)
        turn_shard(s, r);
    return s;
}

/* Takes out the object; 0 if it is not in the table. */
static int take_object(uint64_t id, struct object *out)
{
    const uint64_t hash = hash_page(id);
    struct tt_thread *t = tt_self.thread;
    const int before = hold_off_handlers(t);
    struct shard *s = lock_shard(hash, before);
    int found = s && s->size && remove_object(s, id, out);

    if (s)
        tt_brief_unlock(&s->lock);
    let_handlers_in(t, before);
    return found;
}

/* An object without room is counted. */
static void put_object(struct tt_recording *r, const struct object *o)
{
    const uint64_t hash = hash_page(o->id);
    struct tt_thread *t = tt_self.thread;
    const int before = hold_off_handlers(t);
    struct shard *s = lock_shard(hash, before);

    if (!s || !add_object(s, o))
        tt_bump_shared(&r->header->lost_objects, 1);
    if (s)
        tt_brief_unlock(&s->lock);
    let_handlers_in(t, before);
}

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

uint64_t tt_space_now(const struct tt_recording *r)
{
    const struct tt_thread *t = tt_self.thread;

    if (tt_clock_in_use() == TT_CLOCK_CALLER)
        return t ? t->clock.ticks : 0;
    return tt_clock_now() - r->header->start_ticks;
}

/* In µs, or in ticks of the caller's clock. */
static inline uint64_t age_of(const struct tt_recording *r, const struct object *o,
                              uint64_t now)
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

/* ── The fast path ────────────────────────────────────────────────────────────────── */

/* Locks and returns the object's shard if it is not locked and is of this recording; else
 * NULL. */
static inline struct shard *lock_quickly(const struct tt_thread *t, uint64_t hash)
{
    struct shard *s = shard_of(hash);

    if (TT_UNLIKELY(!tt_brief_try(&s->lock)))
        return NULL;
    if (s->epoch == t->recording->epoch && s->size)
        return s;
    tt_brief_unlock(&s->lock);
    return NULL;
}

/* Prefetches its memory. */
static inline void prefetch_object(uint64_t hash, uint64_t id)
{
    const struct shard *s = shard_of(hash);

    const uint32_t i = (uint32_t)home_of(id, s->size - 1);

    __builtin_prefetch(&s->id[i], 1);
    __builtin_prefetch(&s->at[i], 1);
}

/* Reads the clock; the event that follows uses this time, too. */
static inline uint64_t time_to_tell(struct tt_thread *t)
{
    uint64_t now = tt_clock_cycles() - t->recording->header->start_ticks;

    tt_event_cache_now(t, now);
    return now;
}

enum told { NOT_TOLD, IN_TABLE, TOLD }; /* what is done: nothing, a part, all */

/* IN_TABLE: the rows are changed, the table is not yet. */
static inline enum told make_quickly(struct tt_thread *t, struct object *o)
{
    const uint64_t hash = hash_page(o->id);
    struct shard *s;
    int kept;

    if (!tt_event_cache_may(t))
        return NOT_TOLD;
    prefetch_object(hash, o->id);
    o->born = time_to_tell(t);
    o->origin = tt_event_cache_make(t, o->type, o->bytes, o->overhead);
    if (o->origin == TT_NOWHERE)
        return NOT_TOLD;
    s = lock_quickly(t, hash);
    if (!s)
        return IN_TABLE;
    kept = add_object(s, o);
    tt_brief_unlock(&s->lock);
    return kept ? TOLD : IN_TABLE;
}

/* IN_TABLE: the object was moved from the table to *o; the rows are not changed yet. */
static inline enum told free_quickly(struct tt_thread *t, uint64_t id, struct object *o,
                                     uint32_t *from)
{
    const uint64_t hash = hash_page(id);
    struct shard *s;
    uint64_t now;
    int found;

    if (!tt_event_cache_may(t))
        return NOT_TOLD;
    prefetch_object(hash, id);
    now = time_to_tell(t);
    s = lock_quickly(t, hash);
    if (!s)
        return NOT_TOLD;
    found = remove_object(s, id, o);
    tt_brief_unlock(&s->lock);
    if (!found)
        return TOLD;
    *from = o->generation ? o->generation : tt_age(age_of(t->recording, o, now));
    return tt_event_cache_free(t, o->origin, o->type, o->bytes, o->overhead, *from)
               ? TOLD
               : IN_TABLE;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* Reports the object by `make`, which may find that it is not sampled. */
static tt_context make_numbered(uint64_t id, tt_type type, size_t bytes, size_t overhead,
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
    struct object o = {
        .id = id, .bytes = bytes, .overhead = (uint32_t)overhead, .type = type};
    struct tt_thread *t = tt_self.thread;
    enum told done = NOT_TOLD;

    if (t && id && tt_busy_try(&t->busy)) {
        done = make_quickly(t, &o);
        tt_event_cache_end(t);
    }
    if (done == TOLD)
        return o.origin;
    TT_HAND_ON(tt_object_new, id, type, bytes, overhead);
    if (done == NOT_TOLD)
        return make_numbered(id, type, bytes, overhead, tt_alloc);
    put_object(t->recording, &o);
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
    return make_numbered(id, type, bytes, overhead, tt_space_make);
}

static void use_object(const struct shard *s, uint32_t i)
{
    struct object *o = &s->at[i];

    if (!s->id[i])
        return;
    o->last = tt_space_now(tt_recording_now()) + 1; /* 0: never */
    if (!o->first)
        o->first = o->last;
}

void tt_object_use(uint64_t id)
{
    const uint64_t hash = hash_page(id);
    struct tt_thread *t = tt_self.thread;
    struct shard *s;
    int before;

    TT_HAND_OVER(tt_object_use, id);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !id)
        return;
    before = hold_off_handlers(t);
    s = lock_shard(hash, before);
    if (s && s->size)
        use_object(s, find_slot(s, id));
    if (s)
        tt_brief_unlock(&s->lock);
    let_handlers_in(t, before);
}

static void tell_freed(const struct object *o, uint32_t from)
{
    tt_space_numbered++;
    tt_free(o->origin, o->type, o->bytes, o->overhead, from);
    tt_space_numbered--;
}

static void free_numbered(uint64_t id)
{
    struct tt_recording *r = tt_recording_now();
    struct tt_thread *t;
    struct object o;
    uint64_t now;

    TT_HAND_OVER(tt_object_free, id);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !id || !r || !take_object(id, &o))
        return;
    now = tt_space_now(r);
    tell_freed(&o, o.generation ? o.generation : tt_age(age_of(r, &o, now)));
    t = r->options.series & 1u << TT_BAND_USE ? tt_thread_enter() : NULL;
    if (t) {
        end_life(t, &o, now);
        tt_thread_leave(t);
    }
}

void tt_object_free(uint64_t id)
{
    struct tt_thread *t = tt_self.thread;
    enum told done = NOT_TOLD;
    struct object o = {0};
    uint32_t from = 0;

    if (t && id && tt_busy_try(&t->busy)) {
        done = free_quickly(t, id, &o, &from);
        tt_event_cache_end(t);
    }
    if (done == NOT_TOLD)
        free_numbered(id);
    else if (done == IN_TABLE)
        tell_freed(&o, from);
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

/* Begins after a free slot, so that an object that moves up is visited, too. */
static void sweep_shard(struct tt_thread *t, struct shard *s, uint32_t generation)
{
    const uint32_t collection = tt_space_collection(t->recording);
    uint64_t died = tt_space_record(t->recording)->collecting_since;
    uint32_t free = 0;

    while (free < s->size && s->id[free])
        free++;
    TT_ASSERT(free < s->size); /* at most half is in use */
    for (uint32_t k = 1; k <= s->size; k++) {
        const uint32_t i = (free + k) & (s->size - 1);
        const struct object *o = &s->at[i];
        while (s->id[i] && o->generation <= generation && o->collection != collection) {
            end_life(t, o, died);
            empty_slot(s, i);
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
            if (shard[i].id[k])
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
    tt_work.objects = 0;
}

/* ── Check ────────────────────────────────────────────────────────────────────────── */

#ifdef TT_CHECKED
static const char *wrong_objects(const struct shard *s)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->size; i++) {
        if (!s->id[i])
            continue;
        if (s->at[i].id != s->id[i])
            return "a slot has another object's id";
        if (shard_of(hash_page(s->id[i])) != s)
            return "an object is in another shard";
        if (find_slot(s, s->id[i]) != i)
            return "an object is not found, or is there twice";
        count++;
    }
    return count == s->count && count * 2 <= s->size ? "" : "objects are miscounted";
}

const char *tt_objects_check(void)
{
    const char *wrong = "";

    for (int i = 0; !*wrong && i < SHARDS; i++) {
        tt_brief_lock(&shard[i].lock);
        wrong = wrong_objects(&shard[i]);
        tt_brief_unlock(&shard[i].lock);
    }
    return wrong;
}
#endif
