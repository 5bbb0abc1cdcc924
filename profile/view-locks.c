/* SPDX-License-Identifier: MIT */
/* view-locks.c - the locks that threads waited for, and the functions that held them.
 *
 *      waiter ─ [waits: mutex] ─ lock ─ [held by] ─ ... ─ holder       as it is recorded
 *
 * A row is a lock, or with by=pair a waiter, a lock and a holder: functions, over all
 * contexts.  Lock and holder may each be a chain of inlined functions; the first of these
 * names the lock, and the last names the holder. */
#include <stdlib.h>
#include <string.h>

#include "metric-view.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_LIMIT = 60 };
enum by { BY_LOCK, BY_PAIR };

struct lock_wait {
    uint32_t kind, lock, waiter, holder; /* blocks; TT_NONE: not known */
    uint64_t amount, count, longest;
};

struct lock_view {
    const struct tt_metric_view *l;
    const struct tt_metric_columns *count; /* NULL: there is none */
    struct tt_vector wait;
};

static int is_called(const struct tt_profile *p, uint32_t context, const char *name)
{
    return strncmp(tt_block_name(p, tt_block_of(p, context)), name, strlen(name)) == 0;
}

static int by_waiter(const void *a, const void *b)
{
    const struct lock_wait *x = a, *y = b;

    return TT_ORDER(x->kind, y->kind) ?: TT_ORDER(x->lock, y->lock)
           ?: TT_ORDER(x->waiter, y->waiter) ?: TT_ORDER(x->holder, y->holder);
}

static int by_holder(const void *a, const void *b)
{
    const struct lock_wait *x = a, *y = b;

    return TT_ORDER(x->kind, y->kind) ?: TT_ORDER(x->lock, y->lock)
           ?: TT_ORDER(x->holder, y->holder);
}

/* ── What is in the profile ───────────────────────────────────────────────────────── */

/* The longest wait at a lock's context. */
static uint64_t longest_of(const struct tt_profile *p, uint32_t context)
{
    size_t first, end = tt_times_range(p, context, &first);
    uint64_t longest = 0;

    for (; first < end; first++)
        if (p->times[first].max > longest)
            longest = p->times[first].max;
    return longest;
}

/* Returns the position on the path of the innermost marker with a lock below it; 0:
 * none. */
static uint32_t find_marker(const struct tt_walk *w)
{
    for (uint32_t i = w->depth; i-- > 1;)
        if (is_called(w->p, w->path[i], "[waits: "))
            return i;
    return 0;
}

static uint32_t find_holder(const struct tt_walk *w, uint32_t marker)
{
    for (uint32_t i = w->depth; i-- > marker + 1;)
        if (is_called(w->p, w->path[i], "[held by]") ||
            is_called(w->p, w->path[i], "[woken by]"))
            return tt_block_of(w->p, w->context);
    return TT_NONE;
}

static int take_context(struct lock_view *v, const struct tt_walk *w)
{
    const struct tt_profile *p = w->p;
    const uint64_t amount = tt_self_of(v->l->main, w->context),
                   count = v->count ? tt_self_of(v->count, w->context) : 0;
    uint32_t marker = find_marker(w);
    uint64_t longest;
    struct lock_wait wait;

    if (!marker)
        return 0;
    longest = w->depth == marker + 1 ? longest_of(p, w->context) : 0;
    if (!amount && !count && !longest)
        return 0;
    wait = (struct lock_wait){.kind = tt_block_of(p, w->path[marker]),
                              .lock = tt_block_of(p, w->path[marker + 1]),
                              .waiter = tt_block_of(p, w->path[marker - 1]),
                              .holder = find_holder(w, marker),
                              .amount = amount,
                              .count = count,
                              .longest = longest};
    return tt_vector_push(&v->wait, &wait);
}

static int find_waits(struct lock_view *v)
{
    struct tt_walk w;
    int error = tt_walk_init(&w, v->l->p, 0);

    while (!error && tt_walk_next(&w))
        error = take_context(v, &w);
    tt_walk_fini(&w);
    return error;
}

