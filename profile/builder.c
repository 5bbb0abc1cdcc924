/* SPDX-License-Identifier: MIT */
/* builder.c - a profile as it grows: ids for new items, and a log of figures.
 *
 * If memory runs out, `failed` is set; after that nothing is added. */
#include <stdio.h>
#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "building.h"
#include "filled.h"
#include "label.h"
#include "sum.h"
#include "summary.h"
#include "trails.h"

enum { NO_PARENT = TT_ARC_ROW };

/* ── Ids ──────────────────────────────────────────────────────────────────────────── */

/* Fails if there is no number. */
uint32_t tt_builder_id(struct tt_builder *b, uint32_t number)
{
    b->failed |= number >= TT_ARC_ROW - 1;
    return b->failed ? TT_NONE : number;
}

/* The id of the item with this key; a new one begins with it, and is 0 otherwise. */
static inline __attribute__((always_inline)) uint32_t id_of(struct tt_builder *b,
                                                            struct tt_index *x,
                                                            struct tt_vector *v,
                                                            const void *key, size_t size,
                                                            int *is_new)
{
    *is_new = 0;
    return b->failed ? TT_NONE : tt_builder_id(b, tt_index_get(x, v, key, size, is_new));
}

/* Appends an item to a vector; NULL: no memory, and the builder has failed. */
void *tt_builder_item(struct tt_builder *b, struct tt_vector *v)
{
    void *item = b->failed ? NULL : tt_vector_add(v, 1);

    if (!item)
        b->failed = 1;
    return item;
}

/* ── Strings ──────────────────────────────────────────────────────────────────────── */

static uint64_t hash_text(const char *text)
{
    uint64_t h = 0;

    while (*text)
        h = tt_mix(h, (unsigned char)*text++);
    return h;
}

const char *tt_builder_text(const struct tt_builder *b, uint32_t id)
{
    TT_ASSERT(id < b->string.count);
    return (const char *)b->bytes.item + ((const size_t *)b->string.item)[id];
}

static uint32_t add_string(struct tt_builder *b, uint64_t hash, const char *text)
{
    const size_t length = strlen(text) + 1, offset = b->bytes.count;
    char *bytes = tt_vector_add(&b->bytes, length);

    if (bytes)
        memcpy(bytes, text, length);
    return bytes ? tt_index_append(&b->strings, &b->string, hash, &offset, sizeof offset)
                 : TT_NO_NUMBER;
}

uint32_t tt_builder_string(struct tt_builder *b, const char *text)
{
    const char *t = text ? text : "";
    const uint64_t hash = hash_text(t);
    uint32_t id;

    if (b->failed)
        return TT_NONE;
    for (size_t at = 0; (id = tt_index_next(&b->strings, hash, &at)) != TT_NO_NUMBER;)
        if (strcmp(tt_builder_text(b, id), t) == 0)
            return id;
    return tt_builder_id(b, add_string(b, hash, t));
}

/* ── Blocks, contexts, arcs ───────────────────────────────────────────────────────── */

uint32_t tt_builder_block(struct tt_builder *b, const struct tt_block_info *info)
{
    struct tt_block_row row = {.kind = (uint32_t)info->kind,
                               .line = info->line,
                               .column = info->column,
                               .length = info->length,
                               .offset = info->offset};
    int is_new;

    row.name = tt_builder_string(b, info->name);
    row.module = tt_builder_string(b, info->module);
    row.file = tt_builder_string(b, info->file);
    return id_of(b, &b->blocks, &b->block, &row, sizeof row, &is_new);
}

/* Looks up the contexts that came without a look-up. */
static void index_contexts(struct tt_builder *b)
{
    const struct tt_grown *g = b->context.item;

    while (!b->failed && b->contexts.count < b->context.count) {
        const uint32_t i = (uint32_t)b->contexts.count;
        b->failed |= tt_index_add(&b->contexts, &b->memory, tt_hash(&g[i], sizeof g[i]),
                                  i) != 0;
    }
}

uint32_t tt_builder_inner_root(struct tt_builder *b, const char *name)
{
    return tt_builder_block(
        b, &(struct tt_block_info){.name = name, .kind = TT_KIND_FUNCTION});
}

uint32_t tt_builder_context(struct tt_builder *b, uint32_t parent, uint32_t block)
{
    const struct tt_grown g = {parent, block};
    int is_new;

    if (block >= b->block.count ||
        (b->context.count && parent >= b->context.count)) /* the root has no parent */
        b->failed = 1;
    else if (block == TT_BUILDER_ROOT && parent != NO_PARENT)
        return parent; /* a frame of another tool without a block */
    if (b->contexts.count < b->context.count)
        index_contexts(b);
    return id_of(b, &b->contexts, &b->context, &g, sizeof g, &is_new);
}

