/* SPDX-License-Identifier: MIT */
/* heap-alive.c - live memory: now, at its maxima, and over time.
 *
 * The live memory of a site is changed together with the sum, under one lock: so both are
 * of one moment (maxima.c). */
#include "heap-alive.h"

#include "brief-lock.h"
#include "clock.h"
#include "rows.h"
#include "series.h"

enum {
    BANDS_MAX = 500, /* of blocks, and of cost centres: later ones share one */
    SMALL = 1024,    /* bytes */
    UNTIMED = 8      /* events */
};

static struct {
    uint32_t lock; /* of all live memory, by site and in total */
    uint32_t events;
    uint64_t now; /* when the clock was last read: ticks since the recording began */
    uint32_t interval, shift;       /* the current interval, of 2^shift ticks */
    struct tt_recording *recording; /* the recording of the bands */
    struct tt_keys bands;           /* cells, by what the band counts */
    uint32_t count[TT_BANDS];
} alive;

/* ── Bands ────────────────────────────────────────────────────────────────────────── */

static void begin_recording(struct tt_recording *r, struct tt_space_record *s)
{
    alive.recording = r;
    alive.now = 0;
    alive.interval = 0;
    alive.shift = tt_bands_shift(r);
    tt_keys_clear(&alive.bands);
    for (int i = 0; i < TT_BANDS; i++)
        alive.count[i] = 0;
    if (s && r->options.series)
        tt_parts_begin(s, alive.shift);
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

void tt_alive_begin(struct tt_heap_site *s, struct tt_recording *r, const tt_type *types,
                    uint32_t count, tt_block block, tt_block centre)
{
    const uint32_t key[TT_SITE_BANDS] = {types[s->type], block, centre},
                   wanted = r->options.series;
    struct tt_space_record *space = tt_space_record(r);

    tt_site_hold(s, r, types, count);
    tt_brief_lock(&alive.lock);
    if (alive.recording != r)
        begin_recording(r, space);
    for (uint32_t i = 0; space && i < TT_SITE_BANDS; i++)
        if (wanted & 1u << i)
            s->band[i] = band_of(r, space, (enum tt_band_of)i, key[i]);
    tt_brief_unlock(&alive.lock);
}

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

static __attribute__((noinline, cold)) void begin_interval(struct tt_space_record *s)
{
    for (; alive.now >> alive.shift >= TT_BAND_POINTS; alive.shift++)
        tt_bands_halve(alive.recording, s);
    alive.interval = (uint32_t)(alive.now >> alive.shift);
    tt_parts_see(alive.recording, s, alive.now);
}

static __attribute__((noinline)) void read_time(struct tt_space_record *s)
{
    uint64_t now = tt_clock_now() - alive.recording->header->start_ticks;

    if ((int64_t)(now - alive.now) <= 0)
        return;
    alive.now = now;
    if (now >> alive.shift != alive.interval)
        begin_interval(s);
}

/* Reading the clock takes as long as all else here.  Of the events of small objects one
 * in UNTIMED reads it; the others have the last time read. */
static inline void see_time(struct tt_space_record *s, const struct tt_object *o)
{
    if (s->part_shift && (o->bytes >= SMALL || ++alive.events % UNTIMED == 0))
        read_time(s);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static inline void change_band(struct tt_band *b, int64_t bytes)
{
    TT_ASSERT(alive.interval < TT_BAND_POINTS);
    if (b)
        TT_SHOW(b->delta[alive.interval], b->delta[alive.interval] + bytes);
}

static inline void change(struct tt_space_record *r, struct tt_heap_site *s,
                          const struct tt_object *o, int sign)
{
    const int64_t bytes = sign * (int64_t)o->bytes;

    see_time(r, o);
    if (s->holding)
        tt_holding_change(r, s->holding, bytes, sign * (int64_t)o->number);
    change_band(s->band[TT_BAND_TYPE], bytes);
    change_band(s->band[TT_BAND_BLOCK], bytes);
    change_band(s->band[TT_BAND_CENTRE], bytes);
}

uint64_t tt_alive_made(struct tt_space_record *r, struct tt_heap_site *s,
                       const struct tt_object *o)
{
    uint64_t clock;

    tt_brief_lock(&alive.lock);
    clock = r->clock + o->bytes + !o->bytes;
    TT_SHOW(r->clock, clock);
    TT_SHOW(s->objects, s->objects + 1);
    change(r, s, o, 1);
    tt_maxima_change(r, (int64_t)o->bytes, alive.now);
    tt_brief_unlock(&alive.lock);
    return clock;
}

void tt_alive_gone(struct tt_space_record *r, struct tt_heap_site *s,
                   const struct tt_object *o)
{
    int is_free;

    tt_brief_lock(&alive.lock);
    change(r, s, o, -1);
    tt_maxima_change(r, -(int64_t)o->bytes, alive.now);
    TT_ASSERT(s->objects > 0);
    is_free = s->objects == 1 && !s->owner;
    TT_SHOW(s->objects, s->objects - 1); /* last: its owner may then free the site */
    tt_brief_unlock(&alive.lock);
    if (is_free)
        tt_site_give(s);
}

int tt_alive_leave(struct tt_heap_site *s)
{
    int is_free;

    tt_brief_lock(&alive.lock);
    TT_ASSERT(s->owner);
    TT_SHOW(s->owner, NULL);
    is_free = !s->objects;
    tt_brief_unlock(&alive.lock);
    return is_free;
}

void tt_alive_free(void) { alive.lock = TT_BRIEF_FREE; }

/* Another thread may have been changing the keys at the fork: they are leaked. */
void tt_alive_forked(void)
{
    alive.lock = 0;
    alive.recording = NULL;
    alive.bands = (struct tt_keys){0};
}
