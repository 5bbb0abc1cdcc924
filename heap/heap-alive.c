/* SPDX-License-Identifier: MIT */
/* heap-alive.c - live memory: now, at its maxima, and over time.
 *
 *      shard 0    of sites that share a holding
 *      shard 1    ── sites of thread 1 ─┐                  ┌─▶ the sum, its maximum (maxima.c)
 *      shard 2    ── sites of thread 2 ─┼─ pending bytes ──┤
 *        ⋮                              ┘                  └─▶ bands of the interval (series.c)
 *
 * A site belongs to the shard of the thread that made it.  The shard's lock protects its holding.
 * A shard adds its pending bytes to the sum and to the bands when they exceed its part of 1/512 of
 * the maximum.  So threads seldom wait for the lock of these.  In a process of one thread each event
 * is added at once, and all figures are exact.
 *
 * With more threads, each holding is exact, and so are the amounts of all at the noted maximum:
 * a change after it is not part of it.  Only the choice of this moment depends on the pending
 * bytes.  They are 1/512 of the maximum at most.  So the noted maximum, and what the holdings
 * had then, are right to 1/256 of it.  When an interval of a series ends, nothing is pending. */
#include "heap-alive.h"

#include <string.h>

#include "brief-lock.h"
#include "clock.h"
#include "rows.h"
#include "series.h"

enum {
    BANDS_MAX = 500, /* of blocks, and of cost centres: later ones share one */
    SMALL = 1024,    /* bytes */
    UNTIMED = 8,     /* events */
    SHARDS = 64,
    PRECISION = 9, /* pending in all shards: 1/2^this of the maximum */
    LUMP = 1 << 14 /* bytes allocated: a shard adds them at once */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): threads share no line */
static struct {
    _Alignas(64) uint64_t room; /* for pending bytes of a shard; read by all */
    uint64_t start;             /* of the recording, in ticks */
    uint64_t end; /* of the interval, in ticks after that; 0 without a series */
    _Alignas(64) uint32_t lock;         /* of the sums, and of the rest here */
    uint32_t threads, shard_bits, next; /* bits: 2^bits shards have sites at most */
    struct tt_space_record *space;      /* of the recording; NULL: no room */
    struct tt_recording *recording;
    /* Of a series: */
    uint64_t now; /* when the clock was last read: ticks since the recording began */
    uint32_t interval, shift; /* the current interval, of 2^shift ticks */
    struct tt_keys bands;     /* cells, by what the band counts */
    uint32_t count[TT_BANDS];
} alive;

/* The lock of a shard is taken before that of all. */
static struct shard {
    _Alignas(64) uint32_t lock;   /* of its sites, too */
    uint32_t events;              /* maybe without the lock, as `now` */
    uint64_t now;                 /* when the clock was last read for it */
    int64_t live;                 /* pending bytes */
    uint64_t clock;               /* the same, of those allocated */
    struct tt_heap_site *changed; /* the sites with pending bytes for bands */
} shard[SHARDS];

/* ── Sums ─────────────────────────────────────────────────────────────────────────── */

/* Under the lock of all. */
static void set_room(uint64_t most)
{
    const uint64_t room = alive.threads < 2 ? 0 : most >> PRECISION >> alive.shard_bits;

    if (room != alive.room)
        __atomic_store_n(&alive.room, room, __ATOMIC_RELAXED);
}

static inline void change_band(struct tt_band *b, int64_t bytes)
{
    TT_ASSERT(alive.interval < TT_BAND_POINTS);
    if (b)
        TT_SHOW(b->delta[alive.interval], b->delta[alive.interval] + bytes);
}

static inline void change_bands(const struct tt_heap_site *s, int64_t bytes)
{
    change_band(s->band[TT_BAND_TYPE], bytes);
    change_band(s->band[TT_BAND_BLOCK], bytes);
    change_band(s->band[TT_BAND_CENTRE], bytes);
}

