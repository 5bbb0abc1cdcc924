/* SPDX-License-Identifier: MIT */
/* shown.c - the contexts that are worth a row, in preorder, out of any number.
 *
 * A context that is too small is skipped with its whole subtree, so the cost is in
 * proportion to the shown contexts and their children.  If the number of rows is limited,
 * twice as many are kept, and reduced to the largest whenever they are full; from then
 * on, only contexts above the least of them are considered.  If the profile's digest has
 * all of them, it is read in place of the columns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "metric-view.h"
#include "several.h"
#include "shown.h"
#include "since.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"

/* ── The source of contexts ───────────────────────────────────────────────────────── */

/* Contexts in preorder, by their place: all, or those of the digest. */
struct source {
    const struct tt_metric_view *lens;
    const struct tt_digest_row *row; /* NULL: a context's place is its number */
};

static struct tt_digest_row row_at(const struct source *s, uint32_t place)
{
    const struct tt_profile *p = s->lens->p;

    if (s->row)
        return s->row[place];
    return (struct tt_digest_row){place, tt_block_of(p, place),
                                  tt_end_of(p, place) - place};
}

/* Returns the first place that is not before a context. */
static uint32_t place_of(const struct source *s, uint32_t context)
{
    const struct tt_profile *p = s->lens->p;

    if (!s->row || !p->digests || s->row[p->digests - 1].context < context)
        return s->row ? p->digests : context;
    return (uint32_t)tt_first_from(&s->row->context, sizeof *s->row, p->digests, context);
}

/* Returns the place after the subtree of the one at a place. */
static uint32_t skip(const struct source *s, uint32_t place)
{
    struct tt_digest_row r = row_at(s, place);

    if (!s->row)
        return r.context + r.size;
    while (++place < s->lens->p->digests && s->row[place].context < r.context + r.size)
        ;
    return place;
}

static struct tt_digest_figure figure_at(const struct source *s, uint32_t place,
                                         const uint64_t *sums,
                                         const struct tt_digest_figure *digest)
{
    uint32_t end;

    if (!sums)
        return (struct tt_digest_figure){0};
    if (s->row)
        return digest[place];
    end = tt_end_of(s->lens->p, place);
    return (struct tt_digest_figure){sums[place + 1] - sums[place],
                                     sums[end] - sums[place]};
}

static uint64_t dropped_below(const struct source *s, struct tt_digest_row r)
{
    return tt_calls_between(&s->lens->drop, r.context, r.context + r.size);
}

static uint64_t total_at(const struct source *s, uint32_t place)
{
    const struct tt_metric_columns *m = s->lens->main;

    return figure_at(s, place, m->self, m->digest_self).all +
           figure_at(s, place, m->elsewhere, m->digest_elsewhere).all +
           (s->lens->drop.count ? dropped_below(s, row_at(s, place)) : 0);
}

/* Collects the figures of a context. */
static struct tt_shown look_at(const struct source *s, uint32_t place, uint32_t depth)
{
    const struct tt_metric_view *l = s->lens;
    const struct tt_metric_columns *m = l->main, *calls = l->calls;
    const struct tt_digest_row r = row_at(s, place);
    struct tt_shown at = {.context = r.context,
                          .block = r.block,
                          .end = r.context + r.size,
                          .depth = depth,
                          .parent = TT_NONE,
                          .rest = r.size - 1,
                          .dropped = tt_calls_at(&l->drop, r.context)};
    uint64_t beside;

    at.self = figure_at(s, place, m->self, m->digest_self);
    at.low = m->low ? figure_at(s, place, m->low, m->digest_low) : at.self;
    at.elsewhere = figure_at(s, place, m->elsewhere, m->digest_elsewhere);
    if (calls)
        at.calls = figure_at(s, place, calls->self, calls->digest_self);
    at.total = at.self.all + at.elsewhere.all + dropped_below(s, r);
    at.total_low = at.total - at.self.all + at.low.all;
    /* Totals of shown children will be subtracted from this. */
    beside = at.elsewhere.own + at.dropped;
    at.left = (struct tt_figures){.has = TT_HAS_CALLS,
                                  .self = at.total - at.self.own - beside,
                                  .self_low = at.total_low - at.low.own - beside,
                                  .calls = at.calls.all - at.calls.own};
    return at;
}

/* ── Which ────────────────────────────────────────────────────────────────────────── */

struct choosing {
    struct source source;
    const struct tt_shown_rule *rule;
    struct tt_vector *shown;
    uint64_t least; /* total, not below the rule's */
    uint64_t above; /* totals must be more than this, when something was thinned out */
    int thinned;
};

