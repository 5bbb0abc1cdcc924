/* SPDX-License-Identifier: MIT */
/* clear.c - resets the counts of some blocks; the tree does not change. */
#include <string.h>

#include "activation.h"
#include "block.h"
#include "cell.h"
#include "extension.h"
#include "share.h"
#include "stack.h"

struct clearing {
    struct tt_tree *tree;
    int (*which)(const struct tt_block_info *, void *);
    void *arg;
};

static int is_meant(const struct clearing *c, uint32_t key)
{
    const struct tt_block_entry *e = tt_block_entry(key & TT_KEY_BLOCK);

    return e && c->which(&e->info, c->arg);
}

static void clear_metrics(struct tt_metrics *m, int all)
{
    for (int i = 0; i < 4; i++)
        if (all || !(m->metric[i] & TT_METRIC_ELSEWHERE))
            m->amount[i] = 0;
}

static void clear_slowest(struct tt_tree *t, struct tt_slowest *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->slot[i].rows)
            tt_tree_give_data(t, s->slot[i].rows, TT_ROWS_ORDER);
    memset(s->slot, 0, sizeof s->slot);
    s->count = 0;
}

/* Keeps figures evicted from contexts below: they are of other blocks. */
static void clear_extension(struct tt_tree *t, struct tt_node *e)
{
    struct tt_times *times = (struct tt_times *)(void *)e;
    struct tt_histogram *histogram = (struct tt_histogram *)(void *)e;

    switch (e->kind) {
    case TT_CELL_LOSS:
        ((struct tt_loss *)(void *)e)->arrived = 0;
        break;
    case TT_CELL_METRICS:
        clear_metrics((struct tt_metrics *)(void *)e, 0);
        break;
    case TT_TIMES:
        memset(&times->count, 0, sizeof *times - offsetof(struct tt_times, count));
        break;
    case TT_HISTOGRAM:
        memset(histogram->bin, 0, sizeof histogram->bin);
        break;
    case TT_HISTORY:
        ((struct tt_history *)(void *)e)->count = 0;
        break;
    case TT_SLOWEST:
        clear_slowest(t, (struct tt_slowest *)(void *)e);
        break;
    default:
        break;
    }
}

static void clear_edge(struct tt_tree *t, struct tt_node *n)
{
    uint32_t next;

    t->record->charged -= n->self <= t->record->charged ? n->self : 0;
    n->calls = n->self = n->samples = 0;
    for (uint32_t cell = n->extension; cell; cell = next) {
        struct tt_node *e = tt_cell(t->base, cell);
        next = ((struct tt_loss *)(void *)e)->next;
        if (tt_is_space(e->kind))
            break;
        clear_extension(t, e);
    }
}

static void clear_tally(const struct tt_tree *t, struct tt_tally *tally)
{
    tally->hidden = 0;
    tally->evicted = (struct tt_amounts){0, 0, 0};
    for (uint32_t cell = tally->next; cell;) {
        struct tt_metrics *m = (struct tt_metrics *)(void *)tt_cell(t->base, cell);
        clear_metrics(m, 1);
        cell = m->next;
    }
}

static void clear_cell(const struct clearing *c, struct tt_node *n)
{
    if (n->kind == TT_CELL_CONTEXT || n->kind == TT_CELL_ARC) {
        if (n != c->tree->root && is_meant(c, n->key))
            clear_edge(c->tree, n);
    } else if (n->kind == TT_CELL_TALLY && is_meant(c, n->key)) {
        clear_tally(c->tree, (struct tt_tally *)(void *)n);
    }
}

/* Entries of the sample log. */
static uint32_t clear_samples(void *arg, uint32_t cell)
{
    const struct clearing *c = arg;
    const struct tt_node *n = tt_cell(c->tree->base, cell);

    return n != c->tree->root && is_meant(c, n->key) ? 0 : cell;
}

/* Clears figures without room for a tally, also those of other strands. */
static void clear_records(const struct clearing *c)
{
    struct tt_recording *r = c->tree->recording;
    struct tt_block_record *record;

    for (tt_block block = 1; block <= tt_block_count(); block++) {
        const struct tt_block_entry *e = tt_block_entry(block);
        if (e->info.kind >= TT_KINDS ||
            __atomic_load_n(&e->published, __ATOMIC_ACQUIRE) != r->epoch ||
            !c->which(&e->info, c->arg))
            continue;
        record = tt_block_record(r, block);
        record->calls = record->self = record->hidden = 0;
    }
}

void tt_clear(int (*which)(const struct tt_block_info *, void *), void *arg)
{
    struct clearing c = {.which = which, .arg = arg};
    const struct tt_recording *r;
    struct tt_thread *t;

    TT_HAND_OVER(tt_clear, which, arg);
    t = tt_thread_enter();
    if (!t)
        return;
    c.tree = &t->tree;
    r = c.tree->recording;
    tt_charge_time(t, tt_time_now(t), t->self->top);
    tt_nested_lock(&c.tree->lock, &tt_self);
    t->charging.walks++;
    __atomic_fetch_add(&t->record->moves, 1, __ATOMIC_SEQ_CST);
    for (uint32_t page = c.tree->pages; page; page = r->next[page]) {
        struct tt_node *n = tt_cell(c.tree->base, tt_page_cell(r, page));
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++)
            clear_cell(&c, &n[i]);
    }
    tt_log_move(c.tree, clear_samples, &c);
    clear_records(&c);
    __atomic_fetch_add(&t->record->moves, 1, __ATOMIC_SEQ_CST);
    tt_nested_unlock(&c.tree->lock);
    if (--t->charging.walks == 0)
        tt_charge_deferred(t);
    tt_thread_leave(t);
}
