/* SPDX-License-Identifier: MIT */
/* order.c - sorts the content of a builder into the file's order.
 *
 * For each kind of item there is a permutation, from the id of arrival to the place in
 * the file; every figure is renumbered by these, and sorted.  Strings come first, in the
 * order of their bytes; then every other order is an order of numbers. */
#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "building.h"
#include "order.h"
#include "samples.h"
#include "statistics.h"
#include "trails.h"

/* ── Sorting with the way back ────────────────────────────────────────────────────── */

struct keyed { /* followed by the data to sort */
    uint32_t id, reserved;
    union {
        struct tt_block_row block;
        struct tt_metric_row metric;
        struct tt_arc_row arc;
        struct tt_strand_row strand;
        const char *text;
    } as;
};

static void sort_rows(struct tt_vector *v, int (*compare)(const void *, const void *))
{
    if (v->count)
        qsort(v->item, v->count, v->size, compare);
}

#define ORDER_BY(field)                                                                  \
    if (x->field != y->field)                                                            \
    return x->field < y->field ? -1 : 1

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct keyed *)a)->as.text, ((const struct keyed *)b)->as.text);
}

static int by_block(const void *a, const void *b)
{
    const struct keyed *k = a, *l = b;
    const struct tt_block_row *x = &k->as.block, *y = &l->as.block;

    if (k->id == 0 || l->id == 0)
        return k->id ? 1 : l->id ? -1 : 0; /* the root's comes first */
    ORDER_BY(name);
    ORDER_BY(module);
    ORDER_BY(file);
    ORDER_BY(line);
    ORDER_BY(column);
    ORDER_BY(offset);
    ORDER_BY(length);
    ORDER_BY(kind);
    return 0;
}

static int by_metric(const void *a, const void *b)
{
    const struct tt_metric_row *x = &((const struct keyed *)a)->as.metric;
    const struct tt_metric_row *y = &((const struct keyed *)b)->as.metric;

    ORDER_BY(name);
    ORDER_BY(unit);
    ORDER_BY(flags);
    return 0;
}

static int by_arc(const void *a, const void *b)
{
    const struct tt_arc_row *x = &((const struct keyed *)a)->as.arc;
    const struct tt_arc_row *y = &((const struct keyed *)b)->as.arc;

    ORDER_BY(from);
    ORDER_BY(block);
    ORDER_BY(to);
    return 0;
}

static int by_strand(const void *a, const void *b)
{
    const struct tt_strand_row *x = &((const struct keyed *)a)->as.strand;
    const struct tt_strand_row *y = &((const struct keyed *)b)->as.strand;

    ORDER_BY(host);
    ORDER_BY(process);
    ORDER_BY(pid);
    ORDER_BY(rank);
    ORDER_BY(node);
    ORDER_BY(thread);
    ORDER_BY(name);
    ORDER_BY(labels);
    return 0;
}

static struct keyed *keyed_new(struct tt_builder *b, size_t count)
{
    struct keyed *k = tt_memory_get(&b->memory, count * sizeof *k);

    for (size_t i = 0; k && i < count; i++)
        k[i].id = (uint32_t)i;
    return k;
}

/* Sorts, and returns the places; NULL: no memory. */
static uint32_t *places(struct tt_builder *b, struct keyed *k, size_t count,
                        int (*compare)(const void *, const void *))
{
    uint32_t *place = tt_memory_get(&b->memory, count * sizeof *place);

    qsort(k, count, sizeof *k, compare);
    for (size_t i = 0; place && i < count; i++)
        place[k[i].id] = (uint32_t)i;
    return place;
}

/* ── Strings, blocks, metrics, strands ────────────────────────────────────────────── */

static int order_strings(struct tt_builder *b, struct tt_order *o)
{
    size_t count = b->string.count, at = 0;
    struct keyed *k = keyed_new(b, count);

    o->offset = tt_memory_get(&b->memory, count * sizeof *o->offset);
    if (k && o->offset) {
        for (size_t i = 0; i < count; i++)
            k[i].as.text = (const char *)b->bytes.item + ((size_t *)b->string.item)[i];
        o->string = places(b, k, count, by_text);
        for (size_t i = 0; i < count; i++) {
            o->offset[i] = at;
            at += strlen(k[i].as.text) + 1;
        }
    }
    tt_memory_put(&b->memory, k);
    return o->string && at < TT_NONE ? 0 : -TT_ERR_MEMORY;
}

