/* SPDX-License-Identifier: MIT */
/* activation.c - charges time to contexts and measures activations.
 *
 * The exact mode reads the clock once on entering and once on leaving.  The time since
 * the previous reading belongs to the nearest timed activation below the event.  So the
 * self times of a strand add up to all of its time, whatever was missed.
 *
 * Inclusive time is the sum over the tree, for blocks that are on the path.  A block that
 * an arc hides is on the true stack but not on the path: the time charged meanwhile is
 * added to its tally, too.  For that we walk the path and the hiding arcs, and cache for
 * this context the blocks that they hide.  If no arc hides anything, as nearly always,
 * this costs one read of `hider`. */
#include "activation.h"

#include <string.h>

#include "block.h"
#include "budget.h"
#include "clock.h"
#include "extension.h"
#include "hidden.h"
#include "slowest.h"

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

uint64_t tt_time_now(const struct tt_thread *t)
{
    uint64_t now = t->clock.paused_at;

    if (!t->clock.pauses)
        now = (tt_clock_in_use() == TT_CLOCK_CALLER ? t->clock.ticks : tt_clock_now()) -
              t->clock.paused_ticks;
    return now - t->stack.fiber->away;
}

/* ── Hidden blocks ────────────────────────────────────────────────────────────────── */

struct hidden_walk {
    struct tt_thread *thread;
    uint32_t metric; /* 0: ticks */
    uint64_t amount;
    struct tt_hidden *kept; /* the blocks found are cached there; NULL: not cached */
};

/* 1 when the block is seen for the first time in this walk. */
static int mark_block(struct tt_marks *m, tt_block block)
{
    if (block >= m->size || m->stamp[block] == m->serial)
        return 0; /* a block that may be hidden has its mark: see tt_tree_tally */
    m->stamp[block] = m->serial;
    return 1;
}

void tt_tally_evicted(struct tt_tree *t, tt_block block, const struct tt_amounts *amounts)
{
    struct tt_tally *tally = tt_tree_tally_find(t, block);
    struct tt_block_record *record;

    if (tally) {
        tt_bump(&tally->evicted.calls, amounts->calls);
        tt_bump(&tally->evicted.self, amounts->self);
        tt_bump(&tally->evicted.samples, amounts->samples);
        return;
    }
    record = tt_block_record(t->recording, block);
    tt_bump_shared(&record->calls, amounts->calls);
    tt_bump_shared(&record->self, amounts->self);
}

void tt_tally_hidden(struct tt_tree *t, tt_block block, uint64_t ticks)
{
    struct tt_tally *tally = tt_tree_tally_find(t, block);

    if (tally)
        tt_bump(&tally->hidden, ticks);
    else
        tt_bump_shared(&tt_block_record(t->recording, block)->hidden, ticks);
}

static void note_hidden(struct hidden_walk *w, const struct tt_tally *tally)
{
    struct tt_hidden *h = w->kept;

    TT_ASSERT(w->thread->charging.walks);
    if (h && tally && h->count < TT_HIDDEN_BLOCKS)
        h->tally[h->count++] = tt_cell_of(&w->thread->tree, tally);
    else
        w->kept = NULL;
}

static void add_hidden(struct hidden_walk *w, tt_block block)
{
    struct tt_tree *tree = &w->thread->tree;
    struct tt_tally *tally;

    if (!mark_block(&tree->marks, block))
        return;
    tally = tt_tree_tally_find(tree, block);
    note_hidden(w, tally);
    if (!w->metric)
        tt_tally_hidden(tree, block, w->amount);
    else if (tally)
        tt_tree_metric(tree, &tally->next, w->metric, w->amount);
}

static void mark_path(struct tt_tree *tree, const struct tt_node *n)
{
    TT_ASSERT(n->kind == TT_CELL_CONTEXT);
    tree->marks.serial++;
    for (; n != tree->root; n = tt_parent(tree, n))
        (void)mark_block(&tree->marks, n->key);
}

/* For time charged to no context at all: it is hidden time of all blocks of the path. */
void tt_tally_path(struct tt_tree *t, const struct tt_node *n, uint64_t ticks)
{
    for (; n != t->root; n = tt_parent(t, n))
        if (tt_tree_is_topmost(t, n))
            tt_tally_hidden(t, n->key, ticks);
}

