/* SPDX-License-Identifier: MIT */
/* read-objects.c - from a recording's rows of space to those of a profile.
 *
 * A row of a recording counts objects that came into a generation or left it, and how
 * many of them did so since it was last collected.  One strand may allocate objects that
 * another frees, or collects: only the sum over strands shows what is alive.  Objects
 * that came, are not alive, and were not reported to leave, died in a collection: they
 * are counted as freed. */
#include "read-objects.h"
#include "figures.h"
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

enum { NOWHERE = 0xff };

struct figures { /* differences, modulo 2^64: of one strand they may be negative */
    uint64_t number, bytes, overhead;
};

struct state {
    uint32_t context, type, generation; /* type: the recording's */
    struct figures alive, dead;         /* dead: those of whom nothing was said */
};

static void add_figures(struct figures *to, const struct tt_objects *o, int sign)
{
    to->number += sign < 0 ? -o->number : o->number;
    to->bytes += sign < 0 ? -o->bytes : o->bytes;
    to->overhead += sign < 0 ? -o->overhead : o->overhead;
}

void tt_objects_init(struct tt_objects_taken *x, struct tt_builder *b,
                     const struct tt_picture *p)
{
    *x = (struct tt_objects_taken){
        .b = b, .p = p, .allocated = TT_NONE, .objects = TT_NONE};
    x->taken = p->space ? calloc(p->cells, sizeof *x->taken) : NULL;
    x->failed = p->space && !x->taken;
    tt_vector_init(&x->state, NULL, sizeof(struct state));
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* Adds the objects that came into a generation (sign 1) or left it (-1). */
static void add_state(struct tt_objects_taken *x, uint32_t type, uint32_t generation,
                      int sign, const struct tt_objects *all,
                      const struct tt_objects *alive)
{
    struct state *s = tt_vector_add(&x->state, 1);

    if (!s) {
        x->failed = 1;
        return;
    }
    *s = (struct state){.context = x->context, .type = type, .generation = generation};
    add_figures(&s->dead, all, sign);
    add_figures(&s->dead, alive, -sign);
    add_figures(&s->alive, alive, sign);
}

static void add_metrics(struct tt_objects_taken *x, const struct tt_objects *o, int below)
{
    enum tt_role role = below ? TT_ROLE_ELSEWHERE : TT_ROLE_SELF;

    if (x->allocated == TT_NONE) {
        x->allocated = tt_builder_metric(x->b, "allocated", "bytes", TT_METRIC_SPACE);
        x->objects = tt_builder_metric(x->b, "objects", "", TT_METRIC_SPACE);
    }
    tt_builder_add(x->b, role, x->context, x->allocated, o->bytes);
    tt_builder_add(x->b, role, x->context, x->objects, o->number);
}

static uint32_t generation_of(uint32_t n) { return n & 0x80 ? 0 : n; } /* an age: 0 */

static void take_row(void *arg, const struct tt_space *row,
                     const struct tt_objects *alive)
{
    struct tt_objects_taken *x = arg;
    uint32_t type = row->key & TT_KEY_BLOCK, from = row->key >> TT_SPACE_FROM_SHIFT,
             to = row->flags;
    const struct tt_objects none = {0, 0, 0};

    tt_builder_space(x->b, x->context, tt_picture_type(x->p, type),
                     from == NOWHERE ? TT_NONE : from, to == NOWHERE ? TT_NONE : to,
                     row->all.number, row->all.bytes, row->all.overhead);
    if (from == NOWHERE)
        add_metrics(x, &row->all, row->kind == TT_CELL_SPACE_BELOW);
    if (to == NOWHERE) {
        add_state(x, type, generation_of(from), -1, &row->all, alive);
        return;
    }
    add_state(x, type, to, 1, &row->all, alive);
    if (from !=
        NOWHERE) /* a collection took it out of there: none of it is alive there */
        add_state(x, type, from, -1, &row->all, &none);
}

void tt_objects_take(struct tt_objects_taken *x, uint32_t context, uint32_t cell)
{
    x->context = context;
    if (x->taken)
        x->taken[cell] = context + 1;
    tt_picture_space(x->p, cell, take_row, x);
}

/* Objects for which no context had room are charged to the root. */
static void take_type(struct tt_objects_taken *x, const struct tt_picture_block *b)
{
    const struct tt_type_record *r = b->type;
    struct tt_objects made = {r->number, r->bytes, r->overhead};

    x->context = TT_BUILDER_ROOT;
    if (made.number) {
        tt_builder_space(x->b, TT_BUILDER_ROOT, b->info.name, TT_NONE, 0, made.number,
                         made.bytes, made.overhead);
        add_metrics(x, &made, 0);
        add_state(x, b->id, 0, 1, &made, &made);
    }
    if (r->freed.number) {
        tt_builder_space(x->b, TT_BUILDER_ROOT, b->info.name, 0, TT_NONE, r->freed.number,
                         r->freed.bytes, r->freed.overhead);
        add_state(x, b->id, 0, -1, &r->freed, &r->freed);
    }
}

/* ── Maxima ───────────────────────────────────────────────────────────────────────── */

static void take_holding(void *arg, const struct tt_holding *h, uint32_t cell, int below)
{
    struct tt_objects_taken *x = arg;
    uint32_t context = x->taken && cell ? x->taken[cell] : 0;
    enum tt_role role = below ? TT_ROLE_ELSEWHERE : TT_ROLE_SELF;

    context = context ? context - 1 : TT_BUILDER_ROOT;
    if (!h->collected) { /* otherwise the rows have the live objects */
        if (h->type < x->p->types && x->held)
            x->held[h->type] = 1;
        tt_builder_add(x->b, role, context, x->live, h->live);
        tt_builder_add(x->b, role, context, x->live_objects, h->live_number);
    }
    for (uint32_t i = 0; i < x->maxima.count; i++)
        tt_builder_add(x->b, role, context, x->maxima.one[i].metric,
                       tt_picture_held(x->p, h, x->maxima.one[i].index));
}

static void take_holdings(struct tt_objects_taken *x)
{
    x->live = tt_builder_metric(x->b, "live", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK);
    x->live_objects = tt_builder_metric(x->b, "live objects", "",
                                        TT_METRIC_SPACE | TT_METRIC_PEAK);
    x->held = calloc(x->p->types + 1, 1);
    x->failed |= !x->held;
    if (tt_picture_maxima(x->p)) {
        tt_maxima_take(x->b, x->p, &x->maxima);
        tt_picture_holdings(x->p, take_holding, x);
    }
}

/* ── Sums ─────────────────────────────────────────────────────────────────────────── */

static int compare_states(const void *a, const void *b)
{
    const struct state *x = a, *y = b;

    return TT_ORDER(x->type, y->type) ?: TT_ORDER(x->generation, y->generation)
           ?: TT_ORDER(x->context, y->context);
}

static void sum_figures(struct figures *to, const struct figures *from)
{
    to->number += from->number;
    to->bytes += from->bytes;
    to->overhead += from->overhead;
}

static size_t sum_states(struct state *s, size_t count)
{
    size_t kept = 0;

    tt_sort(s, count, sizeof *s, compare_states);
    for (size_t i = 0; i < count; i++) {
        if (!kept || compare_states(&s[kept - 1], &s[i]) != 0) {
            s[kept++] = s[i];
            continue;
        }
        sum_figures(&s[kept - 1].alive, &s[i].alive);
        sum_figures(&s[kept - 1].dead, &s[i].dead);
    }
    return kept;
}

static uint64_t at_least_0(uint64_t n) { return (int64_t)n > 0 ? n : 0; }

static uint64_t *alive_of(struct state *s, int bytes)
{
    return bytes ? &s->alive.bytes : &s->alive.number;
}

/* The states of one type and generation.  If more objects left a context than came there, the
 * contexts that have some left lose as many, each its share: the sum is right.  Returns how
 * many. */
static uint64_t share_deficit(struct state *s, size_t count, int bytes)
{
    uint64_t deficit = 0, alive = 0, before = 0, taken = 0, share;

    for (size_t i = 0; i < count; i++) {
        alive += at_least_0(*alive_of(&s[i], bytes));
        deficit += at_least_0(-*alive_of(&s[i], bytes));
    }
    if (deficit > alive)
        deficit = alive;
    for (size_t i = 0; i < count && deficit; i++) {
        before += at_least_0(*alive_of(&s[i], bytes));
        share = (uint64_t)((unsigned __int128)before * deficit / alive) - taken;
        taken += share;
        *alive_of(&s[i], bytes) = at_least_0(*alive_of(&s[i], bytes)) - share;
    }
    TT_ASSERT(taken == deficit);
    return deficit;
}

static int is_of_group(const struct state *a, const struct state *b)
{
    return a->type == b->type && a->generation == b->generation;
}

/* Returns the number of objects that were freed and are missing where they were made. */
static uint64_t share_deficits(const struct tt_objects_taken *x, struct state *s,
                               size_t count)
{
    uint64_t missing = 0, of_group;

    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_of_group(&s[i], &s[end]);)
            end++;
        of_group = share_deficit(&s[i], end - i, 0);
        (void)share_deficit(&s[i], end - i, 1);
        if (!x->held || s[i].type >= x->p->types || !x->held[s[i].type])
            missing += of_group;
    }
    return missing;
}

