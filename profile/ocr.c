/* SPDX-License-Identifier: MIT */
/* ocr.c - OCR's figures, from the activations through each edge of the tree.
 *
 * One walk a thread.  On the way down, each block knows its last place on the path, which
 * finds recursion without a search.  On the way up, the growth of a block's self time
 * since a context was entered is its time below that context. */
#include "ocr.h"

#include <string.h>

#include "statistics.h"

enum { MS = 1000000 }; /* ns */

/* ── Pairs ────────────────────────────────────────────────────────────────────────── */

/* Returns the pair's number.  TT_NO_NUMBER: it is not there. */
static uint32_t find_pair(const struct ocr *o, uint32_t parent, uint32_t child)
{
    const struct ocr_pair pair = {parent, child};

    return tt_index_find(&o->index, &o->list, &pair, sizeof pair);
}

static int add_pair(struct ocr *o, uint32_t parent, uint32_t child)
{
    const struct ocr_pair pair = {parent, child};
    int is_new;

    return tt_index_get(&o->index, &o->list, &pair, sizeof pair, &is_new) == TT_NO_NUMBER
               ? -TT_ERR_MEMORY
               : 0;
}

static int find_pairs(struct ocr *o)
{
    const struct tt_profile *p = o->p;
    struct tt_walk w;
    int error = tt_walk_init(&w, p, 0);

    while (!error && tt_walk_next(&w))
        if (w.depth)
            error = add_pair(o, tt_block_of(p, w.path[w.depth - 1]),
                             tt_block_of(p, w.context));
    tt_walk_fini(&w);
    for (uint32_t i = 0; !error && i < p->arcs; i++)
        error = add_pair(o, tt_block_of(p, p->arc[i].from), p->arc[i].block);
    o->pair = o->list.item;
    o->pairs = (uint32_t)o->list.count;
    return error;
}

/* Was it made from OCR's files? */
static int is_flat(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), "format") == 0 &&
            strcmp(tt_profile_string(p, p->fact[i].text), "ocr") == 0)
            return 1;
    return 0;
}

/* Figures may be differences, with a sign: would any sum of them overflow?  Self time
 * counts once for each pair on the path. */
static int are_too_large(const struct tt_profile *p)
{
    unsigned __int128 sum = 0, self = 0;

    for (size_t i = 0; i < p->many_times; i++) {
        const struct tt_times_row *t = &p->times[i];
        sum += (unsigned __int128)t->sum + t->children + t->recursive + t->count;
        self += t->sum > t->children ? t->sum - t->children : t->children - t->sum;
    }
    return sum > INT64_MAX / 2 || self * (p->depth + 1) > INT64_MAX / 2;
}

int tt_ocr_init(struct ocr *o, const struct tt_profile *p)
{
    uint32_t m = tt_metric_find(p, "time");
    int in_ns = m != TT_NONE && strcmp(p->metric[m].unit, "ns") == 0;

    *o = (struct ocr){.p = p,
                      .memory = p->memory,
                      .is_flat = is_flat(p),
                      .ms = in_ns ? MS : 1,
                      .ns = in_ns ? 1 : MS};
    tt_vector_init(&o->list, o->memory, sizeof(struct ocr_pair));
    if (m == TT_NONE || !p->many_times)
        return -TT_ERR_OPTION;
    if (are_too_large(p))
        return -TT_ERR_FORMAT;
    return find_pairs(o);
}

void tt_ocr_fini(struct ocr *o)
{
    tt_index_fini(&o->index, o->memory);
    tt_vector_fini(&o->list);
}

int tt_ocr_sum_init(const struct ocr *o, struct ocr_sum *s)
{
    s->threads = 0;
    s->function = tt_memory_get(o->memory, o->p->blocks * sizeof *s->function);
    s->pair = tt_memory_get(o->memory, o->pairs * sizeof *s->pair);
    return s->function && s->pair ? 0 : -TT_ERR_MEMORY;
}

void tt_ocr_sum_fini(const struct ocr *o, struct ocr_sum *s)
{
    tt_memory_put(o->memory, s->pair);
    tt_memory_put(o->memory, s->function);
}

/* ── A thread ─────────────────────────────────────────────────────────────────────── */

struct level { /* a context on the path */
    uint32_t context, end, block;
    uint32_t before; /* the level + 1 where its block was before; 0: nowhere */
    uint32_t pair;   /* of its edge; TT_NONE when it is its parent's own block */
    uint32_t caller; /* the nearest level of another block */
    int64_t own;     /* self time of the caller's block when it was entered */
};

struct walk {
    struct ocr *o;
    struct ocr_sum *sum;
    uint32_t strand, depth;
    struct level *level;
    uint32_t *last; /* of each block: the level + 1 where it is now; 0: nowhere */
    int64_t *self;  /* of each block: its self time so far */
};

/* Returns this thread's activations through an edge; rows must be asked for in order, but
 * only those of contexts.  NULL: none. */