static void add_hidden_arcs(struct hidden_walk *w, struct tt_frame *hider)
{
    struct tt_tree *tree = &w->thread->tree;

    for (; hider; hider = hider->hider) {
        const struct tt_node *n = tt_hider_source(w->thread, hider);
        for (; n != hider->node && n != tree->root; n = tt_parent(tree, n))
            if (n->flags & TT_NODE_OUTERMOST)
                add_hidden(w, n->key);
    }
}

struct tt_frame *tt_stack_placed(const struct tt_thread *t, struct tt_frame *f)
{
    while (f->node == t->tree.limbo)
        f = tt_frame_begins(f) ? tt_stack_bottom(t->stack.fiber) : tt_frame_below(f);
    return f;
}

/* Blocks without room are on the true stack too.  A stack of nothing else is looked at
 * only so far down. */
static void add_hidden_limbo(struct hidden_walk *w, struct tt_frame *f)
{
    enum { DEEP = 4096 };

    for (int i = 0; i < DEEP && f->node == w->thread->tree.limbo; i++) {
        add_hidden(w, tt_frame_block(w->thread, f));
        if (tt_frame_begins(f))
            break;
        f = tt_frame_below(f);
    }
}

/* ── Hidden blocks that are known ─────────────────────────────────────────────────── */

static void charge_known(struct tt_thread *t, const struct tt_hidden *h, uint32_t metric,
                         uint64_t amount)
{
    for (uint32_t i = 0; i < h->count; i++) {
        struct tt_tally *tally = (struct tt_tally *)(void *)tt_cell(t->tree.base,
                                                                    h->tally[i]);
        if (metric)
            tt_tree_metric(&t->tree, &tally->next, metric, amount);
        else
            tt_bump(&tally->hidden, amount);
    }
}

static __attribute__((noinline)) void walk_hidden(struct hidden_walk *w,
                                                  struct tt_frame *at)
{
    mark_path(&w->thread->tree, tt_stack_placed(w->thread, at)->node);
    add_hidden_arcs(w, w->thread->stack.hider);
    add_hidden_limbo(w, at);
}

static void charge_hidden(struct tt_thread *t, struct tt_frame *at, uint32_t metric,
                          uint64_t amount)
{
    struct hidden_walk w = {.thread = t, .metric = metric, .amount = amount};
    struct tt_hidden key, *slot;

    t->charging.walks++;
    slot = at->node == t->tree.limbo ? NULL : tt_hidden_place(t, at->node, &key);
    if (slot && tt_hidden_is_of(slot, &key)) {
        charge_known(t, slot, metric, amount);
    } else {
        w.kept = slot ? &key : NULL;
        walk_hidden(&w, at);
        if (w.kept)
            *slot = key;
    }
    t->charging.walks--;
}

/* ── Charging ─────────────────────────────────────────────────────────────────────── */

/* Charges the nearest context that has room, as elsewhere, and the block itself. */
static void charge_limbo(struct tt_thread *t, struct tt_frame *at, uint64_t ticks,
                         uint64_t samples)
{
    struct tt_node *n = tt_stack_placed(t, at)->node;
    struct tt_amounts amounts = {0, ticks, samples};
    struct tt_loss *loss = tt_busy_is_nested(&t->busy)
                               ? tt_tree_extension_find(&t->tree, &n->extension,
                                                        TT_CELL_LOSS)
                               : tt_tree_loss(&t->tree, n);

    if (samples)
        tt_log_add(t, NULL, n, ticks, TT_LOG_NOW);
    tt_bump(&t->record->limbo, ticks);
    tt_tally_evicted(&t->tree, tt_frame_block(t, at), &amounts);
    if (loss) {
        tt_bump(&loss->elsewhere.self, ticks);
        tt_bump(&loss->elsewhere.samples, samples);
    } else {
        tt_bump(&t->record->lost_ticks, ticks);
        tt_tally_path(&t->tree, n, ticks);
    }
}

static void charge_once(struct tt_thread *t, struct tt_frame *at, uint64_t ticks,
                        uint64_t samples)
{
    if (at->node == t->tree.limbo) {
        charge_limbo(t, at, ticks, samples);
    } else {
        tt_bump(&at->node->self, ticks);
        if (samples) {
            tt_bump(&at->node->samples, samples);
            tt_log_add(t, NULL, at->node, ticks, TT_LOG_NOW);
        }
        if (!t->stack.hider)
            return;
    }
    charge_hidden(t, at, 0, ticks);
}

