/* SPDX-License-Identifier: MIT */
/* view-whatif.c - how long the run would take if a block took less of its time.
 *
 *      faster by   takes s   from     to     saved
 *      50 %          1.62    1.55    1.71   19.0 %     parse
 *
 * speedup.c goes through the run.  The interval has its three results, and the error
 * of a share that is estimated from samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "speedup.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum column { SPEEDUP, NOW, TIME, LOW, HIGH, SAVED, NAME };

static void add_columns(struct tt_table *t)
{
    tt_table_column(t, "speedup", "faster by", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "now", "now", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "time", "then", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "time_low", "at least", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "time_high", "at most", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "saved", "saved", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "name", "block", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
}

/* A time of 0 to now. */
static uint64_t bounded(double time, double now)
{
    return tt_whole(time < 0 ? 0 : time > now ? now : time);
}

static void add_row(struct tt_speedup *v, struct tt_table *t, double share,
                    const char *name)
{
    const double now = (double)(v->end - v->begin);
    double saved[TT_SPEEDUP_CHOICES], error;

    tt_speedup_find(v, share, saved);
    error = share *
            (now * tt_share_error(saved[TT_SPEEDUP_MEAN] / (share * now), v->ran) +
             (double)v->near);
    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_table_real(t, SPEEDUP, share);
    tt_table_amount(t, NOW, v->end - v->begin);
    tt_table_amount(t, TIME, bounded(now - saved[TT_SPEEDUP_MEAN], now));
    tt_table_amount(t, LOW, bounded(now - saved[TT_SPEEDUP_MOST] - error, now));
    tt_table_amount(t, HIGH, bounded(now - saved[TT_SPEEDUP_LEAST] + error, now));
    tt_table_real(t, SAVED, saved[TT_SPEEDUP_MEAN] / now);
    tt_table_string(t, NAME, name);
}

/* "50%" or "0.5"; NULL: several. */
static int read_share(struct tt_query *q, const char *text, double *share)
{
    char *end = NULL;

    *share = text ? strtod(text, &end) : 0;
    if (text && strcmp(end, "%") == 0) {
        *share /= 100;
        end++;
    }
    if (text && (end == text || *end || !(*share > 0 && *share <= 1)))
        return tt_query_wrong(q,
                              "'speedup' wants a share up to 100%%, such as 50%%, not "
                              "'%.40s'",
                              text);
    return 0;
}

static void add_rows(struct tt_speedup *v, struct tt_table *t, double share,
                     const char *name)
{
    add_columns(t);
    for (int i = 1; share <= 0 && i <= 4; i++)
        add_row(v, t, .25 * i, name);
    if (share > 0)
        add_row(v, t, share, name);
    if (isinf(v->run.processors))
        tt_table_note(t, "whatif",
                      "whatif: estimated from %zu samples by time, as if each thread "
                      "that can run has a processor",
                      v->p->samples);
    else
        tt_table_note(
            t, "whatif processors",
            "whatif: estimated from %zu samples by time, as if the threads have "
            "%.1f processors together, as in this run",
            v->p->samples, v->run.processors);
}

static int check_lanes(struct tt_query *q, const struct tt_lanes *l)
{
    if (!l->stretch.count)
        return tt_query_wrong(q, "the samples by time here are of no thread");
    if (!l->has_waits)
        return tt_query_wrong(q, "waits are not in the samples here; record with "
                                 "'tallytree record --wall'");
    if (l->is_shared)
        return tt_query_wrong(q, "some strands are several threads, so it is not known "
                                 "which of them waited when; give more memory by "
                                 "'record --budget'");
    return 0;
}

static int fill(const struct tt_profile *p, struct tt_query *q, struct tt_table *t,
                const unsigned char *blocks, double share)
{
    struct tt_speedup v = {0};
    struct tt_lanes lanes;
    int error = tt_lanes_init(&lanes, p, 1, NULL, q->memory);

    error = error ?: check_lanes(q, &lanes);
    error = error ?: tt_speedup_init(&v, p, &lanes, blocks);
    if (!error)
        add_rows(&v, t, share, tt_table_text(t, "%s", q->block));
    tt_speedup_fini(&v);
    tt_lanes_fini(&lanes);
    return error;
}

int tt_view_whatif(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    unsigned char *blocks = NULL;
    double share;
    int error = tt_lanes_check(p, q);

    if (!error && !q->block)
        error = tt_query_wrong(q,
                               "the view 'whatif' needs the block that would be faster; "
                               "add 'block'");
    if (!error && (q->filter.count || q->metric || q->sort))
        error = tt_query_wrong(q, "the view 'whatif' shows the whole run; it takes no "
                                  "filter, metric or order");
    error = error ?: read_share(q, tt_query_other(q, "speedup"), &share);
    error = error ?: tt_view_blocks(p, q, q->block, &blocks);
    error = error ?: fill(p, q, t, blocks, share);
    free(blocks);
    return error;
}