/* Adds up waits that the order takes as equal. */
static void merge_waits(struct lock_view *v, int (*order)(const void *, const void *))
{
    struct lock_wait *w = v->wait.item;
    size_t kept = 0;

    tt_vector_sort(&v->wait, order);
    for (size_t i = 0; i < v->wait.count; i++)
        if (kept && order(&w[kept - 1], &w[i]) == 0) {
            w[kept - 1].amount += w[i].amount;
            w[kept - 1].count += w[i].count;
            if (w[i].longest > w[kept - 1].longest)
                w[kept - 1].longest = w[i].longest;
        } else {
            w[kept++] = w[i];
        }
    v->wait.count = kept;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

struct lock_columns {
    struct tt_columns c;
    uint32_t count, longest, waiters, holders, waiter, holder;
};

/* "[waits: mutex of]" and what it is of: "mutex of make_lock". */
static const char *name_lock(const struct tt_profile *p, struct tt_table *t,
                             const struct lock_wait *w)
{
    const char *kind = tt_block_name(p, w->kind) + strlen("[waits: ");

    return tt_table_text(t, "%.*s %s", (int)strcspn(kind, "]"), kind,
                         tt_block_name(p, w->lock));
}

static const char *name_of(const struct tt_profile *p, uint32_t block)
{
    return block == TT_NONE ? "[not known]" : tt_block_name(p, block);
}

static void put_row(const struct lock_view *v, struct tt_table *t,
                    const struct lock_columns *c, const struct lock_wait *w, int is_pair)
{
    const struct tt_profile *p = v->l->p;
    const char *name = name_lock(p, t, w);
    struct tt_figures f = {.has = TT_HAS_SELF, .self = w->amount, .self_low = w->amount};

    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_metric_view_figures(v->l, t, &c->c, &f);
    tt_table_amount(t, c->count, w->count);
    if (is_pair) {
        name = tt_table_text(t, "%s for %s, held by %s", name_of(p, w->waiter), name,
                             name_of(p, w->holder));
        tt_table_string(t, c->waiter, name_of(p, w->waiter));
        tt_table_string(t, c->holder, name_of(p, w->holder));
    }
    tt_table_string(t, c->c.name, name);
}

static void put_pairs(const struct lock_view *v, struct tt_table *t,
                      const struct lock_columns *c)
{
    const struct lock_wait *w = v->wait.item;

    for (size_t i = 0; i < v->wait.count; i++)
        if (w[i].amount || w[i].count)
            put_row(v, t, c, &w[i], 1);
}

static size_t count_waiters(const struct lock_wait *w, size_t end)
{
    size_t waiters = 0;

    for (size_t i = 0; i < end; i++)
        waiters += i == 0 || w[i].waiter != w[i - 1].waiter;
    return waiters;
}

static size_t count_holders(struct lock_wait *w, size_t end)
{
    size_t holders = 0;

    qsort(w, end, sizeof *w, by_holder);
    for (size_t i = 0; i < end; i++)
        holders += (i == 0 || w[i].holder != w[i - 1].holder) && w[i].holder != TT_NONE;
    return holders;
}

/* The waits of a lock are adjacent. */
static void put_locks(const struct lock_view *v, struct tt_table *t,
                      const struct lock_columns *c)
{
    struct lock_wait *w = v->wait.item;
    size_t end;

    for (size_t i = 0; i < v->wait.count; i = end) {
        struct lock_wait sum = w[i];
        for (end = i + 1;
             end < v->wait.count && w[end].kind == w[i].kind && w[end].lock == w[i].lock;
             end++) {
            sum.amount += w[end].amount;
            sum.count += w[end].count;
            if (w[end].longest > sum.longest)
                sum.longest = w[end].longest;
        }
        if (!sum.amount && !sum.count)
            continue; /* of the other metric */
        put_row(v, t, c, &sum, 0);
        tt_table_amount(t, c->longest, sum.longest);
        tt_table_amount(t, c->waiters, count_waiters(w + i, end - i));
        tt_table_amount(t, c->holders, count_holders(w + i, end - i));
    }
}

static void add_columns(const struct lock_view *v, struct tt_table *t,
                        struct lock_columns *c, int is_pair)
{
    memset(c, 0, sizeof *c);
    tt_self_columns(v->l, t, &c->c);
    c->count = (uint32_t)tt_table_columns(t);
    tt_table_column(t, "count", "waits", "", TT_COLUMN_AMOUNT, 0);
    if (!is_pair) {
        c->longest = c->count + 1;
        c->waiters = c->count + 2;
        c->holders = c->count + 3;
        tt_table_column(t, "longest", "longest", "ns", TT_COLUMN_AMOUNT, 0);
        tt_table_column(t, "waiters", "waiters", "", TT_COLUMN_AMOUNT, 0);
        tt_table_column(t, "holders", "holders", "", TT_COLUMN_AMOUNT, 0);
    }
    c->c.name = (uint32_t)tt_table_columns(t);
    tt_table_column(t, "name", is_pair ? "who for what" : "lock", "", TT_COLUMN_TEXT,
                    TT_COLUMN_NAME);
    if (is_pair) {
        c->waiter = c->c.name + 1;
        c->holder = c->c.name + 2;
        tt_table_column(t, "waiter", "waiter", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
        tt_table_column(t, "holder", "holder", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    }
}

/* ── The view ─────────────────────────────────────────────────────────────────────── */

/* Finds waits for locks; if there are none, waits for the actions of other threads. */
static int choose_metric(const struct tt_profile *p, struct tt_query *q)
{
    if (q->metric)
        return 0;
    if (tt_metric_find(p, "delay") != TT_NONE)
        return tt_query_set(q, "metric", "delay");
    if (tt_metric_find(p, "wait time") != TT_NONE)
        return tt_query_set(q, "metric", "wait time");
    return tt_query_wrong(q,
                          "no wait was recorded; record with 'tallytree record --locks'");
}

static int fill(struct lock_view *v, struct tt_query *q, struct tt_table *t, int is_pair)
{
    struct lock_columns c;
    int error;

    add_columns(v, t, &c, is_pair);
    error = find_waits(v);
    if (error)
        return error;
    merge_waits(v, by_waiter);
    if (is_pair)
        put_pairs(v, t, &c);
    else
        put_locks(v, t, &c);
    error = tt_view_sort(q, t, "self");
    if (error)
        return error;
    tt_view_cut(v->l, t, &c.c, tt_limit(q, OWN_LIMIT), tt_threshold(q, 0));
    tt_metric_view_sum_row(v->l, t, &c.c);
    return 0;
}

int tt_view_locks(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct lock_view v = {.l = &l};
    int by = tt_view_word(q, "waits", "by"), error = by < 0 ? by : choose_metric(p, q);
    uint32_t count;

    if (error)
        return error;
    error = tt_metric_view_init(&l, p, q);
    l.has_times = 0;
    l.calls = NULL;
    count = tt_metric_find(p, q->metric && strcmp(q->metric, "delay") == 0 ? "contentions"
                                                                           : "waits");
    v.count = count == TT_NONE ? NULL : &p->metric[count];
    tt_vector_init(&v.wait, l.memory, sizeof(struct lock_wait));
    error = error ?: fill(&v, q, t, by == BY_PAIR);
    if (!error)
        tt_view_notes(p, &l.choice, t);
    tt_vector_fini(&v.wait);
    tt_metric_view_fini(&l);
    return error;
}