/* Finds the n-th largest total, from 1: by digits from the highest, counting those that
 * agree in the higher ones. */
static uint64_t nth_largest(const struct tt_vector *shown, size_t n)
{
    const struct tt_shown *s = shown->item;
    uint64_t prefix = 0;

    for (int shift = 56; shift >= 0; shift -= 8) {
        size_t count[256] = {0};
        unsigned digit = 255;
        for (size_t i = 0; i < shown->count; i++)
            if (shift == 56 || s[i].total >> (shift + 8) == prefix)
                count[s[i].total >> shift & 255]++;
        while (digit && n > count[digit])
            n -= count[digit--];
        prefix = prefix << 8 | digit;
    }
    return prefix;
}

/* Keeps the largest; of those that are equal to the least of them, the first. */
static void thin_out(struct choosing *c)
{
    const uint64_t least = nth_largest(c->shown, c->rule->limit);
    struct tt_shown *s = c->shown->item;
    size_t kept = 0, equal = c->rule->limit;

    for (size_t i = 0; i < c->shown->count; i++)
        equal -= s[i].total > least;
    for (size_t i = 0; i < c->shown->count; i++)
        if (s[i].total > least || (s[i].total == least && equal && equal--))
            s[kept++] = s[i];
    c->shown->count = kept;
    c->above = least;
    c->thinned = 1;
}

static int add_shown(struct choosing *c, uint32_t place, uint32_t depth)
{
    enum { SPARE = 4096 };
    const size_t limit = c->rule->limit;
    struct tt_shown s;

    if (limit != TT_NONE && c->shown->count >= 2 * limit + SPARE)
        thin_out(c);
    s = look_at(&c->source, place, depth);
    return tt_vector_push(c->shown, &s);
}

static int is_wanted(const struct choosing *c, uint32_t place)
{
    uint64_t total = total_at(&c->source, place);

    return total >= c->least && (!c->thinned || total > c->above);
}

/* Is it on the path to the rule's target? */
static int leads_there(const struct choosing *c, uint32_t place)
{
    const uint32_t to = c->rule->towards;
    struct tt_digest_row r;

    if (to == TT_NONE)
        return 1;
    r = row_at(&c->source, place);
    return r.context <= to && to < r.context + r.size;
}

/* The ends of the subtrees that are open, by place, in a vector. */
static int choose(struct choosing *c, struct tt_vector *open)
{
    const struct source *s = &c->source;
    uint32_t at = place_of(s, c->rule->start), end = skip(s, at), *top;

    while (at < end) {
        top = open->item;
        while (open->count && top[open->count - 1] <= at)
            open->count--;
        if (open->count && !(leads_there(c, at) && is_wanted(c, at))) {
            at = skip(s, at);
            continue;
        }
        if (add_shown(c, at, (uint32_t)open->count) != 0)
            return -TT_ERR_MEMORY;
        if (open->count >= c->rule->depth) {
            at = skip(s, at);
            continue;
        }
        top = tt_vector_add(open, 1);
        if (!top)
            return -TT_ERR_MEMORY;
        *top = skip(s, at);
        at++;
    }
    if (c->rule->limit != TT_NONE && c->shown->count > c->rule->limit)
        thin_out(c);
    return 0;
}

/* ── By the digest ────────────────────────────────────────────────────────────────── */

static int is_in_digest(const struct source *s, uint32_t context)
{
    uint32_t place = place_of(s, context);

    return place < s->lens->p->digests && s->row[place].context == context;
}

/* All contexts that are not below `least` are in the digest; so are their parents. */
static int choose_from_digest(struct choosing *c, struct tt_vector *open)
{
    const struct tt_metric_view *l = c->source.lens;
    const struct tt_shown_rule *rule = c->rule;
    const uint32_t limit = rule->limit;
    const uint64_t *least = l->p->digest_least;
    int error;

    c->source.row = l->p->digest;
    if (!l->p->digests || l->drop.count || !is_in_digest(&c->source, rule->start) ||
        (rule->towards != TT_NONE && !is_in_digest(&c->source, rule->towards))) {
        c->source.row = NULL;
        return 0;
    }
    if (rule->towards == TT_NONE && c->least < least[l->choice.main])
        c->least = least[l->choice.main];
    error = choose(c, open);
    if (error || c->least == rule->least ||
        (limit != TT_NONE && c->shown->count >= limit))
        return error;
    /* Smaller contexts may be wanted too. */
    c->source.row = NULL;
    c->least = rule->least;
    c->thinned = 0;
    c->shown->count = open->count = 0;
    return 0;
}

