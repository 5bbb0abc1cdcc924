/* SPDX-License-Identifier: MIT */
/* finish.c - writes a builder's image, after everything was sorted into the file's
 * order. */
#include <string.h>

#include "building.h"
#include "digest.h"
#include "filled.h"
#include "finish.h"
#include "order.h"
#include "sum.h"
#include "summary.h"

/* ── The parts ────────────────────────────────────────────────────────────────────── */

struct part { /* a section; `from` is copied, NULL: it is filled in later */
    struct tt_section section;
    const void *from;
};

struct image {
    struct tt_vector part;
    uint32_t extras; /* of the parts, the last ones */
    char *at;
    size_t size;
};

static void add_part(struct tt_builder *b, struct image *m, enum tt_section_kind kind,
                     uint32_t key, const void *from, uint64_t count, size_t width)
{
    const struct part p = {
        .section = {.kind = kind, .key = key, .count = count, .width = (uint32_t)width},
        .from = from};

    if (count && tt_vector_push(&m->part, &p) != 0)
        b->failed = 1;
}

static void add_vector(struct tt_builder *b, struct image *m, enum tt_section_kind kind,
                       const struct tt_vector *v)
{
    add_part(b, m, kind, 0, v->item, v->count, v->size);
}

static void add_extra(struct tt_builder *b, struct image *m, enum tt_extra_kind kind,
                      const struct tt_vector *v)
{
    add_part(b, m, (enum tt_section_kind)kind, 0, v->item, v->count, v->size);
    m->extras += v->count != 0;
}

static void add_extras(struct tt_builder *b, struct image *m)
{
    add_extra(b, m, TT_EXTRA_PLACES, &b->place);
    add_extra(b, m, TT_EXTRA_PLACE_FRAMES, &b->frame);
    add_extra(b, m, TT_EXTRA_TRAILS, &b->trail);
    add_extra(b, m, TT_EXTRA_TRAIL_ENTRIES, &b->trail_entry);
    add_extra(b, m, TT_EXTRA_SAMPLES, &b->sample);
}

/* Finds the columns that a metric needs, by the roles that were added to it. */
static void add_columns(struct tt_builder *b, struct image *m, uint32_t metric,
                        uint32_t roles)
{
    const uint64_t sums = b->context.count + 1, width = sizeof(uint64_t);

    add_part(b, m, TT_SECTION_SELF, metric, NULL, sums, width);
    if (roles & 1u << TT_ROLE_ELSEWHERE)
        add_part(b, m, TT_SECTION_ELSEWHERE, metric, NULL, sums, width);
    if (roles & 1u << TT_ROLE_OWN)
        add_part(b, m, TT_SECTION_LOW, metric, NULL, sums, width);
    if (roles & 1u << TT_ROLES)
        add_part(b, m, TT_SECTION_MISSED, metric, NULL, sums - 1, width);
    if (roles & (1u << TT_ROLE_BESIDE | 1u << TT_ROLE_HIDDEN))
        add_part(b, m, TT_SECTION_BLOCK_FIGURES, metric, NULL, b->block.count,
                 sizeof(struct tt_block_figures));
}

/* ── Columns that are borrowed ────────────────────────────────────────────────────── */

static inline uint64_t amount_of(const struct tt_metric_columns *m, enum tt_role role,
                                 uint32_t c)
{
    return role == TT_ROLE_SELF        ? tt_self_of(m, c)
           : role == TT_ROLE_ELSEWHERE ? tt_elsewhere_of(m, c)
                                       : tt_self_of(m, c) - tt_self_low_of(m, c);
}

/* Returns a context's amount for the image. */
static inline uint64_t kept_of(const struct tt_columns_of *k, uint32_t metric,
                               enum tt_role role, uint32_t c)
{
    const struct tt_metric_columns *m = &k->p->metric[metric];
    const int is_muted = k->muted && k->muted[c] && role != TT_ROLE_ELSEWHERE &&
                         (m->flags & TT_METRIC_CALLS);

    return k->context[c] == TT_NONE || is_muted ? 0 : amount_of(m, role, c);
}

