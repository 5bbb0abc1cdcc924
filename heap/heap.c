/* SPDX-License-Identifier: MIT */
/* heap.c - charges events of the allocator to their contexts.
 *
 *      event ─ stack's key ─ site ─ its rows in the tree, and its live objects
 *
 * A stack that was seen before is recognised by its key (stack-cache.c), and its site has
 * the rows at hand: no unwinding, no look-up in the tree, and only a one-word lock.  Only
 * a new stack is unwound in full, as a sample is.
 *
 * Live objects are also counted by site, and over time: see heap-alive.c.  The age of an
 * object is the number of bytes allocated since it was made. */
#include "heap.h"

#include "byte-sampling.h"
#include "clock.h"
#include "control.h"
#include "extension.h"
#include "heap-alive.h"
#include "heap-stack.h"
#include "mappings.h"
#include "probes.h"
#include "rows.h"

static struct {
    uint64_t rate, seed;
    size_t (*usable)(void *);
    struct tt_heap_site *unowned[TT_HEAP_TYPES]; /* sites for threads without a strand */
    uint32_t temporary, resized, moved;          /* metrics */
    uint64_t missed;                             /* of handlers amid an event */
    uint64_t begin, end;                         /* when events count; 0: always */
} heap;

int tt_heap_on, tt_heap_new_is_sized;
static __thread int inside; /* 1: in here, so a handler's events are only counted; */
enum { OURSELVES = 2 };     /* or we called code that may allocate: ignored */
static __thread int seeded;
__thread int64_t tt_heap_gap;
static __thread struct tt_byte_sampling chance;

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static struct tt_objects objects_of(const struct tt_object *o)
{
    return (struct tt_objects){o->number, o->bytes, (uint64_t)o->overhead * o->number};
}

/* The first event of its kind at this context. */
static struct tt_space *charge_first(struct tt_thread_heap *h, struct tt_heap_site *s,
                                     const struct tt_space_way *w,
                                     const struct tt_objects *o)
{
    tt_context c = s->context;

    TT_ASSERT(s->seen == *h->evicted);
    tt_space_charge(h->thread, s->node, s->below, w, o, &c);
    if (s->seen != *h->evicted)
        return NULL;
    return tt_space_row(&h->thread->tree, s->node,
                        s->below ? TT_CELL_SPACE_BELOW : TT_CELL_SPACE, w);
}

static inline __attribute__((always_inline)) void charge_made(
    struct tt_thread_heap *h, struct tt_heap_site *s, const struct tt_object *object)
{
    struct tt_objects o = objects_of(object);
    struct tt_space_way w = {tt_heap_type[s->type], TT_NO_GENERATION, 0};

    if (s->made)
        tt_space_add(s->made, h->space, &o);
    else
        s->made = charge_first(h, s, &w, &o);
}

static inline __attribute__((always_inline)) void charge_freed(
    struct tt_thread_heap *h, struct tt_heap_site *s, const struct tt_object *object,
    uint32_t age)
{
    struct tt_objects o = objects_of(object);
    struct tt_space_way w = {tt_heap_type[s->type], age, TT_NO_GENERATION};
    unsigned i = age % TT_SITE_AGES;

    if (s->freed[i].row && s->freed[i].age == age) {
        tt_space_add(s->freed[i].row, h->space, &o);
        return;
    }
    s->freed[i].row = charge_first(h, s, &w, &o);
    s->freed[i].age = age;
}

