/* SPDX-License-Identifier: MIT */
/* view-bursts.c - stretches in which a block has more samples than chance gives it.
 *
 *      more of   from       to      for     then    else    more by    less of   less by
 *      gc       30.0 s  30.5 s   0.50 s   31.2 %   9.8 %   21.4 ± 8   eval      -12.6 ± 9
 *
 * bursts.c finds them; here samples become times. */
#include "view-bursts.h"
#include "bursts.h"
#include "range.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 10 };
enum column {
    NAME,
    FROM,
    TO,
    LENGTH,
    THEN,
    ELSE,
    MORE,
    MORE_ERROR,
    LESS,
    LESS_BY,
    LESS_ERROR,
    SAMPLES
};

static void add_columns(struct tt_table *t)
{
    tt_table_column(t, "name", "more of", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(t, "from", "from", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "to", "to", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "length", "for", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "share_then", "share then", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "share_else", "else", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "more", "more by", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "more_error", "±", "", TT_COLUMN_SHARE, TT_COLUMN_ERROR);
    tt_table_column(t, "less_name", "less of", "", TT_COLUMN_TEXT, 0);
    tt_table_column(t, "less", "less by", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "less_error", "±", "", TT_COLUMN_SHARE, TT_COLUMN_ERROR);
    tt_table_column(t, "samples", "samples", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
}

/* The last sample of the whole run before this time; 0: there is none. */
static uint64_t sample_before(const struct tt_profile *p, uint64_t time)
{
    const struct tt_profile *whole = p->whole ? p->whole : p;
    const size_t before = tt_count_up_to(&whole->sample->time, sizeof *whole->sample,
                                         whole->samples, time ? time - 1 : 0);

    return before && time ? whole->sample[before - 1].time : 0;
}

/* A sample has the time before it: a burst begins where the sample before it ended, and in the
 * range that is shown.  Where a range was taken out, that sample may be in it. */
static uint64_t begin_of(const struct tt_profile *p, const struct tt_burst *b)
{
    const uint64_t first = tt_range_shown(p).from,
                   taken = tt_fact_text(p, TT_FACT_WITHOUT)
                               ? sample_before(p, p->sample[b->from].time)
                               : 0,
                   before = b->from ? p->sample[b->from - 1].time : first,
                   from = before > taken ? before : taken;

    return from > first ? from : first;
}

static void add_burst(struct tt_table *t, const struct tt_profile *p,
                      const struct tt_burst *b)
{
    const struct tt_burst_share *more = &b->more, *less = &b->less;
    const uint64_t start = tt_range_of_run(p).from, from = begin_of(p, b),
                   to = p->sample[b->to - 1].time;

    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(t, NAME, tt_block_name(p, more->block));
    tt_table_amount(t, FROM, from - start);
    tt_table_amount(t, TO, to - start);
    tt_table_amount(t, LENGTH, to - from);
    tt_table_real(t, THEN, more->then);
    tt_table_real(t, ELSE, more->rest);
    tt_table_real(t, MORE, more->then - more->rest);
    tt_table_real(t, MORE_ERROR, more->error);
    if (less->block != TT_NONE) {
        tt_table_string(t, LESS, tt_block_name(p, less->block));
        tt_table_real(t, LESS_BY, less->rest - less->then);
        tt_table_real(t, LESS_ERROR, less->error);
    }
    tt_table_amount(t, SAMPLES, b->samples);
}

static void add_note(struct tt_table *t, const struct tt_profile *p)
{
    if (p->samples < TT_BURST_LEAST)
        tt_table_note(t, "few samples",
                      "bursts: %zu samples by time are too few; %d are needed",
                      p->samples, TT_BURST_LEAST);
    else if (!tt_table_rows(t))
        tt_table_note(t, "no bursts",
                      "bursts: none; in %zu samples by time no block has more than "
                      "chance gives it",
                      p->samples);
    else
        tt_table_note(t, "bursts",
                      "bursts: of 100 runs in which nothing changes, at most 5 show one; "
                      "--time FROM..TO shows what ran then");
}

struct tt_bursts *tt_view_bursts_begin(const struct tt_profile *p,
                                       const struct tt_query *q)
{
    return tt_bursts_new(p, tt_limit(q, OWN_LIMIT), q->memory);
}

static int find_all(struct tt_bursts *v)
{
    int more;

    while ((more = tt_bursts_work(v)) > 0)
        ;
    return more;
}

static void add_rows(struct tt_table *t, const struct tt_profile *p,
                     const struct tt_bursts *v)
{
    size_t count;
    const struct tt_burst *b = tt_bursts_found(v, &count);

    add_columns(t);
    for (size_t i = 0; i < count; i++)
        add_burst(t, p, &b[i]);
    add_note(t, p);
}

int tt_view_bursts(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_bursts *own = NULL;
    int error = 0;

    if (q->sort)
        return tt_query_wrong(q, "the view 'bursts' shows the clearest first");
    if (!p->samples)
        return tt_query_wrong(q, "there are no samples by time here");
    if (!q->bursts) {
        own = tt_view_bursts_begin(p, q);
        error = own ? find_all(own) : -TT_ERR_MEMORY;
    }
    if (!error)
        add_rows(t, p, own ? own : q->bursts);
    tt_bursts_free(own);
    return error;
}
