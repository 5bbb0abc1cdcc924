/* SPDX-License-Identifier: MIT */
/* budget.c - eviction: if a tree may not grow, its cold contexts are removed.
 *
 * This is lossy counting on a tree.  A context's weight is the cost of itself and all
 * below it, plus what it may have missed.  A pass finds a threshold that a quarter of the
 * cells are below, and evicts those: their cost goes to the nearest ancestor that stays,
 * as "elsewhere below", and to their block's tally, so that no sum loses anything.  The
 * threshold never falls; a context that comes back may have missed at most that much, and
 * none above it was ever evicted.  Open contexts, and all above them, stay.
 *
 * Figures move one context at a time, all of them together: a process killed in the
 * middle leaves a recording that can be repaired.  A move has what it needs: each
 * context's block has its tally, and some cells are reserved for the survivor's loss and
 * for metrics, until the freed cells of the context replace them. */
#include "budget.h"

#include <string.h>

#include "activation.h"
#include "cell.h"
#include "extension.h"
#include "rows.h"
#include "space.h"
#include "stack.h"
#include "tree-check.h"
#include "weigh.h"

enum { LIVE = 1, VICTIM = 2, GONE = 4 };

struct pass {
    struct tt_tree *tree;
    struct tt_weights w; /* state: of the above */
};

static uint8_t *state_of(const struct pass *p, uint32_t cell)
{
    return &p->w.state[tt_place(&p->w, cell)];
}

/* ── What stays ───────────────────────────────────────────────────────────────────── */

static void keep_path(struct pass *p, const struct tt_node *n)
{
    const struct tt_tree *t = p->tree;

    for (;; n = tt_parent(t, n)) {
        uint8_t *state = state_of(p, tt_cell_of(t, n));
        TT_ASSERT(n->kind == TT_CELL_CONTEXT || n->kind == TT_CELL_ARC);
        if (*state & LIVE)
            break;
        *state |= LIVE;
        if (n == t->root)
            break;
    }
}

/* An activation keeps its context, and the arc that it came by with the arc's source. */
static void keep_live(void *arg, struct tt_frame *f)
{
    struct pass *p = arg;

    if (f->node == p->tree->limbo)
        return;
    keep_path(p, f->node);
    keep_path(p, tt_cell(p->tree->base, tt_frame_edge(p->tree, f)));
}

static void keep_stacks(struct pass *p, struct tt_thread *thread)
{
    *state_of(p, tt_cell_of(p->tree, p->tree->root)) |= LIVE;
    if (!thread)
        return;
    tt_stack_walk(thread->stack.fiber, thread->self->top, keep_live, p);
    for (struct tt_fiber *f = thread->stack.suspended; f; f = f->next)
        tt_stack_walk(f, f->top, keep_live, p);
}

/* ── The threshold ────────────────────────────────────────────────────────────────── */

static uint64_t bound_of(const struct pass *p, uint32_t cell)
{
    const struct tt_node *n = tt_cell(p->tree->base, cell);
    const struct tt_loss *loss = tt_tree_loss_find(p->tree, n);

    return p->w.weight[tt_place(&p->w, cell)] + (loss ? loss->missed : 0);
}

/* Weights in classes, sixteen to each power of two: exact up to 16. */
enum { CLASSES = 64 * 16 };

static uint32_t class_of(uint64_t weight)
{
    uint32_t power = weight < 32 ? 0 : 59 - (uint32_t)__builtin_clzll(weight);

    return (power << 4) + (uint32_t)(weight >> power);
}

static uint64_t class_end(uint32_t class)
{
    uint32_t power = class < 32 ? 0 : (class >> 4) - 1;

    return ((((uint64_t) class - (power << 4)) + 1) << power) - 1;
}

/* A value that about a quarter of the candidates of this kind do not exceed.  Classes
 * begin at `base`: with each pass the bounds are closer above the last threshold. */
