/* SPDX-License-Identifier: MIT */
/* space.c - objects, as runtimes report them: made, freed, copied by a collector.
 *
 * Each event belongs to a row of the context that the object was made in (rows.c), and
 * changes the live memory over time (series.c).  A thread adds only to rows of its own
 * tree, on a path like that of the object's origin; the sum over all strands is right.
 *
 * With space-rate=N an object is recorded with probability 1/w and counts as w objects: w
 * is the least power of two for which w objects of this size have N bytes.  So a freed
 * object has the weight that it was made with, without anything stored. */
#include "space.h"

#include <sys/mman.h>

#include "activation.h"
#include "block.h"
#include "budget.h"
#include "clock.h"
#include "context.h"
#include "control.h"
#include "event-cache.h"
#include "live-set.h"
#include "objects.h"
#include "random.h"
#include "rows.h"
#include "series.h"
#include "share.h"
#include "stack.h"

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

uint64_t tt_space_rate;

uint64_t tt_space_weight(size_t bytes)
{
    const uint64_t rate = __atomic_load_n(&tt_space_rate, __ATOMIC_RELAXED);
    uint64_t weight = 1;

    while ((bytes ? bytes : 1) * weight < rate)
        weight *= 2;
    return weight;
}

static struct tt_objects objects_for(size_t bytes, size_t overhead)
{
    const uint64_t weight = tt_space_weight(bytes);

    return (struct tt_objects){weight, bytes * weight, overhead * weight};
}

/* Is this one recorded, of `weight` objects?  Each thread has its own random numbers. */
static int is_space_chosen(uint64_t weight)
{
    static __thread uint64_t state;
    static uint64_t seeds;

    if (weight == 1)
        return 1;
    if (TT_UNLIKELY(!state)) {
        state = (uint64_t)(uintptr_t)&state ^ (uint64_t)tt_clock_now() << 20;
        state += __atomic_add_fetch(&seeds, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
        state |= 1;
    }
    return (tt_random(&state) >> 16 & (weight - 1)) == 0;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static struct tt_type_record *type_record(struct tt_recording *r, tt_type type)
{
    if (tt_block_kind(type) != TT_KIND_TYPE || tt_block_publish(r, type) != type)
        return NULL;
    return (struct tt_type_record *)(void *)tt_block_record(r, type);
}

/* An event that no context has room for is counted with its type, by whatever thread. */
static void count_by_type(struct tt_recording *r, const struct tt_space_way *w,
                          const struct tt_objects *o)
{
    struct tt_type_record *type = type_record(r, w->type);

    if (type && w->from == TT_NO_GENERATION) {
        tt_bump_shared(&type->number, o->number);
        tt_bump_shared(&type->bytes, o->bytes);
        tt_bump_shared(&type->overhead, o->overhead);
    } else if (type && w->to == TT_NO_GENERATION) {
        tt_bump_shared(&type->freed.number, o->number);
        tt_bump_shared(&type->freed.bytes, o->bytes);
        tt_bump_shared(&type->freed.overhead, o->overhead);
    } else {
        tt_bump_shared(&r->header->lost_objects, 1);
    }
}

/* Objects with an age are not moved by a collector: generation 0. */
static uint32_t generation_left(const struct tt_space_way *w)
{
    return w->from & 0x80 && w->from != TT_NO_GENERATION ? 0 : w->from;
}

/* Subtracts a freed object from the live set of its allocation site.  Not at the root:
 * objects of threads without a strand have it as their origin, and were not added
 * there. */
static void take_from_held(struct tt_recording *r, tt_context origin,
                           const struct tt_space_way *w, const struct tt_objects *o)
{
    struct tt_live_set_event e = {.origin = origin, .type = w->type};

    if (!origin || w->from == TT_NO_GENERATION || w->to != TT_NO_GENERATION ||
        !(r->options.space & TT_SPACE_PEAK))
        return;
    if (!(r->options.space & TT_SPACE_TYPES))
        e.type = tt_space_any_type();
    e.generation = generation_left(w);
    e.now = tt_space_now(r);
    tt_live_set_gone(r, &e, o);
}

/* For a thread that has no strand, or that a signal handler interrupted in the profiler:
 * it may hold any lock.  Returns 1 if the event was counted. */
static int tell_stray(tt_context origin, const struct tt_space_way *w,
                      const struct tt_objects *o)
{
    const struct tt_thread *t = tt_self.thread;
    int counted = 0;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return 0;
    if (t && t->recording && t->recording == tt_recording_now()) {
        count_by_type(t->recording, w, o);
        return 1;
    }
    if (tt_is_at_work())
        return 0;
    tt_threads_lock();
    if (__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE)) {
        count_by_type(tt_recording, w, o);
        take_from_held(tt_recording, origin, w, o);
        counted = 1;
    }
    tt_threads_unlock();
    return counted;
}

int tt_space_stray(const struct tt_space_way *w, const struct tt_objects *o)
{
    return tell_stray(0, w, o);
}

/* A thread whose destructors have run gets no strand: it would never be ended. */
struct tt_thread *tt_space_enter(void)
{
    struct tt_thread *t = tt_self.thread;

    if (!__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE) || (!t && tt_thread_is_over()))
        return NULL;
    if (TT_UNLIKELY(!t || t->busy.work || tt_holds_locks() || tt_block_held()))
        return tt_thread_enter();
    tt_thread_begin(t);
    if (TT_UNLIKELY(t->recording != tt_recording_now())) {
        tt_thread_leave(t);
        return tt_thread_enter();
    }
    return t;
}

