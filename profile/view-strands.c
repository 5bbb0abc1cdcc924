/* SPDX-License-Identifier: MIT */
/* view-strands.c - threads, processes, ranks: the cost of each, and how they differ.
 *
 * `by=context` and `by=block` show, for each of these, how its figure spreads over the
 * strands (strands without it count as 0), and which strands have the minimum and the
 * maximum.  The imbalance is the difference between the maximum and the mean: what would
 * be saved if all took the same.  by=rank adds up the strands of a process, and
 * by=rank-context shows how contexts spread over these.  by=process, program, cgroup,
 * container, unit and user add up the strands of a machine's recording. */
#include <string.h>

#include "groups.h"
#include "metric-view.h"
#include "shown.h"
#include "since.h"
#include "statistics.h"
#include "view-order.h"
#include "view-waits.h"
#include "view.h"
#include "views.h"

#define OWN_THRESHOLD 0.005
enum { OWN_LIMIT = 60 };
enum by { BY_STRAND, BY_CONTEXT, BY_BLOCK, BY_RANK, BY_RANK_CONTEXT, BY_WAIT, BY_GROUP };

/* A strand that is so far from the median, in deviations of the middle half, is an
 * outlier; with fewer strands, the usual ones are unknown. */
#define STRAY 3.5
enum { FEWEST_USUAL = 5 };

struct strands {
    const struct tt_metric_view *l;
    struct tt_table *t;
    struct tt_columns c;
    const struct tt_shown *shown;
    const struct tt_spread *spread;
    uint32_t first_column; /* of the view's own */
    uint32_t context_column;
    uint32_t spread_over; /* so many */
    int by_rank, by_group, has_strays;
    enum tt_group group; /* where by_group */
};

static uint32_t add_column(struct strands *v, const char *key, const char *title,
                           const char *unit, enum tt_column_type type, uint32_t flags)
{
    tt_table_column(v->t, key, title, unit, type, flags);
    return (uint32_t)tt_table_columns(v->t) - 1;
}

static const char *strand_name(const struct tt_profile *p, uint32_t strand,
                               struct tt_table *t)
{
    const struct tt_strand_row *s = &p->strand[strand];

    if (s->rank != TT_NONE && p->strings[s->name])
        return tt_table_text(t, "rank %u %s", s->rank, p->strings + s->name);
    if (s->rank != TT_NONE)
        return tt_table_text(t, "rank %u thread %llu", s->rank,
                             (unsigned long long)s->thread);
    if (p->strings[s->name])
        return p->strings + s->name;
    return tt_table_text(t, "thread %llu", (unsigned long long)s->thread);
}

/* ── Each strand ──────────────────────────────────────────────────────────────────── */

/* Adds an entry to its strand's figures. */
static void add_entry(const struct tt_metric_view *l, const struct tt_entry *e,
                      struct tt_figures *f)
{
    const struct tt_profile *p = l->p;
    const uint64_t n = p->contexts, arcs = n + p->arcs,
                   elsewhere = arcs + 2 * (uint64_t)p->blocks, low = elsewhere + n;
    int is_main = e->metric == l->choice.main;
    int is_calls = l->calls && e->metric == l->choice.calls;

    if (e->row >= n && e->row < arcs) {
        if (!tt_arc_is_dropped(p, &p->arc[e->row - n]))
            return;
        is_main = (l->main->flags & TT_METRIC_CALLS) != 0;
        is_calls = l->calls != NULL;
    } else if (e->row >= arcs && e->row < elsewhere) {
        return;
    } else if (e->row >= low) {
        f->self_low += is_main ? e->amount : 0; /* to be subtracted */
        return;
    }
    f->self += is_main ? e->amount : 0;
    f->calls += is_calls ? e->amount : 0;
}

static const char *rank_name(struct strands *v, uint32_t strand)
{
    const struct tt_profile *p = v->l->p;
    const struct tt_strand_row *s = &p->strand[strand];
    char text[TT_GROUP_SIZE];

    if (v->by_group)
        return tt_table_text(v->t, "%s", tt_group_of(p, strand, v->group, text));
    if (s->rank != TT_NONE)
        return tt_table_text(v->t, "rank %u", s->rank);
    return tt_table_text(v->t, "%s %llu", tt_profile_string(p, s->process),
                         (unsigned long long)s->pid);
}