void tt_charge_deferred(struct tt_thread *t)
{
    while (TT_UNLIKELY(t->charging.deferred[1])) {
        uint64_t more = t->charging.deferred[0], times = t->charging.deferred[1];
        TT_ASSERT(!t->charging.walks);
        t->charging.deferred[0] -= more;
        t->charging.deferred[1] -= times;
        charge_once(t, t->self->top, more, times);
    }
}

/* A sample that comes in the middle of a walk waits for its end. */
void tt_charge(struct tt_thread *t, struct tt_frame *at, uint64_t ticks, uint64_t samples)
{
    if (t->charging.walks) {
        t->charging.deferred[0] += ticks;
        t->charging.deferred[1] += samples;
        return;
    }
    charge_once(t, at, ticks, samples);
    tt_charge_deferred(t);
}

static int charge_context(struct tt_thread *t, struct tt_node *n, uint32_t metric,
                          uint64_t amount)
{
    uint64_t *sum = tt_tree_metric_of(&t->tree, n, metric);

    if (sum)
        tt_bump(sum, amount);
    return sum != NULL;
}

void tt_charge_below(struct tt_thread *t, struct tt_frame *at, struct tt_node *n,
                     uint64_t ticks, uint32_t metric)
{
    tt_bump(&n->samples, 1);
    if (metric) {
        if (!charge_context(t, n, metric, ticks))
            tt_bump_shared(&t->recording->header->lost_figures, 1);
        return;
    }
    tt_bump(&n->self, ticks);
    if (t->stack.hider)
        charge_hidden(t, at, 0, ticks);
}

void tt_charge_time(struct tt_thread *t, uint64_t now, struct tt_frame *outside)
{
    uint64_t ticks = now - t->record->last;
    struct tt_frame *at = t->stack.timed ? t->stack.timed : outside;

    t->record->last = now;
    if (!t->stack.timed && tt_clock_in_use() != TT_CLOCK_CALLER)
        return;
    if (ticks == 0 || (int64_t)ticks < 0)
        return;
    t->record->charged += ticks;
    tt_charge(t, at, ticks, 0);
}

/* Charges the top's context, or `evicted`: as if it had been evicted.  0: no room. */
static int charge_metric(struct tt_thread *t, uint32_t metric, uint64_t amount,
                         int evicted)
{
    struct tt_frame *at = t->self->top;
    int in_limbo = at->node == t->tree.limbo,
        done = evicted || in_limbo
                   ? tt_tree_metric_evicted(&t->tree, tt_stack_placed(t, at)->node,
                                            tt_frame_block(t, at), metric, amount)
                   : charge_context(t, at->node, metric, amount);

    if (done && (t->stack.hider || in_limbo))
        charge_hidden(t, at, metric, amount);
    return done;
}

void tt_add_metric(struct tt_thread *t, uint32_t metric, uint64_t amount)
{
    uint64_t *sum;

    if (charge_metric(t, metric, amount, 0) ||
        (tt_make_room(t) && charge_metric(t, metric, amount, 0)) ||
        charge_metric(t, metric, amount, 1))
        return;
    tt_bump_shared(&t->recording->header->lost_figures, 1);
    sum = tt_tree_metric_below(&t->tree, t->tree.root, metric);
    if (sum) /* the total has it */
        tt_bump(sum, amount);
}

/* ── Statistics ───────────────────────────────────────────────────────────────────── */

static void add_histogram(struct tt_thread *t, struct tt_node *edge, uint64_t duration)
{
    struct tt_histogram *h = tt_tree_extension(&t->tree, edge, TT_HISTOGRAM,
                                               TT_HISTOGRAM_ORDER);
    uint32_t bin = duration ? 63 - (uint32_t)__builtin_clzll(duration) : 0;

    TT_ASSERT(bin < 64);
    if (h)
        h->bin[bin < TT_HISTOGRAM_BINS ? bin : TT_HISTOGRAM_BINS - 1]++;
}