static int has_role(const struct tt_columns_of *k, uint32_t metric, enum tt_role role)
{
    const struct tt_metric_columns *m = &k->p->metric[metric];
    uint32_t c = 0;

    if (role == TT_ROLE_ELSEWHERE ? !m->elsewhere : !m->low)
        return 0;
    while (c < k->p->contexts && !kept_of(k, metric, role, c))
        c++;
    return c < k->p->contexts;
}

static uint32_t roles_of(const struct tt_columns_of *k, uint32_t metric)
{
    return (uint32_t)has_role(k, metric, TT_ROLE_ELSEWHERE) << TT_ROLE_ELSEWHERE |
           (uint32_t)has_role(k, metric, TT_ROLE_OWN) << TT_ROLE_OWN;
}

static inline __attribute__((always_inline)) void copy_column(
    const struct tt_columns_of *k, uint32_t metric, enum tt_role role,
    const struct tt_order *o, uint64_t *to)
{
    for (uint32_t c = 0; to && c < k->p->contexts; c++) {
        const uint64_t amount = kept_of(k, metric, role, c);
        if (amount)
            to[o->context[k->context[c]] + 1] += amount;
    }
}

/* ── Columns that there are ───────────────────────────────────────────────────────── */

static int add_all_columns(struct tt_builder *b, const struct tt_order *o,
                           struct image *m)
{
    const struct tt_missing *missing = b->missing.item;
    const struct tt_filled *filled = b->filled.item;
    const struct tt_entry *e = b->entry.item;
    const size_t bytes = b->metric.count * sizeof(uint32_t);
    uint32_t *roles = tt_memory_get(&b->memory,
                                    bytes); /* bits; one for what was missed */

    if (!roles)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; b->metric.count && i < b->entry.count; i++) {
        TT_ASSERT(e[i].metric < b->metric.count && e[i].row >> 32 < TT_ROLES);
        roles[o->metric[e[i].metric]] |= 1u << (e[i].row >> 32);
    }
    for (size_t i = 0; i < b->filled.count; i++)
        if (filled[i].amount.count)
            roles[o->metric[filled[i].metric]] |= 1u << filled[i].role;
    for (uint32_t i = 0; b->columns.p && i < b->columns.p->metrics; i++)
        roles[o->metric[b->columns.metric[i]]] |= roles_of(&b->columns, i);
    for (size_t i = 0; i < b->missing.count; i++)
        roles[o->metric[missing[i].metric]] |= 1u << TT_ROLES;
    for (uint32_t metric = 0; metric < b->metric.count; metric++)
        add_columns(b, m, metric, roles[metric]);
    tt_memory_put(&b->memory, roles);
    return 0;
}

static void add_spreads(struct tt_builder *b, const struct tt_order *o, struct image *m)
{
    const struct tt_vector *v = b->spread.item;

    for (uint32_t metric = 0; b->strand.count > 1 && metric < b->metric.count; metric++)
        for (uint32_t i = 0; i < b->spread.count; i++)
            if (o->metric[i / 2] == metric && v[i].count)
                add_part(b, m, i % 2 ? TT_SECTION_SPREAD_SELF : TT_SECTION_SPREAD, metric,
                         NULL, b->context.count, sizeof(struct tt_spread));
}

/* Adds edges between blocks to the digest, if they are few compared to the contexts. */
static void add_edges(struct tt_builder *b, const struct tt_order *o, struct image *m)
{
    const struct tt_profile tree = {.memory = &b->memory,
                                    .block_of = o->block_of,
                                    .size_of = o->size_of,
                                    .arc = o->arc_row,
                                    .blocks = (uint32_t)b->block.count,
                                    .contexts = (uint32_t)b->context.count,
                                    .arcs = (uint32_t)b->arc.count,
                                    .depth = o->depth};
    uint32_t edges = 0;

    if (tt_digest_edges(&tree, &edges) != 0)
        b->failed = 1;
    if (!edges)
        return;
    add_part(b, m, TT_SECTION_EDGES, 0, NULL, edges, sizeof(struct tt_edge_row));
    for (uint32_t i = 0; i < b->metric.count; i++)
        add_part(b, m, TT_SECTION_EDGE_TALLIES, i, NULL, edges,
                 sizeof(struct tt_edge_tally));
}

