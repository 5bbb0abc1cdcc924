/* SPDX-License-Identifier: MIT */
/* series.c - live memory over time.
 *
 * A band is the live bytes of one type, block or cost centre in one generation, or of one
 * set of retainers.  It stores the change in each interval, not the value at each moment,
 * so that changes in the past can be added when they become known late.  When the last
 * interval is used up, each two become one, and intervals are twice as long:
 *
 *      +8 +2 -1  0 +4 -3 │            +10 -1 +1 │ 0  0  0
 *
 * Each strand has its own bands; their sum is the live memory. */
#include "series.h"

#include <string.h>

#include "block.h"
#include "cell.h"
#include "rows.h"
#include "stack.h"

enum {
    BAND_ORDER = 4,
    BANDS_MAX = 500, /* of a strand; later ones share one */
    BAND_WAY = 0xffff,
    CENTRE_WAY = 0xfffe,
};
_Static_assert(sizeof(struct tt_band) <= (size_t)TT_CELL_SIZE << BAND_ORDER, "band");

static struct tt_band *band_at(const struct tt_tree *t, uint32_t cell)
{
    return (struct tt_band *)(void *)tt_cell(t->base, cell);
}

/* ── Halving ──────────────────────────────────────────────────────────────────────── */

/* In place, from the left: points before `halved` are new, the old points that still
 * count begin at twice that index.  Each step is one change, so a process that dies in
 * between leaves a consistent band. */
static void halve(struct tt_journal *redo, char *base, struct tt_band *b)
{
    const uint32_t half = TT_BAND_POINTS / 2;

    TT_ASSERT(b->kind == TT_BAND && b->pace.shift < 63 && b->pace.halved <= half);
    while (b->pace.halved < half) {
        struct tt_change c = {redo, base, 0};
        uint32_t i = b->pace.halved;
        *tt_change_word(&c,
                        &b->delta[i]) = (uint64_t)(b->delta[2 * i] + b->delta[2 * i + 1]);
        tt_change_half(&c, &b->pace.halved, i + 1);
        tt_change_make(&c);
    }
    memset(&b->delta[half], 0, half * sizeof *b->delta);
    TT_BARRIER();
    {
        struct tt_change c = {redo, base, 0};
        tt_change_half(&c, &b->pace.shift, b->pace.shift + 1);
        tt_change_half(&c, &b->pace.halved, 0);
        tt_change_make(&c);
    }
}

/* ── Bands ────────────────────────────────────────────────────────────────────────── */

uint32_t tt_bands_shift(const struct tt_recording *r)
{
    uint32_t shift = 0;

    while (1ull << shift < r->header->ticks_per_second / 1000)
        shift++;
    return shift;
}

static uint32_t count_bands(const struct tt_tree *t)
{
    uint32_t count = 0;

    for (uint32_t cell = t->record->bands; cell; cell = band_at(t, cell)->next)
        count++;
    return count;
}

/* Adds a band at the head of a chain; cell 0: there was no room. */
static struct tt_band *begin_band(const struct tt_recording *r, uint32_t *chain,
                                  uint32_t cell, uint32_t of, uint32_t key,
                                  uint32_t shift)
{
    struct tt_band *b;

    if (!cell)
        return NULL;
    b = (struct tt_band *)(void *)tt_cell(r->base, cell);
    b->key = key;
    b->flags = (uint8_t)of;
    b->pace.shift = shift;
    b->next = *chain;
    __atomic_store_n(&b->kind, TT_BAND, __ATOMIC_RELEASE);
    __atomic_store_n(chain, cell, __ATOMIC_RELEASE);
    return b;
}

struct tt_band *tt_band_shared(struct tt_recording *r, struct tt_space_record *s,
                               enum tt_band_of of, uint32_t key, uint32_t shift)
{
    uint32_t page = tt_page_take(r, TT_PAGE_BAND, 0, 0);

    return begin_band(r, &s->bands, page ? tt_page_cell(r, page) : 0, of, key, shift);
}

void tt_bands_halve(struct tt_recording *r, struct tt_space_record *s)
{
    struct tt_band *b;

    for (uint32_t cell = s->bands; cell; cell = b->next) {
        b = (struct tt_band *)(void *)tt_cell(r->base, cell);
        halve(&s->redo, r->base, b);
    }
}

/* A band's place in the index of rows: at no context. */
static uint32_t context_of_band(uint32_t of) { return UINT32_MAX - of; }

static struct tt_band *find_band(struct tt_tree *t, uint32_t of, uint32_t key)
{
    uint32_t cell = tt_space_known(t, context_of_band(of), key, BAND_WAY);
    struct tt_band *b;