/* If there is no room, evicts cold contexts, as a push does. */
static struct tt_space *row_with_room(struct tt_thread *t, struct tt_node **n, int *below,
                                      const struct tt_space_way *w, tt_context *c)
{
    struct tt_tree *tree = &t->tree;
    uint32_t kind = *below ? TT_CELL_SPACE_BELOW : TT_CELL_SPACE;
    struct tt_space *row = tt_space_row(tree, *n, kind, w);

    if (row || !tt_make_room(t))
        return row;
    if (c) /* it may have been evicted itself */
        *n = tt_context_find(t, *c, below);
    if (!*n)
        *n = tree->root;
    kind = *below ? TT_CELL_SPACE_BELOW : TT_CELL_SPACE;
    return tt_space_row(tree, *n, kind, w);
}

__thread int tt_space_numbered;

/* Survivors were removed with all others when the collection began; they may be reported
 * after its end.  Numbered objects are reported before. */
static int was_taken_out(const struct tt_space_record *s, const struct tt_space_way *w)
{
    uint32_t from = generation_left(w);

    return s && from != TT_NO_GENERATION && w->to != TT_NO_GENERATION &&
           from < (tt_space_numbered ? s->collecting : s->last_collected);
}

/* During a collection everything happens at its beginning. */
static uint64_t time_of_event(struct tt_thread *t, const struct tt_space_record *s,
                              const struct tt_space_way *w, uint64_t bytes)
{
    if (s && (__atomic_load_n(&s->collecting, __ATOMIC_RELAXED) || was_taken_out(s, w)))
        return s->collecting_since;
    if (tt_event_cache_so(t, bytes))
        return t->objects.told_at;
    tt_event_cache_now(t, tt_space_now(t->recording));
    if (t->recording->options.series & 1u << TT_BAND_USE ||
        tt_clock_in_use() == TT_CLOCK_CALLER)
        t->objects.told_so = 0;
    return t->objects.told_at;
}

/* Are the objects still counted in the generation that they leave? */
static int is_there_still(const struct tt_space_record *s, const struct tt_space_way *w)
{
    return generation_left(w) != TT_NO_GENERATION && !was_taken_out(s, w);
}