/* Of `members` threads, in the row of this strand. */
static void fill_process(struct strands *v, uint32_t strand, uint64_t members)
{
    const struct tt_strand_row *s = &v->l->p->strand[strand];
    const uint32_t c = v->first_column;

    tt_table_string(v->t, v->c.name, rank_name(v, strand));
    tt_table_amount(v->t, c, members);
    if (v->by_group)
        return;
    tt_table_string(v->t, c + 1, tt_profile_string(v->l->p, s->host));
    tt_table_string(v->t, c + 2, tt_profile_string(v->l->p, s->process));
    tt_table_amount(v->t, c + 3, s->pid);
    if (s->rank != TT_NONE)
        tt_table_amount(v->t, c + 4, s->rank);
    tt_table_string(v->t, c + 5, tt_profile_string(v->l->p, s->node));
}

static void fill_identity(struct strands *v, uint32_t strand)
{
    const struct tt_profile *p = v->l->p;
    const struct tt_strand_row *s = &p->strand[strand];
    const uint32_t c = v->first_column;

    tt_table_string(v->t, v->c.name, strand_name(p, strand, v->t));
    tt_table_amount(v->t, c, s->members);
    tt_table_string(v->t, c + 1, tt_profile_string(p, s->host));
    tt_table_string(v->t, c + 2, tt_profile_string(p, s->process));
    tt_table_amount(v->t, c + 3, s->pid);
    if (s->rank != TT_NONE)
        tt_table_amount(v->t, c + 4, s->rank);
    tt_table_string(v->t, c + 5, tt_profile_string(p, s->node));
    tt_table_amount(v->t, c + 6, s->thread);
    if (s->members < 2)
        return;
    tt_table_amount(v->t, c + 7, s->least);
    tt_table_amount(v->t, c + 8, s->most);
    tt_table_amount(v->t, c + 9, s->least_thread);
    tt_table_amount(v->t, c + 10, s->most_thread);
}