/* ── What is left of each ─────────────────────────────────────────────────────────── */

static void take_from_rest(struct tt_shown *parent, const struct tt_shown *child)
{
    parent->rest -= child->end - child->context;
    parent->left.self -= child->total;
    parent->left.self_low -= child->total_low;
    parent->left.calls -= child->calls.all;
}

static void find_parents(const struct tt_profile *p, struct tt_vector *shown)
{
    struct tt_shown *s = shown->item;
    uint32_t parent = TT_NONE;

    for (size_t i = 0; i < shown->count; i++) {
        while (parent != TT_NONE && s[parent].end <= s[i].context)
            parent = s[parent].parent;
        s[i].parent = parent;
        s[i].path = parent == TT_NONE
                        ? tt_path_of(p, s[i].context)
                        : tt_path_below(s[parent].path, tt_block_identity(p, s[i].block));
        if (parent != TT_NONE)
            take_from_rest(&s[parent], &s[i]);
        parent = (uint32_t)i;
    }
}

int tt_shown_find(const struct tt_metric_view *l, const struct tt_shown_rule *rule,
                  struct tt_vector *shown)
{
    struct choosing c = {
        .source = {.lens = l}, .rule = rule, .shown = shown, .least = rule->least};
    struct tt_vector open;
    int error;

    tt_vector_init(shown, l->memory, sizeof(struct tt_shown));
    tt_vector_init(&open, l->memory, sizeof(uint32_t));
    error = choose_from_digest(&c, &open);
    if (!error && !c.source.row)
        error = choose(&c, &open);
    tt_vector_fini(&open);
    if (!error)
        find_parents(l->p, shown);
    return error;
}

/* Finds a context by its path, "N#0123456789abcdef"; it was number N when that was
 * written. */
static int find_path(const struct tt_profile *p, struct tt_query *q, const char *value,
                     uint64_t path, uint32_t *context)
{
    unsigned long near = strtoul(value, NULL, 10);

    if (tt_path_find(p, path, near < p->contexts ? (uint32_t)near : TT_NONE, q->memory,
                     context) != 0)
        return -TT_ERR_MEMORY;
    if (*context == TT_NONE)
        return tt_query_wrong(q,
                              "no context has the path '%.40s' here; filters may have "
                              "changed it, or it was evicted",
                              value);
    return 0;
}

/* Finds the context that a query names, as `key=N` or by its path; `none` if it does
 * not. */
static int find_context(const struct tt_profile *p, struct tt_query *q, const char *key,
                        uint32_t none, uint32_t *context)
{
    const char *value = tt_query_other(q, key);
    uint64_t path;
    unsigned long long n;
    char *end;

    *context = none;
    if (!value)
        return 0;
    if (tt_identity_read(value, &path))
        return find_path(p, q, value, path, context);
    errno = 0;
    n = strtoull(value, &end, 10);
    if (end == value || *end || *value == '-' || errno || n >= p->contexts)
        return tt_query_wrong(q, "there is no context '%.40s'; they are 0 to %u", value,
                              p->contexts - 1);
    *context = (uint32_t)n;
    return 0;
}

