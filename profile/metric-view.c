/* SPDX-License-Identifier: MIT */
/* metric-view.c - a profile in one metric: figures of contexts, and the cells they fill.
 *
 * Running sums give the figures of any range of contexts.  There are also running sums
 * over dropped pushes, which are few: a binary search finds them. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "identity.h"
#include "metric-view.h"
#include "several.h"
#include "since.h"
#include "sorted.h"
#include "statistics.h"
#include "view.h"

/* ── The lens ─────────────────────────────────────────────────────────────────────── */

static int compare_arc_calls(const void *a, const void *b)
{
    const struct tt_arc_calls *x = a, *y = b;

    return TT_ORDER(x->context, y->context);
}

/* Collects the arcs that were dropped, or those that were not, in order. */
static int find_arcs(const struct tt_profile *p, struct tt_vector *v, int dropped)
{
    struct tt_arc_calls *d;
    uint64_t sum = 0, calls;

    for (uint32_t i = 0; i < p->arcs; i++) {
        const struct tt_arc_row *a = &p->arc[i];
        if (tt_arc_is_dropped(p, a) != dropped || !a->calls || a->to >= p->contexts)
            continue;
        if (tt_vector_push(v, &(struct tt_arc_calls){dropped ? a->from : a->to, a->block,
                                                     a->calls}) != 0)
            return -TT_ERR_MEMORY;
    }
    if (!v->count)
        return 0;
    if (!tt_vector_add(v, 1))
        return -TT_ERR_MEMORY;
    d = v->item;
    d[v->count - 1].context = TT_NONE;
    qsort(d, v->count, sizeof *d, compare_arc_calls);
    for (size_t i = 0; i < v->count; i++) {
        calls = d[i].before;
        d[i].before = sum;
        sum += calls;
    }
    return 0;
}

int tt_arrivals_find(const struct tt_metric_view *l, struct tt_vector *v)
{
    tt_vector_init(v, l->memory, sizeof(struct tt_arc_calls));
    return find_arcs(l->p, v, 0);
}

