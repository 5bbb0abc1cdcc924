/* SPDX-License-Identifier: MIT */
/* budget.c - what happens when a tree may not grow: its cold contexts are evicted.
 *
 * This is lossy counting on a tree.  A context's weight is what it and all below it cost,
 * plus what it may have missed.  A pass finds a threshold under which a quarter of the
 * cells lie, and evicts those: their cost goes to the nearest ancestor that stays, as
 * "elsewhere below", and to their block's tally, so that nothing is lost from any sum.
 * The threshold never falls; a context that comes back may have missed at most that much,
 * and none above it was ever evicted.  What is open now, and all above it, stays.
 *
 * Figures move one context at a time, each move written down before it is made: a process
 * killed in the middle leaves a recording that can be set right. */
#include <string.h>
#include <sys/mman.h>

#include "stack.h"

enum { LIVE = 1, VICTIM = 2, GONE = 4 };

struct pass {
    struct tt_tree *tree;
    uint32_t count;    /* cells in all */
    uint32_t *ordinal; /* page → its place in this pass */
    uint64_t *weight;  /* by place: of a context with all below it; of an arc its calls */
    uint32_t *pending; /* contexts and arcs that still have to add theirs */
    uint32_t *order;   /* places, children before their parents */
    uint32_t ordered;
    uint8_t *state;
    void *memory;
    size_t size;
    int by_calls; /* no ticks in this tree: calls are its weight */
};

/* ── Places: a dense numbering of the tree's cells ────────────────────────────────── */

static uint32_t place_of(const struct pass *p, uint32_t cell)
{
    const struct tt_recording *r = p->tree->recording;

    return p->ordinal[tt_cell_page(r, cell)] * TT_PAGE_CELLS +
           (cell - r->header->first / TT_CELL_SIZE) % TT_PAGE_CELLS;
}

static int start_pass(struct pass *p, struct tt_tree *t)
{
    const struct tt_recording *r = t->recording;
    size_t n = (size_t)t->page_count * TT_PAGE_CELLS, pages = r->next_bytes;
    char *m;

    memset(p, 0, sizeof *p);
    p->tree = t;
    p->count = (uint32_t)n;
    p->size = n * (8 + 4 + 4 + 1) + pages;
    m = mmap(NULL, p->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return -TT_ERR_MEMORY;
    p->memory = m;
    p->weight = (uint64_t *)(void *)m;
    p->pending = (uint32_t *)(void *)(m + 8 * n);
    p->order = (uint32_t *)(void *)(m + 12 * n);
    p->ordinal = (uint32_t *)(void *)(m + 16 * n);
    p->state = (uint8_t *)(m + 16 * n + pages);
    return 0;
}

/* Calls `each` for every context and arc. */
static void each_cell(struct pass *p,
                      void (*each)(struct pass *, struct tt_node *, uint32_t place))
{
    const struct tt_recording *r = p->tree->recording;
    uint32_t place = 0;

    for (uint32_t page = p->tree->pages; page; page = r->next[page]) {
        struct tt_node *n = tt_cell(p->tree->base, tt_page_cell(r, page));
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++, n++, place++)
            if (n->kind == TT_CELL_CONTEXT || n->kind == TT_CELL_ARC)
                each(p, n, place);
    }
}

/* ── Weights ──────────────────────────────────────────────────────────────────────── */

static const struct tt_loss *loss_of(const struct tt_tree *t, const struct tt_node *n)
{
    return tt_tree_extension_find(t, &n->extension, TT_CELL_LOSS);
}

static void number_pages(struct pass *p)
{
    const struct tt_recording *r = p->tree->recording;
    uint32_t ordinal = 0;

    for (uint32_t page = p->tree->pages; page; page = r->next[page])
        p->ordinal[page] = ordinal++;
}

static void see_ticks(struct pass *p, struct tt_node *n, uint32_t place)
{
    const struct tt_loss *loss = loss_of(p->tree, n);

    (void)place;
    if (n->self || (loss && loss->elsewhere.self))
        p->by_calls = 0;
}