int tt_shown_rule_of(const struct tt_metric_view *l, struct tt_query *q, uint32_t limit,
                     double threshold, struct tt_shown_rule *rule)
{
    int error = find_context(l->p, q, "context", 0, &rule->start);

    error = error ?: find_context(l->p, q, "to", TT_NONE, &rule->towards);
    if (error)
        return error;
    rule->limit = tt_limit(q, rule->towards == TT_NONE ? limit : TT_NONE);
    rule->depth = q->depth ? q->depth : TT_NONE;
    rule->least = tt_least_amount(
        tt_threshold(q, rule->towards == TT_NONE ? threshold : 0),
        tt_metric_view_total(l, rule->start));
    return 0;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

struct filling {
    const struct tt_metric_view *lens;
    const struct tt_shown *shown;
    struct tt_table *table;
    const struct tt_columns *columns;
    tt_shown_row *each;
    void *arg;
    struct tt_times_row *times; /* owned; of activations by whatever edge; or NULL */
};

/* Returns the times of a shown context, by binary search; NULL: it is not shown. */
static struct tt_times_row *times_at(const struct filling *f, size_t count,
                                     uint32_t context)
{
    size_t low = tt_first_from(&f->shown->context, sizeof *f->shown, count, context);

    return f->shown[low].context == context ? &f->times[low] : NULL;
}

/* Activations called by its parent, and those that came back to it from below. */
static void add_times(const struct filling *f, size_t count)
{
    const struct tt_profile *p = f->lens->p;
    size_t at;

    for (size_t i = 0; i < count; i++)
        if (tt_times_range(p, f->shown[i].context, &at) > at &&
            p->times[at].strand == TT_NONE)
            tt_times_add(&f->times[i], &p->times[at], NULL);
    for ((void)tt_times_range(p, p->contexts, &at); at < p->many_times; at++) {
        uint32_t arc = p->times[at].row - p->contexts;
        struct tt_times_row *t;
        if (arc >= p->arcs)
            break;
        if (p->times[at].strand != TT_NONE || tt_arc_is_dropped(p, &p->arc[arc]))
            continue;
        t = times_at(f, count - 1, p->arc[arc].to);
        if (t)
            tt_times_add(t, &p->times[at], NULL);
    }
}

/* Remainders have figures of the main metric alone. */
static void fill_several(const struct filling *f, uint32_t context)
{
    const struct tt_metric_view *l = f->lens;
    struct tt_several_figures figures;
    struct tt_metric_view one;

    for (uint32_t i = 1; i < l->several.count; i++) {
        if (tt_several_lens(l, i, &one) != 0)
            f->table->failed = 1;
        figures.self[i] = tt_self_of(one.main, context);
        figures.inclusive[i] = f->table->failed ? 0 : tt_metric_view_total(&one, context);
        tt_metric_view_fini(&one);
    }
    tt_several_fill(l, f->table, f->columns, &figures);
}

static void fill_context(const struct filling *f, size_t i)
{
    const struct tt_metric_view *l = f->lens;
    const struct tt_shown *s = &f->shown[i];
    struct tt_figures figures = {.has = TT_HAS_ALL,
                                 .self = s->self.own,
                                 .self_low = s->low.own,
                                 .inclusive = s->total,
                                 .inclusive_low = s->total_low,
                                 .calls = s->calls.own,
                                 .is_sampled = tt_is_sampled(l, s->context),
                                 .times = f->times ? &f->times[i] : NULL};

    tt_since_context(l, s->context, &figures);
    tt_table_row(f->table, TT_ROW_ENTRY, s->depth, 0);
    tt_metric_view_figures(l, f->table, f->columns, &figures);
    fill_several(f, s->context);
    tt_block_cells(l->p, f->table, f->columns, s->block);
    f->each(f->arg, i, s->total, 0);
}

static void fill_remainder(const struct filling *f, size_t i, const char *name,
                           const struct tt_figures *figures)
{
    tt_metric_view_remainder(f->lens, f->table, f->columns, f->shown[i].depth + 1, 0,
                             name, figures);
    f->each(f->arg, i, figures->self, 1);
}

/* Returns the cost of a context besides its self and the shown children. */
static void fill_rest(const struct filling *f, size_t i)
{
    const struct tt_shown *s = &f->shown[i];
    struct tt_figures one = {0};

    if (s->rest) {
        fill_remainder(f, i, tt_table_text(f->table, "%u more", s->rest), &s->left);
        tt_table_left(f->table, s->rest);
    }
    one.self = one.self_low = s->dropped;
    if (one.self)
        fill_remainder(f, i, "[dropped]", &one);
    one.self = one.self_low = s->elsewhere.own;
    if (one.self)
        fill_remainder(f, i, "[elsewhere below]", &one);
}

int tt_shown_rows(const struct tt_metric_view *l, const struct tt_vector *shown,
                  struct tt_table *t, const struct tt_columns *c, tt_shown_row *each,
                  void *arg)
{
    struct filling f = {l, shown->item, t, c, each, arg, NULL};
    const size_t size = shown->count * sizeof *f.times;
    uint32_t open = TT_NONE;

    if (tt_since_contexts(l) != 0)
        return -TT_ERR_MEMORY;
    if (l->has_times && shown->count) {
        f.times = tt_memory_get(l->memory, size);
        if (!f.times)
            return -TT_ERR_MEMORY;
        add_times(&f, shown->count);
    }
    for (size_t i = 0; i < shown->count && !t->failed; i++) {
        for (; open != f.shown[i].parent; open = f.shown[open].parent)
            fill_rest(&f, open);
        fill_context(&f, i);
        open = (uint32_t)i;
    }
    for (; open != TT_NONE && !t->failed; open = f.shown[open].parent)
        fill_rest(&f, open);
    tt_memory_put(l->memory, f.times);
    return t->failed ? -TT_ERR_MEMORY : 0;
}