static uint64_t find_quantile(const struct pass *p, uint8_t kind, uint64_t base)
{
    uint32_t in_class[CLASSES] = {0}, candidates = 0, class = 0, below = 0;

    for (uint32_t i = 0; i < p->w.ordered; i++)
        if (tt_cell(p->tree->base, p->w.order[i])->kind == kind &&
            !(*state_of(p, p->w.order[i]) & LIVE)) {
            uint64_t bound = bound_of(p, p->w.order[i]);
            in_class[class_of(bound > base ? bound - base : 0)]++;
            candidates++;
        }
    while (class < CLASSES - 1 && (below += in_class[class]) * 4ull < candidates)
        class ++;
    return base + class_end(class);
}

/* An arc is evicted with its source, or if it was hardly ever taken. */
static uint32_t choose(struct pass *p)
{
    struct tt_tree *t = p->tree;
    uint64_t threshold = find_quantile(p, TT_CELL_CONTEXT, t->record->threshold),
             rare = find_quantile(p, TT_CELL_ARC, 0);
    uint32_t victims = 0;

    for (uint32_t i = p->w.ordered; i-- > 0;) { /* parents first */
        const struct tt_node *n = tt_cell(t->base, p->w.order[i]);
        uint8_t *state = state_of(p, p->w.order[i]);
        int arc = n->kind == TT_CELL_ARC;
        if (*state & LIVE)
            continue;
        if (bound_of(p, p->w.order[i]) <= (arc ? rare : threshold) ||
            (*state_of(p, n->parent) & VICTIM)) {
            TT_ASSERT(n != t->root);
            *state |= VICTIM;
            victims++;
        }
    }
    TT_ASSERT(threshold >= t->record->threshold); /* it never falls */
    t->record->threshold = threshold;
    return victims;
}

/* ── Moving ───────────────────────────────────────────────────────────────────────── */

static struct tt_node *survivor_of(const struct pass *p, const struct tt_node *n)
{
    struct tt_node *up = tt_parent(p->tree, n);

    while (*state_of(p, tt_cell_of(p->tree, up)) & VICTIM)
        up = tt_parent(p->tree, up);
    TT_ASSERT(up->kind == TT_CELL_CONTEXT &&
              !(*state_of(p, tt_cell_of(p->tree, up)) & GONE));
    return up;
}

/* Moves the metrics of a victim one level up, as elsewhere; they move on if that is
 * evicted, too.  Their block keeps its own cost, and that of all below it. */
static void move_metrics(struct tt_tree *t, const struct tt_node *n,
                         struct tt_tally *tally)
{
    struct tt_node *up = tt_parent(t, n);
    const int topmost = n->extension && tt_tree_is_topmost(t, n);
    uint64_t *elsewhere, *own, *hidden;
    struct tt_metrics *m;

    for (uint32_t cell = n->extension; cell; cell = m->next) {
        m = (struct tt_metrics *)(void *)tt_cell(t->base, cell);
        if (tt_is_space(m->kind))
            break;
        for (int i = 0; m->kind == TT_CELL_METRICS && i < 4 && m->metric[i]; i++) {
            struct tt_change c = tt_change_begin(t);
            uint32_t metric = m->metric[i] & ~TT_METRIC_ELSEWHERE,
                     other = metric | TT_METRIC_ELSEWHERE;
            elsewhere = tt_tree_metric_below(t, up, metric);
            own = m->metric[i] == other ? NULL
                                        : tt_tree_metric_amount(t, &tally->next, other);
            hidden = topmost ? tt_tree_metric_amount(t, &tally->next, metric) : NULL;
            if (!elsewhere)
                tt_bump_shared(&t->recording->header->lost_figures, 1);
            if (own)
                *tt_change_word(&c, own) += m->amount[i];
            if (hidden)
                *tt_change_word(&c, hidden) += m->amount[i];
            if (elsewhere)
                tt_change_move(&c, elsewhere, &m->amount[i]);
            tt_change_make(&c);
        }
    }
}

/* Changes kind and flags, which share half a word with the generation. */
static void change_kind(struct tt_change *c, struct tt_node *n, uint8_t kind,
                        uint8_t flags)
{
    struct tt_node head = *n;
    uint32_t half[2];

    head.kind = kind;
    head.flags = flags;
    memcpy(half, &head, sizeof half);
    tt_change_half(c, (uint32_t *)(void *)n + 1, half[1]);
}