static const struct tt_times_row *times_of(const struct walk *w, uint32_t row)
{
    const struct tt_profile *p = w->o->p;
    size_t first, end = tt_times_range(p, row, &first);

    for (size_t i = first; i < end; i++)
        if (p->times[i].strand == w->strand ||
            (p->strands <= 1 && p->times[i].strand == TT_NONE))
            return &p->times[i];
    return NULL;
}

/* Takes the figures that OCR's files have for a pair. */
static void take_flat(struct walk *w, uint32_t parent, struct ocr_entry *pair,
                      const struct tt_times_row *t)
{
    if (!pair || !parent)
        return;
    pair->value[OCR_RECURSE] += (int64_t)t->recursive;
    pair->value[OCR_OWN] += (int64_t)t->recursive;
    tt_sum128_add(&pair->children_square, &t->children_square);
    tt_sum128_add(&pair->recurse_square, &t->recursive_square);
    w->sum->function[parent].value[OCR_RECURSE] += (int64_t)t->recursive;
    w->sum->function[parent].value[OCR_OWN] += (int64_t)t->recursive;
}

/* Adds the square of one activation's time as OCR's profiler computes it: ms and
 * fractions of a ms are squared separately, and partly in 32 bits. */
static void add_flawed(struct tt_sum128 *square, unsigned __int128 ns, int is_pair,
                       uint64_t times)
{
    uint64_t ms = (uint64_t)(ns / MS), below = (uint64_t)(ns % MS);
    uint64_t whole = is_pair ? (uint32_t)ms * (uint32_t)ms : ms * ms;
    unsigned __int128 all = (unsigned __int128)(is_pair ? (uint32_t)whole : whole) * MS *
                            MS;

    all = (all + (uint32_t)(below * below)) * times;
    tt_sum128_add(square, &(struct tt_sum128){(uint64_t)all, (uint64_t)(all >> 64)});
}

/* The minimum and the maximum are known; the others count as equal.  Figures from OCR's
 * files have its flaws already. */
static void take_flawed(const struct walk *w, struct tt_sum128 *square,
                        const struct tt_times_row *t, int is_pair)
{
    uint64_t rest = t->count - 2, ns = w->o->ns;

    if (w->o->is_flat) {
        tt_sum128_add(square, &t->square);
        return;
    }
    add_flawed(square, (unsigned __int128)t->max * ns, is_pair, 1);
    if (t->count > 1)
        add_flawed(square, (unsigned __int128)t->min * ns, is_pair, 1);
    if (t->count > 2)
        add_flawed(square, (unsigned __int128)((t->sum - t->min - t->max) / rest) * ns,
                   is_pair, rest);
}

/* Takes the activations of `block` that were entered from the level `from`. */
static void take_edge(struct walk *w, uint32_t block, uint32_t from,
                      const struct tt_times_row *t)
{
    struct ocr_entry *f = &w->sum->function[block], *pair = NULL;
    const struct level *caller = &w->level[from];
    int64_t total = (int64_t)t->sum, self = (int64_t)(t->sum - t->children);
    int direct = caller->block == block;
    uint32_t outer = direct ? caller->caller : from, nearest = w->last[block];
    uint32_t id = find_pair(w->o, w->level[outer].block, block);

    w->self[block] += self;
    f->value[OCR_SELF] += self;
    f->true_calls += t->count;
    if (id != TT_NONE)
        pair = &w->sum->pair[id];
    if (pair)
        pair->value[OCR_SELF] += self;
    /* the activation that it is part of is itself a call of its function */
    if (direct && !w->o->is_flat && w->level[caller->caller + 1].before)
        f->value[OCR_OWN] += self;
    if (direct || !t->count)
        return;
    f->value[OCR_CALLS] += (int64_t)t->count;
    f->value[OCR_TOTAL] += total;
    tt_sum128_add(&f->square, &t->square);
    take_flawed(w, &f->flawed, t, 0);
    if (pair) {
        pair->value[OCR_CALLS] += (int64_t)t->count;
        pair->value[OCR_TOTAL] += total;
        tt_sum128_add(&pair->square, &t->square);
        take_flawed(w, &pair->flawed, t, 1);
    }
    if (w->o->is_flat) {
        take_flat(w, w->level[outer].block, pair, t);
        return;
    }
    /* what the caller, with its direct calls of itself, is to its own caller */
    id = from ? w->level[caller->caller + 1].pair : TT_NONE;
    if (id != TT_NONE)
        tt_sum128_add(&w->sum->pair[id].children_square, &t->square);
    if (!nearest)
        return;
    /* a call of itself: the nearest one before it called what leads here */
    id = find_pair(w->o, block, w->level[nearest].block);
    f->value[OCR_RECURSE] += total;
    f->value[OCR_OWN] += self;
    if (id != TT_NONE) {
        w->sum->pair[id].value[OCR_RECURSE] += total;
        tt_sum128_add(&w->sum->pair[id].recurse_square, &t->square);
    }
}

