/* SPDX-License-Identifier: MIT */
/* shown.c - the contexts that are worth a row, in preorder, of however many there are.
 *
 * Whatever is too small is passed over with its whole subtree, so that the cost is that of
 * what is shown, and a step for each child of it that is not.  When only so many rows are
 * wanted, twice as many are kept, and thinned out to the largest whenever they are full;
 * from then on nothing is looked at that is not above the least of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewing.h"

/* ── Which ────────────────────────────────────────────────────────────────────────── */

struct choosing {
    const struct tt_lens *lens;
    const struct tt_shown_rule *rule;
    struct tt_vector *shown;
    uint64_t above; /* totals must be more than this, when something was thinned out */
    int thinned;
};

/* The n-th largest total, from 1: by digits from the highest, counting those that agree
 * in the higher ones. */
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

/* Keeps the largest, and of those that are equal to the least of them the first. */
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

static int add_shown(struct choosing *c, uint32_t context, uint32_t depth, uint64_t total)
{
    enum { SPARE = 4096 };
    const size_t limit = c->rule->limit;
    struct tt_shown *s;

    if (limit != TT_NONE && c->shown->count >= 2 * limit + SPARE)
        thin_out(c);
    s = tt_vector_add(c->shown, 1);
    if (!s)
        return -TT_ERR_MEMORY;
    *s = (struct tt_shown){
        .context = context, .depth = depth, .parent = TT_NONE, .total = total};
    return 0;
}

static int is_wanted(const struct choosing *c, uint64_t total)
{
    return total >= c->rule->least && (!c->thinned || total > c->above);
}

/* Is it on the way to where the rule leads? */
static int leads_there(const struct choosing *c, uint32_t context)
{
    uint32_t to = c->rule->towards;

    return to == TT_NONE || (context <= to && to < tt_end_of(c->lens->p, context));
}

/* The ends of the subtrees that are open, in a vector. */
static int choose(struct choosing *c, struct tt_vector *open)
{
    const struct tt_profile *p = c->lens->p;
    uint32_t end = tt_end_of(p, c->rule->start), at = c->rule->start, *top;
    uint64_t total;

    while (at < end) {
        top = open->item;
        while (open->count && top[open->count - 1] <= at)
            open->count--;
        total = tt_lens_total(c->lens, at);
        if (open->count && !(is_wanted(c, total) && leads_there(c, at))) {
            at = tt_end_of(p, at);
            continue;
        }
        if (add_shown(c, at, (uint32_t)open->count, total) != 0)
            return -TT_ERR_MEMORY;
        if (open->count >= c->rule->depth) {
            at = tt_end_of(p, at);
            continue;
        }
        top = tt_vector_add(open, 1);
        if (!top)
            return -TT_ERR_MEMORY;
        *top = tt_end_of(p, at);
        at++;
    }
    if (c->rule->limit != TT_NONE && c->shown->count > c->rule->limit)
        thin_out(c);
    return 0;
}

/* ── What is left of each ─────────────────────────────────────────────────────────── */

static uint64_t drops_at(const struct tt_lens *l, uint32_t context)
{
    return tt_calls_at(&l->drop, context);
}

/* All below a context, which what is shown of it will be taken from. */
static void begin_rest(const struct tt_lens *l, struct tt_shown *s)
{
    const uint32_t c = s->context, end = tt_end_of(l->p, c);
    const uint64_t beside = tt_elsewhere_of(l->main, c) + drops_at(l, c);

    s->total_low = tt_lens_total_low(l, c);
    s->rest = end - c - 1;
    s->left.has = TT_HAS_CALLS;
    s->left.self = s->total - tt_self_of(l->main, c) - beside;
    s->left.self_low = s->total_low - tt_self_low_of(l->main, c) - beside;
    s->left.calls = l->calls ? tt_sum_of(l->calls->self, c + 1, end) : 0;
}

static void take_from_rest(const struct tt_lens *l, struct tt_shown *parent,
                           const struct tt_shown *child)
{
    const uint32_t c = child->context, end = tt_end_of(l->p, c);

    parent->rest -= end - c;
    parent->left.self -= child->total;
    parent->left.self_low -= child->total_low;
    parent->left.calls -= l->calls ? tt_sum_of(l->calls->self, c, end) : 0;
}

static void find_rests(const struct tt_lens *l, struct tt_vector *shown)
{
    struct tt_shown *s = shown->item;
    uint32_t parent = TT_NONE;

    for (size_t i = 0; i < shown->count; i++) {
        begin_rest(l, &s[i]);
        while (parent != TT_NONE && tt_end_of(l->p, s[parent].context) <= s[i].context)
            parent = s[parent].parent;
        s[i].parent = parent;
        if (parent != TT_NONE)
            take_from_rest(l, &s[parent], &s[i]);
        parent = (uint32_t)i;
    }
}

