/* SPDX-License-Identifier: MIT */
/* merge.c - one tree's figures into another's.
 *
 * A context of the one is found or made in the other under the same parent: `map` tells
 * for each cell where it went.  Cells lie in no order, so each first sends the ancestors
 * that have not been sent yet; every cell is sent once. */
#include "merge.h"

#include <string.h>
#include <sys/mman.h>

#include "stack.h"

struct merge {
    struct tt_tree *into, *from;
    uint32_t *map;      /* by place of `from`: a cell of `into`; 0: not yet */
    uint8_t *elsewhere; /* it stands for what found no room below that cell */
    uint32_t *ordinal;
    void *memory;
    size_t size;
};

static uint32_t merge_place(const struct merge *m, const struct tt_node *n)
{
    const struct tt_recording *r = m->from->recording;
    uint32_t cell = tt_cell_of(m->from, n);

    return m->ordinal[tt_cell_page(r, cell)] * TT_PAGE_CELLS +
           (cell - r->header->first / TT_CELL_SIZE) % TT_PAGE_CELLS;
}

static int start_merge(struct merge *m, struct tt_tree *into, struct tt_tree *from)
{
    struct tt_recording *r = from->recording;
    size_t n = (size_t)from->page_count * TT_PAGE_CELLS;
    uint32_t ordinal = 0;
    char *memory;

    m->into = into;
    m->from = from;
    m->size = n * 5 + r->next_bytes;
    memory = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -TT_ERR_MEMORY;
    m->memory = memory;
    m->ordinal = (uint32_t *)(void *)memory;
    m->map = (uint32_t *)(void *)(memory + r->next_bytes);
    m->elsewhere = (uint8_t *)(memory + r->next_bytes + 4 * n);
    for (uint32_t page = from->pages; page; page = r->next[page])
        m->ordinal[page] = ordinal++;
    return 0;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

/* What a context of the tree that is sent away cost with all below it: found by asking of
 * each context whether it is below.  Only done when there is no room. */
static uint64_t subtree_ticks(const struct merge *m, const struct tt_node *top)
{
    const struct tt_recording *r = m->from->recording;
    uint64_t ticks = 0;

    for (uint32_t page = m->from->pages; page; page = r->next[page]) {
        const struct tt_node *n = tt_cell(m->from->base, tt_page_cell(r, page));
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++, n++) {
            const struct tt_node *up = n;
            const struct tt_loss *loss;
            if (n->kind != TT_CELL_CONTEXT)
                continue;
            while (up != top && up != m->from->root)
                up = tt_parent(m->from, up);
            if (up != top)
                continue;
            loss = tt_tree_extension_find(m->from, &n->extension, TT_CELL_LOSS);
            ticks += n->self + (loss ? loss->elsewhere.self : 0);
        }
    }
    return ticks;
}

static void merge_square(struct tt_square *into, const struct tt_square *from)
{
    unsigned __int128 a = (unsigned __int128)into->high << 64 | into->low,
                      b = (unsigned __int128)from->high << 64 | from->low;

    a += b;
    into->low = (uint64_t)a;
    into->high = (uint64_t)(a >> 64);
}