uint32_t tt_builder_new_context(struct tt_builder *b, uint32_t parent, uint32_t block)
{
    struct tt_grown *g = tt_builder_item(b, &b->context);

    TT_ASSERT(!g || (parent < b->context.count - 1 && block < b->block.count));
    if (g)
        *g = (struct tt_grown){parent, block};
    return g ? tt_builder_id(b, (uint32_t)b->context.count - 1) : TT_NONE;
}

uint32_t tt_builder_parent(const struct tt_builder *b, uint32_t context,
                           const char **name)
{
    const struct tt_grown *g = (const struct tt_grown *)b->context.item + context;

    TT_ASSERT(context < b->context.count && g->block < b->block.count);
    *name = tt_builder_text(
        b, ((const struct tt_block_row *)b->block.item + g->block)->name);
    return g->parent;
}

uint32_t tt_builder_arc(struct tt_builder *b, uint32_t from, uint32_t to, uint32_t block)
{
    const struct tt_grown_arc a = {from, to, block};
    int is_new;

    if (from >= b->context.count || to >= b->context.count || block >= b->block.count)
        b->failed = 1;
    return id_of(b, &b->arcs, &b->arc, &a, sizeof a, &is_new);
}

/* ── Metrics, strands, facts ──────────────────────────────────────────────────────── */

/* Is one of two units that of whole counts, and the other that of fractions? */
static int are_mixed(const struct tt_builder *b, uint32_t unit, uint32_t other)
{
    const char *one = tt_builder_text(b, unit), *two = tt_builder_text(b, other);

    return (!*one && strcmp(two, TT_UNIT_MILLIONTHS) == 0) ||
           (!*two && strcmp(one, TT_UNIT_MILLIONTHS) == 0);
}

uint32_t tt_builder_metric(struct tt_builder *b, const char *name, const char *unit,
                           uint32_t flags)
{
    uint32_t n = tt_builder_string(b, name), u = tt_builder_string(b, unit);
    struct tt_metric_row *row = b->metric.item;

    for (uint32_t i = 0; i < b->metric.count; i++)
        if (row[i].name == n && row[i].unit == u && row[i].flags == flags)
            return i;
    for (uint32_t i = 0; i < b->metric.count; i++)
        b->is_mixed |= row[i].name == n && row[i].flags == flags &&
                       are_mixed(b, row[i].unit, u);
    row = tt_builder_item(b, &b->metric);
    if (!row || !tt_builder_item(b, &b->total))
        return TT_NONE;
    *row = (struct tt_metric_row){.name = n, .unit = u, .flags = flags};
    return (uint32_t)b->metric.count - 1;
}

void tt_builder_no_strand(struct tt_builder *b) { b->current = TT_NONE; }

void tt_builder_run(struct tt_builder *b, const char *run, int of_all)
{
    b->run = run;
    b->is_run_of_all = of_all;
}

static uint32_t labels_with_run(struct tt_builder *b, const struct tt_strand_info *info)
{
    const char *labels = info->labels ? info->labels : "";
    size_t size = 0;
    uint32_t id;
    char *text;

    if (!b->run || (!info->pid && !b->is_run_of_all) || info->rank != TT_NONE ||
        tt_label_find(labels, TT_LABEL_RUN, &size))
        return tt_builder_string(b, labels);
    size = strlen(labels) + strlen(TT_LABEL_RUN) + strlen(b->run) + sizeof "\n=";
    text = tt_memory_get(&b->memory, size);
    if (!text) {
        b->failed = 1;
        return 0;
    }
    (void)snprintf(text, size, "%s%s%s=%s", labels, *labels ? "\n" : "", TT_LABEL_RUN,
                   b->run);
    id = tt_builder_string(b, text);
    tt_memory_put(&b->memory, text);
    return id;
}

uint32_t tt_builder_strand(struct tt_builder *b, const struct tt_strand_info *info)
{
    struct tt_strand_row row = {.host = tt_builder_string(b, info->host),
                                .process = tt_builder_string(b, info->process),
                                .node = tt_builder_string(b, info->node),
                                .name = tt_builder_string(b, info->name),
                                .pid = info->pid,
                                .thread = info->thread,
                                .rank = info->rank,
                                .labels = labels_with_run(b, info),
                                .members = info->members,
                                .least = info->least,
                                .most = info->most,
                                .least_thread = info->least_thread,
                                .most_thread = info->most_thread,
                                .square = info->square};
    int is_new;

    b->current = id_of(b, &b->strands, &b->strand, &row,
                       offsetof(struct tt_strand_row, members), &is_new);
    if (is_new && b->current != TT_NONE)
        ((struct tt_strand_row *)b->strand.item)[b->current] = row;
    return b->current;
}