/* The block's tally keeps the context's cost with all below it, which is still there. */
static void hide_context(struct pass *p, struct tt_node *n)
{
    struct tt_change c = tt_change_begin(p->tree);

    TT_ASSERT(tt_tree_tally_find(p->tree, n->key));
    TT_ASSERT(!(n->flags & TT_NODE_LEAVING));
    *tt_change_word(&c, &tt_tree_tally_find(p->tree, n->key)->hidden) +=
        p->w.weight[tt_place(&p->w, tt_cell_of(p->tree, n))];
    change_kind(&c, n, n->kind, n->flags | TT_NODE_LEAVING);
    tt_change_make(&c);
}

static void move_context(struct pass *p, struct tt_node *n)
{
    struct tt_tree *t = p->tree;
    struct tt_node *to = survivor_of(p, n);
    struct tt_tally *tally = tt_tree_tally_find(t, n->key);
    struct tt_loss *loss = tt_tree_loss(t, to);
    const struct tt_loss *own = tt_tree_loss_find(t, n);
    struct tt_amounts amounts = {n->calls, n->self, n->samples};
    struct tt_change c;

    TT_ASSERT(n->kind == TT_CELL_CONTEXT && n != t->root);
    TT_ASSERT(tally && loss); /* the reserve is for these */
    move_metrics(t, n, tally);
    tt_space_evict(t, n, to);
    c = tt_change_begin(t);
    if (own) {
        amounts.calls += own->arrived;
        tt_change_amounts(&c, &loss->elsewhere, &own->elsewhere);
    }
    tt_change_amounts(&c, &loss->elsewhere, &amounts);
    tt_change_amounts(&c, &tally->evicted, &amounts);
    n->target = tt_cell_of(t, to);
    change_kind(&c, n, TT_CELL_FREE, n->flags);
    tt_change_make(&c);
}

/* The calls of a forgotten arc are still calls of its target; under policy drop they are of
 * another block. */
static void move_arc(struct pass *p, struct tt_node *n)
{
    struct tt_tree *t = p->tree;
    struct tt_node *to = tt_cell(t->base, n->target);
    tt_block block = n->key & TT_KEY_BLOCK;
    uint64_t *calls = block == to->key ? &tt_tree_loss(t, to)->arrived
                                       : &tt_tree_tally_find(t, block)->evicted.calls;
    struct tt_change c = tt_change_begin(t);

    TT_ASSERT(n->kind == TT_CELL_ARC && to->kind == TT_CELL_CONTEXT);
    tt_change_move(&c, calls, &n->calls);
    change_kind(&c, n, TT_CELL_FREE, n->flags);
    tt_change_make(&c);
}

/* The new cell of a sample-log entry: its own, or the survivor's. */
static uint32_t move_samples(void *arg, uint32_t cell)
{
    const struct pass *p = arg;

    return *state_of(p, cell) & VICTIM
               ? tt_cell_of(p->tree, survivor_of(p, tt_cell(p->tree->base, cell)))
               : cell;
}

/* Removes the victims from the tables of survivors, so that they are not found. */
static void unlink_victims(struct pass *p, struct tt_node *n)
{
    struct tt_tree *t = p->tree;
    uint32_t *table = tt_table(t->base, n), removed = 0;

    for (uint32_t i = 0; i <= n->mask; i++) {
        uint32_t *link = &table[i];
        while (*link) {
            struct tt_node *e = tt_cell(t->base, *link);
            if (*state_of(p, *link) & VICTIM) {
                __atomic_store_n(link, e->next, __ATOMIC_RELEASE);
                removed++;
            } else {
                link = &e->next;
            }
        }
    }
    TT_ASSERT(n->mask <= 1 || n->slot[0] >= removed);
    if (n->mask > 1)
        n->slot[0] -= removed;
}

