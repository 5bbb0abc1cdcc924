/* SPDX-License-Identifier: MIT */
/* view-flat.c - each block: its self and its inclusive cost. */
#include <stdlib.h>

#include "edges.h"
#include "metric-view.h"
#include "several.h"
#include "since.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 60 }; /* rows; a screen or two */

/* Finds the samples of blocks whose calls are counted: what only samples found was called, too.
 * NULL: none are needed, or *failed. */
static struct tt_block_sum *find_samples(const struct tt_metric_view *l, int *failed)
{
    struct tt_metric_choice choice = l->choice;
    struct tt_block_sum *sum;

    if (choice.samples == TT_NONE || choice.samples == choice.main || !l->calls)
        return NULL;
    choice.main = choice.samples;
    choice.column = &l->p->metric[choice.main];
    choice.total = tt_grand_total(l->p, choice.column);
    sum = tt_block_sums(l->p, &choice, l->memory);
    *failed = !sum;
    return sum;
}

/* Samples find only some of the blocks: this is for calls that were counted. */
static void note_coverage(const struct tt_profile *p, const struct tt_block_sum *sum,
                          const struct tt_block_sum *samples, struct tt_table *t)
{
    uint32_t executed = 0, all = 0;
    uint64_t calls = 0;

    for (uint32_t b = 1; b < p->blocks; b++) {
        if (!tt_is_of_program(p, b))
            continue;
        calls += sum[b].calls;
        executed += sum[b].calls || sum[b].self || sum[b].inclusive ||
                    (samples && samples[b].inclusive);
        all++;
    }
    /* blocks that filters removed were called, too */
    if (calls && !p->whole)
        tt_table_note(t, "executed", "blocks executed: %.2f %% of %u",
                      100.0 * executed / all, all);
}

static void add_rows(const struct tt_metric_view *l, const struct tt_block_sum *sum,
                     const struct tt_block_sum *samples,
                     const struct tt_several_sums *more, const struct tt_times_row *times,
                     const unsigned char *wanted, struct tt_others *others,
                     struct tt_table *t, const struct tt_columns *c)
{
    for (uint32_t b = 0; b < l->p->blocks; b++) {
        struct tt_figures f = tt_figures_of_sum(&sum[b]);
        if (!sum[b].contexts && !tt_several_has(l, more, b) && !f.self && !f.inclusive &&
            !f.calls)
            continue;
        if (b == 0 && !f.self && !f.calls && !tt_several_has(l, more, b))
            continue;
        if (wanted && !wanted[b]) {
            tt_others_add(l, others, more, b, &f);
            continue;
        }
        f.is_sampled = samples && samples[b].inclusive;
        f.times = times ? &times[b] : NULL;
        tt_since_block(l, b, &f);
        tt_table_row(t, TT_ROW_ENTRY, 0, 0);
        tt_metric_view_figures(l, t, c, &f);
        if (l->several.count)
            tt_several_block(l, more, b, t, c);
        tt_block_cells(l->p, t, c, b);
    }
}

/* The calls from a context that were dropped, of the wanted blocks; they are leaves there. */
static uint64_t drops_at(const unsigned char *wanted, uint32_t context,
                         const struct tt_arc_calls **drop)
{
    uint64_t sum = 0;

    for (; (*drop)->context <= context; ++*drop)
        if ((*drop)->context == context && wanted[(*drop)->block])
            sum += tt_calls_of(*drop);
    return sum;
}

/* What is on paths through the wanted blocks, as the filter `select` keeps it: the sum of
 * their outermost contexts.  Skips what is below these. */
static uint64_t sum_paths(const struct tt_metric_view *l, const unsigned char *wanted)
{
    const struct tt_arc_calls *drop = l->drop.count ? l->drop.item : NULL;
    const struct tt_profile *p = l->p;
    uint64_t sum = 0;

    if (drop)
        sum = drops_at(wanted, 0, &drop);
    for (uint32_t c = 1; c < p->contexts;) {
        if (wanted[tt_block_of(p, c)]) {
            sum += tt_metric_view_total(l, c);
            c = tt_end_of(p, c);
            continue;
        }
        if (drop)
            sum += drops_at(wanted, c, &drop);
        c++;
    }
    return sum;
}

static void note_paths(const struct tt_metric_view *l, const unsigned char *wanted,
                       struct tt_table *t)
{
    const uint64_t sum = sum_paths(l, wanted), total = l->choice.total;

    if (total)
        tt_table_note(t, "paths", "paths through these blocks: %.2f %% of %s (%llu %s)",
                      100.0 * (double)sum / (double)total, l->main->name,
                      (unsigned long long)sum, l->main->unit);
}

static int fill(const struct tt_metric_view *l, struct tt_query *q,
                const unsigned char *wanted, struct tt_table *t)
{
    struct tt_block_sum *sum = tt_block_sums(l->p, &l->choice, l->memory);
    struct tt_times_row *times = l->has_times ? tt_set_times(l, NULL, l->p->blocks)
                                              : NULL;
    int failed = 0;
    struct tt_block_sum *samples = find_samples(l, &failed);
    struct tt_columns c;
    struct tt_several_sums more = {{NULL}};
    struct tt_others others = {.count = 0};
    int error = -TT_ERR_MEMORY;

    if (sum && !failed && tt_several_sums_find(l, &more) == 0 &&
        (times || !l->has_times) && tt_since_blocks(l) == 0) {
        tt_metric_view_columns(l, t, &c);
        tt_block_columns(t, &c);
        add_rows(l, sum, samples, &more, times, wanted, &others, t, &c);
        error = tt_view_sort(q, t, "self");
        if (!error) {
            tt_view_cut(l, t, &c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
            tt_others_row(l, t, &c, &others);
            tt_metric_view_elsewhere(l, t, &c);
            tt_metric_view_sum_row(l, t, &c);
            if (wanted)
                note_paths(l, wanted, t);
            else
                note_coverage(l->p, sum, samples, t);
            tt_view_notes(l->p, &l->choice, t);
        }
    }
    tt_several_sums_fini(l, &more);
    tt_memory_put(l->memory, samples);
    tt_memory_put(l->memory, times);
    tt_memory_put(l->memory, sum);
    return error;
}

int tt_view_flat(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    unsigned char *wanted = NULL;
    int error = tt_metric_view_init(&l, p, q);

    if (!error && q->block)
        error = tt_view_blocks(p, q, q->block, &wanted);
    error = error ?: fill(&l, q, wanted, t);
    free(wanted);
    tt_metric_view_fini(&l);
    return error;
}