/* Everything that refers to strings does so by their places from here on. */
static void renumber_strings(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_block_row *block = b->block.item;
    struct tt_metric_row *metric = b->metric.item;
    struct tt_strand_row *strand = b->strand.item;
    struct tt_fact *fact = b->fact.item;
    struct tt_space_row *space = b->space.item;
    struct tt_series_row *series = b->series.item;
    struct tt_point *point = b->point.item;
    const uint32_t *to = o->string;

    for (size_t i = 0; i < b->block.count; i++) {
        block[i].name = to[block[i].name];
        block[i].module = to[block[i].module];
        block[i].file = to[block[i].file];
    }
    for (size_t i = 0; i < b->metric.count; i++) {
        metric[i].name = to[metric[i].name];
        metric[i].unit = to[metric[i].unit];
    }
    for (size_t i = 0; i < b->strand.count; i++) {
        strand[i].host = to[strand[i].host];
        strand[i].process = to[strand[i].process];
        strand[i].node = to[strand[i].node];
        strand[i].name = to[strand[i].name];
        strand[i].labels = to[strand[i].labels];
    }
    for (size_t i = 0; i < b->fact.count; i++) {
        fact[i].name = to[fact[i].name];
        fact[i].text = to[fact[i].text];
    }
    for (size_t i = 0; i < b->space.count; i++)
        space[i].type = to[space[i].type];
    for (size_t i = 0; i < b->series.count; i++) {
        series[i].name = to[series[i].name];
        series[i].unit = to[series[i].unit];
        series[i].label = to[series[i].label];
    }
    for (size_t i = 0; i < b->point.count; i++)
        point[i].label = to[point[i].label];
}

/* Sorts the rows of a vector; returns the places. */
#define ORDER_ROWS(vector, member, compare, place)                                       \
    do {                                                                                 \
        size_t n_ = b->vector.count;                                                     \
        struct keyed *k_ = keyed_new(b, n_);                                             \
        for (size_t i = 0; k_ && i < n_; i++)                                            \
            memcpy(&k_[i].as.member, (char *)b->vector.item + i * b->vector.size,        \
                   sizeof k_[i].as.member);                                              \
        place = k_ ? places(b, k_, n_, compare) : NULL;                                  \
        for (size_t i = 0; k_ && i < n_; i++)                                            \
            memcpy((char *)b->vector.item + i * b->vector.size, &k_[i].as.member,        \
                   sizeof k_[i].as.member);                                              \
        tt_memory_put(&b->memory, k_);                                                   \
    } while (0)

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

/* The context at place 0 is the root.  A context comes after its parent, and siblings are
 * in the order of their blocks:
 *
 *      place of c = place of its parent + 1 + sizes of the siblings with lesser blocks
 *
 * Ids of parents are less than those of their children, so that a pass down the ids adds
 * up sizes, and one up adds up places.  Data are freed as soon as possible: this is where
 * a builder needs most memory. */
struct contexts {
    uint32_t count, blocks;
    uint32_t *parent, *size; /* by id */
    uint32_t *sorted, *end;  /* ids by block; where each block's end */
};

static void count_up(uint32_t *count, size_t n)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t here = count[i];
        count[i] = sum;
        sum += here;
    }
}

static uint32_t *numbers_new(struct tt_builder *b, size_t count)
{
    return tt_memory_get(&b->memory, count * sizeof(uint32_t));
}

static void numbers_free(struct tt_builder *b, uint32_t **number)
{
    tt_memory_put(&b->memory, *number);
    *number = NULL;
}

/* Takes all but the root; the builder's own list of contexts is freed. */
static int sort_contexts(struct tt_builder *b, const struct tt_order *o,
                         struct contexts *c)
{
    const struct tt_grown *g = b->context.item;

    c->sorted = numbers_new(b, c->count);
    c->end = numbers_new(b, c->blocks);
    c->parent = numbers_new(b, c->count);
    if (!c->sorted || !c->end || !c->parent)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 1; i < c->count; i++)
        c->end[o->block[g[i].block]]++;
    count_up(c->end, c->blocks);
    for (uint32_t i = 1; i < c->count; i++) {
        c->sorted[c->end[o->block[g[i].block]]++] = i;
        c->parent[i] = g[i].parent;
    }
    tt_memory_put(&b->memory, b->context.item);
    b->context.item = NULL;
    b->context.room = 0;
    return 0;
}