/* For the figures that the parts before it hold. */
static void add_digest(struct tt_builder *b, const struct tt_order *o, struct image *m)
{
    static const uint32_t column[] = {TT_SECTION_SELF, TT_SECTION_ELSEWHERE,
                                      TT_SECTION_LOW},
                          digest[] = {TT_SECTION_DIGEST_SELF, TT_SECTION_DIGEST_ELSEWHERE,
                                      TT_SECTION_DIGEST_LOW};
    const size_t parts = m->part.count, width = sizeof(uint64_t);

    if (!b->digest && b->context.count >= TT_DIGEST_FROM)
        b->digest = TT_DIGEST_ROWS;
    if (!b->digest)
        return;
    add_part(b, m, TT_SECTION_DIGEST, 0, NULL, b->digest, sizeof(struct tt_digest_row));
    add_part(b, m, TT_SECTION_DIGEST_LEAST, 0, NULL, b->metric.count, width);
    add_part(b, m, TT_SECTION_BLOCK_CONTEXTS, 0, NULL, b->block.count, sizeof(uint32_t));
    for (uint32_t i = 0; i < b->metric.count; i++)
        add_part(b, m, TT_SECTION_BLOCK_TALLIES, i, NULL, b->block.count,
                 sizeof(struct tt_block_tally));
    for (size_t i = 0; i < parts; i++)
        for (size_t k = 0; k < sizeof column / sizeof *column; k++) {
            struct tt_section s = ((struct part *)m->part.item)[i].section;
            if (s.kind == column[k])
                add_part(b, m, (enum tt_section_kind)digest[k], s.key, NULL, b->digest,
                         sizeof(struct tt_digest_figure));
        }
    if (!b->without_edges)
        add_edges(b, o, m);
}

static char *part_at(const struct image *m, enum tt_section_kind kind, uint32_t key)
{
    const struct part *p = m->part.item;

    for (size_t i = 0; i < m->part.count; i++)
        if (p[i].section.kind == (uint32_t)kind && p[i].section.key == key)
            return m->at + p[i].section.offset;
    return NULL;
}

static uint64_t align(uint64_t n) { return (n + 63) / 64 * 64; }

static int allocate_image(struct tt_builder *b, const struct tt_order *o, struct image *m)
{
    struct part *p = m->part.item;
    struct tt_file_header *h;
    uint64_t at = align(sizeof *h + m->part.count * sizeof(struct tt_section));

    for (size_t i = 0; i < m->part.count; i++) {
        p[i].section.offset = at;
        at = align(at + (size_t)(p[i].section.count * p[i].section.width));
    }
    if (at > SIZE_MAX)
        return -TT_ERR_MEMORY;
    m->size = (size_t)at;
    m->at = b->failed ? NULL : tt_memory_get(&b->memory, m->size);
    if (!m->at)
        return -TT_ERR_MEMORY;
    h = (struct tt_file_header *)(void *)m->at;
    *h = (struct tt_file_header){.version = b->digest ? TT_PROFILE_VERSION : 1,
                                 .header_size = sizeof *h,
                                 .size = m->size,
                                 .sections = (uint32_t)m->part.count - m->extras,
                                 .section_size = sizeof(struct tt_section),
                                 .contexts = (uint32_t)b->context.count,
                                 .arcs = (uint32_t)b->arc.count,
                                 .blocks = (uint32_t)b->block.count,
                                 .metrics = (uint32_t)b->metric.count,
                                 .strands = (uint32_t)b->strand.count,
                                 .depth = o->depth};
    memcpy(h->magic, TT_PROFILE_MAGIC, sizeof h->magic);
    p[0].section.reserved = m->extras;
    for (size_t i = 0; i < m->part.count; i++) {
        memcpy(m->at + sizeof *h + i * sizeof p->section, &p[i].section,
               sizeof p->section);
        if (p[i].from)
            memcpy(m->at + p[i].section.offset, p[i].from,
                   (size_t)(p[i].section.count * p[i].section.width));
    }
    return 0;
}

