/* SPDX-License-Identifier: MIT */
/* figures.c - reads a picture's extensions of cells. */
#include "figures.h"
#include "picture.h"

#include <string.h>

/* ── Are they what they should be? ────────────────────────────────────────────────── */

/* An extension is one cell's alone: chains neither meet nor run in a circle. */
static int is_seen_again(struct tt_picture *p, uint32_t cell)
{
    unsigned char bit = (unsigned char)(1u << cell % 8);
    int again = (p->seen[cell / 8] & bit) != 0;

    p->seen[cell / 8] |= bit;
    return again;
}

/* The number of cells of an extension; 0: it is invalid. */
static uint32_t extension_cells(const struct tt_loss *e)
{
    switch (e->kind) {
    case TT_CELL_LOSS:
    case TT_CELL_METRICS:
    case TT_CELL_SPACE:
    case TT_CELL_SPACE_BELOW:
        return 1;
    case TT_TIMES:
        return 1u << TT_TIMES_ORDER;
    case TT_HISTOGRAM:
    case TT_HISTORY:
        return 1u << TT_HISTOGRAM_ORDER;
    case TT_SLOWEST:
        return 1u << TT_SLOWEST_ORDER;
    default:
        return 0;
    }
}

static int check_slowest(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_slowest *s = tt_picture_extension(p, cell, TT_SLOWEST);
    const struct tt_history *h = tt_picture_extension(p, cell, TT_HISTORY);

    if (h && (h->capacity == 0 || h->capacity > TT_HISTORY_MAX))
        return tt_picture_damaged(p, "damaged history of cell %u", cell);
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct tt_slow *slot = &s->slot[i];
        if (s->count > TT_HISTORY_MAX || slot->count > TT_SLOW_ROWS ||
            (slot->count &&
             (tt_picture_page(p, slot->rows) != (TT_PAGE_DATA | owner << 8) ||
              tt_picture_page(p, slot->rows + (1u << TT_ROWS_ORDER) - 1) !=
                  (TT_PAGE_DATA | owner << 8))))
            return tt_picture_damaged(p, "damaged slowest activations of cell %u", cell);
        for (uint32_t j = 0; j < slot->count; j++) {
            const struct tt_slow_row *row = (const struct tt_slow_row *)tt_picture_cell(
                                                p, slot->rows) +
                                            j;
            if (row->parent > j)
                return tt_picture_damaged(p, "damaged slowest activations of cell %u",
                                          cell);
        }
    }
    return 0;
}

/* A tally has them elsewhere. */
static uint32_t first_extension(const struct tt_node *n)
{
    return n->kind == TT_CELL_TALLY ? ((const struct tt_tally *)(const void *)n)->next
                                    : n->extension;
}

int tt_picture_check_extensions(struct tt_picture *p, uint32_t cell, uint32_t owner)
{
    const struct tt_node *n = tt_picture_cell(p, cell);
    uint32_t at = first_extension(n);

    while (at) {
        uint32_t page = tt_picture_page(p, at), type = page & 0xff, cells;
        const struct tt_loss *e = tt_picture_cell(p, at);
        if (page >> 8 != owner || (type != TT_PAGE_CELL && type != TT_PAGE_DATA) ||
            is_seen_again(p, at))
            return tt_picture_damaged(p, "damaged extensions of cell %u", cell);
        cells = extension_cells(e);
        if (!cells || tt_picture_page(p, at + cells - 1) != page)
            return tt_picture_damaged(p, "damaged extension in cell %u", at);
        p->timed += e->kind == TT_TIMES;
        at = e->next;
    }
    return n->kind == TT_CELL_TALLY ? 0 : check_slowest(p, cell, owner);
}

int tt_picture_check_bands(struct tt_picture *p, uint32_t first, uint32_t page)
{
    for (uint32_t at = first; at;) {
        const struct tt_band *b = tt_picture_cell(p, at);
        if (tt_picture_page(p, at) != page ||
            tt_picture_page(p, at + TT_PAGE_CELLS - 1) != page || is_seen_again(p, at) ||
            b->kind != TT_BAND || b->flags >= TT_BANDS || b->pace.shift > 62 ||
            b->pace.halved > TT_BAND_POINTS / 2)
            return tt_picture_damaged(p, "damaged series in cell %u", at);
        at = b->next;
    }
    return 0;
}