static void weigh_cell(struct pass *p, struct tt_node *n, uint32_t place)
{
    const struct tt_loss *loss = loss_of(p->tree, n);

    if (n != p->tree->root)
        p->pending[place_of(p, n->parent)]++;
    if (n->kind == TT_CELL_ARC) {
        p->weight[place] = n->calls;
        if (p->by_calls)
            p->weight[place_of(p, n->target)] += n->calls;
        return;
    }
    p->weight[place] += p->by_calls ? n->calls : n->self;
    if (loss)
        p->weight[place] += p->by_calls ? loss->elsewhere.calls + loss->arrived
                                        : loss->elsewhere.self;
}

/* A cell with nothing left to wait for adds its weight to its parent, and so on up. */
static void settle_cell(struct pass *p, struct tt_node *n, uint32_t place)
{
    while (p->pending[place] == 0) {
        p->pending[place] = UINT32_MAX; /* done */
        p->order[p->ordered++] = tt_cell_of(p->tree, n);
        if (n == p->tree->root)
            return;
        if (n->kind == TT_CELL_CONTEXT)
            p->weight[place_of(p, n->parent)] += p->weight[place];
        n = tt_parent(p->tree, n);
        place = place_of(p, tt_cell_of(p->tree, n));
        p->pending[place]--;
    }
}

static void weigh(struct pass *p)
{
    number_pages(p);
    p->by_calls = 1;
    each_cell(p, see_ticks);
    each_cell(p, weigh_cell);
    each_cell(p, settle_cell);
}

/* ── What stays ───────────────────────────────────────────────────────────────────── */