static void write_strings(struct tt_builder *b, const struct tt_order *o,
                          const struct image *m)
{
    char *to = part_at(m, TT_SECTION_STRINGS, 0);

    for (size_t i = 0; i < b->string.count; i++) {
        const char *text = (const char *)b->bytes.item + ((size_t *)b->string.item)[i];
        TT_ASSERT(o->string[i] < b->string.count);
        memcpy(to + o->offset[o->string[i]], text, strlen(text) + 1);
    }
}

/* In copied rows, replaces the index of a string by its offset. */
static void point_to_strings(const struct tt_builder *b, const struct tt_order *o,
                             const struct image *m)
{
    struct tt_block_row *block = (void *)part_at(m, TT_SECTION_BLOCKS, 0);
    struct tt_metric_row *metric = (void *)part_at(m, TT_SECTION_METRICS, 0);
    struct tt_strand_row *strand = (void *)part_at(m, TT_SECTION_STRAND_ROWS, 0);
    struct tt_fact *fact = (void *)part_at(m, TT_SECTION_FACTS, 0);
    struct tt_space_row *space = (void *)part_at(m, TT_SECTION_SPACE, 0);
    struct tt_series_row *series = (void *)part_at(m, TT_SECTION_SERIES, 0);
    struct tt_point *point = (void *)part_at(m, TT_SECTION_POINTS, 0);
#define TO_OFFSET(field) field = (uint32_t)o->offset[field]

    for (size_t i = 0; i < b->block.count; i++) {
        TO_OFFSET(block[i].name);
        TO_OFFSET(block[i].module);
        TO_OFFSET(block[i].file);
    }
    for (size_t i = 0; i < b->metric.count; i++) {
        TO_OFFSET(metric[i].name);
        TO_OFFSET(metric[i].unit);
    }
    for (size_t i = 0; i < b->strand.count; i++) {
        TO_OFFSET(strand[i].host);
        TO_OFFSET(strand[i].process);
        TO_OFFSET(strand[i].node);
        TO_OFFSET(strand[i].name);
        TO_OFFSET(strand[i].labels);
    }
    for (size_t i = 0; i < b->fact.count; i++) {
        TO_OFFSET(fact[i].name);
        TO_OFFSET(fact[i].text);
    }
    for (size_t i = 0; i < b->space.count; i++)
        TO_OFFSET(space[i].type);
    for (size_t i = 0; i < b->series.count; i++) {
        TO_OFFSET(series[i].name);
        TO_OFFSET(series[i].unit);
        TO_OFFSET(series[i].label);
    }
    for (size_t i = 0; i < b->point.count; i++)
        TO_OFFSET(point[i].label);
#undef TO_OFFSET
}

/* ── Columns ──────────────────────────────────────────────────────────────────────── */

struct column_set {
    uint64_t *self, *elsewhere, *low, *missed;
    struct tt_block_figures *block;
};

static struct column_set columns_of(const struct image *m, uint32_t metric)
{
    return (struct column_set){
        .self = (void *)part_at(m, TT_SECTION_SELF, metric),
        .elsewhere = (void *)part_at(m, TT_SECTION_ELSEWHERE, metric),
        .low = (void *)part_at(m, TT_SECTION_LOW, metric),
        .missed = (void *)part_at(m, TT_SECTION_MISSED, metric),
        .block = (void *)part_at(m, TT_SECTION_BLOCK_FIGURES, metric)};
}

/* At first, the figure of context c is at c + 1; `low` holds what is subtracted later. */
static void add_entry(const struct tt_builder *b, struct tt_arc_row *arc,
                      struct column_set *set, const struct tt_entry *e)
{
    uint64_t contexts = b->context.count, blocks = b->block.count, row = e->row;

    if (row < contexts) {
        set->self[row + 1] += e->amount;
        return;
    }
    row -= contexts;
    if (row < b->arc.count) {
        arc[row].calls += e->amount;
        return;
    }
    row -= b->arc.count;
    if (row < blocks)
        set->block[row].beside += e->amount;
    else if (row < 2 * blocks)
        set->block[row - blocks].hidden += e->amount;
    else if (row < 2 * blocks + contexts)
        set->elsewhere[row - 2 * blocks + 1] += e->amount;
    else
        set->low[row - 2 * blocks - contexts + 1] += e->amount;
}