/* Computes the places, and the greatest depth. */
static int place_contexts(struct tt_builder *b, struct tt_order *o, struct contexts *c)
{
    uint32_t *place = o->context = numbers_new(b, c->count);
    uint32_t *size = c->size = numbers_new(b, c->count);
    uint32_t *below = numbers_new(b, c->count); /* sizes of the children that were met */

    if (!place || !size || !below) {
        numbers_free(b, &below);
        return -TT_ERR_MEMORY;
    }
    for (uint32_t i = c->count; i-- > 1;)
        size[c->parent[i]] += ++size[i];
    size[0]++;
    for (uint32_t i = 0; i + 1 < c->count; i++) {
        uint32_t id = c->sorted[i], parent = c->parent[id];
        place[id] = below[parent];
        below[parent] += size[id];
    }
    below[0] = 0; /* depths, from here on */
    for (uint32_t i = 1; i < c->count; i++) {
        place[i] += place[c->parent[i]] + 1;
        below[i] = below[c->parent[i]] + 1;
        o->depth = below[i] > o->depth ? below[i] : o->depth;
    }
    numbers_free(b, &below);
    numbers_free(b, &c->parent);
    return 0;
}

/* Makes the columns of the file. */
static int fill_contexts(struct tt_builder *b, struct tt_order *o, struct contexts *c)
{
    o->block_of = numbers_new(b, c->count);
    if (!o->block_of)
        return -TT_ERR_MEMORY;
    for (uint32_t block = 0, i = 0; block < c->blocks; block++)
        for (; i < c->end[block]; i++)
            o->block_of[o->context[c->sorted[i]]] = block;
    numbers_free(b, &c->sorted);
    o->size_of = numbers_new(b, c->count);
    if (!o->size_of)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < c->count; i++)
        o->size_of[o->context[i]] = c->size[i];
    return 0;
}

static int order_contexts(struct tt_builder *b, struct tt_order *o)
{
    struct contexts c = {.count = (uint32_t)b->context.count,
                         .blocks = (uint32_t)b->block.count};
    int error = sort_contexts(b, o, &c);

    if (!error)
        error = place_contexts(b, o, &c);
    if (!error)
        error = fill_contexts(b, o, &c);
    numbers_free(b, &c.parent);
    numbers_free(b, &c.size);
    numbers_free(b, &c.sorted);
    numbers_free(b, &c.end);
    return error;
}

static int order_arcs(struct tt_builder *b, struct tt_order *o)
{
    const struct tt_grown_arc *a = b->arc.item;
    size_t n = b->arc.count;
    struct keyed *k = keyed_new(b, n);

    o->arc_row = tt_memory_get(&b->memory, n * sizeof *o->arc_row);
    if (k && o->arc_row) {
        for (size_t i = 0; i < n; i++)
            k[i].as.arc = (struct tt_arc_row){.from = o->context[a[i].from],
                                              .to = o->context[a[i].to],
                                              .block = o->block[a[i].block]};
        o->arc = places(b, k, n, by_arc);
        for (size_t i = 0; i < n; i++)
            o->arc_row[i] = k[i].as.arc;
    }
    tt_memory_put(&b->memory, k);
    return o->arc ? 0 : -TT_ERR_MEMORY;
}

/* ── Figures by context, arc and block ────────────────────────────────────────────── */

static uint64_t row_of(const struct tt_builder *b, const struct tt_order *o, uint64_t row)
{
    uint64_t contexts = b->context.count, arcs = b->arc.count, blocks = b->block.count;
    uint32_t id = (uint32_t)row;

    switch ((enum tt_role)(row >> 32)) {
    case TT_ROLE_ARC:
        return contexts + o->arc[id];
    case TT_ROLE_BESIDE:
        return contexts + arcs + o->block[id];
    case TT_ROLE_HIDDEN:
        return contexts + arcs + blocks + o->block[id];
    case TT_ROLE_ELSEWHERE:
        return contexts + arcs + 2 * blocks + o->context[id];
    case TT_ROLE_OWN:
        return 2 * contexts + arcs + 2 * blocks + o->context[id];
    default:
        return o->context[id];
    }
}

static uint32_t strand_place(const struct tt_order *o, uint32_t strand)
{
    return strand == TT_NONE ? TT_NONE : o->strand[strand];
}

void tt_order_entries(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_entry *e = b->entry.item;

    for (size_t i = 0; i < b->entry.count; i++) {
        int is_arc = e[i].row >> 32 == TT_ROLE_ARC;
        e[i].row = row_of(b, o, e[i].row);
        e[i].metric = is_arc ? 0 : o->metric[e[i].metric];
        e[i].strand = strand_place(o, e[i].strand);
    }
}