    if (cell)
        return band_at(t, cell);
    if (of != TT_BAND_USE && (key & TT_KEY_BLOCK) != TT_BLOCK_OTHER &&
        count_bands(t) >= BANDS_MAX)
        return find_band(t, of, (key & ~TT_KEY_BLOCK) | TT_BLOCK_OTHER);
    b = begin_band(t->recording, &t->record->bands, tt_tree_data(t, BAND_ORDER), of, key,
                   tt_bands_shift(t->recording));
    if (b)
        tt_space_know(t, context_of_band(of), key, BAND_WAY, tt_cell_of(t, b));
    else
        tt_bump_shared(&t->recording->header->lost_figures, 1);
    return b;
}

void tt_bands_index(struct tt_tree *t)
{
    for (uint32_t cell = t->record->bands; cell; cell = band_at(t, cell)->next)
        tt_space_know(t, context_of_band(band_at(t, cell)->flags), band_at(t, cell)->key,
                      BAND_WAY, cell);
}

struct tt_band *tt_band_of_type(struct tt_tree *t, tt_type type, uint32_t generation)
{
    return find_band(t, TT_BAND_TYPE, type | generation << TT_SPACE_FROM_SHIFT);
}

void tt_band_change(struct tt_tree *t, struct tt_band *b, uint64_t when, int64_t bytes)
{
    int64_t *point;

    while (when >> b->pace.shift >= TT_BAND_POINTS)
        halve(&t->record->redo, t->base, b);
    TT_ASSERT(b->pace.halved == 0);
    point = &b->delta[when >> b->pace.shift];
    TT_SHOW(*point, *point + bytes);
}