static void change_series(struct tt_thread *t, const struct tt_band_place *at,
                          const struct tt_space_way *w, const struct tt_objects *o,
                          uint64_t now)
{
    const struct tt_space_record *s = tt_space_record(t->recording);
    uint32_t from = generation_left(w);
    int64_t bytes = (int64_t)o->bytes;

    if (is_there_still(s, w)) {
        tt_bands_change(t, at, from, now, -bytes);
        if (!tt_space_numbered)
            tt_bands_inherent(t, from, now, -bytes);
    }
    if (w->to != TT_NO_GENERATION) {
        tt_bands_change(t, at, w->to, now, bytes);
        if (!tt_space_numbered)
            tt_bands_inherent(t, w->to, now, bytes);
    }
}

/* Charges the row of a node; of what is evicted there if `below`. */
struct tt_node *tt_space_charge(struct tt_thread *t, struct tt_node *n, int below,
                                const struct tt_space_way *w, const struct tt_objects *o,
                                tt_context *c)
{
    const int known = tt_block_kind(w->type) == TT_KIND_TYPE &&
                      tt_block_publish(t->recording, w->type) == w->type;
    struct tt_space *row = known ? row_with_room(t, &n, &below, w, c) : NULL;

    if (row)
        tt_space_add(row, tt_space_record(t->recording), o);
    else
        count_by_type(t->recording, w, o);
    return known ? n : NULL;
}

/* The type of all objects if types are not distinguished. */
tt_type tt_space_any_type(void)
{
    static tt_type kept;
    tt_type type = __atomic_load_n(&kept, __ATOMIC_RELAXED);

    if (!type) {
        type = tt_type_get("[any]");
        if (tt_block_kind(type) == TT_KIND_TYPE)
            __atomic_store_n(&kept, type, __ATOMIC_RELAXED);
    }
    return type;
}

static void change_held(struct tt_thread *t, const struct tt_live_set_event *at,
                        const struct tt_space_way *w, const struct tt_objects *o)
{
    struct tt_live_set_event e = *at;

    if (is_there_still(tt_space_record(t->recording), w)) {
        e.generation = generation_left(w);
        tt_live_set_gone(t->recording, &e, o);
    }
    if (w->to != TT_NO_GENERATION) {
        e.generation = w->to;
        tt_live_set_made(t->recording, &e, o);
    }
}

static tt_block block_of_origin(struct tt_thread *t, tt_context c)
{
    return c ? tt_block_publish(t->recording, tt_context_block(c)) : TT_BLOCK_ROOT;
}

/* The same, and changes the live memory: now, at the maximum, and over time. */
static void charge_objects(struct tt_thread *t, struct tt_node *n, int below,
                           const struct tt_space_way *w, const struct tt_objects *o,
                           tt_context *c)
{
    const struct tt_options *options = &t->recording->options;
    struct tt_live_set_event e = {.origin = *c};
    struct tt_band_place at = {.block = options->series ? block_of_origin(t, *c)
                                                        : TT_BLOCK_ROOT};
    struct tt_space_way any = *w;

    if (!(options->space & TT_SPACE_TYPES)) {
        any.type = tt_space_any_type();
        w = &any;
    }
    n = tt_space_charge(t, n, below, w, o, c);
    if (!options->series && !(options->space & TT_SPACE_PEAK))
        return;
    e.now = time_of_event(t, tt_space_record(t->recording), w, o->bytes);
    e.type = at.type = w->type;
    e.node = at.node = n ? n : t->tree.root;
    if (n && options->series)
        change_series(t, &at, w, o, e.now);
    if (options->space & TT_SPACE_PEAK)
        change_held(t, &e, w, o);
}

/* ── Once more ────────────────────────────────────────────────────────────────────── */

