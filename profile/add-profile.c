/* SPDX-License-Identifier: MIT */
/* add-profile.c - adds a profile to a builder: how profiles are merged, and filtered.
 *
 * Every id of the profile gets one of the builder's; then all figures follow, strand by
 * strand. */
#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "building.h"
#include "naming.h"
#include "samples.h"
#include "statistics.h"
#include "summary.h"
#include "trails.h"

struct gathering {
    struct tt_builder *b;
    void (*rename)(struct tt_block_info *, const void *arg); /* or NULL */
    const void *rename_arg;
    const struct tt_profile *p;
    const struct tt_parts *parts; /* NULL: all */
    const unsigned char *chosen;  /* of each strand, or NULL: all */
    const unsigned char *muted;   /* of each context, or NULL */
    const uint32_t *context;      /* of each context; TT_NONE: left out */
    uint32_t *block, *metric, *strand;
    uint32_t *arc; /* with TT_ARC_ROW, or the context that its calls belong to */
    uint32_t *own; /* what `context` points to, if ours */
    uint64_t *unseen;
    uint32_t calls; /* the builder's metric; TT_NONE: there is none */
    int filtered;
    const struct tt_naming *naming; /* NULL: a block is a block */
    struct tt_chains chains;
    uint32_t *entry; /* of each context: the outermost of its chain; NULL: no chains */
    uint32_t *trail; /* of each context: its stack as addresses; NULL: no chains */
};

static uint32_t *ids_new(struct tt_builder *b, size_t count)
{
    uint32_t *id = tt_memory_get(&b->memory, count * sizeof *id);

    if (!id)
        b->failed = 1;
    return id;
}

/* ── Identities ───────────────────────────────────────────────────────────────────── */

static uint32_t block_renamed(struct gathering *g, uint32_t block)
{
    struct tt_block_info info = tt_block_info_of(g->p, block);

    if (block && g->rename)
        g->rename(&info, g->rename_arg);
    return block ? tt_builder_block(g->b, &info) : TT_BUILDER_ROOT;
}

uint32_t tt_builder_block_of(struct tt_builder *b, const struct tt_profile *p,
                             uint32_t block)
{
    return block_renamed(&(struct gathering){.b = b, .p = p}, block);
}

static void gather_blocks(struct gathering *g)
{
    const uint32_t *link;

    g->block = ids_new(g->b, g->p->blocks);
    if (g->naming && tt_chains_make(g->b, g->p, g->naming, &g->chains) != 0)
        g->b->failed = 1;
    link = g->chains.link.item;
    for (uint32_t i = 0; !g->b->failed && i < g->p->blocks; i++)
        g->block[i] = g->naming ? link[g->chains.first[i + 1] - 1] : block_renamed(g, i);
}

static void gather_metrics(struct gathering *g)
{
    g->metric = ids_new(g->b, g->p->metrics);
    g->unseen = tt_memory_get(&g->b->memory, g->p->metrics * sizeof *g->unseen);
    g->b->failed |= !g->unseen;
    g->calls = TT_NONE;
    for (uint32_t i = 0; g->metric && i < g->p->metrics; i++) {
        const struct tt_metric_columns *m = &g->p->metric[i];
        g->metric[i] = tt_builder_metric(g->b, m->name, m->unit, m->flags);
        if ((m->flags & TT_METRIC_CALLS) && g->calls == TT_NONE)
            g->calls = g->metric[i];
    }
}

uint32_t tt_builder_strand_of(struct tt_builder *b, const struct tt_profile *p,
                              uint32_t strand)
{
    const struct tt_strand_row *r = &p->strand[strand];
    struct tt_strand_info info = {.host = p->strings + r->host,
                                  .process = p->strings + r->process,
                                  .labels = p->strings + r->labels,
                                  .node = p->strings + r->node,
                                  .name = p->strings + r->name,
                                  .pid = r->pid,
                                  .thread = r->thread,
                                  .rank = r->rank,
                                  .members = r->members,
                                  .least = r->least,
                                  .most = r->most,
                                  .least_thread = r->least_thread,
                                  .most_thread = r->most_thread,
                                  .square = r->square};

    return tt_builder_strand(b, &info);
}