static void run_sums(uint64_t *sums, uint64_t contexts)
{
    for (uint64_t c = 0; sums && c < contexts; c++)
        sums[c + 1] += sums[c];
}

static void copy_columns(const struct tt_columns_of *k, const struct tt_order *o,
                         struct column_set *set)
{
    for (uint32_t i = 0; k->p && i < k->p->metrics; i++) {
        struct column_set *s = &set[o->metric[k->metric[i]]];
        copy_column(k, i, TT_ROLE_SELF, o, s->self);
        if (k->p->metric[i].elsewhere)
            copy_column(k, i, TT_ROLE_ELSEWHERE, o, s->elsewhere);
        if (k->p->metric[i].low)
            copy_column(k, i, TT_ROLE_OWN, o, s->low);
    }
}

/* Frees each column as soon as it is in the image. */
static void copy_filled(struct tt_builder *b, const struct tt_order *o,
                        struct column_set *set)
{
    struct tt_filled *f = b->filled.item;

    for (size_t i = 0; i < b->filled.count; i++) {
        struct column_set *s = &set[o->metric[f[i].metric]];
        const uint64_t *amount = f[i].amount.item;
        uint64_t *to = f[i].role == TT_ROLE_SELF        ? s->self
                       : f[i].role == TT_ROLE_ELSEWHERE ? s->elsewhere
                                                        : s->low;
        for (size_t c = 0; c < f[i].amount.count; c++)
            to[o->context[c] + 1] += amount[c];
        tt_vector_fini(&f[i].amount);
    }
}

/* Reads the log once; the log is not used after that. */
static int write_columns(struct tt_builder *b, const struct tt_order *o,
                         const struct image *m)
{
    const struct tt_entry *e = b->entry.item;
    const struct tt_missing *missing = b->missing.item;
    struct tt_arc_row *arc = (void *)part_at(m, TT_SECTION_ARCS, 0);
    const size_t contexts = b->context.count,
                 bytes = b->metric.count * sizeof(struct column_set);
    struct column_set *set = tt_memory_get(&b->memory, bytes);

    if (!set)
        return -TT_ERR_MEMORY;
    for (uint32_t metric = 0; metric < b->metric.count; metric++)
        set[metric] = columns_of(m, metric);
    for (size_t i = 0; b->metric.count && i < b->entry.count; i++) {
        add_entry(b, arc, &set[e[i].metric], &e[i]);
        tt_vector_forget(&b->entry, i + 1);
    }
    copy_columns(&b->columns, o, set);
    copy_filled(b, o, set);
    for (size_t i = 0; i < b->missing.count; i++)
        set[o->metric[missing[i].metric]]
            .missed[o->context[missing[i].context]] += missing[i].amount;
    for (uint32_t metric = 0; metric < b->metric.count; metric++) {
        struct column_set *s = &set[metric];
        for (size_t c = 1; s->low && c <= contexts; c++)
            s->low[c] = s->low[c] < s->self[c] ? s->self[c] - s->low[c] : 0;
        run_sums(s->self, contexts);
        run_sums(s->elsewhere, contexts);
        run_sums(s->low, contexts);
    }
    tt_memory_put(&b->memory, set);
    return 0;
}

static void write_spread(const struct tt_builder *b, const struct tt_order *o,
                         const struct tt_spread *from, size_t count, struct tt_spread *to)
{
    for (size_t i = 0; i < b->context.count; i++) {
        struct tt_spread *s = &to[o->context[i]];
        if (i < count)
            *s = from[i];
        s->min_strand = s->count ? o->strand[s->min_strand] : TT_NONE;
        s->max_strand = s->count ? o->strand[s->max_strand] : TT_NONE;
    }
}