static void tell_again(struct tt_thread *t, const struct tt_event_cache *k,
                       tt_context origin, const struct tt_space_way *w,
                       const struct tt_objects *o)
{
    const struct tt_options *options = &t->recording->options;
    struct tt_live_set_event e = {.node = k->node, .origin = origin, .type = w->type};

    tt_space_add(k->row, k->space, o);
    if (!options->series && !(options->space & TT_SPACE_PEAK))
        return;
    e.now = time_of_event(t, k->space, w, o->bytes);
    if (k->left && is_there_still(k->space, w))
        tt_band_change(&t->tree, k->left, e.now, -(int64_t)o->bytes);
    if (k->there)
        tt_band_change(&t->tree, k->there, e.now, (int64_t)o->bytes);
    if (options->space & TT_SPACE_PEAK)
        change_held(t, &e, w, o);
}

static int make_told(struct tt_space_index *x)
{
    void *p = mmap(NULL, TT_EVENT_CACHE * sizeof *x->told, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return -TT_ERR_MEMORY;
    x->told = p;
    return 0;
}

/* The older one of the two that were there goes. */
static const struct tt_event_cache *keep_told(struct tt_thread *t,
                                              const struct tt_event_cache *told)
{
    struct tt_event_cache *k = tt_event_cache_set(t, told->origin, told->way);

    k[1] = k[0];
    k[0] = *told;
    return k;
}

/* Caches where events of objects that `n` made are counted.  Returns NULL if there may be
 * more than a row and the bands of the type, or no room. */
static const struct tt_event_cache *know_told(struct tt_thread *t, struct tt_node *n,
                                              int below, tt_context origin,
                                              const struct tt_space_way *w)
{
    const struct tt_options *options = &t->recording->options;
    const uint32_t kind = below ? TT_CELL_SPACE_BELOW : TT_CELL_SPACE,
                   left = generation_left(w);
    struct tt_event_cache k = {.origin = origin,
                               .way = tt_event_cache_way(w->type, w->from, w->to),
                               .node = n,
                               .space = tt_space_record(t->recording)};

    if (!n || !k.space || !(options->space & TT_SPACE_TYPES) ||
        options->series & ~(1u << TT_BAND_TYPE) ||
        (!t->tree.space.told && make_told(&t->tree.space) != 0) ||
        tt_block_kind(w->type) != TT_KIND_TYPE ||
        tt_block_publish(t->recording, w->type) != w->type)
        return NULL;
    k.row = tt_space_row(&t->tree, n, kind, w);
    if (!k.row)
        return NULL;
    if (options->series && left != TT_NO_GENERATION)
        k.left = tt_band_of_type(&t->tree, w->type, left);
    if (options->series && w->to != TT_NO_GENERATION)
        k.there = tt_band_of_type(&t->tree, w->type, w->to);
    return keep_told(t, &k);
}

/* Charges the objects that a context made; `n` is its node, NULL: not found yet. */
static void tell(struct tt_thread *t, struct tt_node *n, int below, tt_context origin,
                 const struct tt_space_way *w, const struct tt_objects *o)
{
    const struct tt_event_cache *k = tt_event_cache_find(
        t, origin, tt_event_cache_way(w->type, w->from, w->to));

    if (!k) {
        if (!n)
            n = tt_context_find(t, origin, &below);
        k = know_told(t, n, below, origin, w);
    }
    if (k)
        tell_again(t, k, origin, w, o);
    else
        charge_objects(t, n ? n : t->tree.root, below, w, o, &origin);
}

/* ── What runtimes tell ───────────────────────────────────────────────────────────── */

tt_type tt_type_get(const char *name)
{
    struct tt_block_info info = {.name = name, .kind = TT_KIND_TYPE};

    return tt_block_make(&info);
}

static tt_context allocate_here(struct tt_thread *t, const struct tt_space_way *w,
                                const struct tt_objects *o)
{
    const struct tt_frame *top = t->self->top;
    struct tt_node *n = tt_stack_placed(t, t->self->top)->node;
    int below = n != top->node;
    tt_context c = below ? tt_context_below(t, top, n) : tt_context_of(t, top);

    tell(t, n, below, c, w, o);
    return c;
}

static tt_block block_here(const struct tt_thread *t)
{
    const struct tt_frame *top = t->self->top;

    return top->node == t->tree.limbo ? tt_frame_block(t, top) : top->node->key;
}

tt_context tt_space_make(tt_type type, size_t bytes, size_t overhead)
{
    struct tt_space_way w = {type, TT_NO_GENERATION, 0};
    struct tt_objects o = objects_for(bytes, overhead);
    tt_context c = TT_NOWHERE;
    struct tt_thread *t = tt_space_enter();

    if (!t)
        return tt_space_stray(&w, &o) ? 0 : TT_NOWHERE;
    if (!t->clock.pauses && t->recording->options.space &&
        tt_block_is_selected(t->recording, block_here(t)))
        c = allocate_here(t, &w, &o);
    tt_thread_leave(t);
    return c;
}

static __attribute__((noinline)) tt_context allocate_slowly(tt_type type, size_t bytes,
                                                            size_t overhead)
{
    TT_HAND_ON(tt_alloc, type, bytes, overhead);
    return is_space_chosen(tt_space_weight(bytes)) ? tt_space_make(type, bytes, overhead)
                                                   : TT_NOWHERE;
}

tt_context tt_alloc(tt_type type, size_t bytes, size_t overhead)
{
    struct tt_thread *t = tt_self.thread;
    tt_context c = TT_NOWHERE;

    if (t && tt_busy_try(&t->busy)) {
        c = tt_event_cache_make(t, type, bytes, overhead);
        tt_event_cache_end(t);
    }
    return c != TT_NOWHERE ? c : allocate_slowly(type, bytes, overhead);
}

/* Records an event of an object at the place where it was made. */
static void tell_of(tt_context origin, const struct tt_space_way *w,
                    const struct tt_objects *o)
{
    struct tt_thread *t;

    if (origin == TT_NOWHERE)
        return;
    t = tt_space_enter();
    if (!t) {
        (void)tell_stray(origin, w, o);
        return;
    }
    tell(t, NULL, 0, origin, w, o);
    tt_thread_leave(t);
}

tt_context tt_alloc_at(tt_context at, tt_type type, size_t bytes, size_t overhead)
{
    struct tt_space_way w = {type, TT_NO_GENERATION, 0};
    struct tt_objects o = objects_for(bytes, overhead);
    struct tt_recording *r = tt_recording_now();

    TT_HAND_ON(tt_alloc_at, at, type, bytes, overhead);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !r || !r->options.space ||
        (tt_self.thread && tt_self.thread->clock.pauses) ||
        !tt_block_is_selected(r, tt_context_block(at)) || !is_space_chosen(o.number))
        return TT_NOWHERE;
    tell_of(at, &w, &o);
    return at;
}

