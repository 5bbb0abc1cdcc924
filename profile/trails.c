/* SPDX-License-Identifier: MIT */
/* trails.c - addresses beside the tree: where in their functions figures were charged.
 *
 *      contexts     main ─── sort ─── less                  of functions
 *      trails       main+0x52 ─ sort+0x10 ─ less+0x8        one an address
 *                             └ sort+0x34 ─ less+0x8
 *
 * A place is an address with the functions that are there, including inlined ones.  A
 * trail is a path of places below a context; the context gives the names of the path.  A
 * context may have several trails.  Views of contexts never read them, and filters of
 * contexts do not change the paths of addresses. */
#include <stdlib.h>
#include <string.h>

#include "building.h"
#include "order.h"
#include "sorted.h"
#include "sum.h"
#include "trails.h"

/* ── Places ───────────────────────────────────────────────────────────────────────── */

struct wanted_place {
    struct tt_place_row row;
    const struct tt_place_frame *frame;
};

static int is_same_frame(const struct tt_place_frame *x, const struct tt_place_frame *y)
{
    return x->block == y->block && x->file == y->file && x->line == y->line &&
           x->column == y->column;
}

static uint64_t hash_wanted(const struct wanted_place *w)
{
    uint64_t h = tt_mix(tt_mix(w->row.module, w->row.id), w->row.address);

    for (uint32_t i = 0; i < w->row.frames; i++)
        h = tt_mix(tt_mix(h, w->frame[i].block), w->frame[i].line);
    return h;
}

static struct wanted_place place_at(const struct tt_builder *b, uint32_t id)
{
    struct wanted_place w = {.row = ((const struct tt_place_row *)b->place.item)[id]};

    w.frame = (const struct tt_place_frame *)b->frame.item + w.row.first;
    return w;
}

static int is_same_place(const struct wanted_place *x, const struct wanted_place *y)
{
    int same = x->row.module == y->row.module && x->row.id == y->row.id &&
               x->row.address == y->row.address && x->row.frames == y->row.frames;

    for (uint32_t i = 0; same && i < x->row.frames; i++)
        same = is_same_frame(&x->frame[i], &y->frame[i]);
    return same;
}

uint32_t tt_builder_place(struct tt_builder *b, const char *module, const char *id,
                          uint64_t address, const struct tt_place_frame *frame,
                          uint32_t frames)
{
    struct wanted_place w = {{.address = address, .frames = frames}, frame};
    struct tt_place_frame *to;
    uint64_t hash;
    uint32_t place;

    w.row.module = tt_builder_string(b, module);
    w.row.id = tt_builder_string(b, id);
    hash = hash_wanted(&w);
    if (b->failed)
        return TT_NONE;
    for (size_t at = 0; (place = tt_index_next(&b->places, hash, &at)) != TT_NO_NUMBER;) {
        const struct wanted_place known = place_at(b, place);
        if (is_same_place(&known, &w))
            return place;
    }
    w.row.first = (uint32_t)b->frame.count;
    to = tt_vector_add(&b->frame, frames);
    if (to)
        memcpy(to, frame, frames * sizeof *to);
    return tt_builder_id(
        b, to ? tt_index_append(&b->places, &b->place, hash, &w.row, sizeof w.row)
              : TT_NO_NUMBER);
}

/* ── Trails ───────────────────────────────────────────────────────────────────────── */

uint32_t tt_builder_trail(struct tt_builder *b, uint32_t parent, uint32_t context,
                          uint32_t place)
{
    const struct tt_trail_row row = {
        .parent = parent, .context = context, .place = place};
    int is_new;

    if (context >= b->context.count || (place != TT_NONE && place >= b->place.count) ||
        (parent != TT_NONE && parent >= b->trail.count))
        b->failed = 1;
    if (b->failed)
        return TT_NONE;
    return tt_builder_id(b,
                         tt_index_get(&b->trails, &b->trail, &row, sizeof row, &is_new));
}