/* Compares as order.c does, whose strings are numbered in their order. */
static int is_strand_before(const void *arg, uint32_t strand, uint32_t other)
{
    const struct tt_builder *b = arg;
    const struct tt_strand_row *x = (const struct tt_strand_row *)b->strand.item + strand,
                               *y = (const struct tt_strand_row *)b->strand.item + other;
#define ORDER_BY(field)                                                                  \
    if (x->field != y->field)                                                            \
    return x->field < y->field
#define ORDER_BY_TEXT(field)                                                             \
    if (x->field != y->field)                                                            \
    return strcmp(tt_builder_text(b, x->field), tt_builder_text(b, y->field)) < 0

    if (strand == other || strand == TT_NONE || other == TT_NONE)
        return strand < other;
    ORDER_BY_TEXT(host);
    ORDER_BY_TEXT(process);
    ORDER_BY(pid);
    ORDER_BY(rank);
    ORDER_BY_TEXT(node);
    ORDER_BY(thread);
    ORDER_BY_TEXT(name);
    ORDER_BY_TEXT(labels);
    return 0;
#undef ORDER_BY
#undef ORDER_BY_TEXT
}

struct tt_strand_order tt_builder_strand_order(const struct tt_builder *b)
{
    return (struct tt_strand_order){is_strand_before, b};
}

uint32_t tt_builder_strands(const struct tt_builder *b)
{
    return (uint32_t)b->strand.count;
}

void tt_builder_fact(struct tt_builder *b, const char *name, enum tt_fact_rule rule,
                     uint64_t number, const char *text)
{
    uint32_t n = tt_builder_string(b, name), t = tt_builder_string(b, text);
    struct tt_fact *f = b->fact.item;

    for (size_t i = 0; i < b->fact.count; i++, f++) {
        if (f->name != n || f->rule != (uint32_t)rule ||
            (rule == TT_FACT_EACH && f->text != t))
            continue;
        if (rule == TT_FACT_SUM || rule == TT_FACT_EACH)
            tt_add_capped(&f->number, number);
        else if (rule == TT_FACT_MIN ? number < f->number : number > f->number)
            f->number = number;
        return;
    }
    f = tt_builder_item(b, &b->fact);
    if (f)
        *f = (struct tt_fact){.name = n,
                              .text = rule == TT_FACT_EACH ? t : 0,
                              .rule = (uint32_t)rule,
                              .number = number};
}

void tt_builder_expect(struct tt_builder *b, size_t contexts)
{
    tt_vector_expect(&b->context, contexts);
    b->without_edges = 1;
}

void tt_builder_digest(struct tt_builder *b, uint32_t rows) { b->digest = rows; }

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

/* Figures that come before any strand belong to one without a name. */
uint32_t tt_builder_current(struct tt_builder *b)
{
    if (b->of_many)
        return TT_NONE;
    if (b->current == TT_NONE)
        return tt_builder_strand(b,
                                 &(struct tt_strand_info){.rank = TT_NONE, .members = 1});
    return b->current;
}

static void add_to_total(struct tt_builder *b, uint32_t metric, uint64_t amount)
{
    uint64_t *total = b->total.item;

    if (metric < b->total.count)
        b->overflown |= __builtin_add_overflow(total[metric], amount, &total[metric]);
}

const char *tt_builder_wrong_sums(const struct tt_builder *b)
{
    return b->overflown ? "with this file the figures add up to more than 64 bits hold"
           : b->is_mixed
               ? "counts with fractions and whole counts cannot be added up; read "
                 "the files with fractions apart from the others"
               : NULL;
}

void tt_builder_add(struct tt_builder *b, enum tt_role role, uint32_t id, uint32_t metric,
                    uint64_t amount)
{
    enum { SUM_UP_FROM = 1 << 20 };
    uint32_t strand = tt_builder_current(b);
    struct tt_entry *e;

    if (!amount || id == TT_NONE || metric == TT_NONE)
        return;
    TT_ASSERT(role < TT_ROLES && metric < b->metric.count);
    if (role == TT_ROLE_SELF || role == TT_ROLE_ELSEWHERE)
        add_to_total(b, metric, amount);
    if (b->filled.count && tt_filled_add(b, role, id, metric, amount, strand))
        return;
    if (b->entry.count - b->of_all >= SUM_UP_FROM && b->entry.count >= 2 * b->summed) {
        if (tt_entries_sum(&b->entry, b->of_all) != 0)
            b->failed = 1;
        b->summed = b->entry.count;
    }
    e = tt_builder_item(b, &b->entry);
    if (e)
        *e = (struct tt_entry){strand, metric, (uint64_t)role << 32 | id, amount};
}