static void change_band(struct tt_tree *t, uint32_t of, uint32_t key, uint64_t when,
                        int64_t bytes)
{
    struct tt_band *b = bytes ? find_band(t, of, key) : NULL;

    if (b)
        tt_band_change(t, b, when, bytes);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

tt_block tt_bands_centre(struct tt_tree *t, const struct tt_node *n)
{
    const struct tt_node *up = n;
    uint32_t cell = tt_cell_of(t, n), known;

    known = tt_space_known(t, cell, UINT32_MAX, CENTRE_WAY);
    if (known)
        return known - 1;
    while (up != t->root && tt_block_kind(up->key) != TT_KIND_CENTRE)
        up = tt_parent(t, up);
    tt_space_know(t, cell, UINT32_MAX, CENTRE_WAY, up->key + 1);
    return up->key;
}

/* The handle of an evicted context has its last block; the path between is lost. */
static tt_block centre_of(struct tt_thread *t, const struct tt_band_place *at)
{
    return tt_block_kind(at->block) == TT_KIND_CENTRE
               ? at->block
               : tt_bands_centre(&t->tree, at->node);
}

void tt_bands_change(struct tt_thread *t, const struct tt_band_place *at,
                     uint32_t generation, uint64_t now, int64_t bytes)
{
    const uint32_t wanted = t->recording->options.series,
                   place = generation << TT_SPACE_FROM_SHIFT;

    if (wanted & 1u << TT_BAND_TYPE)
        change_band(&t->tree, TT_BAND_TYPE, at->type | place, now, bytes);
    if (wanted & 1u << TT_BAND_BLOCK)
        change_band(&t->tree, TT_BAND_BLOCK, at->block | place, now, bytes);
    if (wanted & 1u << TT_BAND_CENTRE)
        change_band(&t->tree, TT_BAND_CENTRE, centre_of(t, at) | place, now, bytes);
}

void tt_bands_inherent(struct tt_thread *t, uint32_t generation, uint64_t now,
                       int64_t bytes)
{
    if (t->recording->options.series & 1u << TT_BAND_USE)
        change_band(&t->tree, TT_BAND_USE,
                    TT_USE_INHERENT | generation << TT_SPACE_FROM_SHIFT, now, bytes);
}

static void live_between(struct tt_tree *t, uint32_t state, uint64_t from, uint64_t to,
                         int64_t bytes)
{
    change_band(t, TT_BAND_USE, state, from, bytes);
    if (to != TT_STILL)
        change_band(t, TT_BAND_USE, state, to, -bytes);
}

void tt_bands_life(struct tt_thread *t, const struct tt_life *l, int64_t bytes)
{
    if (!(t->recording->options.series & 1u << TT_BAND_USE))
        return;
    if (!l->used) {
        live_between(&t->tree, TT_USE_VOID, l->born, l->died, bytes);
        return;
    }
    live_between(&t->tree, TT_USE_LAG, l->born, l->first, bytes);
    live_between(&t->tree, TT_USE_USE, l->first, l->last, bytes);
    live_between(&t->tree, TT_USE_DRAG, l->last, l->died, bytes);
}

void tt_bands_retained(struct tt_thread *t, tt_type type, uint64_t now, int64_t bytes)
{
    change_band(&t->tree, TT_BAND_RETAINERS, type, now, bytes);
}

/* ── Collections ──────────────────────────────────────────────────────────────────── */

static int64_t total_of(const struct tt_band *b)
{
    int64_t total = 0;
    uint32_t first = b->pace.halved ? 2 * b->pace.halved : 0;

    for (uint32_t i = 0; i < b->pace.halved; i++)
        total += __atomic_load_n(&b->delta[i], __ATOMIC_RELAXED);
    for (uint32_t i = first; i < TT_BAND_POINTS; i++)
        total += __atomic_load_n(&b->delta[i], __ATOMIC_RELAXED);
    return total;
}

/* A collection does not change these: states of use, which are known at the end of each
 * object, and retainers, which are reported again. */
static int is_collected(const struct tt_band *b, uint32_t generation)
{
    return b->flags != TT_BAND_RETAINERS && b->key >> TT_SPACE_FROM_SHIFT <= generation &&
           (b->flags != TT_BAND_USE || (b->key & TT_KEY_BLOCK) == TT_USE_INHERENT);
}

static int is_of_retainers(const struct tt_band *b, uint32_t any)
{
    (void)any;
    return b->flags == TT_BAND_RETAINERS;
}

typedef int band_test(const struct tt_band *, uint32_t generation);

/* Empties the chosen bands of a strand: by changes in bands of this thread, so that the
 * sum is right. */
static void empty_bands(struct tt_thread *t, uint32_t bands, band_test *goes,
                        uint32_t generation, uint64_t now)
{
    const struct tt_band *b;

    for (uint32_t cell = bands; cell; cell = b->next) {
        b = band_at(&t->tree, cell);
        if (goes(b, generation))
            change_band(&t->tree, b->flags, b->key, now, -total_of(b));
    }
}

/* The thread's own bands first, as it also writes the changes for the others there. */
static void empty_all(struct tt_thread *t, band_test *goes, uint32_t generation,
                      uint64_t now)
{
    const struct tt_recording *r = t->recording;
    const uint32_t used = __atomic_load_n(&r->header->used, __ATOMIC_ACQUIRE);

    empty_bands(t, t->record->bands, goes, generation, now);
    tt_threads_lock(); /* no strand is merged meanwhile */
    for (uint32_t page = 0; page < used; page++) {
        if ((__atomic_load_n(&r->map[page], __ATOMIC_ACQUIRE) & 0xff) != TT_PAGE_STRAND)
            continue;
        for (size_t i = 0; i < TT_PAGE_SIZE; i += sizeof(struct tt_strand_record)) {
            const struct tt_strand_record *s = (const void *)(r->base + r->header->first +
                                                              (size_t)page *
                                                                  TT_PAGE_SIZE +
                                                              i);
            if (s != t->record && s->state != TT_STRAND_NONE)
                empty_bands(t, __atomic_load_n(&s->bands, __ATOMIC_ACQUIRE), goes,
                            generation, now);
        }
    }
    tt_threads_unlock();
}

void tt_bands_collect(struct tt_thread *t, uint32_t generation, uint64_t now)
{
    if (t->recording->options.series)
        empty_all(t, is_collected, generation, now);
}

void tt_bands_release(struct tt_thread *t, uint64_t now)
{
    empty_all(t, is_of_retainers, 0, now);
}

/* ── Merging ──────────────────────────────────────────────────────────────────────── */

static void merge_band(struct tt_tree *into, struct tt_tree *from, struct tt_band *b)
{
    struct tt_band *to = find_band(into, b->flags, b->key);

    if (!to)
        return;
    while (to->pace.shift < b->pace.shift || to->pace.halved)
        halve(&into->record->redo, into->base, to);
    while (b->pace.shift < to->pace.shift || b->pace.halved)
        halve(&from->record->redo, from->base, b);
    for (uint32_t i = 0; i < TT_BAND_POINTS; i++) {
        struct tt_change c = tt_change_begin(into);
        if (b->delta[i])
            tt_change_move(&c, (uint64_t *)&to->delta[i], (uint64_t *)&b->delta[i]);
        tt_change_make(&c);
    }
}

void tt_bands_merge(struct tt_tree *into, struct tt_tree *from)
{
    for (uint32_t cell = from->record->bands; cell; cell = band_at(from, cell)->next)
        merge_band(into, from, band_at(from, cell));
}