static void add_history(struct tt_thread *t, struct tt_node *edge,
                        const struct tt_frame *f, uint64_t duration, uint32_t capacity)
{
    struct tt_history *h = tt_tree_extension(&t->tree, edge, TT_HISTORY,
                                             TT_HISTOGRAM_ORDER);

    TT_ASSERT(capacity > 0 && capacity <= TT_HISTORY_MAX);
    if (!h)
        return;
    h->capacity = capacity;
    h->ring[h->count % capacity] = (struct tt_activation){
        .start = f->entered - t->recording->header->start_ticks, .duration = duration};
    h->count++;
}

void tt_activation_details(struct tt_thread *t, struct tt_node *edge,
                           const struct tt_frame *f, uint64_t duration)
{
    const struct tt_options *o = &t->recording->options;
    uint32_t mark;

    if (o->histogram)
        add_histogram(t, edge, duration);
    if (o->marked_count && (mark = tt_block_marked(edge->key & TT_KEY_BLOCK))) {
        if (o->marked[mark - 1].history)
            add_history(t, edge, f, duration, o->marked[mark - 1].history);
        if (o->marked[mark - 1].slowest)
            tt_slowest_end(t, edge, f, duration, o->marked[mark - 1].slowest);
    }
}

void tt_activation_begin(struct tt_thread *t, struct tt_frame *f, uint64_t now)
{
    struct tt_strand_record *record = t->record;
    struct tt_top *top = &record->top[record->depth++ % TT_TOP_FRAMES];

    TT_ASSERT(!(tt_frame_flags(f) & (TT_FRAME_TIMED | TT_FRAME_PICKED | TT_FRAME_SEAM)));
    TT_ASSERT(t->stack.timed != f);
    if (!__atomic_load_n(&t->recording->timed, __ATOMIC_RELAXED))
        TT_SHOW(t->recording->timed, 1); /* the first one comes here */
    tt_charge_time(t, now, f - 1);
    f->entered = now;
    f->children = 0;
    f->timed = t->stack.timed;
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_TIMED));
    t->stack.timed = f;
    top->entered = now;
    top->edge = tt_frame_cell(f);
    top->depth = (uint32_t)record->depth;
    if (t->recording->options.marked_count)
        tt_slowest_begin(t, f);
}

void tt_activation_pick(struct tt_thread *t, struct tt_frame *f)
{
    TT_SHOW(f->edge, f->edge | TT_FRAME_FLAG(TT_FRAME_PICKED));
    f->children = 0;
    f->entered = tt_time_now(t);
}

void tt_activation_end(struct tt_thread *t, struct tt_frame *f, uint64_t now)
{
    uint64_t duration = now - f->entered, weight = 0;
    struct tt_node *edge = tt_cell(t->tree.base, tt_frame_cell(f));
    struct tt_times *times;

    if ((int64_t)duration < 0)
        duration = 0;
    TT_ASSERT(tt_frame_flags(f) & (TT_FRAME_TIMED | TT_FRAME_PICKED));
    if (tt_frame_flags(f) & TT_FRAME_TIMED) {
        TT_ASSERT(t->record->depth > 0);
        tt_charge_time(t, now, f);
        t->record->depth--;
        t->stack.timed = f->timed;
        if (t->stack.timed)
            t->stack.timed->children += duration;
    } else {
        weight = edge->calls < t->recording->options.every ? 1
                                                           : t->recording->options.every;
    }
    if (tt_frame_flags(f) & TT_FRAME_LIMBO)
        return;
    times = tt_tree_times(&t->tree, edge);
    if (times) {
        tt_times_add(times, f, duration);
        times->weighed += duration * weight;
    }
    if (t->modes.detailed)
        tt_activation_details(t, edge, f, duration);
}

void tt_visit_begin(struct tt_thread *t, struct tt_frame *f)
{
    if (!t->modes.timing)
        return;
    tt_charge_time(t, tt_time_now(t), f - 1);
    f->children = 0;
    f->timed = t->stack.timed;
    t->stack.timed = f;
}

void tt_visit_end(struct tt_thread *t, struct tt_frame *f)
{
    if (!t->modes.timing)
        return;
    tt_charge_time(t, tt_time_now(t), f);
    t->stack.timed = f->timed;
    if (t->stack.timed)
        t->stack.timed->children += f->children;
}