static void add_identity_columns(struct strands *v)
{
    const uint32_t detail = TT_COLUMN_DETAIL;
    const char *unit = v->l->main->unit;

    v->c.name = add_column(v, "name", "strand", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    v->first_column = add_column(v, "members", "threads", "", TT_COLUMN_AMOUNT,
                                 TT_COLUMN_SPARE);
    (void)add_column(v, "host", "host", "", TT_COLUMN_TEXT, TT_COLUMN_SPARE);
    (void)add_column(v, "process", "process", "", TT_COLUMN_TEXT, TT_COLUMN_SPARE);
    (void)add_column(v, "pid", "pid", "", TT_COLUMN_AMOUNT, TT_COLUMN_SPARE);
    (void)add_column(v, "rank", "rank", "", TT_COLUMN_AMOUNT, detail);
    (void)add_column(v, "node", "node", "", TT_COLUMN_TEXT, detail);
    (void)add_column(v, "thread", "thread", "", TT_COLUMN_AMOUNT, detail);
    (void)add_column(v, "least", "least", unit, TT_COLUMN_AMOUNT, detail);
    (void)add_column(v, "most", "most", unit, TT_COLUMN_AMOUNT, detail);
    (void)add_column(v, "least_thread", "of", "", TT_COLUMN_AMOUNT, detail);
    (void)add_column(v, "most_thread", "of", "", TT_COLUMN_AMOUNT, detail);
    (void)add_column(v, "away", "from median", "", TT_COLUMN_REAL,
                     v->has_strays ? 0 : detail);
}

/* A single strand has no separate figures: they are those of all. */
static void fill_single(const struct tt_metric_view *l, struct tt_figures *f)
{
    const uint32_t n = l->p->contexts;

    f->self = l->choice.total;
    f->self_low = tt_sum_of(l->main->self, 0, n) -
                  tt_sum_of(l->main->low ? l->main->low : l->main->self, 0, n);
    f->calls = l->calls ? tt_grand_total(l->p, l->calls) : 0;
}

static int is_kept(const struct tt_profile *p) { return p->entries || p->strands == 1; }

/* Returns one for each strand, from the view's memory; NULL: no memory. */
static struct tt_figures *strand_figures(const struct tt_metric_view *l)
{
    const struct tt_profile *p = l->p;
    struct tt_figures *figures = tt_memory_get(l->memory, p->strands * sizeof *figures);
    size_t i = 0;

    for (uint32_t s = 0; figures && s < p->strands; s++) {
        struct tt_figures *f = &figures[s];
        f->has = is_kept(p) ? TT_HAS_SELF | TT_HAS_CALLS : 0;
        for (; i < p->entries && p->entry[i].strand <= s; i++)
            if (p->entry[i].strand == s)
                add_entry(l, &p->entry[i], f);
        if (!p->entries && p->strands == 1)
            fill_single(l, f);
        f->self_low = f->self > f->self_low ? f->self - f->self_low : 0;
    }
    return figures;
}

static int is_same_text(const struct tt_profile *p, uint32_t a,
                        const struct tt_profile *q, uint32_t b)
{
    return strcmp(tt_profile_string(p, a), tt_profile_string(q, b)) == 0;
}

static int is_same_strand(const struct tt_profile *p, const struct tt_strand_row *a,
                          const struct tt_profile *q, const struct tt_strand_row *b)
{
    return a->thread == b->thread && a->pid == b->pid && a->rank == b->rank &&
           is_same_text(p, a->name, q, b->name) && is_same_text(p, a->host, q, b->host) &&
           is_same_text(p, a->process, q, b->process) &&
           is_same_text(p, a->node, q, b->node);
}

/* Computes each strand's growth since another reading; `figures` are those of now. */
static int since_strands(const struct tt_metric_view *l, struct tt_figures *figures)
{
    static const struct tt_figures nothing;
    const struct tt_profile *p = l->p, *q = l->since->then.p;
    struct tt_figures *then = l->since->was_there ? strand_figures(&l->since->then)
                                                  : NULL;

    if (l->since->was_there && !then)
        return -TT_ERR_MEMORY;
    for (uint32_t s = 0; s < p->strands; s++) {
        uint32_t at = 0;
        while (then && at < q->strands &&
               !is_same_strand(p, &p->strand[s], q, &q->strand[at]))
            at++;
        tt_since_figures(&figures[s], then && at < q->strands ? &then[at] : &nothing);
    }
    if (then)
        tt_memory_put(l->memory, then);
    return 0;
}

/* A row of the table: the strands from `first` on, `members` threads in all. */
struct strand_group {
    uint32_t first;
    uint64_t members;
    struct tt_figures figures;
};

static void add_figures(struct strand_group *to, uint64_t members,
                        const struct tt_figures *f)
{
    to->members += members;
    to->figures.self += f->self;
    to->figures.self_low += f->self_low;
    to->figures.calls += f->calls;
    to->figures.has &= f->has;
}

/* Groups the strands of a process, which are adjacent; returns the number of groups. */
static size_t group_strands(const struct strands *v, const struct tt_figures *figures,
                            struct strand_group *group)
{
    const struct tt_profile *p = v->l->p;
    size_t groups = 0;

    for (uint32_t s = 0; s < p->strands; s++) {
        struct strand_group *last = groups ? &group[groups - 1] : NULL;
        if (last && v->by_rank && tt_is_one_process(p, last->first, s)) {
            add_figures(last, p->strand[s].members, &figures[s]);
        } else {
            group[groups++] = (struct strand_group){s, p->strand[s].members, figures[s]};
        }
    }
    return groups;
}

/* The same for other properties of strands; 0: no memory. */
static size_t group_by(const struct strands *v, const struct tt_figures *figures,
                       struct strand_group *group)
{
    const struct tt_profile *p = v->l->p;
    uint32_t *first, groups,
        *of = tt_groups_of(p, v->group, v->l->memory, &first, &groups);

    for (uint32_t s = 0; of && s < p->strands; s++)
        if (first[of[s]] == s)
            group[of[s]] = (struct strand_group){s, p->strand[s].members, figures[s]};
    for (uint32_t s = 0; of && s < p->strands; s++)
        if (first[of[s]] != s)
            add_figures(&group[of[s]], p->strand[s].members, &figures[s]);
    if (of)
        tt_memory_put(v->l->memory, first);
    tt_memory_put(v->l->memory, of);
    return groups;
}

/* Computes how far each is from the median; notes those beyond STRAY.  Not of a machine, whose
 * programs differ. */
static int find_strays(struct strands *v, const struct strand_group *group, size_t groups,
                       double *away)
{
    double *self = tt_memory_get(v->l->memory, groups * sizeof *self);
    const size_t fewest = tt_fact_number(v->l->p, "processors") ? SIZE_MAX : FEWEST_USUAL;
    size_t strays = 0, worst = 0;
    int error = -TT_ERR_MEMORY;

    for (size_t i = 0; self && i < groups; i++)
        self[i] = (double)group[i].figures.self;
    if (self)
        error = tt_away_from_median(self, away, groups, v->l->memory);
    tt_memory_put(v->l->memory, self);
    for (size_t i = 0; !error && groups >= fewest && i < groups; i++) {
        strays += away[i] > STRAY || away[i] < -STRAY;
        if (away[i] * away[i] > away[worst] * away[worst])
            worst = i;
    }
    v->has_strays = strays > 0;
    if (strays)
        tt_table_note(v->t, "outliers",
                      "outliers: %zu; %s is %.1f deviations %s the median", strays,
                      v->by_rank || v->by_group
                          ? rank_name(v, group[worst].first)
                          : strand_name(v->l->p, group[worst].first, v->t),
                      away[worst] < 0 ? -away[worst] : away[worst],
                      away[worst] < 0 ? "below" : "above");
    return error;
}

static void put_groups(struct strands *v, const struct strand_group *group, size_t groups,
                       const double *away)
{
    for (size_t i = 0; i < groups; i++) {
        tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
        tt_metric_view_figures(v->l, v->t, &v->c, &group[i].figures);
        if (v->by_rank || v->by_group)
            fill_process(v, group[i].first, group[i].members);
        else
            fill_identity(v, group[i].first);
        if (is_kept(v->l->p) && groups > 2)
            tt_table_real(v->t, v->first_column + 11, away[i]);
    }
}

static int fill_groups(struct strands *v, const struct tt_figures *figures)
{
    const struct tt_metric_view *l = v->l;
    const size_t n = l->p->strands;
    struct strand_group *group = tt_memory_get(l->memory, n * sizeof *group);
    double *away = tt_memory_get(l->memory, n * sizeof *away);
    size_t groups = !group        ? 0
                    : v->by_group ? group_by(v, figures, group)
                                  : group_strands(v, figures, group);
    int error = group && away && (groups || !n) ? find_strays(v, group, groups, away)
                                                : -TT_ERR_MEMORY;

    if (!error) {
        tt_self_columns(l, v->t, &v->c);
        tt_calls_column(l, v->t, &v->c);
        add_identity_columns(v);
        put_groups(v, group, groups, away);
    }
    tt_memory_put(l->memory, away);
    tt_memory_put(l->memory, group);
    return error;
}

static int fill_strands(struct strands *v, struct tt_query *q)
{
    const struct tt_profile *p = v->l->p;
    struct tt_figures *figures = strand_figures(v->l);
    int error = figures ? 0 : -TT_ERR_MEMORY;

    if (!error && v->l->since)
        error = since_strands(v->l, figures);
    error = error ?: fill_groups(v, figures);
    tt_memory_put(v->l->memory, figures);
    error = error ?: tt_view_sort(q, v->t, "self");
    if (error)
        return error;
    tt_view_cut(v->l, v->t, &v->c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
    if (!is_kept(p)) {
        struct tt_figures all = {.has = TT_HAS_CALLS};
        fill_single(v->l, &all);
        all.self_low = all.self - all.self_low;
        tt_metric_view_remainder(v->l, v->t, &v->c, 0, 0, "[all strands]", &all);
        tt_table_note(v->t, "spread only",
                      "strands: the profile has no figures of each strand, only "
                      "their spread: see by=context");
    }
    tt_metric_view_sum_row(v->l, v->t, &v->c);
    return 0;
}

/* ── How they differ ──────────────────────────────────────────────────────────────── */

static void add_spread_columns(struct strands *v)
{
    const char *unit = v->l->main->unit;

    v->first_column = add_column(v, "imbalance", "imbalance", "", TT_COLUMN_SHARE, 0);
    (void)add_column(v, "spread_mean", "mean", unit, TT_COLUMN_REAL, 0);
    (void)add_column(v, "spread_deviation", "deviation", unit, TT_COLUMN_REAL, 0);
    (void)add_column(v, "spread_min", "least", unit, TT_COLUMN_AMOUNT, 0);
    (void)add_column(v, "min_strand", "of", "", TT_COLUMN_TEXT, 0);
    (void)add_column(v, "spread_max", "most", unit, TT_COLUMN_AMOUNT, 0);
    (void)add_column(v, "max_strand", "of", "", TT_COLUMN_TEXT, 0);
    (void)add_column(v, "strands", v->by_rank ? "processes" : "strands", "",
                     TT_COLUMN_AMOUNT, 0);
}

static const char *whose_name(struct strands *v, uint32_t strand)
{
    return v->by_rank ? rank_name(v, strand) : strand_name(v->l->p, strand, v->t);
}

static void fill_spread(struct strands *v, const struct tt_spread *s, uint64_t sum)
{
    const struct tt_profile *p = v->l->p;
    const uint32_t c = v->first_column;
    double mean = tt_mean(v->spread_over, sum);
    int all_have = s->count >= v->spread_over;

    if (mean > 0)
        tt_table_real(v->t, c, (double)s->max / mean - 1);
    tt_table_real(v->t, c + 1, mean);
    tt_table_real(v->t, c + 2, tt_deviation(v->spread_over, sum, &s->square));
    tt_table_amount(v->t, c + 3, all_have ? s->min : 0);
    if (all_have && s->count && s->min_strand < p->strands)
        tt_table_string(v->t, c + 4, whose_name(v, s->min_strand));
    tt_table_amount(v->t, c + 5, s->max);
    if (s->count && s->max_strand < p->strands)
        tt_table_string(v->t, c + 6, whose_name(v, s->max_strand));
    tt_table_amount(v->t, c + 7, s->count);
}

static void fill_context(void *arg, size_t i, uint64_t amount, int is_remainder)
{
    struct strands *v = arg;
    uint32_t c = v->shown[i].context;

    (void)amount;
    if (is_remainder)
        return;
    tt_context_cells(v->t, v->context_column, c, v->shown[i].path);
    fill_spread(v, &v->spread[c], tt_total_of(v->l->p, v->l->main, c));
}

/* If there is only one strand, it has all figures alone. */
static struct tt_spread *single_spread(const struct tt_metric_view *l)
{
    const size_t n = l->p->contexts;
    struct tt_spread *s = n <= SIZE_MAX / sizeof *s
                              ? tt_memory_get(l->memory, n * sizeof *s)
                              : NULL;

    for (uint32_t c = 0; s && c < l->p->contexts; c++)
        if (tt_total_of(l->p, l->main, c))
            tt_spread_take(&s[c], 0, tt_total_of(l->p, l->main, c), NULL);
    return s;
}

static int were_not_kept(struct tt_query *q)
{
    return tt_query_wrong(
        q,
        "the profile has no figures of each strand, only their spread: see by=context");
}

static uint32_t count_processes(const struct tt_profile *p)
{
    uint32_t count = 0;

    for (uint32_t s = 0; s < p->strands; s++)
        count += s == 0 || !tt_is_one_process(p, s - 1, s);
    return count;
}

static int fill_contexts(struct strands *v, struct tt_query *q)
{
    const struct tt_metric_view *l = v->l;
    struct tt_spread *own = NULL;
    struct tt_shown_rule rule;
    struct tt_vector shown;
    int error;

    if (v->by_rank && !is_kept(l->p))
        return were_not_kept(q);
    if (v->by_rank)
        v->spread_over = count_processes(l->p);
    tt_vector_init(&shown, l->memory, sizeof(struct tt_shown));
    error = tt_shown_rule_of(l, q, OWN_LIMIT, OWN_THRESHOLD, &rule);
    error = error ?: tt_shown_find(l, &rule, &shown);
    if (!error && (v->by_rank || !l->main->spread)) {
        own = l->p->entries
                  ? tt_spread_of(l->p, l->choice.main, 0,
                                 v->by_rank ? TT_OVER_PROCESSES : TT_OVER_STRANDS,
                                 l->memory)
                  : single_spread(l);
        error = own ? 0 : -TT_ERR_MEMORY;
    }
    if (!error) {
        v->spread = own ? own : l->main->spread;
        v->shown = shown.item;
        tt_metric_view_columns(l, v->t, &v->c);
        add_spread_columns(v);
        v->context_column = tt_context_columns(v->t);
        tt_block_columns(v->t, &v->c);
        error = tt_shown_rows(l, &shown, v->t, &v->c, fill_context, v);
    }
    error = error ?: tt_view_sort_tree(q, v->t, "inclusive");
    tt_memory_put(l->memory, own);
    tt_vector_fini(&shown);
    return error;
}

/* Computes the spread of each block's self: the entries of a strand are adjacent. */
static void find_block_spread(const struct tt_metric_view *l, struct tt_spread *s,
                              uint64_t *amount)
{
    const struct tt_profile *p = l->p;
    const uint64_t beside = (uint64_t)p->contexts + p->arcs;
    int counts_calls = (l->main->flags & TT_METRIC_CALLS) != 0;

    for (size_t i = 0; i < p->entries; i++) {
        const struct tt_entry *e = &p->entry[i];
        if (e->row < p->contexts && e->metric == l->choice.main) {
            amount[tt_block_of(p, (uint32_t)e->row)] += e->amount;
        } else if (e->row >= p->contexts && e->row < beside && counts_calls) {
            const struct tt_arc_row *a = &p->arc[e->row - p->contexts];
            amount[a->block] += tt_arc_is_dropped(p, a) ? e->amount : 0;
        } else if (e->row >= beside && e->row < beside + p->blocks &&
                   e->metric == l->choice.main) {
            amount[e->row - beside] += e->amount;
        }
        if (i + 1 < p->entries && e[1].strand == e->strand)
            continue;
        for (uint32_t b = 0; b < p->blocks; b++)
            if (amount[b])
                tt_spread_take(&s[b], e->strand, amount[b], NULL);
        memset(amount, 0, p->blocks * sizeof *amount);
    }
}

static int add_blocks(struct strands *v, struct tt_query *q,
                      const struct tt_block_sum *sum)
{
    int error;

    tt_metric_view_columns(v->l, v->t, &v->c);
    add_spread_columns(v);
    tt_block_columns(v->t, &v->c);
    for (uint32_t b = 0; b < v->l->p->blocks; b++) {
        struct tt_figures f = tt_figures_of_sum(&sum[b]);
        if (!f.self && (b == 0 || (!f.inclusive && !f.calls)))
            continue;
        tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
        tt_metric_view_figures(v->l, v->t, &v->c, &f);
        tt_block_cells(v->l->p, v->t, &v->c, b);
        fill_spread(v, &v->spread[b], f.self);
    }
    error = tt_view_sort(q, v->t, "self");
    if (error)
        return error;
    tt_view_cut(v->l, v->t, &v->c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
    tt_metric_view_elsewhere(v->l, v->t, &v->c);
    tt_metric_view_sum_row(v->l, v->t, &v->c);
    return 0;
}

static int fill_blocks(struct strands *v, struct tt_query *q)
{
    const struct tt_metric_view *l = v->l;
    const size_t blocks = l->p->blocks;
    struct tt_block_sum *sum;
    struct tt_spread *spread;
    uint64_t *amount;
    int error = -TT_ERR_MEMORY;

    if (!is_kept(l->p))
        return were_not_kept(q);
    sum = tt_block_sums(l->p, &l->choice, l->memory);
    spread = tt_memory_get(l->memory, blocks * sizeof *spread);
    amount = tt_memory_get(l->memory, blocks * sizeof *amount);
    if (sum && spread && amount) {
        find_block_spread(l, spread, amount);
        for (uint32_t b = 0; !l->p->entries && b < blocks; b++)
            if (sum[b].self)
                tt_spread_take(&spread[b], 0, sum[b].self, NULL);
        v->spread = spread;
        error = add_blocks(v, q, sum);
    }
    tt_memory_put(l->memory, amount);
    tt_memory_put(l->memory, spread);
    tt_memory_put(l->memory, sum);
    return error;
}

/* Waiting time has a separate metric, which is used unless another one was asked for. */
static int choose_waits(const struct tt_profile *p, struct tt_query *q)
{
    if (!q->metric && tt_metric_find(p, "waited") == TT_NONE)
        return tt_query_wrong(q, "by=wait: the profile has no waits");
    return q->metric ? 0 : tt_query_set(q, "metric", "waited");
}

int tt_view_strands(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct strands v = {.l = &l, .t = t};
    int by = tt_view_word(q, "strands", "by");
    int error = by < 0 ? by : by == BY_WAIT ? choose_waits(p, q) : 0;

    if (error)
        return error;
    error = tt_metric_view_init(&l, p, q);
    l.has_times = 0; /* those of activations are not asked about here */
    v.spread_over = p->strands;
    v.by_rank = by == BY_RANK || by == BY_RANK_CONTEXT;
    v.by_group = by >= BY_GROUP;
    if (v.by_group)
        v.group = (enum tt_group)tt_group_find(tt_query_other(q, "by"));
    if (!error)
        error = by == BY_CONTEXT || by == BY_RANK_CONTEXT ? fill_contexts(&v, q)
                : by == BY_BLOCK                          ? fill_blocks(&v, q)
                : by == BY_WAIT                           ? tt_view_waits(&l, q, t)
                                                          : fill_strands(&v, q);
    if (!error)
        tt_view_notes(p, &l.choice, t);
    tt_metric_view_fini(&l);
    return error;
}
