/* SPDX-License-Identifier: MIT */

#include "view.h"
#include "views.h"
/* view-header.c - how a profile was made, how large it is, and what it does not show.
 * The default metric comes before the others. */

enum { FACT, TEXT, NUMBER, METRIC, UNIT, FLAGS };

static void add_row(struct tt_table *t, const char *name, const char *text,
                    uint64_t number)
{
    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(t, FACT, name);
    if (*text)
        tt_table_string(t, TEXT, text);
    tt_table_amount(t, NUMBER, number);
}

static const char *flag_words(struct tt_table *t, uint32_t flags)
{
    static const char *const words[] = {"calls", "time", "sampled", "space", "peak"};
    const char *text = "";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (flags >> i & 1)
            text = tt_table_text(t, "%s%s%s", text, *text ? " " : "", words[i]);
    return text;
}

static const char *metric_words(struct tt_table *t, const struct tt_metric_columns *m)
{
    const char *sampled = m->flags & TT_METRIC_SAMPLED ? ", sampled" : "";

    if (*m->unit)
        return tt_table_text(t, "%s, in %s%s", m->name, m->unit, sampled);
    return tt_table_text(t, "%s%s", m->name, sampled);
}

static void add_metric(struct tt_table *t, const struct tt_profile *p, uint32_t metric)
{
    const struct tt_metric_columns *m = &p->metric[metric];

    add_row(t, "metric", metric_words(t, m), tt_grand_total(p, m));
    tt_table_string(t, METRIC, m->name);
    tt_table_string(t, UNIT, m->unit);
    tt_table_string(t, FLAGS, flag_words(t, m->flags));
}

int tt_view_header(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    const uint32_t first = tt_metric_find(p, NULL);
    struct tt_metric_choice choice;

    tt_table_column(t, "name", "fact", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(t, "text", "", "", TT_COLUMN_TEXT, 0);
    tt_table_column(t, "number", "number", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "metric", "", "", TT_COLUMN_TEXT,
                    TT_COLUMN_DETAIL | TT_COLUMN_JSON);
    tt_table_column(t, "unit", "", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL | TT_COLUMN_JSON);
    tt_table_column(t, "flags", "", "", TT_COLUMN_TEXT,
                    TT_COLUMN_DETAIL | TT_COLUMN_JSON);
    for (uint32_t i = 0; i < p->facts; i++)
        if (!tt_fact_is_kept(&p->fact[i]))
            add_row(t, tt_profile_string(p, p->fact[i].name),
                    tt_profile_string(p, p->fact[i].text), p->fact[i].number);
    if (first != TT_NONE)
        add_metric(t, p, first);
    for (uint32_t i = 0; i < p->metrics; i++)
        if (i != first)
            add_metric(t, p, i);
    add_row(t, "contexts", "", p->contexts);
    add_row(t, "depth", "", p->depth);
    add_row(t, "blocks", "", p->blocks);
    add_row(t, "arcs", "", p->arcs);
    add_row(t, "strands", "", p->strands);
    add_row(t, "space", "", p->spaces);
    add_row(t, "series", "", p->many_series);
    for (uint32_t i = 0; i < p->many_series; i++)
        add_row(t, "series.kept", tt_profile_string(p, p->series[i].name),
                p->series[i].interval);
    add_row(t, "activations", "", p->activations);
    add_row(t, "log", "", p->samples);
    add_row(t, "addresses", "", p->places);
    if (p->metrics && tt_view_metric(p, q, &choice) == 0)
        tt_view_notes(p, &choice, t);
    return 0;
}