static void forget(struct tt_tree *t, struct tt_node *n, int is_context)
{
    tt_tree_give_extensions(t, &n->extension);
    if (is_context)
        tt_tree_give_table(t, n);
    tt_tree_give(t, n);
}

static void evict_victims(struct pass *p)
{
    struct tt_tree *t = p->tree;

    for (uint32_t i = 0; i < p->w.ordered; i++) {
        struct tt_node *n = tt_cell(t->base, p->w.order[i]);
        if (n->kind != TT_CELL_CONTEXT)
            continue;
        if (!(*state_of(p, p->w.order[i]) & VICTIM))
            unlink_victims(p, n);
        else if (!p->w.by_calls && tt_tree_is_topmost(t, n))
            hide_context(p, n);
    }
    /* Arcs first: an arc's target may be a victim too, and takes its calls along. */
    for (int arcs = 1; arcs >= 0; arcs--)
        for (uint32_t i = 0; i < p->w.ordered; i++) {
            struct tt_node *n = tt_cell(t->base, p->w.order[i]);
            uint8_t *state = state_of(p, p->w.order[i]);
            if (!(*state & VICTIM) || (n->kind == TT_CELL_ARC) != arcs)
                continue;
            if (arcs)
                move_arc(p, n);
            else
                move_context(p, n);
            forget(t, n, !arcs);
            *state = GONE; /* the cell may be in use again */
        }
}

/* Samples of the thread itself are deferred until the figures are consistent again. */
static void evict_quietly(struct pass *p, struct tt_thread *thread)
{
    struct tt_tree *t = p->tree;

    if (thread) {
        tt_stack_disturb(thread);
        thread->charging.walks++;
    }
    t->reserve = 0;
    TT_ASSERT(t->record->moves % 2 == 0);
    __atomic_fetch_add(&t->record->moves, 1, __ATOMIC_SEQ_CST);
    tt_log_move(t, move_samples, p);
    tt_space_evict_begin(t);
    evict_victims(p);
    t->space.stale = 1;
    if (t->space.told)
        memset(t->space.told, 0, TT_EVENT_CACHE * sizeof *t->space.told);
    __atomic_fetch_add(&t->record->moves, 1, __ATOMIC_SEQ_CST);
    t->reserve = TT_EVICTION_RESERVE;
    if (thread && --thread->charging.walks == 0)
        tt_charge_deferred(thread);
}

/* No sum is more or less for it. */
static void evict_checked(struct pass *p, struct tt_thread *thread)
{
#ifdef TT_CHECKED
    enum { SMALL = 64 }; /* pages */
    struct tt_amounts before = tt_tree_sums(p->tree), after;

    evict_quietly(p, thread);
    after = tt_tree_sums(p->tree);
    TT_ASSERT(after.calls >= before.calls && after.self >= before.self &&
              after.samples >= before.samples); /* samples may come meanwhile */
    if (p->tree->page_count <= SMALL)
        TT_ASSERT_NOTHING(tt_tree_check(p->tree));
#else
    evict_quietly(p, thread);
#endif
}

uint32_t tt_evict_tree(struct tt_tree *t, struct tt_thread *thread)
{
    struct pass p = {.tree = t};
    uint32_t gone, before = t->free_count;

    t->refused = 0;
    t->patience = 1024;
    if (tt_weights_init(&p.w, t) != 0)
        return 0;
    tt_nested_lock(&t->lock, &tt_self);
    tt_weigh(&p.w, TT_WEIGH_TICKS_OR_CALLS);
    keep_stacks(&p, thread);
    if (choose(&p))
        evict_checked(&p, thread);
    t->record->evictions++;
    tt_nested_unlock(&t->lock);
    tt_weights_fini(&p.w);
    gone = t->free_count > before ? t->free_count - before : 0;
    t->patience = gone >= p.w.count / 16 ? 0 : p.w.count / 4;
    return gone;
}

int tt_make_room(struct tt_thread *t)
{
    if (t->tree.refused++ < t->tree.patience)
        return 0;
    if (!tt_strands_merge(t->recording))
        (void)tt_evict_tree(&t->tree, t);
    return 1;
}