uint32_t tt_back_column(struct tt_table *t)
{
    tt_table_column(t, "by_arcs", "back", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    return (uint32_t)tt_table_columns(t) - 1;
}

void tt_back_cell(struct tt_table *t, uint32_t column, const struct tt_vector *arcs,
                  uint32_t context)
{
    uint64_t calls = tt_calls_at(arcs, context);

    if (calls)
        tt_table_amount(t, column, calls);
}

void tt_back_note(const struct tt_profile *p, struct tt_table *t, uint32_t column)
{
    const char *policy = tt_fact_text(p, "recursion");
    size_t row = 0;

    while (row < tt_table_rows(t) && !tt_table_value(t, row, column))
        row++;
    if (row < tt_table_rows(t))
        tt_table_note(
            t, "folded",
            "folded: calls led back into the path at rows with ↺ (recursion %s): "
            "there stacks were deeper, and inclusive figures of single calls and "
            "contexts may be too low",
            policy ? policy : "edge");
}

/* Times without calls are waits for locks, which the view `waits` shows. */
static int is_of_waits(const struct tt_profile *p)
{
    return tt_metric_find(p, "delay") != TT_NONE;
}

uint64_t tt_own_samples(const struct tt_profile *p, uint64_t samples)
{
    const uint64_t weighed = tt_fact_number(p, "weights.samples");

    return weighed && weighed < samples ? weighed : samples;
}

/* (sum of weights)² / sum of squares of all, by what recordings say of theirs. */
uint64_t tt_equal_samples(const struct tt_profile *p, uint64_t samples)
{
    const double n = (double)tt_fact_number(p, "weights.samples"),
                 times = (double)tt_fact_number(p, "weights.times"),
                 squares = (double)tt_fact_number(p, "weights.squares"),
                 clumping = times > 0 ? n * squares / (times * times) : 1;
    const uint64_t own = tt_own_samples(p, samples);

    return clumping > 1 ? (uint64_t)ceil((double)own / clumping) : own;
}

int tt_metric_view_of_choice(struct tt_metric_view *l, const struct tt_profile *p,
                             const struct tt_metric_choice *choice,
                             const struct tt_memory *memory)
{
    *l = (struct tt_metric_view){
        .p = p, .memory = memory, .choice = *choice, .main = choice->column};
    tt_vector_init(&l->drop, memory, sizeof(struct tt_arc_calls));
    if (choice->calls != TT_NONE && choice->calls != choice->main)
        l->calls = &p->metric[choice->calls];
    if ((l->main->flags & TT_METRIC_SAMPLED) && choice->samples != TT_NONE)
        l->samples = tt_equal_samples(p, tt_grand_total(p, &p->metric[choice->samples]));
    l->has_times = p->many_times && (l->main->flags & TT_METRIC_TIME) &&
                   (!is_of_waits(p) || (l->calls && tt_grand_total(p, l->calls)));
    return l->main->flags & TT_METRIC_CALLS ? find_arcs(p, &l->drop, 1) : 0;
}

int tt_metric_view_init(struct tt_metric_view *l, const struct tt_profile *p,
                        struct tt_query *q)
{
    struct tt_metric_choice choice;
    int error = tt_view_metric(p, q, &choice);

    *l = (struct tt_metric_view){.p = p};
    error = error ?: tt_metric_view_of_choice(l, p, &choice, q->memory);
    error = error ?: tt_several_find(p, q, &l->several);
    return error ?: tt_since_init(l, q);
}

void tt_metric_view_fini(struct tt_metric_view *l)
{
    tt_since_fini(l);
    tt_vector_fini(&l->drop);
}

/* Returns the first arc whose context is not before this one. */
static const struct tt_arc_calls *first_at(const struct tt_vector *v, uint32_t context)
{
    const struct tt_arc_calls *d = v->item;

    return &d[tt_first_from(&d->context, sizeof *d, v->count - 1, context)];
}

uint64_t tt_calls_between(const struct tt_vector *v, uint32_t from, uint32_t to)
{
    return v->count ? first_at(v, to)->before - first_at(v, from)->before : 0;
}

uint64_t tt_metric_view_total(const struct tt_metric_view *l, uint32_t context)
{
    return tt_total_of(l->p, l->main, context) +
           tt_calls_between(&l->drop, context, tt_end_of(l->p, context));
}

uint64_t tt_metric_view_total_low(const struct tt_metric_view *l, uint32_t context)
{
    return tt_total_low_of(l->p, l->main, context) +
           tt_calls_between(&l->drop, context, tt_end_of(l->p, context));
}

/* ── Columns ──────────────────────────────────────────────────────────────────────── */

static uint32_t add_column(struct tt_table *t, const char *key, const char *title,
                           const char *unit, enum tt_column_type type, uint32_t flags)
{
    tt_table_column(t, key, title, unit, type, flags);
    return (uint32_t)tt_table_columns(t) - 1;
}

static void add_times_columns(const char *unit, struct tt_table *t, struct tt_columns *c)
{
    c->average = add_column(t, "average", "average", unit, TT_COLUMN_REAL,
                            TT_COLUMN_SPARE);
    c->min = add_column(t, "min", "min", unit, TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    c->max = add_column(t, "max", "max", unit, TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    c->deviation = add_column(t, "deviation", "deviation", unit, TT_COLUMN_REAL,
                              TT_COLUMN_DETAIL);
}

/* A rate of time is a share of the elapsed time; other rates are per second. */
struct rate {
    const char *title, *inclusive_title, *unit;
    enum tt_column_type type;
};

static struct rate rate_of(const char *unit)
{
    if (strcmp(unit, "ns") == 0)
        return (struct rate){"now %", "incl now %", "", TT_COLUMN_SHARE};
    return (struct rate){"now/s", "incl now/s", unit, TT_COLUMN_REAL};
}

void tt_self_columns(const struct tt_metric_view *l, struct tt_table *t,
                     struct tt_columns *c)
{
    const char *unit = l->main->unit;
    const struct rate r = rate_of(unit);

    memset(c, 0xff, sizeof *c);
    if (l->since) {
        c->self_rate = add_column(t, "self_rate", r.title, r.unit, r.type, 0);
        c->self_since = add_column(t, "self_since", "since", unit, TT_COLUMN_AMOUNT,
                                   TT_COLUMN_DETAIL);
    }
    c->self_share = add_column(t, "self_share", "self %", "", TT_COLUMN_SHARE, 0);
    if (l->samples)
        c->self_error = add_column(t, "self_error", "±", "", TT_COLUMN_SHARE,
                                   TT_COLUMN_ERROR);
    c->self = add_column(t, "self", "self", unit, TT_COLUMN_AMOUNT, TT_COLUMN_SPARE);
    if (l->main->low)
        c->self_low = add_column(t, "self_low", "at least", unit, TT_COLUMN_AMOUNT,
                                 TT_COLUMN_LOW);
}

void tt_calls_column(const struct tt_metric_view *l, struct tt_table *t,
                     struct tt_columns *c)
{
    if (l->calls)
        c->calls = add_column(t, "calls", "calls", "", TT_COLUMN_AMOUNT, 0);
}

void tt_metric_view_columns(const struct tt_metric_view *l, struct tt_table *t,
                            struct tt_columns *c)
{
    const char *unit = l->main->unit;
    const struct rate r = rate_of(unit);

    tt_self_columns(l, t, c);
    if (l->since) {
        c->inclusive_rate = add_column(t, "inclusive_rate", r.inclusive_title, r.unit,
                                       r.type, 0);
        c->inclusive_since = add_column(t, "inclusive_since", "since", unit,
                                        TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    }
    c->inclusive_share = add_column(t, "inclusive_share", "incl %", "", TT_COLUMN_SHARE,
                                    0);
    if (l->samples)
        c->inclusive_error = add_column(t, "inclusive_error", "±", "", TT_COLUMN_SHARE,
                                        TT_COLUMN_ERROR);
    c->inclusive = add_column(t, "inclusive", "inclusive", unit, TT_COLUMN_AMOUNT,
                              TT_COLUMN_SPARE);
    if (l->main->low)
        c->inclusive_low = add_column(t, "inclusive_low", "at least", unit,
                                      TT_COLUMN_AMOUNT, TT_COLUMN_LOW);
    tt_calls_column(l, t, c);
    if (l->has_times)
        add_times_columns(unit, t, c);
    tt_several_columns(l, t, c);
}

void tt_block_columns(struct tt_table *t, struct tt_columns *c)
{
    c->name = add_column(t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    c->module = add_column(t, "module", "module", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    c->file = add_column(t, "file", "file", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    c->line = add_column(t, "line", "line", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    c->column = add_column(t, "column", "column", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    c->block = add_column(t, "block", "block", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    c->id = add_column(t, "id", "id", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    c->apart = add_column(t, "apart", "apart", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
}

uint32_t tt_context_columns(struct tt_table *t)
{
    uint32_t first = add_column(t, "context", "context", "", TT_COLUMN_AMOUNT,
                                TT_COLUMN_DETAIL);

    (void)add_column(t, "path", "path", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    return first;
}

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void fill_share(const struct tt_metric_view *l, struct tt_table *t, uint32_t share,
                       uint32_t error, uint64_t amount)
{
    double part = share_of(amount, l->choice.total);

    tt_table_real(t, share, part);
    if (error != TT_NONE)
        tt_table_real(t, error, tt_share_error(part, l->samples));
}

static void fill_times(struct tt_table *t, const struct tt_columns *c,
                       const struct tt_times_row *times)
{
    if (!times || !times->count || c->average == TT_NONE)
        return;
    tt_table_real(t, c->average, tt_mean(times->count, times->sum));
    tt_table_amount(t, c->min, times->min);
    tt_table_amount(t, c->max, times->max);
    tt_table_real(t, c->deviation,
                  tt_deviation(times->count, times->sum, &times->square));
}

static void fill_since(const struct tt_metric_view *l, struct tt_table *t, uint32_t since,
                       uint32_t rate, uint64_t amount)
{
    const int is_share = rate_of(l->main->unit).type == TT_COLUMN_SHARE;
    const double seconds = l->since->seconds;

    tt_table_amount(t, since, amount);
    if (seconds > 0)
        tt_table_real(t, rate, (double)amount / seconds / (is_share ? 1e9 : 1));
}

/* A function that samples found was called, but the number of calls is unknown. */
static int is_counted(const struct tt_metric_view *l, const struct tt_figures *f)
{
    return f->calls || l->choice.samples == TT_NONE ||
           !(f->self || f->inclusive || f->is_sampled);
}

void tt_metric_view_figures(const struct tt_metric_view *l, struct tt_table *t,
                            const struct tt_columns *c, const struct tt_figures *f)
{
    if (f->has & TT_HAS_SELF) {
        tt_table_amount(t, c->self, f->self);
        fill_share(l, t, c->self_share, c->self_error, f->self);
        if (c->self_low != TT_NONE)
            tt_table_amount(t, c->self_low, f->self_low);
    }
    if ((f->has & TT_HAS_INCLUSIVE) && c->inclusive != TT_NONE) {
        tt_table_amount(t, c->inclusive, f->inclusive);
        fill_share(l, t, c->inclusive_share, c->inclusive_error, f->inclusive);
        if (c->inclusive_low != TT_NONE)
            tt_table_amount(t, c->inclusive_low, f->inclusive_low);
    }
    if ((f->has & TT_HAS_CALLS) && c->calls != TT_NONE && is_counted(l, f))
        tt_table_amount(t, c->calls, f->calls);
    /* charged by samples, or by the caller, and not by the clock that times activations */
    if (f->times && (f->times->sum || !(f->self || f->inclusive)))
        fill_times(t, c, f->times);
    if ((f->has & TT_HAS_SELF_SINCE) && c->self_since != TT_NONE)
        fill_since(l, t, c->self_since, c->self_rate, f->self_since);
    if ((f->has & TT_HAS_INCLUSIVE_SINCE) && c->inclusive_since != TT_NONE)
        fill_since(l, t, c->inclusive_since, c->inclusive_rate, f->inclusive_since);
}

void tt_block_cells(const struct tt_profile *p, struct tt_table *t,
                    const struct tt_columns *c, uint32_t block)
{
    const struct tt_block_row *b = &p->block[block];
    char id[TT_IDENTITY_SIZE], apart[1024];

    tt_identity_text(tt_block_identity(p, block), id);
    tt_table_string(t, c->name, tt_profile_string(p, b->name));
    if (b->module)
        tt_table_string(t, c->module, tt_profile_string(p, b->module));
    if (b->file)
        tt_table_string(t, c->file, tt_profile_string(p, b->file));
    if (b->line)
        tt_table_amount(t, c->line, b->line);
    if (b->column)
        tt_table_amount(t, c->column, b->column);
    tt_table_amount(t, c->block, block);
    tt_table_string(t, c->id, tt_table_text(t, "%s", id));
    if (tt_block_apart(p, block, apart, sizeof apart))
        tt_table_string(t, c->apart, tt_table_text(t, "%s", apart));
}

void tt_context_cells(struct tt_table *t, uint32_t column, uint32_t context,
                      uint64_t path)
{
    char text[TT_IDENTITY_SIZE];

    tt_identity_text(path, text);
    tt_table_amount(t, column, context);
    tt_table_string(t, column + 1, tt_table_text(t, "%s", text));
}

void tt_metric_view_remainder(const struct tt_metric_view *l, struct tt_table *t,
                              const struct tt_columns *c, uint32_t depth, uint32_t group,
                              const char *name, const struct tt_figures *f)
{
    struct tt_figures own = *f;

    own.has |= TT_HAS_SELF | TT_HAS_INCLUSIVE;
    own.inclusive = own.self;
    own.inclusive_low = own.self_low;
    if (own.has & TT_HAS_SELF_SINCE) {
        own.has |= TT_HAS_INCLUSIVE_SINCE;
        own.inclusive_since = own.self_since;
    }
    tt_table_row(t, TT_ROW_REMAINDER, depth, group);
    tt_metric_view_figures(l, t, c, &own);
    tt_table_string(t, c->name, name);
}

void tt_others_add(const struct tt_metric_view *l, struct tt_others *others,
                   const struct tt_several_sums *more, uint32_t block,
                   const struct tt_figures *f)
{
    others->count++;
    others->rest.has |= TT_HAS_CALLS;
    others->rest.self += f->self;
    others->rest.self_low += f->self_low;
    others->rest.calls += f->calls;
    for (uint32_t i = 1; i < l->several.count; i++)
        others->more.self[i] = others->more.inclusive[i] += more->sum[i][block].self;
}

void tt_others_row(const struct tt_metric_view *l, struct tt_table *t,
                   const struct tt_columns *c, const struct tt_others *others)
{
    if (!others->count)
        return;
    tt_metric_view_remainder(l, t, c, 0, 0, "[all else]", &others->rest);
    tt_several_fill(l, t, c, &others->more);
}

void tt_metric_view_elsewhere(const struct tt_metric_view *l, struct tt_table *t,
                              const struct tt_columns *c)
{
    uint64_t evicted = tt_sum_of(l->main->elsewhere, 0, l->p->contexts), beside = 0;
    struct tt_figures f = {0};

    for (uint32_t b = 0; l->main->block && b < l->p->blocks; b++)
        beside += l->main->block[b].beside;
    if (evicted <= beside)
        return;
    f.self = f.self_low = evicted - beside;
    tt_metric_view_remainder(l, t, c, 0, 0, "[elsewhere below]", &f);
}

static void fill_several_totals(const struct tt_metric_view *l, struct tt_table *t,
                                const struct tt_columns *c)
{
    struct tt_several_figures f;

    for (uint32_t i = 1; i < l->several.count; i++)
        f.self[i] = f.inclusive[i] = tt_grand_total(l->p,
                                                    &l->p->metric[l->several.metric[i]]);
    tt_several_fill(l, t, c, &f);
}

void tt_metric_view_sum_row(const struct tt_metric_view *l, struct tt_table *t,
                            const struct tt_columns *c)
{
    const struct tt_metric_columns *m = l->main;
    uint32_t n = l->p->contexts;
    struct tt_figures f = {.has = TT_HAS_ALL,
                           .self = l->choice.total,
                           .inclusive = l->choice.total,
                           .calls = l->calls ? tt_grand_total(l->p, l->calls) : 0};
    struct tt_columns sure = *c; /* the whole is all of itself, however few samples */

    sure.self_error = sure.inclusive_error = TT_NONE;
    f.self_low = f.inclusive_low = tt_sum_of(m->low ? m->low : m->self, 0, n) +
                                   tt_sum_of(m->elsewhere, 0, n) +
                                   tt_calls_between(&l->drop, 0, n);
    tt_since_total(l, &f);
    tt_table_row(t, TT_ROW_TOTAL, 0, 0);
    tt_metric_view_figures(l, t, &sure, &f);
    fill_several_totals(l, t, c);
    tt_table_string(t, c->name, "total");
}