/* ── What they say ────────────────────────────────────────────────────────────────── */

const void *tt_picture_extension(const struct tt_picture *p, uint32_t cell, uint32_t kind)
{
    const struct tt_loss *e;

    for (uint32_t at = first_extension(tt_picture_cell(p, cell)); at; at = e->next) {
        e = tt_picture_cell(p, at);
        if (e->kind == kind)
            return e;
    }
    return NULL;
}

void tt_picture_metrics(const struct tt_picture *p, uint32_t cell,
                        void (*each)(void *arg, const struct tt_metric_record *,
                                     int elsewhere, uint64_t amount),
                        void *arg)
{
    const struct tt_metrics *m;

    for (uint32_t at = first_extension(tt_picture_cell(p, cell)); at; at = m->next) {
        m = tt_picture_cell(p, at);
        for (int i = 0; m->kind == TT_CELL_METRICS && i < 4 && m->metric[i]; i++)
            if (m->amount[i] || !(m->metric[i] & TT_METRIC_ELSEWHERE))
                each(arg, &p->header->metric[m->metric[i] & TT_METRICS_MAX],
                     (m->metric[i] & TT_METRIC_ELSEWHERE) != 0, m->amount[i]);
    }
}

static uint32_t collections_of(const struct tt_picture *p, uint32_t generation)
{
    return p->space && generation < TT_GENERATIONS ? p->space->collections[generation]
                                                   : 0;
}

const char *tt_picture_type(const struct tt_picture *p, uint32_t key)
{
    key &= TT_KEY_BLOCK;
    return key < p->types && p->type[key] ? p->type[key]->info.name : "";
}

void tt_picture_space(const struct tt_picture *p, uint32_t cell,
                      void (*each)(void *arg, const struct tt_space *,
                                   const struct tt_objects *alive),
                      void *arg)
{
    const struct tt_space *row;

    for (uint32_t at = ((const struct tt_node *)tt_picture_cell(p, cell))->extension; at;
         at = row->next) {
        struct tt_objects alive = {0, 0, 0};
        uint32_t from, to;
        row = tt_picture_cell(p, at);
        from = row->key >> TT_SPACE_FROM_SHIFT;
        to = row->flags;
        if ((row->kind != TT_CELL_SPACE && row->kind != TT_CELL_SPACE_BELOW) ||
            (from == 0xff && to == 0xff))
            continue;
        if (row->stamp == collections_of(p, tt_space_generation(row))) {
            alive.number = row->all.number - row->gone.number;
            alive.bytes = row->all.bytes - row->gone.bytes;
            alive.overhead = row->all.overhead - row->gone.overhead;
        }
        each(arg, row, &alive);
    }
}

static uint32_t context_of_holding(const struct tt_picture *p, const struct tt_holding *h,
                                   int *below)
{
    const struct tt_node *n, *target;

    *below = 0;
    if ((tt_picture_page(p, h->context) & 0xff) != TT_PAGE_CELL)
        return 0;
    n = tt_picture_cell(p, h->context);
    if (n->kind == TT_CELL_CONTEXT && n->generation == h->generation)
        return h->context;
    *below = 1;
    if (n->kind != TT_CELL_FREE || (uint16_t)(n->generation - 1) != h->generation ||
        (tt_picture_page(p, n->target) & 0xff) != TT_PAGE_CELL)
        return 0;
    target = tt_picture_cell(p, n->target);
    return target->kind == TT_CELL_CONTEXT ? n->target : 0;
}

void tt_picture_holdings(const struct tt_picture *p,
                         void (*each)(void *arg, const struct tt_holding *, uint32_t cell,
                                      int below),
                         void *arg)
{
    const struct tt_holding *h;
    uint32_t context;
    int below;

    for (uint32_t cell = tt_picture_first(p); cell < p->cells; cell++) {
        if (tt_picture_page(p, cell) != TT_PAGE_HOLDING)
            continue;
        h = tt_picture_cell(p, cell);
        if (!h->context)
            continue;
        context = context_of_holding(p, h, &below);
        each(arg, h, context, below);
    }
}