static uint32_t edge_place(const struct tt_builder *b, const struct tt_order *o,
                           uint32_t row)
{
    return row & TT_ARC_ROW ? (uint32_t)b->context.count + o->arc[row & ~TT_ARC_ROW]
                            : o->context[row];
}

/* ── Tables by edge ───────────────────────────────────────────────────────────────── */

static int by_times(const void *a, const void *b)
{
    const struct tt_times_row *x = a, *y = b;

    ORDER_BY(row);
    ORDER_BY(strand);
    return 0;
}

static void renumber_times(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_times_row *t = b->times.item;

    for (size_t i = 0; i < b->times.count; i++) {
        t[i].row = edge_place(b, o, t[i].row);
        t[i].strand = strand_place(o, t[i].strand);
        t[i].min_strand = strand_place(o, t[i].min_strand);
        t[i].max_strand = strand_place(o, t[i].max_strand);
    }
    sort_rows(&b->times, by_times);
}

/* Adds up the rows from `first` on with its row number, and with its strand if `each`,
 * into a new row of `all`; returns the index after them. */
static size_t sum_times(const struct tt_vector *times, size_t first, int each,
                        struct tt_vector *all)
{
    const struct tt_times_row *t = times->item;
    struct tt_times_row *sum = tt_vector_add(all, 1);
    size_t i = first;

    for (; i < times->count && t[i].row == t[first].row &&
           (!each || t[i].strand == t[first].strand);
         i++)
        if (sum)
            tt_times_add(sum, &t[i], NULL);
    if (sum) {
        sum->row = t[first].row;
        sum->strand = each ? t[first].strand : TT_NONE;
    }
    return i;
}

/* For each row: first the sum of all, and then, if they are kept, those of each
 * strand. */
static int order_times(struct tt_builder *b, const struct tt_order *o)
{
    const struct tt_times_row *t = b->times.item;
    int each = b->strand.count > 1 && !b->summary;
    struct tt_vector all;
    size_t end, rows = 0;

    renumber_times(b, o);
    tt_vector_init(&all, &b->memory, sizeof *t);
    for (size_t i = 0; i < b->times.count; i = end) {
        end = sum_times(&b->times, i, 0, &all);
        for (rows++; each && i < end && t[i].strand != TT_NONE; rows++)
            i = sum_times(&b->times, i, 1, &all);
    }
    tt_vector_fini(&b->times);
    b->times = all;
    return all.count == rows ? 0 : -TT_ERR_MEMORY;
}

static int by_bin(const void *a, const void *b)
{
    const struct tt_bin_row *x = a, *y = b;

    ORDER_BY(row);
    ORDER_BY(bin);
    return 0;
}

static void order_bins(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_bin_row *r = b->bin.item;
    size_t kept = 0;

    for (size_t i = 0; i < b->bin.count; i++)
        r[i].row = edge_place(b, o, r[i].row);
    sort_rows(&b->bin, by_bin);
    for (size_t i = 0; i < b->bin.count; i++) {
        if (kept && r[kept - 1].row == r[i].row && r[kept - 1].bin == r[i].bin)
            r[kept - 1].count += r[i].count;
        else
            r[kept++] = r[i];
    }
    b->bin.count = kept;
}

static int by_activation(const void *a, const void *b)
{
    const struct tt_activation_row *x = a, *y = b;

    ORDER_BY(row);
    ORDER_BY(slow);
    ORDER_BY(start);
    ORDER_BY(duration);
    ORDER_BY(strand);
    ORDER_BY(figures);
    ORDER_BY(first);
    return 0;
}

/* Moves the figures of slow activations into the new order. */
static int order_activations(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_activation_row *a = b->activation.item;
    struct tt_slow_figure *f = b->slow.item, *to;
    struct tt_vector slow;

    for (size_t i = 0; i < b->slow.count; i++)
        f[i].block = o->block[f[i].block];
    for (size_t i = 0; i < b->activation.count; i++) {
        a[i].row = edge_place(b, o, a[i].row);
        a[i].strand = strand_place(o, a[i].strand);
    }
    sort_rows(&b->activation, by_activation);
    tt_vector_init(&slow, &b->memory, sizeof *f);
    for (size_t i = 0; i < b->activation.count; i++) {
        to = tt_vector_add(&slow, a[i].figures);
        if (!to) {
            tt_vector_fini(&slow);
            return -TT_ERR_MEMORY;
        }
        if (a[i].figures)
            memcpy(to, f + a[i].first, a[i].figures * sizeof *f);
        a[i].first = slow.count - a[i].figures;
    }
    tt_vector_fini(&b->slow);
    b->slow = slow;
    return 0;
}