void tt_builder_trail_add(struct tt_builder *b, uint32_t trail, uint32_t metric,
                          uint64_t amount)
{
    enum { SUM_UP_FROM = 1 << 20 };
    struct tt_entry *e;

    if (!amount || trail == TT_NONE || metric == TT_NONE)
        return;
    TT_ASSERT(trail < b->trail.count && metric < b->metric.count);
    if (b->trail_entry.count - b->trails_of_all >= SUM_UP_FROM &&
        b->trail_entry.count >= 2 * b->trails_summed) {
        b->failed |= tt_entries_sum(&b->trail_entry, b->trails_of_all) != 0;
        b->trails_summed = b->trail_entry.count;
    }
    e = tt_builder_item(b, &b->trail_entry);
    if (e)
        *e = (struct tt_entry){tt_builder_current(b), metric, trail, amount};
}

void tt_trails_init(struct tt_builder *b)
{
    tt_vector_init(&b->place, &b->memory, sizeof(struct tt_place_row));
    tt_vector_init(&b->frame, &b->memory, sizeof(struct tt_place_frame));
    tt_vector_init(&b->trail, &b->memory, sizeof(struct tt_trail_row));
    tt_vector_init(&b->trail_entry, &b->memory, sizeof(struct tt_entry));
}

void tt_trails_summarise(struct tt_builder *b)
{
    struct tt_vector *v = &b->trail_entry;
    struct tt_entry *e = v->item;

    for (size_t i = b->trails_of_all; i < v->count; i++)
        e[i].strand = TT_NONE;
    b->failed |= tt_entries_sum(v, b->trails_of_all) != 0;
    if (v->count >= 2 * b->trails_of_all_summed) {
        b->failed |= tt_entries_sum(v, 0) != 0;
        b->trails_of_all_summed = v->count;
    }
    b->trails_summed = b->trails_of_all = v->count;
}

/* ── The file's order ─────────────────────────────────────────────────────────────── */

struct sorted_place {
    struct wanted_place of;
    uint32_t id;
};

static int by_frame(const struct tt_place_frame *x, const struct tt_place_frame *y)
{
    return TT_ORDER(x->block, y->block) ?: TT_ORDER(x->file, y->file)
           ?: TT_ORDER(x->line, y->line) ?: TT_ORDER(x->column, y->column);
}

static int by_place(const void *a, const void *b)
{
    const struct wanted_place *p = &((const struct sorted_place *)a)->of,
                              *q = &((const struct sorted_place *)b)->of;
    const struct tt_place_row *x = &p->row, *y = &q->row;
    int order = TT_ORDER(x->module, y->module) ?: TT_ORDER(x->id, y->id)
                ?: TT_ORDER(x->address, y->address) ?: TT_ORDER(x->frames, y->frames);

    for (uint32_t i = 0; !order && i < x->frames; i++)
        order = by_frame(&p->frame[i], &q->frame[i]);
    return order;
}

/* Strings become offsets at once: nothing renumbers these rows later. */
static void renumber_places(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_place_row *p = b->place.item;
    struct tt_place_frame *f = b->frame.item;

    for (size_t i = 0; i < b->place.count; i++) {
        p[i].module = (uint32_t)o->offset[o->string[p[i].module]];
        p[i].id = (uint32_t)o->offset[o->string[p[i].id]];
    }
    for (size_t i = 0; i < b->frame.count; i++) {
        f[i].block = o->block[f[i].block];
        f[i].file = (uint32_t)o->offset[o->string[f[i].file]];
    }
}

/* Writes places and their frames in order; notes the new number of each. */
static int put_places(struct tt_builder *b, const struct sorted_place *s, uint32_t *rank)
{
    struct tt_place_row *row = b->place.item;
    struct tt_vector frame;
    struct tt_place_frame *to;
    uint32_t at = 0;

    tt_vector_init(&frame, &b->memory, sizeof *to);
    to = tt_vector_add(&frame, b->frame.count);
    if (!to)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < b->place.count; i++) {
        rank[s[i].id] = i;
        row[i] = s[i].of.row;
        row[i].first = at;
        memcpy(to + at, s[i].of.frame, row[i].frames * sizeof *to);
        at += row[i].frames;
    }
    TT_ASSERT(at == b->frame.count);
    tt_vector_fini(&b->frame);
    b->frame = frame;
    return 0;
}

