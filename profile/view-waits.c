/* SPDX-License-Identifier: MIT */
/* view-waits.c - ranks that wait for ranks: `strands` with by=wait.
 *
 * A call that waited for one rank has a context below it with the time of the wait.  The
 * block of that context is the other rank (its module marks it).  A row is a rank and one
 * that it waited for, summed over calls and threads. */
#include <stdlib.h>
#include <string.h>

#include "metric-view.h"
#include "sorted.h"
#include "view-order.h"
#include "view-waits.h"

#define PEER "mpi.peer"
enum { OWN_LIMIT = 60 };

struct wait {
    uint32_t rank, peer; /* rank: TT_NONE where it is not known; peer: a block */
    uint64_t amount, calls;
};

static int by_pair(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;

    return TT_ORDER(x->rank, y->rank) ?: TT_ORDER(x->peer, y->peer);
}

/* Is this block another rank? */
static int is_peer(const struct tt_profile *p, uint32_t block)
{
    return strcmp(tt_profile_string(p, p->block[block].module), PEER) == 0;
}

static int add_wait(struct tt_vector *waits, uint32_t rank, uint32_t peer,
                    uint64_t amount, uint64_t calls)
{
    struct wait *last = waits->count ? (struct wait *)waits->item + waits->count - 1
                                     : NULL;

    if (!last || last->rank != rank || last->peer != peer) {
        last = tt_vector_add(waits, 1);
        if (!last)
            return -TT_ERR_MEMORY;
        *last = (struct wait){.rank = rank, .peer = peer};
    }
    last->amount += amount;
    last->calls += calls;
    return 0;
}

/* Collects the waits of each strand; or those of all together, if a profile keeps no
 * figures by strand. */
static int find_waits(const struct tt_metric_view *l, struct tt_vector *waits)
{
    const struct tt_profile *p = l->p;
    uint32_t rank = p->strands == 1 ? p->strand[0].rank : TT_NONE;
    int error = 0;

    for (size_t i = 0; !error && i < p->entries; i++) {
        const struct tt_entry *e = &p->entry[i];
        uint32_t block = e->row < p->contexts ? tt_block_of(p, (uint32_t)e->row) : 0;
        int is_main = e->metric == l->choice.main;
        if (block && e->strand < p->strands && is_peer(p, block) &&
            (is_main || (l->calls && e->metric == l->choice.calls)))
            error = add_wait(waits, p->strand[e->strand].rank, block,
                             is_main ? e->amount : 0, is_main ? 0 : e->amount);
    }
    for (uint32_t c = 0; !error && !p->entries && c < p->contexts; c++)
        if (is_peer(p, tt_block_of(p, c)))
            error = add_wait(waits, rank, tt_block_of(p, c), tt_self_of(l->main, c),
                             l->calls ? tt_self_of(l->calls, c) : 0);
    return error;
}

static size_t merge_waits(struct tt_vector *waits)
{
    struct wait *w = waits->item;
    size_t kept = 0;

    tt_vector_sort(waits, by_pair);
    for (size_t i = 0; i < waits->count; i++)
        if (kept && by_pair(&w[kept - 1], &w[i]) == 0) {
            w[kept - 1].amount += w[i].amount;
            w[kept - 1].calls += w[i].calls;
        } else {
            w[kept++] = w[i];
        }
    return kept;
}

static void put_wait(const struct tt_metric_view *l, struct tt_table *t,
                     const struct tt_columns *c, uint32_t column, const struct wait *w)
{
    const char *peer = tt_block_name(l->p, w->peer);
    struct tt_figures f = {.has = TT_HAS_SELF | TT_HAS_CALLS,
                           .self = w->amount,
                           .self_low = w->amount,
                           .calls = w->calls};

    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_metric_view_figures(l, t, c, &f);
    if (w->rank == TT_NONE)
        tt_table_string(t, c->name, tt_table_text(t, "all for %s", peer));
    else
        tt_table_string(t, c->name, tt_table_text(t, "rank %u for %s", w->rank, peer));
    if (w->rank != TT_NONE)
        tt_table_amount(t, column, w->rank);
    tt_table_string(t, column + 1, peer);
}

int tt_view_waits(const struct tt_metric_view *l, struct tt_query *q, struct tt_table *t)
{
    struct tt_columns c;
    struct tt_vector waits;
    size_t count = 0;
    uint64_t calls = 0;
    uint32_t column;
    int error;

    memset(&c, 0, sizeof c);
    tt_vector_init(&waits, l->memory, sizeof(struct wait));
    error = find_waits(l, &waits);
    if (!error)
        count = merge_waits(&waits);
    tt_self_columns(l, t, &c);
    tt_calls_column(l, t, &c);
    c.name = (uint32_t)tt_table_columns(t);
    tt_table_column(t, "name", "who for whom", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    column = c.name + 1;
    tt_table_column(t, "waiter", "rank", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    tt_table_column(t, "waited_for", "for", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    for (size_t i = 0; i < count; i++) {
        const struct wait *w = (struct wait *)waits.item + i;
        put_wait(l, t, &c, column, w);
        calls += w->calls;
    }
    tt_vector_fini(&waits);
    error = error ?: tt_view_sort(q, t, "self");
    if (error)
        return error;
    tt_view_cut(l, t, &c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
    tt_metric_view_sum_row(l, t, &c);
    if (l->calls)
        tt_table_amount(t, c.calls, calls); /* and not all that the program called */
    return 0;
}