static void count_metric(struct tt_thread_heap *h, struct tt_heap_site *s,
                         uint32_t metric, uint64_t number, uint64_t **kept)
{
    struct tt_tree *tree = &h->thread->tree;
    uint64_t *amount;

    tt_heap_place_site(h, s);
    amount = kept ? *kept : NULL;
    if (!amount && !s->below)
        amount = tt_tree_metric_of(tree, s->node, metric);
    if (amount)
        tt_bump(amount, number);
    else if (!tt_tree_metric_evicted(tree, s->node, tt_context_block(s->context), metric,
                                     number))
        tt_bump_shared(&h->recording->header->lost_figures, 1);
    if (kept)
        *kept = amount;
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

static inline int is_own(const struct tt_thread_heap *h, const struct tt_heap_site *s)
{
    return __atomic_load_n(&s->owner, __ATOMIC_RELAXED) == h;
}

/* The thread's site for objects of a site that may be another thread's; NULL: no memory. */
static inline struct tt_heap_site *own_site(struct tt_thread_heap *h,
                                            struct tt_heap_site *origin)
{
    return is_own(h, origin) ? origin : tt_heap_site_for(h, origin);
}

static inline __attribute__((always_inline)) void forget_object(struct tt_thread_heap *h,
                                                                const struct tt_object *o,
                                                                int temporary)
{
    struct tt_heap_site *origin = tt_site_at(tt_made_by(o)), *s = own_site(h, origin);
    const uint64_t now = tt_alive_gone(h->space, origin, o);

    if (s) {
        tt_heap_place_site(h, s);
        charge_freed(h, s, o, tt_space_age(tt_made_ago(o, now)));
        if (temporary)
            count_metric(h, s, heap.temporary, o->number, &s->temporary);
    }
}

/* The bytes that an object takes beyond the requested size. */
static inline __attribute__((always_inline)) uint32_t overhead_of(void *p, size_t size,
                                                                  enum tt_heap_type type)
{
    const int is_sized = heap.usable && type != TT_HEAP_MMAP &&
                         (type != TT_HEAP_NEW || tt_heap_new_is_sized);
    size_t usable = is_sized ? heap.usable(p) : size;

    return usable > size ? usable - size < UINT32_MAX ? (uint32_t)(usable - size) : 0 : 0;
}

static void weigh(struct tt_object *o, size_t size)
{
    uint64_t number = 1, bytes = size;

    if (heap.rate && size)
        tt_byte_sampling_weigh(&chance, size, heap.rate, &number, &bytes);
    o->number = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    o->bytes = bytes;
}

/* Counts an object, which is not in the table yet. */
static inline __attribute__((always_inline)) struct tt_heap_site *count_made(
    struct tt_thread_heap *h, void *p, size_t size, enum tt_heap_type type,
    const struct tt_caller *c, struct tt_object *o)
{
    struct tt_heap_site *s = tt_heap_site_of(h, type, c);

    if (!s) {
        tt_bump_shared(&h->recording->header->lost_objects, 1);
        return NULL;
    }
    *o = (struct tt_object){.address = (uintptr_t)p,
                            .overhead = overhead_of(p, size, type)};
    weigh(o, size);
    if (TT_UNLIKELY(tt_otel_memory_alloc_semaphore))
        tt_probe_alloc(p, size, o->bytes);
    tt_heap_place_site(h, s);
    charge_made(h, s, o);
    o->made = tt_made(s->index, tt_alive_made(h->space, s, o));
    return s;
}

static inline __attribute__((always_inline)) struct tt_heap_site *record_made(
    struct tt_thread_heap *h, void *p, size_t size, enum tt_heap_type type,
    const struct tt_caller *c)
{
    struct tt_object o, before;
    struct tt_heap_site *s = count_made(h, p, size, type, c, &o);
    int there;

    if (!s)
        return NULL;
    there = tt_heap_table_add(&o, &before);
    if (there > 0)
        forget_object(h, &before, 0);
    else if (there < 0)
        tt_bump_shared(&h->recording->header->lost_objects, 1);
    h->last = p;
    return s;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* Has nothing changed for the thread since its last event? */
static inline int is_quick(const struct tt_thread_heap *h)
{
    return h && h->thread == tt_self.thread && !h->thread->busy.work &&
           !tt_holds_locks() && __atomic_load_n(&tt_on, __ATOMIC_ACQUIRE) &&
           h->recording == tt_recording_now() && !tt_heap_is_stale(h);
}

/* The calling thread's part, until leave(); NULL: recording is not possible now. */
static struct tt_thread_heap *enter_slowly(void)
{
    struct tt_thread *t;
    struct tt_thread_heap *h;

    inside = tt_heap_here ? 1 : OURSELVES;
    t = tt_thread_is_over() ? NULL : tt_thread_enter();
    h = t ? tt_heap_of(t) : NULL;
    inside = 1;
    if (h || !t)
        return h;
    tt_thread_leave(t);
    return NULL;
}

static inline struct tt_thread_heap *enter(void)
{
    if (TT_UNLIKELY(!is_quick(tt_heap_here)))
        return enter_slowly();
    tt_busy_begin(&tt_heap_here->thread->busy);
    tt_heap_here->thread->program_errno = *tt_heap_here->error;
    return tt_heap_here;
}

/* As tt_thread_leave, without a call. */
static inline void leave(struct tt_thread_heap *h)
{
    *h->error = h->thread->program_errno;
    tt_busy_leave(&h->thread->busy);
}

/* After the end of the window it switches events off. */
static int is_outside_window(void)
{
    const uint64_t now = tt_clock_monotonic();

    if (heap.end && now >= heap.end)
        __atomic_store_n(&tt_heap_on, 0, __ATOMIC_RELAXED);
    return now < heap.begin || (heap.end && now >= heap.end);
}

static inline int begin_event(void)
{
    if (TT_UNLIKELY(tt_is_unseen()) ||
        (TT_UNLIKELY(heap.begin | heap.end) && is_outside_window()))
        return 0;
    if (inside) {
        if (inside != OURSELVES)
            (void)__atomic_fetch_add(&heap.missed, 1, __ATOMIC_RELAXED);
        return 0;
    }
    inside = 1;
    TT_BARRIER();
    return 1;
}

static inline void end_event(void)
{
    TT_BARRIER();
    inside = 0;
}

/* An object is not to be recorded whose size is subtracted already: without a new distance
 * the thread's next object would always be sampled. */
static void pass_over(void)
{
    tt_heap_gap = !heap.rate ? -1
                  : seeded   ? (int64_t)tt_byte_sampling_gap(&chance, heap.rate)
                             : 0;
}

/* Is one of its bytes sampled?  The thread has drawn the distance to the next sampled
 * byte, except at first. */
static int is_sampled(size_t size)
{
    if (TT_UNLIKELY(!seeded)) {
        seeded = 1;
        tt_byte_sampling_seed(
            &chance, __atomic_add_fetch(&heap.seed, 0x9e3779b9u, __ATOMIC_RELAXED));
        tt_heap_gap = (int64_t)tt_byte_sampling_gap(&chance, heap.rate) - (int64_t)size;
        if (tt_heap_gap >= 0)
            return 0;
    }
    tt_heap_gap = (int64_t)tt_byte_sampling_gap(&chance, heap.rate);
    return 1;
}

static inline int is_chosen(size_t size)
{
    if (heap.rate)
        return is_sampled(size);
    tt_heap_gap = -1;
    return 1;
}

/* Counts an object made by a thread that has no strand, or none any more. */
static int count_unowned(void *p, size_t size, enum tt_heap_type type,
                         struct tt_object *object)
{
    struct tt_space_way w = {tt_heap_type[type], TT_NO_GENERATION, 0};
    struct tt_heap_site *s = heap.unowned[type];
    struct tt_objects o;

    *object = (struct tt_object){.address = (uintptr_t)p,
                                 .overhead = overhead_of(p, size, type)};
    weigh(object, size);
    o = objects_of(object);
    if (!s || !tt_space_stray(&w, &o))
        return 0;
    if (!s->holding)
        tt_alive_begin(s, tt_recording_now(),
                       &(struct tt_alive_place){tt_heap_type, TT_HEAP_TYPES, 0,
                                                TT_BLOCK_OTHER, TT_BLOCK_ROOT});
    object->made = tt_made(s->index,
                           tt_alive_made(tt_heap_space(tt_recording_now()), s, object));
    return 1;
}

static void made_unowned(void *p, size_t size, enum tt_heap_type type)
{
    struct tt_object object, before;

    if (count_unowned(p, size, type, &object))
        (void)tt_heap_table_add(&object, &before);
}

void tt_heap_made(void *p, size_t size, enum tt_heap_type type, const struct tt_caller *c)
{
    struct tt_thread_heap *h;

    if (!p || !begin_event()) {
        pass_over();
        return;
    }
    if (is_chosen(size)) {
        tt_heap_table_prefetch((uintptr_t)p);
        h = enter();
        if (h && !h->thread->clock.pauses)
            (void)record_made(h, p, size, type, c);
        else if (!h && !tt_work.stack) /* the profiler's own */
            made_unowned(p, size, type);
        if (h)
            leave(h);
    }
    end_event();
}

/* Freed by a thread that has no strand any more: live memory is still right. */
static void forget_unowned(const struct tt_object *o)
{
    struct tt_heap_site *s = tt_site_at(tt_made_by(o));
    struct tt_space_way w = {tt_heap_type[s->type], 0, TT_NO_GENERATION};
    struct tt_objects objects = objects_of(o);

    if (tt_space_stray(&w, &objects))
        (void)tt_alive_gone(tt_heap_space(tt_recording_now()), s, o);
}

static inline __attribute__((always_inline)) void forget(struct tt_thread_heap *h,
                                                         const struct tt_object *o,
                                                         void *p)
{
    if (TT_UNLIKELY(tt_otel_memory_free_semaphore))
        tt_probe_free(p);
    if (TT_UNLIKELY(!h))
        forget_unowned(o);
    else
        forget_object(h, o, h->last == p);
}

/* The table is read last: its memory is prefetched meanwhile. */
void tt_heap_gone(void *p)
{
    struct tt_object o;
    struct tt_thread_heap *h;

    if (!p || !begin_event())
        return;
    tt_heap_table_prefetch((uintptr_t)p);
    __builtin_prefetch((const char *)p - 16, 1); /* and the allocator's data before it */
    h = enter();
    if (tt_heap_table_remove((uintptr_t)p, &o))
        forget(h, &o, p);
    if (h) {
        h->last = NULL;
        leave(h);
    }
    end_event();
}

/* Of an object that was removed from the table. */
static void forget_moved(const struct tt_heap_move *m)
{
    struct tt_thread_heap *h = enter();

    forget(h, &m->object, m->from);
    if (h) {
        h->last = NULL;
        leave(h);
    }
}

void tt_heap_move(struct tt_heap_move *m, void *from)
{
    m->from = from;
    m->object.address = 0;
    if (!from || !tt_heap_maybe(from) || !begin_event())
        return;
    if (!tt_heap_table_remove((uintptr_t)from, &m->object))
        m->object.address = 0;
    end_event();
}

void tt_heap_freed(const struct tt_heap_move *m)
{
    if (m->object.address && begin_event()) {
        forget_moved(m);
        end_event();
    }
}

void tt_heap_moved(const struct tt_heap_move *m, void *to, size_t size,
                   enum tt_heap_type type, const struct tt_caller *c)
{
    struct tt_object before;
    struct tt_heap_site *s;
    struct tt_thread_heap *h;

    if ((!to && !m->object.address) || !begin_event())
        return;
    if (!to) {
        (void)tt_heap_table_add(&m->object, &before);
    } else {
        if (m->object.address)
            forget_moved(m);
        h = tt_heap_wants(size) && is_chosen(size) ? enter() : NULL;
        if (h) {
            s = h->thread->clock.pauses ? NULL : record_made(h, to, size, type, c);
            if (s && m->from)
                count_metric(h, s, to == m->from ? heap.resized : heap.moved, 1, NULL);
            leave(h);
        }
    }
    end_event();
}

/* ── Mappings ─────────────────────────────────────────────────────────────────────── */

/* A mapping is gone, except for one or two parts, which count as new objects at its site. */
static void split(struct tt_thread_heap *h, const struct tt_object *whole,
                  struct tt_heap_mapping *rest, int rests)
{
    struct tt_heap_site *origin = tt_site_at(tt_made_by(whole)),
                        *s = h ? own_site(h, origin) : NULL;
    struct tt_space_way made = {tt_heap_type[origin->type], TT_NO_GENERATION, 0},
                        gone = {tt_heap_type[origin->type], 0, TT_NO_GENERATION};
    struct tt_space_record *space = h ? h->space : tt_heap_space(tt_recording_now());
    struct tt_objects o = objects_of(whole);
    const uint64_t now = tt_alive_split(space, origin, whole, rest, rests);

    if (s) {
        tt_heap_place_site(h, s);
        charge_freed(h, s, whole, tt_space_age(tt_made_ago(whole, now)));
    } else if (!h) {
        (void)tt_space_stray(&gone, &o);
    }
    for (int i = 0; i < rests; i++) {
        rest[i].object.made = tt_made(origin->index, now);
        o = objects_of(&rest[i].object);
        if (s) {
            tt_heap_place_site(h, s);
            charge_made(h, s, &rest[i].object);
        } else if (!h) {
            (void)tt_space_stray(&made, &o);
        }
    }
}

/* What was mapped from `from` to `to` up to the stamp is gone.  Under the lock of all mappings
 * until the end: another thread may unmap the rest. */
static void uncover(struct tt_thread_heap *h, uint64_t from, uint64_t to, uint64_t stamp)
{
    struct tt_heap_mapping whole, rest[2];
    int rests;

    tt_mappings_lock();
    while ((rests = tt_mappings_take(from, to, stamp, &whole, rest)) >= 0) {
        if (rests)
            split(h, &whole.object, rest, rests);
        else
            forget(h, &whole.object, (void *)(uintptr_t)whole.object.address);
        for (int i = 0; i < rests; i++)
            if (tt_mappings_add(&rest[i]) != 0)
                tt_bump_shared(&tt_recording_now()->header->lost_objects, 1);
    }
    tt_mappings_unlock();
}

/* Returns the thread's site; NULL: it was not recorded, or the thread has none. */
static struct tt_heap_site *cover(struct tt_thread_heap *h, void *p, size_t size,
                                  const struct tt_caller *c)
{
    struct tt_heap_mapping m = {.size = size};
    struct tt_heap_site *s = NULL;

    if (h && !h->thread->clock.pauses)
        s = count_made(h, p, size, TT_HEAP_MMAP, c, &m.object);
    if (!s && (h || tt_work.stack || !count_unowned(p, size, TT_HEAP_MMAP, &m.object)))
        return NULL;
    tt_mappings_lock();
    if (tt_mappings_add(&m) != 0)
        tt_bump_shared(&tt_recording_now()->header->lost_objects, 1);
    tt_mappings_unlock();
    if (h)
        h->last = p;
    return s;
}

uint64_t tt_heap_before_unmap(void) { return tt_mappings_now(); }

void tt_heap_remap(const struct tt_heap_range *gone, const struct tt_heap_range *made,
                   size_t size, const struct tt_caller *c)
{
    const int64_t gap = tt_heap_gap;
    const int is_wanted = made && tt_heap_wants(size);
    struct tt_thread_heap *h;
    struct tt_heap_site *s;

    if (!is_wanted && !tt_mappings_any())
        return;
    if (!begin_event()) {
        if (is_wanted)
            pass_over();
        return;
    }
    h = enter();
    if (gone)
        uncover(h, gone->from, gone->to, gone->stamp);
    if (made)
        uncover(h, made->from, made->to, made->stamp);
    if (h)
        h->last = NULL;
    if (is_wanted && is_chosen(size)) {
        s = cover(h, (void *)(uintptr_t)made->from, size, c);
        if (s && gone)
            count_metric(h, s, made->from == gone->from ? heap.resized : heap.moved, 1,
                         NULL);
    }
    if (!heap.rate) /* interpose-new.c looks for events of malloc */
        tt_heap_gap = gap;
    if (h)
        leave(h);
    end_event();
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

/* They are never freed. */
static void take_nobodies(void)
{
    for (int i = 0; i < TT_HEAP_TYPES; i++) {
        heap.unowned[i] = tt_site_take(NULL, 0, (uint32_t)i);
        if (heap.unowned[i])
            heap.unowned[i]->objects = 1;
    }
}

static int is_inside(void) { return inside; }

void tt_heap_start(uint64_t rate, uint64_t seed, size_t (*usable)(void *))
{
    static const char *const names[TT_HEAP_TYPES] = {"malloc",  "calloc", "realloc",
                                                     "aligned", "new",    "mmap"};

    heap.rate = rate;
    tt_heap_classed = rate != 0;
    heap.seed = seed;
    heap.usable = usable;
    for (int i = 0; i < TT_HEAP_TYPES; i++)
        tt_heap_type[i] = tt_type_get(names[i]);
    heap.temporary = tt_metric_get("temporary", "");
    heap.resized = tt_metric_get("resized", "");
    heap.moved = tt_metric_get("moved", "");
    take_nobodies();
    tt_thread_ended = tt_heap_end_thread;
    tt_is_collecting = is_inside;
}

void tt_heap_window(uint64_t begin, uint64_t end)
{
    heap.begin = begin;
    heap.end = end;
}

void tt_heap_settle(void) { tt_alive_settle(tt_recording_now()); }

void tt_heap_stop(void)
{
    struct tt_recording *r = tt_recording_now();

    tt_heap_on = 0;
    tt_alive_settle(r);
    if (r)
        tt_bump_shared(&r->header->lost_objects,
                       __atomic_load_n(&heap.missed, __ATOMIC_RELAXED));
}

/* The new recording knows none of the parent's objects.  If a handler forked while it
 * interrupted this code, that code goes on with the old tables, and later events are
 * off. */
void tt_heap_forked(void)
{
    if (inside) {
        tt_heap_on = 0;
        tt_heap_table_free();
        tt_mappings_free();
        tt_sites_free();
        tt_alive_free();
        return;
    }
    tt_heap_table_forked();
    tt_mappings_forked();
    tt_sites_forked();
    take_nobodies();
    if (tt_heap_here) {
        tt_heap_here->sites = NULL;
        tt_heap_here->forgotten++;
        tt_keys_clear(&tt_heap_here->keys);
        tt_heap_here->last = NULL;
    }
    heap.missed = 0;
    tt_alive_forked(tt_heap_here != NULL);
}