int tt_shown_find(const struct tt_lens *l, const struct tt_shown_rule *rule,
                  struct tt_vector *shown)
{
    struct choosing c = {.lens = l, .rule = rule, .shown = shown};
    struct tt_vector open;
    int error;

    tt_vector_init(shown, l->memory, sizeof(struct tt_shown));
    tt_vector_init(&open, l->memory, sizeof(uint32_t));
    error = choose(&c, &open);
    tt_vector_fini(&open);
    if (!error)
        find_rests(l, shown);
    return error;
}

/* A context that a query names, as `key=N`; `none` when it does not. */
static int find_context(const struct tt_profile *p, struct tt_query *q, const char *key,
                        uint32_t none, uint32_t *context)
{
    const char *value = tt_query_other(q, key);
    unsigned long long n;
    char *end;

    *context = none;
    if (!value)
        return 0;
    errno = 0;
    n = strtoull(value, &end, 10);
    if (end == value || *end || *value == '-' || errno || n >= p->contexts)
        return tt_view_wrong(q, "there is no context '%.40s'; they are 0 to %u", value,
                             p->contexts - 1);
    *context = (uint32_t)n;
    return 0;
}

int tt_shown_rule_of(const struct tt_lens *l, struct tt_query *q, uint32_t limit,
                     double threshold, struct tt_shown_rule *rule)
{
    int error = find_context(l->p, q, "context", 0, &rule->start);

    if (!error)
        error = find_context(l->p, q, "to", TT_NONE, &rule->towards);
    if (error)
        return error;
    rule->limit = tt_limit(q, rule->towards == TT_NONE ? limit : TT_NONE);
    rule->depth = q->depth ? q->depth : TT_NONE;
    rule->least = tt_least_amount(
        tt_threshold(q, rule->towards == TT_NONE ? threshold : 0),
        tt_lens_total(l, rule->start));
    return 0;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

struct filling {
    const struct tt_lens *lens;
    const struct tt_shown *shown;
    struct tt_table *table;
    const struct tt_columns *columns;
    tt_shown_row *each;
    void *arg;
};

static void fill_context(const struct filling *f, size_t i)
{
    const struct tt_lens *l = f->lens;
    const struct tt_shown *s = &f->shown[i];
    struct tt_figures figures = {.has = TT_HAS_ALL,
                                 .self = tt_self_of(l->main, s->context),
                                 .self_low = tt_self_low_of(l->main, s->context),
                                 .inclusive = s->total,
                                 .inclusive_low = s->total_low,
                                 .calls = tt_lens_calls(l, s->context)};
    size_t first;

    if (l->has_times && tt_times_range(l->p, s->context, &first) > first &&
        l->p->times[first].strand == TT_NONE)
        figures.times = &l->p->times[first];
    tt_since_context(l, s->context, &figures);
    tt_table_row(f->table, TT_ROW_ENTRY, s->depth, 0);
    tt_lens_figures(l, f->table, f->columns, &figures);
    tt_block_cells(l->p, f->table, f->columns, tt_block_of(l->p, s->context));
    f->each(f->arg, i, s->total, 0);
}

static void fill_remainder(const struct filling *f, size_t i, const char *name,
                           const struct tt_figures *figures)
{
    tt_lens_remainder(f->lens, f->table, f->columns, f->shown[i].depth + 1, 0, name,
                      figures);
    f->each(f->arg, i, figures->self, 1);
}

/* What a context has besides its self and the children that are shown. */
static void fill_rest(const struct filling *f, size_t i)
{
    const struct tt_shown *s = &f->shown[i];
    struct tt_figures one = {0};

    if (s->rest)
        fill_remainder(f, i, tt_table_text(f->table, "%u more", s->rest), &s->left);
    one.self = one.self_low = drops_at(f->lens, s->context);
    if (one.self)
        fill_remainder(f, i, "[dropped]", &one);
    one.self = one.self_low = tt_elsewhere_of(f->lens->main, s->context);
    if (one.self)
        fill_remainder(f, i, "[elsewhere below]", &one);
}

int tt_shown_rows(const struct tt_lens *l, const struct tt_vector *shown,
                  struct tt_table *t, const struct tt_columns *c, tt_shown_row *each,
                  void *arg)
{
    struct filling f = {l, shown->item, t, c, each, arg};
    uint32_t open = TT_NONE;

    if (tt_since_contexts(l) != 0)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < shown->count && !t->failed; i++) {
        for (; open != f.shown[i].parent; open = f.shown[open].parent)
            fill_rest(&f, open);
        fill_context(&f, i);
        open = (uint32_t)i;
    }
    for (; open != TT_NONE && !t->failed; open = f.shown[open].parent)
        fill_rest(&f, open);
    return t->failed ? -TT_ERR_MEMORY : 0;
}