static void add_dead(struct tt_objects_taken *x, const struct state *s)
{
    if (at_least_0(s->dead.number))
        tt_builder_space(x->b, s->context, tt_picture_type(x->p, s->type), s->generation,
                         TT_NONE, s->dead.number, at_least_0(s->dead.bytes),
                         at_least_0(s->dead.overhead));
}

int tt_objects_finish(struct tt_objects_taken *x)
{
    struct state *s;
    size_t count;
    uint64_t missing;

    for (uint32_t i = 0; i < x->p->blocks; i++)
        if (x->p->block[i].type)
            take_type(x, &x->p->block[i]);
    s = x->state.item;
    count = sum_states(s, x->state.count);
    if (count)
        take_holdings(x);
    missing = share_deficits(x, s, count);
    for (size_t i = 0; i < count; i++) {
        add_dead(x, &s[i]);
        if (x->held && s[i].type < x->p->types && x->held[s[i].type])
            continue;
        tt_builder_add(x->b, TT_ROLE_SELF, s[i].context, x->live,
                       at_least_0(s[i].alive.bytes));
        tt_builder_add(x->b, TT_ROLE_SELF, s[i].context, x->live_objects,
                       at_least_0(s[i].alive.number));
    }
    if (x->p->space)
        tt_builder_fact(x->b, "collections", TT_FACT_SUM, x->p->space->collected, "");
    tt_builder_fact(x->b, "lost.objects", TT_FACT_SUM, x->p->header->lost_objects, "");
    tt_builder_fact(x->b, "lost.places", TT_FACT_SUM, missing, "");
    free(x->held);
    free(x->taken);
    tt_vector_fini(&x->state);
    return x->failed ? -TT_ERR_MEMORY : 0;
}