/* 0xff is no generation; larger ages become the last one. */
static uint32_t generation_or_age(unsigned n)
{
    if (n & 0x80u)
        return n < TT_AGE(TT_AGES) ? n : TT_AGE(TT_AGES - 1);
    return n < TT_GENERATIONS ? n : TT_GENERATIONS - 1;
}

static __attribute__((noinline)) void free_slowly(tt_context origin, tt_type type,
                                                  size_t bytes, size_t overhead,
                                                  unsigned from)
{
    struct tt_space_way w = {type, generation_or_age(from), TT_NO_GENERATION};
    struct tt_objects o = objects_for(bytes, overhead);

    TT_HAND_OVER(tt_free, origin, type, bytes, overhead, from);
    tell_of(origin, &w, &o);
}

void tt_free(tt_context origin, tt_type type, size_t bytes, size_t overhead,
             unsigned from)
{
    struct tt_thread *t = tt_self.thread;
    int done = 0;

    if (t && tt_busy_try(&t->busy)) {
        done = tt_event_cache_free(t, origin, type, bytes, overhead,
                                   generation_or_age(from));
        tt_event_cache_end(t);
    }
    if (!done)
        free_slowly(origin, type, bytes, overhead, from);
}

void tt_survive(tt_context origin, tt_type type, size_t bytes, size_t overhead,
                unsigned from, unsigned to)
{
    struct tt_space_way w = {type, generation_or_age(from & 0x7fu),
                             generation_or_age(to & 0x7fu)};
    struct tt_objects o = objects_for(bytes, overhead);
    const struct tt_thread *t = tt_self.thread;

    if (!t)
        TT_HAND_OVER(tt_survive, origin, type, bytes, overhead, from, to);
    if (t && t->recording && !(t->recording->options.space & TT_SPACE_COPIES))
        return;
    tell_of(origin, &w, &o);
}