/* ── Maxima ───────────────────────────────────────────────────────────────────────── */

/* The i-th maximum that is kept, if that is not the one that still grew. */
static const struct tt_maximum *kept_maximum(const struct tt_picture *p, uint32_t i)
{
    const struct tt_space_record *s = p->space;

    return i < TT_PARTS && s->maximum[i].most && s->maximum[i].time != s->most_time
               ? &s->maximum[i]
               : NULL;
}

/* The place of the i-th maximum; TT_PARTS: it is the one that was still growing. */
static uint32_t place_of_maximum(const struct tt_picture *p, uint32_t i)
{
    uint32_t place = 0;

    for (; place < TT_PARTS; place++)
        if (kept_maximum(p, place) && !i--)
            break;
    return place;
}

uint32_t tt_picture_maxima(const struct tt_picture *p)
{
    uint32_t count = p->space && p->space->most;

    for (uint32_t i = 0; p->space && i < TT_PARTS; i++)
        count += kept_maximum(p, i) != NULL;
    return count;
}

struct tt_maximum tt_picture_maximum(const struct tt_picture *p, uint32_t i)
{
    uint32_t place = place_of_maximum(p, i);

    if (place < TT_PARTS)
        return p->space->maximum[place];
    return (struct tt_maximum){p->space->most_time, p->space->most};
}

static uint64_t amount_then(const struct tt_picture *p, uint32_t cell, uint32_t holding,
                            uint32_t place)
{
    const struct tt_live_set *parts = tt_picture_cell(p, cell);

    return tt_picture_page(p, cell) == TT_PAGE_PARTS &&
                   tt_picture_page(p, cell + TT_PAGE_CELLS - 1) == TT_PAGE_PARTS
               ? parts->amount[holding][place]
               : 0;
}

/* A holding that has not changed since the last maximum has its amount of then. */
uint64_t tt_picture_held(const struct tt_picture *p, const struct tt_holding *h,
                         uint32_t maximum)
{
    const uint32_t first = tt_picture_first(p),
                   cell = (uint32_t)((size_t)((const char *)h - p->image) / TT_CELL_SIZE),
                   i = (cell - first) % TT_PAGE_CELLS,
                   place = place_of_maximum(p, maximum);

    if (place == TT_PARTS)
        return h->changed <= p->space->peak ? h->live : h->peak;
    return amount_then(p, (h - i)->parts, i, place);
}

uint32_t tt_band_points(const struct tt_band *b, int64_t out[TT_BAND_POINTS])
{
    const uint32_t half = TT_BAND_POINTS / 2, done = b->pace.halved;

    memset(out, 0, TT_BAND_POINTS * sizeof *out);
    if (!done) {
        memcpy(out, b->delta, sizeof b->delta);
        return b->pace.shift;
    }
    for (uint32_t i = 0; i < half; i++)
        out[i] = i < done ? b->delta[i]
                          : (int64_t)((uint64_t)b->delta[2 * i] +
                                      (uint64_t)b->delta[2 * i + 1]);
    return b->pace.shift + 1;
}

const struct tt_band *tt_picture_band(const struct tt_picture *p,
                                      const struct tt_strand_record *s,
                                      const struct tt_band *before)
{
    uint32_t cell = before ? before->next : s ? s->bands : p->bands;

    return cell ? tt_picture_cell(p, cell) : NULL;
}

static double square_value(const struct tt_square *s)
{
    return (double)s->high * 18446744073709551616.0 + (double)s->low;
}

/* By Newton's method: the runtime does not use libm. */
static double square_root(double x)
{
    double root = x > 1 ? x : 1;

    for (int i = 0; i < 600; i++) {
        double next = (root + x / root) / 2;
        if (next >= root)
            break;
        root = next;
    }
    return root;
}

double tt_times_deviation(const struct tt_times *t)
{
    double n = (double)t->count, variance;

    if (!t->count)
        return 0;
    variance = (square_value(&t->square) - (double)t->sum * (double)t->sum / n) / n;
    return variance > 0 ? square_root(variance) : 0;
}