static int order_places(struct tt_builder *b, const struct tt_order *o, uint32_t *rank)
{
    const size_t bytes = b->place.count * sizeof(struct sorted_place);
    struct sorted_place *s = tt_memory_get(&b->memory, bytes);
    int error = -TT_ERR_MEMORY;

    renumber_places(b, o);
    if (s) {
        for (uint32_t i = 0; i < b->place.count; i++)
            s[i] = (struct sorted_place){place_at(b, i), i};
        qsort(s, b->place.count, sizeof *s, by_place);
        error = put_places(b, s, rank);
    }
    tt_memory_put(&b->memory, s);
    return error;
}

struct sorted_trail {
    struct tt_trail_row row;
    uint32_t depth, id;
};

static int by_depth(const void *a, const void *b)
{
    const struct sorted_trail *x = a, *y = b;

    return TT_ORDER(x->depth, y->depth) ?: TT_ORDER(x->id, y->id);
}

static int by_trail(const void *a, const void *b)
{
    const struct tt_trail_row *x = &((const struct sorted_trail *)a)->row,
                              *y = &((const struct sorted_trail *)b)->row;

    return TT_ORDER(x->parent, y->parent) ?: TT_ORDER(x->context, y->context)
           ?: TT_ORDER(x->place, y->place);
}

/* Level by level, so that the numbers of parents are known when their children are
 * sorted. */
static void rank_trails(struct sorted_trail *s, uint32_t count, uint32_t *rank)
{
    uint32_t end;

    for (uint32_t first = 0; first < count; first = end) {
        for (end = first; end < count && s[end].depth == s[first].depth; end++)
            if (s[end].row.parent != TT_NONE)
                s[end].row.parent = rank[s[end].row.parent];
        qsort(s + first, end - first, sizeof *s, by_trail);
        for (uint32_t i = first; i < end; i++)
            rank[s[i].id] = i;
    }
}

static int order_trails(struct tt_builder *b, const struct tt_order *o,
                        const uint32_t *place, uint32_t *rank)
{
    const uint32_t count = (uint32_t)b->trail.count;
    struct tt_trail_row *row = b->trail.item;
    struct sorted_trail *s = tt_memory_get(&b->memory, count * sizeof *s);

    if (!s)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        TT_ASSERT(row[i].parent == TT_NONE || row[i].parent < i);
        s[i] = (struct sorted_trail){
            .row = {.parent = row[i].parent,
                    .context = o->context[row[i].context],
                    .place = row[i].place == TT_NONE ? TT_NONE : place[row[i].place]},
            .depth = row[i].parent == TT_NONE ? 0 : s[row[i].parent].depth + 1,
            .id = i};
    }
    qsort(s, count, sizeof *s, by_depth);
    rank_trails(s, count, rank);
    for (uint32_t i = 0; i < count; i++)
        row[i] = s[i].row;
    tt_memory_put(&b->memory, s);
    return 0;
}

static int order_trail_entries(struct tt_builder *b, const struct tt_order *o,
                               const uint32_t *rank)
{
    struct tt_entry *e = b->trail_entry.item;

    for (size_t i = 0; i < b->trail_entry.count; i++) {
        e[i].strand = e[i].strand == TT_NONE ? TT_NONE : o->strand[e[i].strand];
        e[i].metric = o->metric[e[i].metric];
        e[i].row = rank[e[i].row];
    }
    return tt_entries_sum(&b->trail_entry, 0);
}

int tt_trails_order(struct tt_builder *b, const struct tt_order *o)
{
    const size_t places = b->place.count * sizeof(uint32_t),
                 trails = b->trail.count * sizeof(uint32_t);
    uint32_t *place = tt_memory_get(&b->memory, places),
             *rank = tt_memory_get(&b->memory, trails);
    int error = place && rank ? 0 : -TT_ERR_MEMORY;

    if (!error && b->place.count)
        error = order_places(b, o, place);
    if (!error && b->trail.count)
        error = order_trails(b, o, place, rank);
    error = error ?: order_trail_entries(b, o, rank);
    tt_memory_put(&b->memory, place);
    tt_memory_put(&b->memory, rank);
    return error;
}