unsigned tt_age(uint64_t amount) { return tt_space_age(amount); }

/* ── The collector, and the profiler ──────────────────────────────────────────────── */

static tt_block named_block(tt_block *kept, const char *name)
{
    tt_block block = __atomic_load_n(kept, __ATOMIC_RELAXED);

    if (!block) {
        block = tt_block_get(name, NULL, 0, 0);
        if (block != TT_BLOCK_OTHER)
            __atomic_store_n(kept, block, __ATOMIC_RELAXED);
    }
    return block;
}

static void push_named(tt_block *kept, const char *name)
{
    (void)tt_push(named_block(kept, name));
}

/* Leaves the block if it is on top, and all that is above it by mistake. */
static void pop_named(const tt_block *kept)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_frame *f, *bottom;

    if (!t)
        return;
    bottom = tt_stack_bottom(t->stack.fiber);
    for (f = t->self->top; f != bottom; f = tt_frame_below(f))
        if (tt_frame_block(t, f) == *kept)
            break;
    if (f != bottom)
        tt_stack_leave(t, f, 0);
    tt_thread_leave(t);
}

static tt_block gc_block, profiler_block;

/* Removes all objects from these generations; survivors are reported again. */
void tt_gc_begin(unsigned generation)
{
    struct tt_space_record *s;
    struct tt_thread *t;

    TT_HAND_OVER(tt_gc_begin, generation);
    t = tt_space_enter();
    if (!t)
        return;
    s = tt_space_record(t->recording);
    for (unsigned i = 0; s && i < TT_GENERATIONS && i <= generation; i++)
        (void)__atomic_fetch_add(&s->collections[i], 1, __ATOMIC_RELAXED);
    if (s) {
        tt_bump_shared(&s->collected, 1);
        s->collecting_since = t->objects.told_at = tt_space_now(t->recording);
        tt_bands_collect(t, generation, s->collecting_since);
        tt_live_set_collect(t->recording, generation, s->collecting_since);
        s->last_collected = generation + 1;
        __atomic_store_n(&s->collecting, generation + 1, __ATOMIC_RELAXED);
    }
    tt_thread_leave(t);
    push_named(&gc_block, "[gc]");
}

void tt_gc_end(void)
{
    struct tt_space_record *s;
    uint32_t collecting;
    struct tt_thread *t;

    TT_HAND_OVER(tt_gc_end);
    t = tt_space_enter();
    s = t ? tt_space_record(t->recording) : NULL;
    collecting = s ? __atomic_exchange_n(&s->collecting, 0, __ATOMIC_RELAXED) : 0;
    if (collecting)
        tt_objects_sweep(t, collecting - 1);
    if (t)
        tt_thread_leave(t);
    pop_named(&gc_block);
}

void tt_profiler_begin(void)
{
    TT_HAND_OVER(tt_profiler_begin);
    push_named(&profiler_block, "[profiler]");
}

void tt_profiler_end(void)
{
    TT_HAND_OVER(tt_profiler_end);
    pop_named(&profiler_block);
}