static void write_spreads(const struct tt_builder *b, const struct tt_order *o,
                          const struct image *m)
{
    const struct tt_vector *v = b->spread.item;

    for (uint32_t i = 0; i < b->spread.count; i++) {
        struct tt_spread *to = (void *)part_at(
            m, i % 2 ? TT_SECTION_SPREAD_SELF : TT_SECTION_SPREAD, o->metric[i / 2]);
        if (to)
            write_spread(b, o, v[i].item, v[i].count, to);
    }
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* The log is renumbered last, because its rows are used until then.  Columns do not
 * depend on its order; it is sorted if it is kept by strand. */
static int add_entries(struct tt_builder *b, const struct tt_order *o, struct image *m)
{
    tt_order_entries(b, o);
    if (b->strand.count <= 1 || !b->metric.count || b->summary)
        return 0;
    if (tt_entries_sum(&b->entry, 0) != 0)
        return -TT_ERR_MEMORY;
    add_vector(b, m, TT_SECTION_ENTRIES, &b->entry);
    return 0;
}

static int make_image(struct tt_builder *b, struct tt_order *o, struct image *m)
{
    const uint64_t contexts = b->context.count, narrow = sizeof(uint32_t);
    const size_t last = b->string.count - 1;
    size_t bytes = 0;

    for (size_t i = 0; i < b->string.count; i++)
        if (o->string[i] == last)
            bytes = o->offset[last] +
                    strlen((const char *)b->bytes.item + ((size_t *)b->string.item)[i]) +
                    1;
    add_part(b, m, TT_SECTION_STRINGS, 0, NULL, bytes, 1);
    add_vector(b, m, TT_SECTION_FACTS, &b->fact);
    add_vector(b, m, TT_SECTION_BLOCKS, &b->block);
    add_vector(b, m, TT_SECTION_METRICS, &b->metric);
    add_part(b, m, TT_SECTION_CONTEXT_BLOCK, 0, o->block_of, contexts, narrow);
    add_part(b, m, TT_SECTION_CONTEXT_SIZE, 0, o->size_of, contexts, narrow);
    if (add_all_columns(b, o, m) != 0)
        return -TT_ERR_MEMORY;
    add_part(b, m, TT_SECTION_ARCS, 0, o->arc_row, b->arc.count, sizeof *o->arc_row);
    add_vector(b, m, TT_SECTION_TIMES, &b->times);
    add_vector(b, m, TT_SECTION_BINS, &b->bin);
    add_vector(b, m, TT_SECTION_ACTIVATIONS, &b->activation);
    add_vector(b, m, TT_SECTION_SLOW, &b->slow);
    add_vector(b, m, TT_SECTION_STRAND_ROWS, &b->strand);
    add_vector(b, m, TT_SECTION_SPACE, &b->space);
    add_vector(b, m, TT_SECTION_SERIES, &b->series);
    add_vector(b, m, TT_SECTION_POINTS, &b->point);
    add_spreads(b, o, m);
    if (add_entries(b, o, m) != 0)
        return -TT_ERR_MEMORY;
    add_digest(b, o, m);
    add_extras(b, m);
    if (allocate_image(b, o, m) != 0)
        return -TT_ERR_MEMORY;
    tt_order_drop_copied(b, o);
    write_strings(b, o, m);
    point_to_strings(b, o, m);
    if (write_columns(b, o, m) != 0)
        return -TT_ERR_MEMORY;
    write_spreads(b, o, m);
    return b->digest ? tt_digest_fill(m->at, m->size, b->digest, &b->memory) : 0;
}

int tt_builder_finish(struct tt_builder *b, void **image, size_t *size)
{
    struct tt_order o = {0};
    struct image m = {0};
    int error;

    if (b->strand.count > 1)
        tt_filled_to_log(b);
    error = b->summary ? tt_builder_end_summary(b) : b->failed ? -TT_ERR_MEMORY : 0;

    tt_builder_drop_indexes(b);
    tt_vector_init(&m.part, &b->memory, sizeof(struct part));
    error = error ?: tt_order_make(b, &o);
    error = error ?: make_image(b, &o, &m);
    if (error) {
        tt_memory_put(&b->memory, m.at);
        m.at = NULL;
        m.size = 0;
    }
    b->failed = 1; /* it is in no state to go on */
    tt_order_free(b, &o);
    tt_vector_fini(&m.part);
    *image = m.at;
    *size = m.size;
    return error;
}