/* ── Space and series ─────────────────────────────────────────────────────────────── */

static int by_space(const void *a, const void *b)
{
    const struct tt_space_row *x = a, *y = b;

    ORDER_BY(context);
    ORDER_BY(type);
    ORDER_BY(from);
    ORDER_BY(to);
    return 0;
}

static void order_space(struct tt_builder *b, const struct tt_order *o)
{
    struct tt_space_row *r = b->space.item;
    size_t kept = 0;

    for (size_t i = 0; i < b->space.count; i++)
        r[i].context = o->context[r[i].context];
    sort_rows(&b->space, by_space);
    for (size_t i = 0; i < b->space.count; i++) {
        if (kept && by_space(&r[kept - 1], &r[i]) == 0) {
            tt_add_capped(&r[kept - 1].number, r[i].number);
            tt_add_capped(&r[kept - 1].bytes, r[i].bytes);
            tt_add_capped(&r[kept - 1].overhead, r[i].overhead);
        } else {
            r[kept++] = r[i];
        }
    }
    b->space.count = kept;
}

static int by_point(const void *a, const void *b)
{
    const struct tt_point *x = a, *y = b;

    ORDER_BY(series);
    ORDER_BY(time);
    ORDER_BY(label);
    return 0;
}

/* There are few series: the place of one is the number of those before it. */
static uint32_t series_place(const struct tt_builder *b, uint32_t id)
{
    const struct tt_series_row *s = b->series.item, *x = &s[id];
    uint32_t place = 0;

    for (uint32_t i = 0; i < b->series.count; i++)
        place += s[i].name != x->name   ? s[i].name < x->name
                 : s[i].unit != x->unit ? s[i].unit < x->unit
                                        : s[i].label < x->label;
    return place;
}

static int order_series(struct tt_builder *b)
{
    struct tt_point *p = b->point.item;
    struct tt_series_row *s = b->series.item, *sorted;
    size_t kept = 0;

    for (size_t i = 0; i < b->point.count; i++)
        p[i].series = series_place(b, p[i].series);
    sort_rows(&b->point, by_point);
    for (size_t i = 0; i < b->point.count; i++) {
        if (kept && by_point(&p[kept - 1], &p[i]) == 0)
            tt_add_capped(&p[kept - 1].amount, p[i].amount);
        else
            p[kept++] = p[i];
    }
    b->point.count = kept;
    sorted = tt_memory_get(&b->memory, b->series.count * sizeof *sorted);
    if (!sorted)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < b->series.count; i++)
        sorted[series_place(b, i)] = s[i];
    if (b->series.count)
        memcpy(s, sorted, b->series.count * sizeof *s);
    tt_memory_put(&b->memory, sorted);
    return 0;
}

static int by_fact(const void *a, const void *b)
{
    const struct tt_fact *x = a, *y = b;

    ORDER_BY(name);
    ORDER_BY(text);
    ORDER_BY(rule);
    return 0;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

int tt_order_make(struct tt_builder *b, struct tt_order *o)
{
    if (tt_samples_end(b) != 0 || order_strings(b, o) != 0)
        return -TT_ERR_MEMORY;
    renumber_strings(b, o);
    ORDER_ROWS(block, block, by_block, o->block);
    ORDER_ROWS(metric, metric, by_metric, o->metric);
    ORDER_ROWS(strand, strand, by_strand, o->strand);
    if (!o->block || !o->metric || !o->strand || order_contexts(b, o) != 0 ||
        order_arcs(b, o) != 0 || order_times(b, o) != 0 || order_activations(b, o) != 0 ||
        order_series(b) != 0)
        return -TT_ERR_MEMORY;
    order_bins(b, o);
    order_space(b, o);
    tt_order_samples(b, o);
    sort_rows(&b->fact, by_fact);
    return tt_trails_order(b, o);
}

void tt_order_drop_copied(struct tt_builder *b, struct tt_order *o)
{
    tt_memory_put(&b->memory, o->block_of);
    tt_memory_put(&b->memory, o->size_of);
    o->block_of = o->size_of = NULL;
}

void tt_order_free(struct tt_builder *b, struct tt_order *o)
{
    const struct tt_memory *m = &b->memory;

    tt_memory_put(m, o->string);
    tt_memory_put(m, o->offset);
    tt_memory_put(m, o->block);
    tt_memory_put(m, o->metric);
    tt_memory_put(m, o->strand);
    tt_memory_put(m, o->context);
    tt_order_drop_copied(b, o);
    tt_memory_put(m, o->arc);
    tt_memory_put(m, o->arc_row);
}