static size_t bytes_by_strand(const struct tt_builder *b)
{
    return b->entry.count * b->entry.size + b->times.count * b->times.size;
}

int tt_builder_is_wide(struct tt_builder *b, size_t bytes, int exactly)
{
    tt_filled_to_log(b);
    if (b->failed || bytes_by_strand(b) <= bytes ||
        (!exactly && bytes_by_strand(b) < b->wide_from))
        return 0;
    if (tt_entries_sum(&b->entry, 0) != 0)
        b->failed = 1;
    b->summed = b->entry.count;
    b->of_all = 0;
    if (bytes_by_strand(b) > bytes)
        tt_builder_sum_times(b);
    b->wide_from = bytes_by_strand(b) + bytes / 4;
    return bytes_by_strand(b) > bytes;
}

void tt_builder_missed(struct tt_builder *b, uint32_t context, uint32_t metric,
                       uint64_t amount)
{
    struct tt_missing *m = amount ? tt_builder_item(b, &b->missing) : NULL;

    if (m)
        *m = (struct tt_missing){context, metric, amount};
}

static uint32_t edge_row(int arc, uint32_t id)
{
    TT_ASSERT(id < TT_ARC_ROW);
    return arc ? id | TT_ARC_ROW : id;
}

struct tt_times_row *tt_builder_times(struct tt_builder *b, int arc, uint32_t id,
                                      const struct tt_times_row *row)
{
    uint32_t strand = tt_builder_current(b);
    struct tt_times_row *t = row->count && id != TT_NONE ? tt_builder_item(b, &b->times)
                                                         : NULL;

    if (t) {
        *t = *row;
        t->row = edge_row(arc, id);
        t->strand = t->min_strand = t->max_strand = strand;
    }
    return t;
}

void tt_builder_bin(struct tt_builder *b, int arc, uint32_t id, uint32_t bin,
                    uint64_t count)
{
    struct tt_bin_row *r = count && id != TT_NONE ? tt_builder_item(b, &b->bin) : NULL;

    if (r)
        *r = (struct tt_bin_row){edge_row(arc, id), bin, count};
}

static struct tt_activation_row *add_activation(struct tt_builder *b, int arc,
                                                uint32_t id, uint64_t start,
                                                uint64_t duration)
{
    uint32_t strand = tt_builder_current(b);
    struct tt_activation_row *a = id != TT_NONE ? tt_builder_item(b, &b->activation)
                                                : NULL;

    if (a)
        *a = (struct tt_activation_row){.row = edge_row(arc, id),
                                        .strand = strand,
                                        .start = start,
                                        .duration = duration};
    return a;
}

void tt_builder_activation(struct tt_builder *b, int arc, uint32_t id, uint64_t start,
                           uint64_t duration)
{
    (void)add_activation(b, arc, id, start, duration);
}

void tt_builder_slow(struct tt_builder *b, int arc, uint32_t id, uint64_t start,
                     uint64_t duration, const struct tt_slow_figure *figure, size_t count,
                     uint64_t dropped)
{
    struct tt_activation_row *a = add_activation(b, arc, id, start, duration);
    struct tt_slow_figure *figures;

    if (!a)
        return;
    a->slow = 1;
    a->figures = (uint32_t)count;
    a->first = b->slow.count;
    a->dropped = dropped;
    figures = tt_vector_add(&b->slow, count);
    if (!figures)
        b->failed = 1;
    else if (count)
        memcpy(figures, figure, count * sizeof *figure);
}

void tt_builder_space(struct tt_builder *b, uint32_t context, const char *type,
                      uint32_t from, uint32_t to, uint64_t number, uint64_t bytes,
                      uint64_t overhead)
{
    uint32_t t = tt_builder_string(b, type);
    struct tt_space_row *r = tt_builder_item(b, &b->space);

    if (r)
        *r = (struct tt_space_row){context, t, from, to, number, bytes, overhead};
}

uint32_t tt_builder_series(struct tt_builder *b, const char *name, const char *unit,
                           const char *label, uint64_t interval)
{
    struct tt_series_row row = {tt_builder_string(b, name), tt_builder_string(b, unit),
                                tt_builder_string(b, label), TT_NONE, interval};
    struct tt_series_row *s = b->series.item;

    for (uint32_t i = 0; i < b->series.count; i++)
        if (s[i].name == row.name && s[i].unit == row.unit && s[i].label == row.label) {
            if (interval > s[i].interval)
                s[i].interval = interval;
            return i;
        }
    s = tt_builder_item(b, &b->series);
    if (!s)
        return TT_NONE;
    *s = row;
    return (uint32_t)b->series.count - 1;
}

