/* SPDX-License-Identifier: MIT */
/* several.c - figures of more metrics than the main one, in columns after its own.
 *
 *      --metric ticks,words,"strict calls"
 *      --metric 'ticks,*'      all others after it; '*': all after the default one
 *
 * The first one chooses and sorts the rows; each other one has its self and inclusive
 * figures, under the keys "words.self" and "words.inclusive". */
#include <stdio.h>
#include <string.h>

#include "metric-view.h"
#include "several.h"
#include "view.h"

/* Reads one metric of the list; TT_NONE, and q->error, if there is no such metric. */
static uint32_t find_named(const struct tt_profile *p, struct tt_query *q,
                           const char *name, size_t length)
{
    char text[128];

    for (uint32_t i = 0; i < p->metrics; i++)
        if (strlen(p->metric[i].name) == length &&
            strncmp(p->metric[i].name, name, length) == 0)
            return i;
    (void)snprintf(text, sizeof text, "%.*s", (int)(length < 127 ? length : 127), name);
    (void)tt_query_unknown_metric(q, p, text);
    return TT_NONE;
}

static int add_metric(struct tt_query *q, struct tt_several *several, uint32_t metric)
{
    if (several->count == TT_SEVERAL_MAX)
        return tt_query_wrong(q, "at most %d metrics can be shown side by side",
                              TT_SEVERAL_MAX);
    several->metric[several->count++] = metric;
    return 0;
}

static int is_listed(const struct tt_several *several, uint32_t metric)
{
    for (uint32_t i = 0; i < several->count; i++)
        if (several->metric[i] == metric)
            return 1;
    return 0;
}

/* Adds all that are not in the list yet; the default one is the first of a list without
 * one. */
static int add_others(const struct tt_profile *p, struct tt_query *q,
                      struct tt_several *several)
{
    const uint32_t usual = tt_metric_find(p, NULL);
    int error = several->count || usual == TT_NONE ? 0 : add_metric(q, several, usual);

    for (uint32_t i = 0; !error && i < p->metrics; i++)
        if (!is_listed(several, i))
            error = add_metric(q, several, i);
    return error;
}

int tt_several_find(const struct tt_profile *p, struct tt_query *q,
                    struct tt_several *several)
{
    const char *name = q->metric;

    *several = (struct tt_several){.count = 0};
    if (!name || tt_metric_find(p, name) != TT_NONE ||
        (!strchr(name, ',') && strcmp(name, "*") != 0))
        return 0;
    for (;; name++) {
        size_t length = strcspn(name, ",");
        uint32_t metric = TT_NONE;
        int error;
        if (length == 1 && *name == '*')
            error = add_others(p, q, several);
        else if ((metric = find_named(p, q, name, length)) == TT_NONE)
            error = -TT_ERR_OPTION;
        else
            error = is_listed(several, metric) ? 0 : add_metric(q, several, metric);
        if (error)
            return error;
        name += length;
        if (!*name)
            return 0;
    }
}

void tt_several_columns(const struct tt_metric_view *l, struct tt_table *t,
                        struct tt_columns *c)
{
    c->several = TT_NONE;
    for (uint32_t i = 1; i < l->several.count; i++) {
        const struct tt_metric_columns *m = &l->p->metric[l->several.metric[i]];
        uint32_t at = (uint32_t)tt_table_columns(t);
        c->several = i == 1 ? at : c->several;
        tt_table_column(t, tt_table_text(t, "%s.self", m->name), m->name, m->unit,
                        TT_COLUMN_AMOUNT, 0);
        tt_table_column(t, tt_table_text(t, "%s.inclusive", m->name),
                        tt_table_text(t, "incl %s", m->name), m->unit, TT_COLUMN_AMOUNT,
                        0);
    }
}

void tt_several_fill(const struct tt_metric_view *l, struct tt_table *t,
                     const struct tt_columns *c, const struct tt_several_figures *f)
{
    for (uint32_t i = 1; i < l->several.count; i++) {
        tt_table_amount(t, c->several + 2 * (i - 1), f->self[i]);
        tt_table_amount(t, c->several + 2 * (i - 1) + 1, f->inclusive[i]);
    }
}

/* For rows without a self figure. */
void tt_several_inclusive(const struct tt_metric_view *l, struct tt_table *t,
                          const struct tt_columns *c, const struct tt_several_figures *f)
{
    for (uint32_t i = 1; i < l->several.count; i++)
        tt_table_amount(t, c->several + 2 * (i - 1) + 1, f->inclusive[i]);
}

/* The lens of one of them; only calls are dropped. */
int tt_several_lens(const struct tt_metric_view *l, uint32_t i,
                    struct tt_metric_view *one)
{
    struct tt_metric_choice choice = {
        .main = l->several.metric[i], .calls = TT_NONE, .samples = TT_NONE};

    choice.column = &l->p->metric[choice.main];
    choice.total = tt_grand_total(l->p, choice.column);
    return tt_metric_view_of_choice(one, l->p, &choice, l->memory);
}

/* ── By block ─────────────────────────────────────────────────────────────────────── */

int tt_several_sums_find(const struct tt_metric_view *l, struct tt_several_sums *sums)
{
    struct tt_metric_choice choice = l->choice;

    *sums = (struct tt_several_sums){{NULL}};
    for (uint32_t i = 1; i < l->several.count; i++) {
        choice.main = l->several.metric[i];
        choice.column = &l->p->metric[choice.main];
        choice.total = tt_grand_total(l->p, choice.column);
        sums->sum[i] = tt_block_sums(l->p, &choice, l->memory);
        if (!sums->sum[i])
            return -TT_ERR_MEMORY;
    }
    return 0;
}

void tt_several_sums_fini(const struct tt_metric_view *l, struct tt_several_sums *sums)
{
    for (uint32_t i = 1; i < l->several.count; i++)
        tt_memory_put(l->memory, sums->sum[i]);
}

int tt_several_has(const struct tt_metric_view *l, const struct tt_several_sums *sums,
                   uint32_t block)
{
    for (uint32_t i = 1; i < l->several.count; i++)
        if (sums->sum[i][block].self)
            return 1;
    return 0;
}

void tt_several_block(const struct tt_metric_view *l, const struct tt_several_sums *sums,
                      uint32_t block, struct tt_table *t, const struct tt_columns *c)
{
    struct tt_several_figures f;

    for (uint32_t i = 1; i < l->several.count; i++) {
        f.self[i] = sums->sum[i][block].self;
        f.inclusive[i] = sums->sum[i][block].inclusive;
    }
    tt_several_fill(l, t, c, &f);
}