static void keep_path(struct pass *p, const struct tt_node *n)
{
    const struct tt_tree *t = p->tree;

    for (;; n = tt_parent(t, n)) {
        uint8_t *state = &p->state[place_of(p, tt_cell_of(t, n))];
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
    p->state[place_of(p, tt_cell_of(p->tree, p->tree->root))] |= LIVE;
    if (!thread)
        return;
    tt_stack_walk(thread->fiber, thread->self->top, keep_live, p);
    for (struct tt_fiber *f = thread->suspended; f; f = f->next)
        tt_stack_walk(f, f->top, keep_live, p);
}

/* ── The threshold ────────────────────────────────────────────────────────────────── */

static uint64_t bound_of(const struct pass *p, uint32_t cell)
{
    const struct tt_node *n = tt_cell(p->tree->base, cell);
    const struct tt_loss *loss = loss_of(p->tree, n);

    return p->weight[place_of(p, cell)] + (loss ? loss->missed : 0);
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

/* A value that about a quarter of the candidates of this kind do not exceed.  Classes are
 * reckoned from `base` on: with each pass bounds lie closer above the last threshold. */
static uint64_t find_quantile(const struct pass *p, uint8_t kind, uint64_t base)
{
    uint32_t in_class[CLASSES] = {0}, candidates = 0, class = 0, below = 0;

    for (uint32_t i = 0; i < p->ordered; i++)
        if (tt_cell(p->tree->base, p->order[i])->kind == kind &&
            !(p->state[place_of(p, p->order[i])] & LIVE)) {
            uint64_t bound = bound_of(p, p->order[i]);
            in_class[class_of(bound > base ? bound - base : 0)]++;
            candidates++;
        }
    while (class < CLASSES - 1 && (below += in_class[class]) * 4ull < candidates)
        class ++;
    return base + class_end(class);
}

/* An arc goes when its source does, or when it was hardly ever taken. */
static uint32_t choose(struct pass *p)
{
    struct tt_tree *t = p->tree;
    uint64_t threshold = find_quantile(p, TT_CELL_CONTEXT, t->record->threshold),
             rare = find_quantile(p, TT_CELL_ARC, 0);
    uint32_t victims = 0;

    for (uint32_t i = p->ordered; i-- > 0;) { /* parents first */
        const struct tt_node *n = tt_cell(t->base, p->order[i]);
        uint32_t place = place_of(p, p->order[i]);
        int arc = n->kind == TT_CELL_ARC;
        if (p->state[place] & LIVE)
            continue;
        if (bound_of(p, p->order[i]) <= (arc ? rare : threshold) ||
            (p->state[place_of(p, n->parent)] & VICTIM)) {
            p->state[place] |= VICTIM;
            victims++;
        }
    }
    t->record->threshold = threshold;
    return victims;
}

/* ── Moving ───────────────────────────────────────────────────────────────────────── */

static struct tt_node *survivor_of(const struct pass *p, const struct tt_node *n)
{
    struct tt_node *up = tt_parent(p->tree, n);

    while (p->state[place_of(p, tt_cell_of(p->tree, up))] & VICTIM)
        up = tt_parent(p->tree, up);
    return up;
}

static void add_amounts(struct tt_amounts *a, const struct tt_amounts *b)
{
    a->calls += b->calls;
    a->self += b->self;
    a->samples += b->samples;
}

/* Metrics of what goes: to the survivor as elsewhere, to the block by itself. */
static void move_metrics(struct tt_tree *t, struct tt_node *n, struct tt_node *to,
                         struct tt_tally *tally)
{
    for (uint32_t cell = n->extension; cell;) {
        const struct tt_metrics *m = (const struct tt_metrics *)(void *)tt_cell(t->base,
                                                                                cell);
        cell = m->next;
        if (m->kind != TT_CELL_METRICS)
            continue;
        for (int i = 0; i < 4 && m->metric[i]; i++) {
            uint32_t metric = m->metric[i] | TT_METRIC_ELSEWHERE;
            tt_tree_metric(t, &to->extension, metric, m->amount[i]);
            if (!(m->metric[i] & TT_METRIC_ELSEWHERE))
                tt_tree_metric(t, &tally->next, metric, m->amount[i]);
        }
    }
}

static void show_redo(struct tt_redo *redo, uint32_t valid)
{
    __atomic_store_n(&redo->valid, valid, __ATOMIC_SEQ_CST);
}

static int move_context(struct pass *p, struct tt_node *n, uint32_t place)
{
    struct tt_tree *t = p->tree;
    struct tt_node *to = survivor_of(p, n);
    struct tt_tally *tally = tt_tree_tally(t, n->key);
    struct tt_loss *loss = tally ? tt_tree_loss(t, to) : NULL;
    const struct tt_loss *own = loss_of(t, n);
    struct tt_amounts amounts = {n->calls, n->self, n->samples};
    struct tt_redo *redo = &t->record->redo;

    if (!loss)
        return -TT_ERR_MEMORY;
    if (own)
        amounts.calls += own->arrived;
    redo->victim = tt_cell_of(t, n);
    redo->loss = tt_cell_of(t, loss);
    redo->tally = tt_cell_of(t, tally);
    redo->elsewhere = loss->elsewhere;
    redo->evicted = tally->evicted;
    add_amounts(&redo->elsewhere, &amounts);
    add_amounts(&redo->evicted, &amounts);
    if (own)
        add_amounts(&redo->elsewhere, &own->elsewhere);
    redo->arrived = loss->arrived;
    redo->hidden = tally->hidden + ((n->flags & TT_NODE_OUTERMOST) && !p->by_calls
                                        ? p->weight[place]
                                        : 0);
    show_redo(redo, 1);
    loss->elsewhere = redo->elsewhere;
    tally->evicted = redo->evicted;
    tally->hidden = redo->hidden;
    move_metrics(t, n, to, tally);
    n->target = tt_cell_of(t, to);
    return 0;
}

/* The calls of a forgotten arc are still calls of its target. */
static int move_arc(struct pass *p, struct tt_node *n)
{
    struct tt_tree *t = p->tree;
    struct tt_node *to = tt_cell(t->base, n->target);
    struct tt_loss *loss;
    struct tt_redo *redo = &t->record->redo;

    if ((n->key & TT_KEY_BLOCK) != to->key)
        return -TT_ERR_MEMORY; /* policy drop: they are calls of another block */
    loss = tt_tree_loss(t, to);
    if (!loss)
        return -TT_ERR_MEMORY;
    *redo = (struct tt_redo){.victim = tt_cell_of(t, n),
                             .loss = tt_cell_of(t, loss),
                             .elsewhere = loss->elsewhere,
                             .arrived = loss->arrived + n->calls};
    show_redo(redo, 1);
    loss->arrived = redo->arrived;
    return 0;
}

/* With no cell left for a tally or a loss, the block's record and the strand's serve. */
static void move_out(struct pass *p, struct tt_node *n, uint32_t place)
{
    struct tt_tree *t = p->tree;
    struct tt_amounts amounts = {n->calls, n->self, n->samples};
    const struct tt_loss *own = loss_of(t, n);

    tt_tally_evicted(t, n->key & TT_KEY_BLOCK, &amounts);
    if (n->kind == TT_CELL_ARC || p->by_calls)
        return;
    t->record->lost_ticks += n->self + (own ? own->elsewhere.self : 0);
    tt_tally_path(t, survivor_of(p, n), n->self + (own ? own->elsewhere.self : 0));
    if (n->flags & TT_NODE_OUTERMOST)
        tt_tally_hidden(t, n->key, p->weight[place]);
}

/* Takes the victims out of the tables of what stays, so that nothing finds them. */
static void unlink_victims(struct pass *p, struct tt_node *n)
{
    struct tt_tree *t = p->tree;
    uint32_t *table = tt_table(t->base, n), removed = 0;

    for (uint32_t i = 0; i <= n->mask; i++) {
        uint32_t *link = &table[i];
        while (*link) {
            struct tt_node *e = tt_cell(t->base, *link);
            if (p->state[place_of(p, *link)] & VICTIM) {
                __atomic_store_n(link, e->next, __ATOMIC_RELEASE);
                removed++;
            } else {
                link = &e->next;
            }
        }
    }
    if (n->mask > 1)
        n->slot[0] -= removed;
}

static void forget(struct pass *p, struct tt_node *n)
{
    struct tt_tree *t = p->tree;

    tt_tree_give_extensions(t, &n->extension);
    if (n->kind == TT_CELL_CONTEXT)
        tt_tree_give_table(t, n);
    tt_tree_give(t, n);
    show_redo(&t->record->redo, 0);
}

static void evict_victims(struct pass *p)
{
    struct tt_tree *t = p->tree;

    for (uint32_t i = 0; i < p->ordered; i++) {
        struct tt_node *n = tt_cell(t->base, p->order[i]);
        if (n->kind == TT_CELL_CONTEXT && !(p->state[place_of(p, p->order[i])] & VICTIM))
            unlink_victims(p, n);
    }
    /* Arcs first: an arc's target may be a victim too, and takes its calls along. */
    for (int arcs = 1; arcs >= 0; arcs--)
        for (uint32_t i = 0; i < p->ordered; i++) {
            struct tt_node *n = tt_cell(t->base, p->order[i]);
            uint32_t place = place_of(p, p->order[i]);
            if (!(p->state[place] & VICTIM) || (n->kind == TT_CELL_ARC) != arcs)
                continue;
            if ((arcs ? move_arc(p, n) : move_context(p, n, place)) != 0)
                move_out(p, n, place);
            forget(p, n);
            p->state[place] = GONE; /* the cell may be in use again */
        }
}

uint32_t tt_evict_tree(struct tt_tree *t, struct tt_thread *thread)
{
    struct pass p;
    uint32_t gone, before = t->free_count;

    t->refused = 0;
    t->patience = 1024;
    if (start_pass(&p, t) != 0)
        return 0;
    pthread_mutex_lock(&t->lock);
    weigh(&p);
    keep_stacks(&p, thread);
    if (choose(&p)) {
        __atomic_fetch_add(&t->record->moves, 1, __ATOMIC_SEQ_CST);
        evict_victims(&p);
        __atomic_fetch_add(&t->record->moves, 1, __ATOMIC_SEQ_CST);
    }
    t->record->evictions++;
    pthread_mutex_unlock(&t->lock);
    munmap(p.memory, p.size);
    gone = t->free_count > before ? t->free_count - before : 0;
    t->patience = gone >= p.count / 16 ? 0 : p.count / 4;
    return gone;
}

uint32_t tt_evict(struct tt_thread *t)
{
    uint32_t pages = tt_strands_merge(t->recording);

    return pages ? pages : tt_evict_tree(&t->tree, t);
}