static void merge_times(struct merge *m, struct tt_node *to, const struct tt_times *from)
{
    struct tt_times *into = tt_tree_times(m->into, to);

    if (!into || !from->count)
        return;
    if (!into->count || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
    into->children += from->children;
    into->recursive += from->recursive;
    into->weighed += from->weighed;
    merge_square(&into->square, &from->square);
    merge_square(&into->children_square, &from->children_square);
    merge_square(&into->recursive_square, &from->recursive_square);
}

static void merge_histogram(struct merge *m, struct tt_node *to,
                            const struct tt_histogram *from)
{
    struct tt_histogram *into = tt_tree_extension(m->into, to, TT_HISTOGRAM,
                                                  TT_HISTOGRAM_ORDER);

    for (int i = 0; into && i < TT_HISTOGRAM_BINS; i++)
        into->bin[i] += from->bin[i];
}

/* Each keeps what the ring has room for, the later ones. */
static void merge_history(struct merge *m, struct tt_node *to,
                          const struct tt_history *from)
{
    struct tt_history *into = tt_tree_extension(m->into, to, TT_HISTORY,
                                                TT_HISTOGRAM_ORDER);
    uint64_t first = from->count > from->capacity ? from->count - from->capacity : 0;

    if (!into)
        return;
    into->capacity = from->capacity;
    into->count += first;
    for (uint64_t i = first; i < from->count; i++)
        into->ring[into->count++ % into->capacity] = from->ring[i % from->capacity];
}

static void merge_metrics(struct merge *m, uint32_t *chain, const struct tt_metrics *from,
                          uint32_t mask)
{
    for (int i = 0; i < 4 && from->metric[i]; i++)
        tt_tree_metric(m->into, chain, from->metric[i] | mask, from->amount[i]);
}

static void merge_loss(struct merge *m, struct tt_node *to, const struct tt_loss *from)
{
    struct tt_loss *into = tt_tree_loss(m->into, to);

    if (!into)
        return;
    into->elsewhere.calls += from->elsewhere.calls;
    into->elsewhere.self += from->elsewhere.self;
    into->elsewhere.samples += from->elsewhere.samples;
    into->missed += from->missed;
    into->arrived += from->arrived;
}

static void merge_extensions(struct merge *m, struct tt_node *to,
                             const struct tt_node *from, uint32_t elsewhere)
{
    const struct tt_loss *e;

    for (uint32_t cell = from->extension; cell; cell = e->next) {
        const void *p = tt_cell(m->from->base, cell);
        e = p;
        if (e->kind == TT_CELL_METRICS)
            merge_metrics(m, &to->extension, p, elsewhere);
        else if (e->kind == TT_CELL_LOSS)
            merge_loss(m, to, p);
        else if (elsewhere)
            continue;
        else if (e->kind == TT_TIMES)
            merge_times(m, to, p);
        else if (e->kind == TT_HISTOGRAM)
            merge_histogram(m, to, p);
        else if (e->kind == TT_HISTORY)
            merge_history(m, to, p);
        else if (e->kind == TT_SLOWEST)
            tt_slowest_merge(m->into, to, m->from, from);
    }
}

/* A context without room, below one that has. */
static void merge_elsewhere(struct merge *m, struct tt_node *to,
                            const struct tt_node *from)
{
    struct tt_loss *loss = tt_tree_loss(m->into, to);
    struct tt_amounts amounts = {from->calls, from->self, from->samples};
    tt_block block = from->key & TT_KEY_BLOCK;

    (void)tt_tree_tally(m->into, block);
    tt_tally_evicted(m->into, block, &amounts);
    if (from->flags & TT_NODE_OUTERMOST) /* its callees' follow by themselves */
        tt_tally_hidden(m->into, block, subtree_ticks(m, from));
    m->into->record->limbo += from->self;
    if (loss) {
        loss->elsewhere.calls += from->calls;
        loss->elsewhere.self += from->self;
        loss->elsewhere.samples += from->samples;
    } else {
        m->into->record->lost_ticks += from->self;
    }
    merge_extensions(m, to, from, TT_METRIC_ELSEWHERE);
}

static void merge_tally(struct merge *m, const struct tt_tally *from)
{
    struct tt_tally *into = tt_tree_tally(m->into, from->key);
    const struct tt_metrics *e;

    tt_tally_evicted(m->into, from->key, &from->evicted);
    tt_tally_hidden(m->into, from->key, from->hidden);
    for (uint32_t cell = into ? from->next : 0; cell; cell = e->next) {
        e = (const struct tt_metrics *)(void *)tt_cell(m->from->base, cell);
        merge_metrics(m, &into->next, e, 0);
    }
}

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

/* One context, whose parent has been sent. */
static void send_context(struct merge *m, struct tt_node *n)
{
    uint32_t place = merge_place(m, n), up = merge_place(m, tt_parent(m->from, n)), cell;
    struct tt_node *to = tt_cell(m->into->base, m->map[up]);

    cell = m->elsewhere[up] ? 0 : tt_tree_child(m->into, to, n->key);
    m->map[place] = cell ? cell : m->map[up];
    m->elsewhere[place] = !cell;
    if (!cell) {
        merge_elsewhere(m, to, n);
        return;
    }
    to = tt_cell(m->into->base, cell);
    to->calls += n->calls;
    to->self += n->self;
    to->samples += n->samples;
    merge_extensions(m, to, n, 0);
}

static void send_path(struct merge *m, struct tt_node *n)
{
    struct tt_node *next;

    while (!m->map[merge_place(m, n)]) { /* the highest that has not been sent */
        next = n;
        while (!m->map[merge_place(m, tt_parent(m->from, next))])
            next = tt_parent(m->from, next);
        send_context(m, next);
    }
}

static void send_arc(struct merge *m, struct tt_node *arc)
{
    uint32_t from = merge_place(m, tt_parent(m->from, arc)),
             to = merge_place(m, tt_cell(m->from->base, arc->target)), cell = 0;
    tt_block block = arc->key & TT_KEY_BLOCK;
    struct tt_loss *loss;
    struct tt_node *made;

    if (!m->elsewhere[from] && !m->elsewhere[to])
        cell = tt_tree_arc(m->into, tt_cell(m->into->base, m->map[from]), block,
                           tt_cell(m->into->base, m->map[to]));
    if (cell) {
        made = tt_cell(m->into->base, cell);
        made->calls += arc->calls;
        merge_extensions(m, made, arc, 0);
    } else if (m->elsewhere[to]) {
        struct tt_node calls = {.key = arc->key, .calls = arc->calls};
        merge_elsewhere(m, tt_cell(m->into->base, m->map[to]), &calls);
    } else if ((loss = tt_tree_loss(m->into, tt_cell(m->into->base, m->map[to])))) {
        loss->arrived += arc->calls;
    } else {
        tt_bump_shared(&m->into->recording->header->lost_calls, arc->calls);
    }
}

static void each_of_kind(struct merge *m, uint8_t kind,
                         void (*each)(struct merge *, struct tt_node *))
{
    const struct tt_recording *r = m->from->recording;

    for (uint32_t page = m->from->pages; page; page = r->next[page]) {
        struct tt_node *n = tt_cell(m->from->base, tt_page_cell(r, page));
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++, n++)
            if (n->kind == kind)
                each(m, n);
    }
}

