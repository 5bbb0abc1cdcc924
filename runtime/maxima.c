/* SPDX-License-Identifier: MIT */
/* maxima.c - live objects by context, now and at the maxima of the run.
 *
 *      part 0      part 1      part 2           the parts of the run, eight at most
 *      ┌───●──────┬──────●────┬────────●·····   each has its maximum, and of the last
 *      │  ╱ ╲_╱╲__│_/╲__╱ ╲___│__/╲___╱         one it may still grow
 *
 * Maxima are numbered.  A holding that has not changed since the last maximum still has
 * the amount of that time; before a holding changes, it notes that amount.  At the end of
 * a part of the run, the amounts that all holdings had at its maximum are stored. */
#include "maxima.h"

enum { INTERVALS_SHIFT = 4 }; /* of a part, in intervals of a series at first */

struct tt_holding *tt_holding_take(struct tt_recording *r, struct tt_holding_room *room,
                                   tt_type type, const struct tt_node *n)
{
    struct tt_holding *h;
    uint32_t page, cell = UINT32_MAX;

    if (room->cell == room->end && (page = tt_page_take(r, TT_PAGE_HOLDING, 0, 0))) {
        room->cell = tt_page_cell(r, page);
        room->end = room->cell + TT_PAGE_CELLS;
    }
    if (room->cell == room->end)
        return NULL;
    h = (struct tt_holding *)(void *)tt_cell(r->base, room->cell++);
    h->type = type;
    if (n) {
        cell = (uint32_t)((size_t)((const char *)n - r->base) / TT_CELL_SIZE);
        h->generation = n->generation;
    }
    __atomic_store_n(&h->context, cell, __ATOMIC_RELEASE);
    return h;
}

void tt_parts_begin(struct tt_space_record *s, uint32_t shift)
{
    __atomic_store_n(&s->part_shift, shift + INTERVALS_SHIFT, __ATOMIC_RELEASE);
}

/* Takes room for the amounts that a page's holdings had at maxima. */
static int reserve_held(struct tt_recording *r, struct tt_holding *h)
{
    uint32_t page = h->parts ? 0 : tt_page_take(r, TT_PAGE_PARTS, 0, 0);

    if (page)
        __atomic_store_n(&h->parts, tt_page_cell(r, page), __ATOMIC_RELEASE);
    return h->parts ? 0 : -TT_ERR_MEMORY;
}

/* Stores their amounts at the last maximum. */
static void keep_holdings(const struct tt_recording *r, const struct tt_holding *h,
                          uint64_t peak, int maximum)
{
    struct tt_live_set *held = (struct tt_live_set *)(void *)tt_cell(r->base, h->parts);

    TT_ASSERT(h->parts && maximum >= 0 && maximum < TT_PARTS);
    for (int i = 0; i < TT_PAGE_CELLS; i++)
        held->amount[i][maximum] = h[i].changed <= peak ? h[i].live : h[i].peak;
}

/* The holdings of a page; NULL: it has something else. */
static struct tt_holding *page_of_holdings(const struct tt_recording *r, uint32_t page)
{
    if ((__atomic_load_n(&r->map[page], __ATOMIC_ACQUIRE) & 0xff) != TT_PAGE_HOLDING)
        return NULL;
    return (struct tt_holding *)(void *)tt_cell(r->base, tt_page_cell(r, page + 1));
}

/* All of it, or nothing. */
static int keep_maximum(struct tt_recording *r, struct tt_space_record *s)
{
    const uint32_t used = __atomic_load_n(&r->header->used, __ATOMIC_ACQUIRE);
    struct tt_holding *h;
    int i = 0;

    while (i < TT_PARTS && s->maximum[i].most)
        i++;
    if (i == TT_PARTS)
        return -TT_ERR_MEMORY;
    for (uint32_t page = 0; page < used; page++)
        if ((h = page_of_holdings(r, page)) && reserve_held(r, h) != 0)
            return -TT_ERR_MEMORY;
    for (uint32_t page = 0; page < used; page++)
        if ((h = page_of_holdings(r, page)))
            keep_holdings(r, h, s->peak, i);
    s->maximum[i].time = s->most_time;
    __atomic_store_n(&s->maximum[i].most, s->most, __ATOMIC_RELEASE);
    return 0;
}

/* Of two maxima in one part, keeps the greater one. */
static void double_parts(struct tt_space_record *s)
{
    s->part_shift++;
    for (int i = 0; i < TT_PARTS; i++)
        for (int j = 0; j < TT_PARTS; j++)
            if (i != j && s->maximum[i].most && s->maximum[j].most &&
                s->maximum[i].time >> s->part_shift ==
                    s->maximum[j].time >> s->part_shift)
                s->maximum[s->maximum[i].most < s->maximum[j].most ? i : j].most = 0;
}

/* Without room for the maximum of the part that ended, this part and the next share
 * one. */
void tt_parts_end(struct tt_recording *r, struct tt_space_record *s, uint64_t now)
{
    const int kept = !s->most || keep_maximum(r, s) == 0;

    while (now >> s->part_shift >= TT_PARTS)
        double_parts(s);
    TT_ASSERT(now >> s->part_shift < TT_PARTS);
    s->part = now >> s->part_shift;
    if (!kept)
        return;
    s->most = s->live;
    s->most_time = now;
    s->peak++;
}