/* Its owner may free a site that is not changed. */
static __attribute__((noinline)) void add_changed(struct shard *h)
{
    struct tt_heap_site *s, *next;

    for (s = h->changed; s; s = next) {
        next = s->next_changed;
        change_bands(s, s->pending);
        s->pending = 0;
        __atomic_store_n(&s->is_changed, 0, __ATOMIC_RELEASE);
    }
    h->changed = NULL;
}

/* Both under both locks. */
static inline void see_now(const struct shard *h)
{
    const uint64_t now = __atomic_load_n(&h->now, __ATOMIC_RELAXED);

    if (now > alive.now)
        alive.now = now;
}

static inline void add_shard(struct shard *h, struct tt_space_record *r)
{
    see_now(h);
    TT_SHOW(r->clock, r->clock + h->clock);
    tt_maxima_change(r, h->live, alive.now);
    h->clock = 0;
    h->live = 0;
    if (h->changed)
        add_changed(h);
    if (alive.threads > 1)
        set_room(r->most);
}

static int is_pending(const struct shard *h) { return h->live || h->clock || h->changed; }

/* In a process of one thread: always. */
static inline int is_due(const struct shard *h)
{
    const uint64_t room = __atomic_load_n(&alive.room, __ATOMIC_RELAXED);

    return (uint64_t)(h->live < 0 ? -h->live : h->live) > room ||
           h->clock > (room ? LUMP : 0);
}

static void add_all_shards(struct tt_space_record *r)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        tt_brief_lock(&shard[i].lock);
        if (is_pending(&shard[i])) {
            tt_brief_lock(&alive.lock);
            add_shard(&shard[i], r);
            tt_brief_unlock(&alive.lock);
        }
        tt_brief_unlock(&shard[i].lock);
    }
}

/* Returns 1 if shards may have more pending bytes than is allowed now. */
static int count_threads(struct tt_space_record *r, int more)
{
    const uint64_t before = alive.room;

    alive.threads += alive.threads || more > 0 ? (uint32_t)more : 0;
    alive.shard_bits = 0;
    while (alive.next >> alive.shard_bits && 1u << alive.shard_bits < SHARDS)
        alive.shard_bits++;
    set_room(r->most);
    return alive.room < before;
}

uint32_t tt_alive_join(struct tt_space_record *r)
{
    uint32_t own;
    int is_less;

    tt_brief_lock(&alive.lock);
    own = 1 + alive.next++ % (SHARDS - 1);
    is_less = count_threads(r, 1);
    tt_brief_unlock(&alive.lock);
    if (is_less)
        add_all_shards(r);
    return own;
}

void tt_alive_part(struct tt_space_record *r)
{
    int is_less;

    tt_brief_lock(&alive.lock);
    is_less = count_threads(r, -1);
    tt_brief_unlock(&alive.lock);
    if (is_less)
        add_all_shards(r);
}

/* Skips a shard whose lock is taken: perhaps by this thread. */
void tt_alive_settle(const struct tt_recording *r)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        if (!tt_brief_try(&shard[i].lock))
            continue;
        if (tt_brief_try(&alive.lock)) {
            if (alive.recording == r && alive.space && is_pending(&shard[i]))
                add_shard(&shard[i], alive.space);
            tt_brief_unlock(&alive.lock);
        }
        tt_brief_unlock(&shard[i].lock);
    }
}

/* ── Bands ────────────────────────────────────────────────────────────────────────── */

static void set_end(void)
{
    __atomic_store_n(&alive.end, ((uint64_t)alive.interval + 1) << alive.shift,
                     __ATOMIC_RELAXED);
}

static void begin_recording(struct tt_recording *r, struct tt_space_record *s)
{
    __atomic_store_n(&alive.recording, r, __ATOMIC_RELAXED);
    alive.space = s;
    alive.now = 0;
    alive.interval = 0;
    alive.shift = tt_bands_shift(r);
    __atomic_store_n(&alive.start, r->header->start_ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&alive.end, 0, __ATOMIC_RELAXED);
    tt_keys_clear(&alive.bands);
    for (int i = 0; i < TT_BANDS; i++)
        alive.count[i] = 0;
    if (s && r->options.series) {
        tt_parts_begin(s, alive.shift);
        set_end();
    }
}