static void send_tally(struct merge *m, struct tt_node *n)
{
    merge_tally(m, (const struct tt_tally *)(void *)n);
}

/* ── The row ──────────────────────────────────────────────────────────────────────── */

/* What the members of a row have spent in all, and which the least and the most. */
static void count_member(struct tt_strand_record *row,
                         const struct tt_strand_record *member, uint64_t ticks)
{
    unsigned __int128 square = (unsigned __int128)ticks * ticks;
    struct tt_square s = {(uint64_t)square, (uint64_t)(square >> 64)};

    if (row->members++ == 0 || ticks < row->least) {
        row->least = ticks;
        row->least_thread = member->thread;
    }
    if (ticks >= row->most) {
        row->most = ticks;
        row->most_thread = member->thread;
    }
    merge_square(&row->square, &s);
    row->charged += member->charged;
    row->lost_pushes += member->lost_pushes;
    row->lost_ticks += member->lost_ticks;
    if (member->threshold > row->threshold)
        row->threshold = member->threshold;
    row->evictions += member->evictions;
    row->limbo += member->limbo;
}

static uint64_t total_ticks(const struct tt_tree *t)
{
    const struct tt_recording *r = t->recording;
    uint64_t ticks = 0;

    for (uint32_t page = t->pages; page; page = r->next[page]) {
        const struct tt_node *n = tt_cell(t->base, tt_page_cell(r, page));
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++, n++)
            if (n->kind == TT_CELL_CONTEXT)
                ticks += n->self;
            else if (n->kind == TT_CELL_TALLY)
                ticks += ((const struct tt_tally *)(const void *)n)->evicted.self;
    }
    return ticks;
}

/* Room for another tree, where cold contexts can make it. */
static void make_room(struct tt_tree *into, const struct tt_tree *from)
{
    if (tt_pages_left(into->recording, TT_PAGE_CELL) < from->page_count &&
        into->free_count < from->page_count * TT_PAGE_CELLS)
        tt_evict_tree(into, NULL);
}

void tt_merge(struct tt_tree *into, struct tt_tree *from)
{
    struct merge m = {0};

    make_room(into, from);
    if (start_merge(&m, into, from) != 0) {
        into->record->lost_ticks += total_ticks(from);
        return;
    }
    __atomic_fetch_add(&into->record->moves, 1, __ATOMIC_SEQ_CST);
    m.map[merge_place(&m, from->root)] = tt_cell_of(into, into->root);
    into->root->self += from->root->self;
    into->root->samples += from->root->samples;
    merge_extensions(&m, into->root, from->root, 0);
    each_of_kind(&m, TT_CELL_CONTEXT, send_path);
    each_of_kind(&m, TT_CELL_ARC, send_arc);
    each_of_kind(&m, TT_CELL_TALLY, send_tally);
    count_member(into->record, from->record, total_ticks(from));
    __atomic_store_n(&from->record->state, TT_STRAND_NONE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&into->record->moves, 1, __ATOMIC_SEQ_CST);
    munmap(m.memory, m.size);
}
