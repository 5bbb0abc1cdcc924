/* SPDX-License-Identifier: MIT */
/* live-set.c - the live objects of runtimes, now and at the peak.
 *
 *      origin, type, generation ── holding ── holding ── …       of one generation
 *
 * Each report of an object has its context, so one thread may free an object that another one
 * made: holdings belong to the process, under one lock, which is held for a short time.  A
 * collection empties the holdings of its generations.  If events of malloc are recorded, too,
 * live objects are those of the allocator, and none of this is kept for runtimes.
 *
 * Events of which no context is known (strays) are not seen here, as they are not in series;
 * but what a thread without a strand frees is. */
#include "live-set.h"

#include "brief-lock.h"
#include "keys.h"
#include "maxima.h"
#include "rows.h"
#include "series.h"
#include "stack.h"

static struct {
    struct tt_owned lock;
    uint32_t epoch; /* of the recording */
    struct tt_recording *recording;
    struct tt_space_record *space;
    uint64_t now;
    struct tt_holding_room room;
    struct tt_keys known;                     /* cells of holdings */
    uint32_t first[TT_GENERATIONS];           /* cells: a chain of each */
    struct tt_holding *other[TT_GENERATIONS]; /* of contexts without room; or NULL */
} held;

static void begin_held(struct tt_recording *r, struct tt_space_record *s)
{
    held.recording = r;
    held.epoch = r->epoch;
    held.space = s;
    held.now = 0;
    held.room = (struct tt_holding_room){0};
    tt_keys_clear(&held.known);
    for (uint32_t i = 0; i < TT_GENERATIONS; i++) {
        held.first[i] = 0;
        held.other[i] = tt_holding_take(r, &held.room, 0, NULL);
        if (held.other[i])
            held.other[i]->collected = (uint16_t)(i + 1);
    }
    if (r->options.series)
        tt_parts_begin(s, tt_bands_shift(r));
}

void tt_live_set_lock(void) { tt_owned_lock(&held.lock, &tt_self); }

void tt_live_set_unlock(void) { tt_owned_unlock(&held.lock); }

/* Locked, and of this recording and time; 0: nothing is kept. */
static int lock_held(struct tt_recording *r, uint64_t now)
{
    struct tt_space_record *s = tt_space_record(r);

    if (!s || __atomic_load_n(&s->clock, __ATOMIC_RELAXED))
        return 0;
    tt_live_set_lock();
    if (held.recording != r || held.epoch != r->epoch)
        begin_held(r, s);
    if (now > held.now) {
        held.now = now;
        tt_parts_see(r, s, now);
    }
    return 1;
}

static struct tt_holding *holding_at(uint32_t cell)
{
    return (struct tt_holding *)(void *)tt_cell(held.recording->base, cell);
}

static uint64_t key_of_held(const struct tt_live_set_event *e)
{
    uint64_t x = e->origin ^
                 ((uint64_t)e->type << 8 | e->generation) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 29) * 0xd1342543de82ef95u;
    return (x ^ x >> 32) | 1;
}

static struct tt_holding *find_held(const struct tt_live_set_event *e)
{
    uint32_t cell = tt_keys_find(&held.known, key_of_held(e));

    TT_ASSERT(held.lock.holder && e->generation < TT_GENERATIONS);
    TT_ASSERT(!cell || holding_at(cell)->collected == e->generation + 1);
    return cell ? holding_at(cell) : held.other[e->generation];
}

static struct tt_holding *make_held(const struct tt_live_set_event *e)
{
    struct tt_holding *h = tt_holding_take(held.recording, &held.room, e->type, e->node);
    uint32_t cell;

    if (!h)
        return held.other[e->generation];
    cell = (uint32_t)((size_t)((char *)h - held.recording->base) / TT_CELL_SIZE);
    h->next = held.first[e->generation];
    h->collected = (uint16_t)(e->generation + 1);
    held.first[e->generation] = cell;
    tt_keys_add(&held.known, key_of_held(e), cell);
    return h;
}

static void change_holding(struct tt_holding *h, int64_t bytes, int64_t number)
{
    TT_ASSERT(held.lock.holder);
    TT_ASSERT(bytes >= 0 || h->live >= (uint64_t)-bytes);
    TT_ASSERT(number >= 0 || h->live_number >= (uint64_t)-number);
    tt_holding_change(held.space, h, bytes, number);
    tt_maxima_change(held.space, bytes, held.now);
}

void tt_live_set_made(struct tt_recording *r, const struct tt_live_set_event *e,
                      const struct tt_objects *o)
{
    struct tt_holding *h;

    if (!lock_held(r, e->now))
        return;
    h = tt_keys_find(&held.known, key_of_held(e)) ? find_held(e) : make_held(e);
    if (h)
        change_holding(h, (int64_t)o->bytes, (int64_t)o->number);
    tt_live_set_unlock();
}

/* No more than there is: a double free takes nothing from others. */
void tt_live_set_gone(struct tt_recording *r, const struct tt_live_set_event *e,
                      const struct tt_objects *o)
{
    struct tt_holding *h;

    if (!lock_held(r, e->now))
        return;
    h = find_held(e);
    if (h)
        change_holding(
            h, -(int64_t)(o->bytes < h->live ? o->bytes : h->live),
            -(int64_t)(o->number < h->live_number ? o->number : h->live_number));
    tt_live_set_unlock();
}

static void empty_holding(struct tt_holding *h)
{
    if (h && (h->live || h->live_number))
        change_holding(h, -(int64_t)h->live, -(int64_t)h->live_number);
}

void tt_live_set_collect(struct tt_recording *r, uint32_t generation, uint64_t now)
{
    if (!(r->options.space & TT_SPACE_PEAK) || !lock_held(r, now))
        return;
    for (uint32_t i = 0; i <= generation && i < TT_GENERATIONS; i++) {
        empty_holding(held.other[i]);
        for (uint32_t cell = held.first[i]; cell; cell = holding_at(cell)->next)
            empty_holding(holding_at(cell));
    }
    tt_live_set_unlock();
}

/* If this thread held the lock, its work goes on.  If another thread did, it may have
 * been changing the keys: they are leaked. */
void tt_live_set_forget(void)
{
    if (!tt_owned_forget(&held.lock, &tt_self))
        return;
    held.recording = NULL;
    held.known = (struct tt_keys){0};
}