static void gather_strands(struct gathering *g)
{
    g->strand = ids_new(g->b, g->p->strands);
    for (uint32_t i = 0; g->strand && i < g->p->strands; i++)
        g->strand[i] = !g->chosen || g->chosen[i] ? tt_builder_strand_of(g->b, g->p, i)
                                                  : TT_NONE;
}

/* Returns the number of blocks that replace one, and the blocks, outermost first. */
static uint32_t chain_of(const struct gathering *g, uint32_t block, const uint32_t **link)
{
    if (!g->naming) {
        *link = &g->block[block];
        return 1;
    }
    *link = (const uint32_t *)g->chains.link.item + g->chains.first[block];
    return g->chains.first[block + 1] - g->chains.first[block];
}

static void gather_context(struct gathering *g, uint32_t parent, uint32_t context)
{
    const uint32_t *link;
    uint32_t length = chain_of(g, tt_block_of(g->p, context), &link);

    for (uint32_t i = 0; i < length; i++) {
        parent = tt_builder_context(g->b, parent, link[i]);
        if (i == 0 && g->entry)
            g->entry[context] = parent;
    }
    g->own[context] = parent;
}

/* Native code has its address.  Blocks that were named before have their addresses in
 * trails. */
static uint32_t place_of_block(const struct gathering *g, uint32_t block)
{
    if (!g->trail || (g->p->block[block].kind != TT_KIND_NATIVE && g->p->trails))
        return TT_NONE;
    return g->chains.place[block];
}

/* Below an address, a block without an address is also in the path of places. */
static void gather_trail(struct gathering *g, uint32_t parent, uint32_t context)
{
    const uint32_t up = g->trail[parent], block = tt_block_of(g->p, context),
                   place = g->p->block[block].kind == TT_KIND_NATIVE
                               ? place_of_block(g, block)
                               : TT_NONE;

    g->trail[context] = TT_NONE;
    if (place != TT_NONE || up != TT_NONE)
        g->trail[context] = tt_builder_trail(g->b, up, g->own[context], place);
}

/* Keeps contexts under the same paths. */
static void gather_contexts(struct gathering *g)
{
    struct tt_walk w;

    if (g->context)
        return;
    g->own = ids_new(g->b, g->p->contexts);
    if (g->naming) {
        g->entry = ids_new(g->b, g->p->contexts);
        g->trail = ids_new(g->b, g->p->contexts);
    }
    if (g->trail)
        g->trail[0] = TT_NONE;
    if (g->b->failed || tt_walk_init(&w, g->p, 0) != 0) {
        g->b->failed = 1;
        return;
    }
    while (!g->b->failed && tt_walk_next(&w))
        if (w.depth) { /* or both ends are the builder's root */
            gather_context(g, g->own[w.path[w.depth - 1]], w.context);
            if (g->trail)
                gather_trail(g, w.path[w.depth - 1], w.context);
        }
    tt_walk_fini(&w);
    g->context = g->own;
}

/* Returns the context that gets the calls of one. */
static uint32_t entry_of(const struct gathering *g, uint32_t context)
{
    return g->entry ? g->entry[context] : g->context[context];
}

/* The calls of an arc are part of the calls of its target.  It is dropped if the target
 * is left out or spliced out; if the target has become part of another context, so has
 * the arc. */
static uint32_t gather_arc(struct gathering *g, const struct tt_arc_row *a)
{
    const struct tt_grown *grown = g->b->context.item;
    uint32_t from = g->context[a->from],
             to = tt_arc_is_dropped(g->p, a) ? g->context[a->to] : entry_of(g, a->to);
    const uint32_t *link;

    if (from == TT_NONE || to == TT_NONE || (g->muted && g->muted[a->to]))
        return TT_NONE;
    if (g->filtered && grown[to].block != g->block[a->block])
        return to;
    (void)chain_of(g, a->block, &link);
    return tt_builder_arc(g->b, from, to, link[0]) | TT_ARC_ROW;
}