void tt_builder_point(struct tt_builder *b, uint32_t series, const char *label,
                      uint64_t time, uint64_t amount)
{
    uint32_t l = tt_builder_string(b, label);
    struct tt_point *p = series != TT_NONE ? tt_builder_item(b, &b->point) : NULL;

    if (p)
        *p = (struct tt_point){series, l, time, amount};
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

struct tt_builder *tt_builder_new(const struct tt_memory *memory)
{
    static const struct tt_block_info root = {.name = "[root]"};
    struct tt_builder *b = tt_memory_get(memory, sizeof *b);
    const struct tt_memory *m;

    if (!b)
        return NULL;
    if (memory)
        b->memory = *memory;
    b->current = b->weighs = b->filled_of = TT_NONE;
    m = &b->memory;
    tt_vector_init(&b->bytes, m, 1);
    tt_vector_init(&b->string, m, sizeof(size_t));
    tt_vector_init(&b->block, m, sizeof(struct tt_block_row));
    tt_vector_init(&b->metric, m, sizeof(struct tt_metric_row));
    tt_vector_init(&b->context, m, sizeof(struct tt_grown));
    tt_vector_init(&b->arc, m, sizeof(struct tt_grown_arc));
    tt_vector_init(&b->strand, m, sizeof(struct tt_strand_row));
    tt_vector_init(&b->fact, m, sizeof(struct tt_fact));
    tt_vector_init(&b->entry, m, sizeof(struct tt_entry));
    tt_vector_init(&b->filled, m, sizeof(struct tt_filled));
    tt_vector_init(&b->missing, m, sizeof(struct tt_missing));
    tt_vector_init(&b->times, m, sizeof(struct tt_times_row));
    tt_vector_init(&b->bin, m, sizeof(struct tt_bin_row));
    tt_vector_init(&b->activation, m, sizeof(struct tt_activation_row));
    tt_vector_init(&b->slow, m, sizeof(struct tt_slow_figure));
    tt_vector_init(&b->space, m, sizeof(struct tt_space_row));
    tt_vector_init(&b->series, m, sizeof(struct tt_series_row));
    tt_vector_init(&b->point, m, sizeof(struct tt_point));
    tt_vector_init(&b->sample, m, sizeof(struct tt_sample_row));
    tt_vector_init(&b->identity, m, sizeof(uint64_t));
    tt_vector_init(&b->path, m, sizeof(uint64_t));
    tt_vector_init(&b->spread, m, sizeof(struct tt_vector));
    tt_vector_init(&b->amount, m, sizeof(uint64_t));
    tt_vector_init(&b->mark, m, sizeof(uint64_t));
    tt_vector_init(&b->marks, m, sizeof(uint64_t));
    tt_vector_init(&b->total, m, sizeof(uint64_t));
    tt_trails_init(b);
    (void)tt_builder_string(b, "");
    (void)tt_builder_block(b, &root);
    (void)tt_builder_context(b, NO_PARENT, TT_BUILDER_ROOT);
    return b;
}

void tt_builder_drop_indexes(struct tt_builder *b)
{
    struct tt_index *all[] = {&b->strings, &b->blocks, &b->contexts, &b->arcs,
                              &b->strands, &b->places, &b->trails};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_index_fini(all[i], &b->memory);
}

void tt_builder_free(struct tt_builder *b)
{
    struct tt_memory memory;

    if (!b)
        return;
    struct tt_vector *vectors[] = {
        &b->bytes,      &b->string, &b->block,  &b->metric,  &b->context,     &b->arc,
        &b->strand,     &b->fact,   &b->entry,  &b->missing, &b->times,       &b->bin,
        &b->activation, &b->slow,   &b->space,  &b->series,  &b->point,       &b->spread,
        &b->total,      &b->place,  &b->frame,  &b->trail,   &b->trail_entry, &b->sample,
        &b->identity,   &b->path,   &b->amount, &b->mark,    &b->marks};
    for (size_t i = 0; i < b->spread.count; i++)
        tt_vector_fini((struct tt_vector *)b->spread.item + i);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        tt_vector_fini(vectors[i]);
    tt_filled_fini(b);
    tt_builder_drop_indexes(b);
    tt_memory_put(&b->memory, b->columns.metric);
    memory = b->memory;
    tt_memory_put(memory.get ? &memory : NULL, b);
}