static void enter(struct walk *w, uint32_t context)
{
    const struct tt_profile *p = w->o->p;
    struct level *l = &w->level[w->depth];
    const struct tt_times_row *t = times_of(w, context);
    uint32_t from = w->depth - 1;

    *l = (struct level){.context = context,
                        .end = tt_end_of(p, context),
                        .block = tt_block_of(p, context),
                        .pair = TT_NONE};
    if (w->depth) {
        int direct = w->level[from].block == l->block;
        l->caller = direct ? w->level[from].caller : from;
        l->own = w->self[w->level[from].block];
        if (!direct)
            l->pair = find_pair(w->o, w->level[from].block, l->block);
        if (t)
            take_edge(w, l->block, from, t);
    }
    l->before = w->last[l->block];
    w->last[l->block] = ++w->depth;
}

static void leave(struct walk *w)
{
    const struct level *l = &w->level[--w->depth];

    w->last[l->block] = l->before;
    if (l->pair != TT_NONE && !w->o->is_flat)
        w->sum->pair[l->pair].value[OCR_OWN] += w->self[w->level[w->depth - 1].block] -
                                                l->own;
}

/* Pushes that led back into the path count as calls at its end. */
static void take_arcs(struct walk *w, uint32_t *arc, uint32_t context)
{
    const struct tt_profile *p = w->o->p;

    for (; *arc < p->arcs && p->arc[*arc].from <= context; ++*arc) {
        const struct tt_times_row *t = times_of(w, p->contexts + *arc);
        if (p->arc[*arc].from == context && t)
            take_edge(w, p->arc[*arc].block, w->depth - 1, t);
    }
}

static void derive(struct ocr_entry *e, int is_function)
{
    int64_t *v = e->value;

    v[OCR_CHILDREN] = v[OCR_TOTAL] - v[OCR_SELF];
    v[OCR_NOT_RECURSIVE] = v[OCR_TOTAL] - v[OCR_RECURSE];
    v[OCR_BELOW] = v[OCR_TOTAL] - v[OCR_SELF] - v[OCR_OWN];
    if (!is_function)
        v[OCR_DESCENDANTS] = v[OCR_CHILDREN] - v[OCR_RECURSE];
}

static void derive_all(const struct ocr *o, struct ocr_sum *s)
{
    for (uint32_t i = 0; i < o->pairs; i++) {
        derive(&s->pair[i], 0);
        if (o->pair[i].parent != o->pair[i].child)
            s->function[o->pair[i].parent]
                .value[OCR_DESCENDANTS] += s->pair[i].value[OCR_NOT_RECURSIVE];
    }
    for (uint32_t i = 0; i < o->p->blocks; i++)
        derive(&s->function[i], 1);
}

static void walk_tree(struct walk *w)
{
    const struct tt_profile *p = w->o->p;
    uint32_t arc = 0;

    for (uint32_t c = 0; c < p->contexts; c++) {
        while (w->depth && w->level[w->depth - 1].end <= c)
            leave(w);
        enter(w, c);
        take_arcs(w, &arc, c);
    }
    while (w->depth)
        leave(w);
}

int tt_ocr_thread(const struct ocr *o, uint32_t strand, struct ocr_sum *sum)
{
    const size_t blocks = o->p->blocks, levels = (size_t)o->p->depth + 2;
    struct ocr own = *o;
    struct walk w = {.o = &own, .sum = sum, .strand = strand};
    int error = -TT_ERR_MEMORY;

    memset(sum->function, 0, blocks * sizeof *sum->function);
    memset(sum->pair, 0, o->pairs * sizeof *sum->pair);
    sum->threads = 1;
    w.level = tt_memory_get(o->memory, levels * sizeof *w.level);
    w.last = tt_memory_get(o->memory, blocks * sizeof *w.last);
    w.self = tt_memory_get(o->memory, blocks * sizeof *w.self);
    if (w.level && w.last && w.self) {
        walk_tree(&w);
        derive_all(o, sum);
        error = 0;
    }
    tt_memory_put(o->memory, w.self);
    tt_memory_put(o->memory, w.last);
    tt_memory_put(o->memory, w.level);
    return error;
}

/* A thread's figure moves the mean of those before it: squares are of distances from the
 * mean, so that nothing cancels. */
static void add_entries(struct ocr_entry *all, const struct ocr_entry *one, size_t count,
                        double threads)
{
    for (size_t i = 0; i < count; i++) {
        for (int v = 0; v < OCR_VALUES; v++) {
            double mean = threads > 0 ? (double)all[i].value[v] / threads : 0;
            double away = (double)one[i].value[v] - mean;
            all[i].spread[v] += away * away * (threads / (threads + 1));
            all[i].value[v] += one[i].value[v];
        }
        tt_sum128_add(&all[i].square, &one[i].square);
        tt_sum128_add(&all[i].flawed, &one[i].flawed);
        tt_sum128_add(&all[i].children_square, &one[i].children_square);
        tt_sum128_add(&all[i].recurse_square, &one[i].recurse_square);
        all[i].true_calls += one[i].true_calls;
    }
}

void tt_ocr_add(const struct ocr *o, struct ocr_sum *all, const struct ocr_sum *thread)
{
    add_entries(all->function, thread->function, o->p->blocks, all->threads);
    add_entries(all->pair, thread->pair, o->pairs, all->threads);
    all->threads++;
}