static void gather_arcs(struct gathering *g)
{
    const uint32_t *drop = g->parts ? g->parts->drop : NULL;

    g->arc = ids_new(g->b, g->p->arcs);
    for (uint32_t i = 0; g->arc && i < g->p->arcs; i++) {
        const struct tt_arc_row *a = &g->p->arc[i];
        g->arc[i] = drop && tt_arc_is_dropped(g->p, a) ? drop[i] : gather_arc(g, a);
    }
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static int is_of_calls(const struct gathering *g, uint32_t metric)
{
    return (g->p->metric[metric].flags & TT_METRIC_CALLS) != 0;
}

/* The calls of a spliced context are dropped; calls that were evicted below it were those
 * of other blocks. */
static int is_left_out(const struct gathering *g, enum tt_role role, uint32_t context,
                       uint32_t metric)
{
    return g->context[context] == TT_NONE ||
           (g->muted && g->muted[context] && role != TT_ROLE_ELSEWHERE &&
            is_of_calls(g, metric));
}

/* Returns the context that gets a figure of another one. */
static uint32_t bearer_of(const struct gathering *g, enum tt_role role, uint32_t context,
                          uint32_t metric)
{
    if (role != TT_ROLE_ELSEWHERE && is_of_calls(g, metric))
        return entry_of(g, context);
    return g->context[context];
}

/* For a dropped push that has become part of a context: the context that gets its calls;
 * otherwise TT_NONE. */
static uint32_t arrived_at(const struct gathering *g, uint32_t arc)
{
    const struct tt_grown_arc *grown = g->b->arc.item;
    const struct tt_grown *context = g->b->context.item;
    uint32_t id = g->arc[arc];

    if (!tt_arc_is_dropped(g->p, &g->p->arc[arc]))
        return TT_NONE;
    if (!(id & TT_ARC_ROW))
        return id;
    grown += id & ~(uint32_t)TT_ARC_ROW;
    return context[grown->to].block == grown->block ? grown->to : TT_NONE;
}

static void gather_calls(struct gathering *g, uint32_t arc, uint64_t amount)
{
    if (g->arc[arc] == TT_NONE)
        return;
    if (g->arc[arc] & TT_ARC_ROW)
        tt_builder_add(g->b, TT_ROLE_ARC, g->arc[arc] & ~(uint32_t)TT_ARC_ROW,
                       g->metric[0], amount);
    tt_builder_add(g->b, TT_ROLE_SELF, arrived_at(g, arc), g->calls, amount);
}

/* Adds the self of a block's evicted contexts. */
static void gather_evicted(struct gathering *g, uint32_t block, uint32_t metric,
                           uint64_t amount)
{
    uint32_t place = place_of_block(g, block);

    if (amount && place != TT_NONE && g->p->block[block].kind == TT_KIND_NATIVE)
        tt_builder_trail_add(g->b,
                             tt_builder_trail(g->b, TT_NONE, TT_BUILDER_ROOT, place),
                             g->metric[metric], amount);
}

/* The calls of a function that reports them are charged to its first instruction. */
static uint32_t trail_of(struct gathering *g, uint32_t context, uint32_t metric)
{
    const uint32_t block = tt_block_of(g->p, context), place = place_of_block(g, block);
    const struct tt_trail_row *trail = g->b->trail.item;

    if (place == TT_NONE || g->p->block[block].kind == TT_KIND_NATIVE ||
        !is_of_calls(g, metric))
        return g->trail[context];
    return tt_builder_trail(
        g->b, g->trail[context] == TT_NONE ? TT_NONE : trail[g->trail[context]].parent,
        g->own[context], place);
}

static void gather_block(struct gathering *g, enum tt_role role, uint32_t block,
                         uint32_t metric, uint64_t amount)
{
    const uint32_t *link;
    uint32_t length = chain_of(g, block, &link);

    if (g->filtered) {
        g->unseen[metric] += role == TT_ROLE_HIDDEN && (int64_t)amount > 0 ? amount : 0;
        return;
    }
    if (role == TT_ROLE_HIDDEN) {
        for (uint32_t i = 0; i < length; i++)
            tt_builder_add(g->b, role, link[i], g->metric[metric], amount);
        return;
    }
    gather_evicted(g, block, metric, amount);
    block = is_of_calls(g, metric) ? link[0] : link[length - 1];
    tt_builder_add(g->b, role, block, g->metric[metric], amount);
}

static void gather_entry(struct gathering *g, uint64_t row, uint32_t metric,
                         uint64_t amount)
{
    const struct tt_profile *p = g->p;
    enum tt_role role = TT_ROLE_SELF;

    if (row >= p->contexts && row - p->contexts < p->arcs) {
        gather_calls(g, (uint32_t)(row - p->contexts), amount);
        return;
    }
    if (row >= p->contexts) {
        row -= (uint64_t)p->contexts + p->arcs;
        if (row < 2 * (uint64_t)p->blocks) {
            role = row < p->blocks ? TT_ROLE_BESIDE : TT_ROLE_HIDDEN;
            gather_block(g, role, (uint32_t)(row % p->blocks), metric, amount);
            return;
        }
        row -= 2 * (uint64_t)p->blocks;
        role = row < p->contexts ? TT_ROLE_ELSEWHERE : TT_ROLE_OWN;
        row %= p->contexts;
    }
    if (is_left_out(g, role, (uint32_t)row, metric))
        return;
    tt_builder_add(g->b, role, bearer_of(g, role, (uint32_t)row, metric),
                   g->metric[metric], amount);
    if (role == TT_ROLE_SELF && g->trail && amount)
        tt_builder_trail_add(g->b, trail_of(g, (uint32_t)row, metric), g->metric[metric],
                             amount);
}

static void gather_column(struct gathering *g, uint32_t metric)
{
    const struct tt_profile *p = g->p;
    const struct tt_metric_columns *m = &p->metric[metric];
    const uint64_t n = p->contexts, wide = n + p->arcs + 2 * (uint64_t)p->blocks;

    for (uint32_t c = 0; c < n; c++) {
        gather_entry(g, c, metric, tt_self_of(m, c));
        if (m->elsewhere)
            gather_entry(g, wide + c, metric, tt_elsewhere_of(m, c));
        if (m->low)
            gather_entry(g, wide + n + c, metric,
                         tt_self_of(m, c) - tt_self_low_of(m, c));
    }
}

/* Leaves columns where they are, until the image is written: lines of the log need three
 * times as much memory, and sorting. */
static void borrow_columns(struct gathering *g)
{
    const size_t bytes = g->p->metrics * sizeof *g->metric;
    uint32_t *metric = tt_memory_get(&g->b->memory, bytes);

    TT_ASSERT(!g->b->columns.p && !g->naming);
    g->b->failed |= !metric;
    if (metric && bytes)
        memcpy(metric, g->metric, bytes);
    g->b->columns = (struct tt_columns_of){g->p, g->context, g->muted, metric};
}

/* For a profile with one strand, or only with figures of all strands together. */
static void gather_columns(struct gathering *g)
{
    const struct tt_profile *p = g->p;
    const uint64_t n = p->contexts, blocks = n + p->arcs;
    const int stays = g->parts && g->parts->stays;

    if (stays)
        borrow_columns(g);
    for (uint32_t i = 0; i < p->metrics; i++) {
        const struct tt_metric_columns *m = &p->metric[i];
        if (!stays)
            gather_column(g, i);
        for (uint32_t j = 0; m->block && j < p->blocks; j++) {
            gather_entry(g, blocks + j, i, m->block[j].beside);
            gather_entry(g, blocks + p->blocks + j, i, m->block[j].hidden);
        }
    }
    for (uint32_t i = 0; p->metrics && i < p->arcs; i++)
        gather_entry(g, n + i, 0, p->arc[i].calls);
}

static void gather_spread(struct gathering *g, const struct tt_spread *from,
                          uint32_t metric, int of_self)
{
    struct tt_spread *to = from ? tt_spreads_of(g->b, g->metric[metric], of_self) : NULL;
    const struct tt_strand_order order = tt_builder_strand_order(g->b);

    if (from && !to)
        g->b->failed = 1;
    for (uint32_t c = 0; to && c < g->p->contexts; c++) {
        struct tt_spread s = from[c];
        if (g->context[c] == TT_NONE || !s.count)
            continue;
        s.min_strand = g->strand[s.min_strand];
        s.max_strand = g->strand[s.max_strand];
        tt_spread_add(&to[g->context[c]], &s, &order);
    }
}

/* If contexts are spliced or left out, the spread of the other totals is unknown. */
static void gather_spreads(struct gathering *g)
{
    g->b->summary = 1;
    for (uint32_t i = 0; !g->filtered && !g->naming && i < g->p->metrics; i++) {
        gather_spread(g, g->p->metric[i].spread, i, 0);
        gather_spread(g, g->p->metric[i].spread_self, i, 1);
    }
}

static void gather_figures(struct gathering *g)
{
    const struct tt_profile *p = g->p;

    if (!p->entries) {
        if (p->strands == 1)
            g->b->current = g->strand[0];
        g->b->of_many = tt_profile_is_summary(p);
        gather_columns(g);
        g->b->of_many = 0;
        if (tt_profile_is_summary(p))
            gather_spreads(g);
        return;
    }
    for (size_t i = 0; i < p->entries && !g->b->failed; i++) {
        if (g->chosen && !g->chosen[p->entry[i].strand])
            continue;
        g->b->current = g->strand[p->entry[i].strand];
        gather_entry(g, p->entry[i].row, p->entry[i].metric, p->entry[i].amount);
    }
}

static void gather_missed(struct gathering *g)
{
    const struct tt_profile *p = g->p;

    for (uint32_t i = 0; i < p->metrics; i++)
        for (uint32_t c = 0; p->metric[i].missed && c < p->contexts; c++)
            if (!is_left_out(g, TT_ROLE_SELF, c, i))
                tt_builder_missed(g->b, bearer_of(g, TT_ROLE_SELF, c, i), g->metric[i],
                                  p->metric[i].missed[c]);
}

/* ── Addresses ────────────────────────────────────────────────────────────────────── */

/* A trail of the root, without a context, is left out when filters are used. */
static int is_trail_left_out(const struct gathering *g, uint32_t context)
{
    return g->context[context] == TT_NONE || (!context && g->filtered);
}

/* Returns the place of an address that has a name now. */
static uint32_t place_with_name(const struct gathering *g, const struct tt_place_row *r)
{
    const uint32_t block = g->p->place_frame[r->first].block;

    return g->naming && r->frames == 1 && g->p->block[block].kind == TT_KIND_NATIVE
               ? g->chains.place[block]
               : TT_NONE;
}

static uint32_t gather_place(struct gathering *g, uint32_t place)
{
    const struct tt_place_row *r = &g->p->place[place];
    const struct tt_place_frame *from = g->p->place_frame + r->first;
    struct tt_place_frame *frame;
    uint32_t id = place_with_name(g, r);

    if (id != TT_NONE)
        return id;
    frame = tt_memory_get(&g->b->memory, r->frames * sizeof *frame);
    for (uint32_t i = 0; frame && i < r->frames; i++) {
        frame[i] = from[i];
        frame[i].block = g->block[from[i].block];
        frame[i].file = tt_builder_string(g->b, g->p->strings + from[i].file);
    }
    g->b->failed |= !frame;
    if (!g->b->failed)
        id = tt_builder_place(g->b, g->p->strings + r->module, g->p->strings + r->id,
                              r->address, frame, r->frames);
    tt_memory_put(&g->b->memory, frame);
    return id;
}

/* The address of a context that is left out is dropped; the addresses below it move
 * up. */
static void gather_trail_rows(struct gathering *g, uint32_t *trail, uint32_t *place)
{
    const struct tt_profile *p = g->p;

    memset(place, 0xff, p->places * sizeof *place);
    for (uint32_t i = 0; i < p->trails && !g->b->failed; i++) {
        const struct tt_trail_row *t = &p->trail[i];
        trail[i] = t->parent == TT_NONE ? TT_NONE : trail[t->parent];
        if (is_trail_left_out(g, t->context))
            continue;
        if (t->place != TT_NONE && place[t->place] == TT_NONE)
            place[t->place] = gather_place(g, t->place);
        trail[i] = tt_builder_trail(g->b, trail[i], g->context[t->context],
                                    t->place == TT_NONE ? TT_NONE : place[t->place]);
    }
}

static void gather_trail_entry(struct gathering *g, const struct tt_entry *e,
                               const uint32_t *trail)
{
    const uint32_t context = g->p->trail[e->row].context;

    if (is_trail_left_out(g, context) ||
        is_left_out(g, TT_ROLE_SELF, context, e->metric) ||
        (g->chosen && (e->strand == TT_NONE || !g->chosen[e->strand])))
        return;
    g->b->of_many = e->strand == TT_NONE;
    if (e->strand != TT_NONE)
        g->b->current = g->strand[e->strand];
    tt_builder_trail_add(g->b, trail[e->row], g->metric[e->metric], e->amount);
    g->b->of_many = 0;
}

static void gather_trails(struct gathering *g)
{
    const struct tt_profile *p = g->p;
    uint32_t *trail = p->trails ? ids_new(g->b, p->trails) : NULL,
             *place = p->trails ? ids_new(g->b, p->places) : NULL;

    if (trail && place)
        gather_trail_rows(g, trail, place);
    for (size_t i = 0; trail && place && i < p->trail_entries && !g->b->failed; i++)
        gather_trail_entry(g, &p->trail_entry[i], trail);
    tt_memory_put(&g->b->memory, trail);
    tt_memory_put(&g->b->memory, place);
}

/* ── Tables by edge ───────────────────────────────────────────────────────────────── */

/* The builder's id for an edge; *arc says which kind.  TT_NONE: left out. */
static uint32_t edge_of(const struct gathering *g, uint32_t row, int *arc)
{
    const uint32_t n = g->p->contexts;
    uint32_t id = row >= n                    ? g->arc[row - n]
                  : g->muted && g->muted[row] ? TT_NONE
                                              : entry_of(g, row);

    *arc = id != TT_NONE && (id & TT_ARC_ROW);
    return *arc ? id & ~(uint32_t)TT_ARC_ROW : id;
}

static uint32_t strand_of(const struct gathering *g, uint32_t strand)
{
    return strand == TT_NONE ? TT_NONE : g->strand[strand];
}

/* Takes the figures by strand of a row if there are any, or else the sum of all. */
static void gather_times(struct gathering *g)
{
    const struct tt_profile *p = g->p;

    for (size_t i = 0; i < p->many_times; i++) {
        const struct tt_times_row *t = &p->times[i];
        int by_strand = i + 1 < p->many_times && t[1].row == t->row, arc;
        uint32_t id = edge_of(g, t->row, &arc);
        struct tt_times_row *added;
        if (id == TT_NONE || (t->strand == TT_NONE && by_strand) ||
            (g->chosen && t->strand != TT_NONE && !g->chosen[t->strand]))
            continue;
        added = tt_builder_times(g->b, arc, id, t);
        if (!added)
            continue;
        added->strand = strand_of(g, p->strands == 1 ? 0 : t->strand);
        added->min_strand = strand_of(g, t->min_strand);
        added->max_strand = strand_of(g, t->max_strand);
    }
}

/* These figures are not kept by strand. */
static void gather_bins(struct gathering *g)
{
    for (size_t i = 0; !g->chosen && i < g->p->bins; i++) {
        const struct tt_bin_row *r = &g->p->bin[i];
        int arc;
        uint32_t id = edge_of(g, r->row, &arc);
        tt_builder_bin(g->b, arc, id, r->bin, r->count);
    }
}

static void gather_named_slow(struct gathering *g, const struct tt_activation_row *a,
                              int arc, uint32_t id)
{
    struct tt_vector named;

    tt_vector_init(&named, &g->b->memory, sizeof(struct tt_slow_figure));
    if (tt_chains_slow(&g->chains, g->p->slow + a->first, a->figures, &named) != 0)
        g->b->failed = 1;
    else
        tt_builder_slow(g->b, arc, id, a->start, a->duration, named.item, named.count,
                        a->dropped);
    tt_vector_fini(&named);
}

static void gather_slow(struct gathering *g, const struct tt_activation_row *a, int arc,
                        uint32_t id)
{
    struct tt_slow_figure *f;

    if (g->naming) {
        gather_named_slow(g, a, arc, id);
        return;
    }
    tt_builder_slow(g->b, arc, id, a->start, a->duration, g->p->slow + a->first,
                    a->figures, a->dropped);
    f = g->b->slow.item;
    for (size_t i = g->b->slow.count - a->figures; !g->b->failed && i < g->b->slow.count;
         i++)
        f[i].block = g->block[f[i].block];
}

static void gather_activations(struct gathering *g)
{
    for (size_t i = 0; i < g->p->activations; i++) {
        const struct tt_activation_row *a = &g->p->activation[i];
        int arc;
        uint32_t id = edge_of(g, a->row, &arc);
        if (id == TT_NONE || (g->chosen && a->strand != TT_NONE && !g->chosen[a->strand]))
            continue;
        g->b->current = strand_of(g, a->strand);
        if (a->slow)
            gather_slow(g, a, arc, id);
        else
            tt_builder_activation(g->b, arc, id, a->start, a->duration);
    }
}

/* ── Beside the tree ──────────────────────────────────────────────────────────────── */

/* The points of a series by block are labelled by name: if the block is renamed, they are
 * too. */
struct label {
    uint32_t before, after; /* strings: the profile's, the builder's */
};

static int by_before(const void *a, const void *b)
{
    const struct label *x = a, *y = b;

    return (x->before > y->before) - (x->before < y->before);
}

static struct label *labels_new(struct gathering *g)
{
    const struct tt_block_row *named = g->b->block.item;
    struct label *l = tt_memory_get(&g->b->memory, g->p->blocks * sizeof *l);

    for (uint32_t i = 0; l && i < g->p->blocks; i++)
        l[i] = (struct label){g->p->block[i].name, g->block[i] != TT_NONE && i
                                                       ? named[g->block[i]].name
                                                       : TT_NONE};
    if (l)
        qsort(l, g->p->blocks, sizeof *l, by_before);
    else
        g->b->failed = 1;
    return l;
}

static const char *label_after(const struct gathering *g, const struct label *labels,
                               uint32_t before)
{
    const struct label key = {before, 0}, *l = labels
                                                   ? bsearch(&key, labels, g->p->blocks,
                                                             sizeof key, by_before)
                                                   : NULL;

    if (!l || l->after == TT_NONE)
        return g->p->strings + before;
    return (const char *)g->b->bytes.item + ((size_t *)g->b->string.item)[l->after];
}

static void gather_points(struct gathering *g)
{
    const struct tt_profile *p = g->p;
    struct label *labels = p->points && (g->naming || g->rename) && !g->b->failed
                               ? labels_new(g)
                               : NULL;

    for (size_t i = 0; i < p->points && !g->b->failed; i++) {
        const struct tt_point *x = &p->point[i];
        const struct tt_series_row *s = &p->series[x->series];
        const int by_block = strcmp(p->strings + s->label, "block") == 0;
        uint32_t id = tt_builder_series(g->b, p->strings + s->name, p->strings + s->unit,
                                        p->strings + s->label, s->interval);
        tt_builder_point(g->b, id, label_after(g, by_block ? labels : NULL, x->label),
                         x->time, x->amount);
    }
    tt_memory_put(&g->b->memory, labels);
}

static void gather_space(struct gathering *g)
{
    const struct tt_profile *p = g->p;

    if (g->chosen) /* they are not by strand */
        return;
    for (size_t i = 0; i < p->spaces; i++) {
        const struct tt_space_row *r = &p->space[i];
        if (g->context[r->context] != TT_NONE)
            tt_builder_space(g->b, g->context[r->context], p->strings + r->type, r->from,
                             r->to, r->number, r->bytes, r->overhead);
    }
    gather_points(g);
}

/* "unresolved" is counted again after naming; a part of a profile does not have all of
 * the CPU time. */
static int is_outdated(const struct gathering *g, const char *fact)
{
    return (g->naming && strcmp(fact, "unresolved") == 0) ||
           (g->parts && g->parts->less && strcmp(fact, "cpu") == 0);
}

static int is_lasted(const struct tt_profile *p, const struct tt_fact *f)
{
    return strcmp(tt_profile_string(p, f->name), "lasted") == 0;
}

/* Intervals of a chain follow each other: together they last as long as all of them.  Where they
 * have been added already, what another run lasted is beside their sum. */
static enum tt_fact_rule rule_of(const struct tt_profile *p, const struct tt_fact *f)
{
    int is_sum = is_lasted(p, f) && tt_fact_number(p, "until");

    for (uint32_t i = 0; is_sum && i < p->facts; i++)
        is_sum = p->fact[i].rule != TT_FACT_SUM || !is_lasted(p, &p->fact[i]);
    return is_sum ? TT_FACT_SUM : (enum tt_fact_rule)f->rule;
}

static void gather_facts(struct gathering *g)
{
    const struct tt_profile *p = g->p;

    if (g->parts && g->parts->facts_are_there)
        return;
    for (uint32_t i = 0; i < p->facts; i++) {
        if (is_outdated(g, p->strings + p->fact[i].name))
            continue;
        tt_builder_fact(g->b, p->strings + p->fact[i].name, rule_of(p, &p->fact[i]),
                        p->fact[i].number, p->strings + p->fact[i].text);
    }
    for (uint32_t i = 0; i < p->metrics; i++)
        if (g->unseen[i])
            tt_builder_fact(g->b, "hidden.unseen", TT_FACT_EACH, g->unseen[i],
                            p->metric[i].name);
}

static void gather_samples(struct gathering *g)
{
    const uint32_t of = tt_samples_metric(g->p);

    if (of != TT_NONE)
        tt_samples_gather(g->b, g->p, g->context, g->strand, g->metric[of], NULL);
}

static int gather(struct gathering *way)
{
    struct gathering g = *way;
    struct tt_builder *b = g.b;

    if (!b->failed)
        gather_blocks(&g);
    if (!b->failed)
        gather_metrics(&g);
    if (!b->failed)
        gather_strands(&g);
    if (!b->failed)
        gather_contexts(&g);
    if (!b->failed)
        gather_arcs(&g);
    if (!b->failed) {
        gather_figures(&g);
        gather_missed(&g);
        gather_trails(&g);
        gather_times(&g);
        gather_bins(&g);
        gather_activations(&g);
        gather_space(&g);
        gather_samples(&g);
        gather_facts(&g);
    }
    tt_memory_put(&b->memory, g.block);
    tt_memory_put(&b->memory, g.metric);
    tt_memory_put(&b->memory, g.strand);
    tt_memory_put(&b->memory, g.arc);
    tt_memory_put(&b->memory, g.own);
    tt_memory_put(&b->memory, g.entry);
    tt_memory_put(&b->memory, g.trail);
    if (g.naming)
        tt_chains_free(b, &g.chains);
    tt_memory_put(&b->memory, g.unseen);
    return b->failed ? -TT_ERR_MEMORY : 0;
}

int tt_builder_profile(struct tt_builder *b, const struct tt_profile *p)
{
    return gather(&(struct gathering){.b = b, .p = p});
}

int tt_builder_renamed(struct tt_builder *b, const struct tt_profile *p,
                       void (*rename)(struct tt_block_info *, const void *arg),
                       const void *arg)
{
    return gather(
        &(struct gathering){.b = b, .p = p, .rename = rename, .rename_arg = arg});
}

int tt_builder_named(struct tt_builder *b, const struct tt_profile *p,
                     const struct tt_naming *naming)
{
    return gather(&(struct gathering){.b = b, .p = p, .naming = naming});
}

int tt_builder_filtered(struct tt_builder *b, const struct tt_profile *p,
                        const struct tt_parts *parts)
{
    return gather(&(struct gathering){.b = b,
                                      .p = p,
                                      .parts = parts,
                                      .chosen = parts->strand,
                                      .muted = parts->muted,
                                      .context = parts->context,
                                      .filtered = !parts->same_paths});
}