/* NULL: there is no room, and the loss is counted. */
static struct tt_band *band_of(struct tt_recording *r, struct tt_space_record *s,
                               enum tt_band_of of, uint32_t key)
{
    TT_ASSERT(of < TT_BANDS);
    uint64_t k = ((uint64_t)of << 32 | key) * 0x9e3779b97f4a7c15u | 1;
    uint32_t cell = tt_keys_find(&alive.bands, k);
    struct tt_band *b;

    if (cell)
        return (struct tt_band *)(void *)tt_cell(r->base, cell);
    if (of != TT_BAND_TYPE && key != TT_BLOCK_OTHER && ++alive.count[of] > BANDS_MAX)
        return band_of(r, s, of, TT_BLOCK_OTHER);
    b = tt_band_shared(r, s, of, key, alive.shift);
    if (b)
        tt_keys_add(&alive.bands, k, (uint32_t)(((char *)b - r->base) / TT_CELL_SIZE));
    else
        tt_bump_shared(&r->header->lost_figures, 1);
    return b;
}

static void lock_all(void)
{
    for (uint32_t i = 0; i < SHARDS; i++)
        tt_brief_lock(&shard[i].lock);
    tt_brief_lock(&alive.lock);
}

static void unlock_all(void)
{
    tt_brief_unlock(&alive.lock);
    for (uint32_t i = SHARDS; i-- > 0;)
        tt_brief_unlock(&shard[i].lock);
}

static void drop_pending(struct shard *h)
{
    for (struct tt_heap_site *s = h->changed; s; s = s->next_changed) {
        s->pending = 0;
        s->is_changed = 0;
    }
    h->changed = NULL;
    h->live = 0;
    h->clock = 0;
    __atomic_store_n(&h->now, 0, __ATOMIC_RELAXED);
}

/* Pending bytes are of the former recording. */
static void change_recording(struct tt_recording *r, struct tt_space_record *s)
{
    lock_all();
    if (alive.recording != r) {
        begin_recording(r, s);
        for (uint32_t i = 0; i < SHARDS; i++)
            drop_pending(&shard[i]);
    }
    unlock_all();
}

void tt_alive_begin(struct tt_heap_site *s, struct tt_recording *r,
                    const struct tt_alive_place *at)
{
    const uint32_t key[TT_SITE_BANDS] = {at->types[s->type], at->block, at->centre},
                   wanted = r->options.series;
    struct tt_space_record *space = tt_space_record(r);
    const int is_own = tt_site_hold(s, r, at->types, at->count);

    if (__atomic_load_n(&alive.recording, __ATOMIC_RELAXED) != r)
        change_recording(r, space);
    s->shard = is_own ? at->shard : 0;
    if (!space || !wanted)
        return;
    tt_brief_lock(&alive.lock);
    for (uint32_t i = 0; i < TT_SITE_BANDS; i++)
        if (wanted & 1u << i)
            s->band[i] = band_of(r, space, (enum tt_band_of)i, key[i]);
    tt_brief_unlock(&alive.lock);
}

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

/* What is pending is of the interval that ends; parts end with the holdings of that moment. */
static __attribute__((noinline, cold)) void begin_interval(struct tt_space_record *s,
                                                           uint64_t now)
{
    lock_all();
    if (alive.space == s && alive.end &&
        now >= alive.end) { /* no other thread was first */
        for (uint32_t i = 0; i < SHARDS; i++)
            if (is_pending(&shard[i]))
                add_shard(&shard[i], s);
        alive.now = now;
        for (; now >> alive.shift >= TT_BAND_POINTS; alive.shift++)
            tt_bands_halve(alive.recording, s);
        alive.interval = (uint32_t)(now >> alive.shift);
        set_end();
        tt_parts_see(alive.recording, s, now);
    }
    unlock_all();
}

static __attribute__((noinline)) void read_time(struct shard *h,
                                                struct tt_space_record *s)
{
    const uint64_t now = tt_clock_now() - __atomic_load_n(&alive.start, __ATOMIC_RELAXED);

    if ((int64_t)now < 0)
        return;
    if (now >= __atomic_load_n(&alive.end, __ATOMIC_RELAXED))
        begin_interval(s, now);
    __atomic_store_n(&h->now, now, __ATOMIC_RELAXED);
}

/* Reading the clock takes as long as all else here.  Of the events of small objects one
 * in UNTIMED reads it; the others have the last time read.  Before the shard's lock. */
static inline void see_time(struct shard *h, struct tt_space_record *s,
                            const struct tt_object *o)
{
    const uint32_t events = __atomic_load_n(&h->events, __ATOMIC_RELAXED) + 1;

    if (!__atomic_load_n(&alive.end, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&h->events, events, __ATOMIC_RELAXED);
    if (o->bytes >= SMALL || events % UNTIMED == 0)
        read_time(h, s);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* All under the shard's lock. */
static inline void add_to_site(struct shard *h, struct tt_heap_site *s, int64_t bytes)
{
    s->pending += bytes;
    if (s->is_changed)
        return;
    s->is_changed = 1;
    s->next_changed = h->changed;
    h->changed = s;
}

/* An event in a process of one thread is compiled apart from those among others. */
#define EITHER_WAY static inline __attribute__((always_inline))
#define AMONG_OTHERS static __attribute__((noinline))

EITHER_WAY void lock_shard(struct shard *h, int alone)
{
    if (alone)
        tt_brief_hold(&h->lock);
    else
        tt_brief_lock(&h->lock);
}

/* Bytes that are pending from a time with more threads stay so. */
static inline void change_alone(const struct shard *h, struct tt_space_record *r,
                                const struct tt_heap_site *s, int64_t bytes,
                                uint64_t allocated)
{
    change_bands(s, bytes);
    TT_SHOW(r->clock, r->clock + allocated);
    see_now(h);
    tt_maxima_change(r, bytes, alive.now);
}

static inline void change_shard(struct shard *h, struct tt_space_record *r,
                                struct tt_heap_site *s, int64_t bytes, uint64_t allocated)
{
    h->clock += allocated;
    h->live += bytes;
    if (is_due(h)) {
        tt_brief_lock(&alive.lock);
        change_bands(s, bytes);
        add_shard(h, r);
        tt_brief_unlock(&alive.lock);
    } else if (r->part_shift) {
        add_to_site(h, s, bytes);
    }
}

/* `sign` is 1 for an object that is made, and -1 for one that is freed.  `allocated` is added to
 * the bytes allocated so far. */
EITHER_WAY void change(struct shard *h, struct tt_space_record *r, struct tt_heap_site *s,
                       const struct tt_object *o, int sign, uint64_t allocated, int alone)
{
    const int64_t bytes = sign * (int64_t)o->bytes;

    if (s->holding)
        tt_holding_change(r, s->holding, bytes, sign * (int64_t)o->number);
    if (alone)
        change_alone(h, r, s, bytes, allocated);
    else
        change_shard(h, r, s, bytes, allocated);
}

/* A site that is freed must not be among the changed ones. */
static void add_if_changed(struct shard *h, struct tt_space_record *r,
                           const struct tt_heap_site *s)
{
    if (!s->is_changed)
        return;
    tt_brief_lock(&alive.lock);
    add_shard(h, r);
    tt_brief_unlock(&alive.lock);
}

static inline uint64_t clock_of(const struct shard *h, const struct tt_space_record *r)
{
    return __atomic_load_n(&r->clock, __ATOMIC_RELAXED) + h->clock;
}

EITHER_WAY uint64_t made(struct tt_space_record *r, struct tt_heap_site *s,
                         const struct tt_object *o, int alone)
{
    struct shard *h = &shard[s->shard];
    uint64_t clock;

    see_time(h, r, o);
    lock_shard(h, alone);
    TT_SHOW(s->objects, s->objects + 1);
    change(h, r, s, o, 1, o->bytes + !o->bytes, alone);
    clock = clock_of(h, r);
    tt_brief_unlock(&h->lock);
    return clock;
}

AMONG_OTHERS uint64_t made_among_others(struct tt_space_record *r, struct tt_heap_site *s,
                                        const struct tt_object *o)
{
    return made(r, s, o, 0);
}

uint64_t tt_alive_made(struct tt_space_record *r, struct tt_heap_site *s,
                       const struct tt_object *o)
{
    return tt_alone() ? made(r, s, o, 1) : made_among_others(r, s, o);
}

EITHER_WAY uint64_t gone(struct tt_space_record *r, struct tt_heap_site *s,
                         const struct tt_object *o, int alone)
{
    struct shard *h = &shard[s->shard];
    uint64_t clock;
    int is_free;

    see_time(h, r, o);
    lock_shard(h, alone);
    clock = clock_of(h, r);
    change(h, r, s, o, -1, 0, alone);
    TT_ASSERT(s->objects > 0);
    is_free = s->objects == 1 && !s->owner;
    if (is_free)
        add_if_changed(h, r, s);
    TT_SHOW(s->objects, s->objects - 1); /* last: its owner may then free the site */
    tt_brief_unlock(&h->lock);
    if (is_free)
        tt_site_give(s);
    return clock;
}

AMONG_OTHERS uint64_t gone_among_others(struct tt_space_record *r, struct tt_heap_site *s,
                                        const struct tt_object *o)
{
    return gone(r, s, o, 0);
}

uint64_t tt_alive_gone(struct tt_space_record *r, struct tt_heap_site *s,
                       const struct tt_object *o)
{
    return tt_alone() ? gone(r, s, o, 1) : gone_among_others(r, s, o);
}

uint64_t tt_alive_split(struct tt_space_record *r, struct tt_heap_site *s,
                        const struct tt_object *whole, const struct tt_heap_mapping *part,
                        int parts)
{
    struct shard *h = &shard[s->shard];
    uint64_t clock;

    TT_ASSERT(parts > 0);
    see_time(h, r, whole);
    tt_brief_lock(&h->lock);
    change(h, r, s, whole, -1, 0, 0);
    for (int i = 0; i < parts; i++)
        change(h, r, s, &part[i].object, 1, part[i].object.bytes, 0);
    clock = clock_of(h, r);
    TT_SHOW(s->objects, s->objects + (uint32_t)parts - 1);
    tt_brief_unlock(&h->lock);
    return clock;
}

int tt_alive_leave(struct tt_space_record *r, struct tt_heap_site *s)
{
    struct shard *h = &shard[s->shard];
    int is_free;

    tt_brief_lock(&h->lock);
    TT_ASSERT(s->owner);
    TT_SHOW(s->owner, NULL);
    is_free = !s->objects;
    if (is_free)
        add_if_changed(h, r, s);
    tt_brief_unlock(&h->lock);
    return is_free;
}

static void free_shards(void)
{
    for (uint32_t i = 0; i < SHARDS; i++)
        shard[i].lock = TT_BRIEF_FREE;
}

void tt_alive_free(void)
{
    alive.lock = TT_BRIEF_FREE;
    free_shards();
}

/* Another thread may have been changing the keys at the fork: they are leaked. */
void tt_alive_forked(int threads)
{
    alive.lock = 0;
    alive.threads = (uint32_t)threads;
    alive.shard_bits = 1;
    alive.room = 0;
    alive.end = 0;
    alive.recording = NULL;
    alive.space = NULL;
    alive.bands = (struct tt_keys){0};
    memset(shard, 0, sizeof shard);
}
