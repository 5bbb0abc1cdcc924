/* SPDX-License-Identifier: MIT */
/* lock-place.c - the context of a thread that waits for a lock, or releases one.
 *
 * A stack that was seen before is recognised by its return addresses, as with the
 * allocator's events; a new one is unwound, on a separate stack. */
#include "lock-place.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "block.h"
#include "context.h"
#include "places.h"
#include "rules.h"

enum { TRIES = 1000 };

__thread struct tt_lock_thread *tt_lock_here;

/* ── A thread's part ──────────────────────────────────────────────────────────────── */

void tt_lock_places_forget(struct tt_lock_thread *h)
{
    tt_keys_clear(&h->keys);
    h->place[0] = (struct tt_lock_place){0};
    h->places = 1;
    h->forgotten++;
    h->evictions = *h->evicted;
    h->generation = tt_modules_generation();
}

static struct tt_lock_thread *begin_thread(struct tt_thread *t)
{
    struct tt_lock_thread *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if ((void *)h == MAP_FAILED)
        return NULL;
    h->recall = tt_stack_cache_new();
    if (!h->recall) {
        munmap(h, sizeof *h);
        return NULL;
    }
    h->thread = h->hanging.thread = t;
    h->evicted = &t->record->evictions;
    h->recording = t->recording;
    tt_graft_find_stack(&h->hanging);
    h->hanging.script.wanted = 1;
    t->collector = tt_lock_here = h;
    tt_lock_places_forget(h);
    return h;
}

struct tt_lock_thread *tt_lock_thread_of(struct tt_thread *t)
{
    struct tt_lock_thread *h = t->collector;

    if (!h)
        h = begin_thread(t);
    if (h && (h->evictions != *h->evicted || h->generation != tt_modules_generation()))
        tt_lock_places_forget(h);
    return h;
}

void tt_lock_thread_free(struct tt_lock_thread *h)
{
    if (tt_lock_here == h)
        tt_lock_here = NULL;
    tt_keys_fini(&h->keys);
    tt_stack_cache_free(h->recall);
    munmap(h, sizeof *h);
}

/* ── Where a lock was taken ───────────────────────────────────────────────────────── */

/* The start of the function that the address is in, as frames have it; 0: not known. */
static uint64_t function_of(const struct tt_modules *modules, uint64_t pc)
{
    const struct tt_mapping *m = modules ? tt_modules_find(modules, pc) : NULL;
    const struct tt_function *f = NULL;

    if (m && m->rules)
        (void)tt_rules_find(m->rules, pc - m->bias - m->rules->base, &f);
    return f ? m->bias + m->rules->base + f->start : 0;
}

/* Removes the frames of calls since then. */
static void go_back_to(struct tt_grafting *g, uintptr_t taken)
{
    const uint64_t function = function_of(g->hold.modules, taken - 1);
    uint32_t i = 0;

    while (function && i < g->stack.count && g->frame[i].function != function)
        i++;
    if (!function || i == g->stack.count)
        return;
    tt_graft_remove(g, i);
    g->frame[0].pc = taken;
    g->frame[0].flags &= ~(uint32_t)TT_NATIVE_EXACT;
}

/* ── Places ───────────────────────────────────────────────────────────────────────── */

struct placing {
    struct tt_lock_thread *h;
    const struct tt_caller *caller;
    uintptr_t taken;
    uint64_t functions; /* a key of those that an interpreter runs; 0: none */
    uint64_t key;       /* 0: not known yet */
    uint32_t place;
};

static uint32_t place_of_node(struct tt_lock_thread *h, const struct tt_node *n,
                              int below, tt_block block)
{
    uint64_t key = tt_lock_mix((uint64_t)tt_cell_of(&h->thread->tree, n) << 1 |
                               (unsigned)below) ^
                   0x5555555555555554u;
    uint32_t index = tt_keys_find(&h->keys, key);

    if (index)
        return index;
    if (h->places == TT_LOCK_PLACES)
        tt_lock_places_forget(h);
    index = h->places++;
    h->place[index] = (struct tt_lock_place){
        .context = tt_context_at(h->thread, n, below ? block : n->key), .below = below};
    tt_keys_add(&h->keys, key, index);
    return index;
}

/* Makes a new block or context; others hold the locks only briefly. */
static uint32_t make_place(struct tt_lock_thread *h)
{
    struct tt_grafting *g = &h->hanging;
    struct tt_node *n = NULL;
    uint32_t made = 0;
    int i = 0;

    while (!tt_graft_make(g, &n, &made)) {
        if (++i == TRIES)
            return 0;
        sched_yield();
    }
    tt_graft_done(g);
    if (!n)
        return 0;
    if (h->evictions != *h->evicted)
        tt_lock_places_forget(h);
    return place_of_node(h, n, made < g->path.count,
                         g->path.count ? g->path.step[g->path.count - 1].block : n->key);
}

static uint64_t key_of(const struct placing *p, uint64_t stack, const struct tt_frame *at)
{
    uint64_t cell = tt_cell_of(&p->h->thread->tree, at->node);

    return tt_lock_mix(stack + p->functions + cell * 0x9e3779b97f4a7c15u +
                       p->taken * 0xd1342543de82ef95u);
}

/* Runs on our own stack. */
static void place(void *arg)
{
    struct placing *p = arg;
    struct tt_grafting *g = &p->h->hanging;
    struct tt_node *n;

    if (tt_graft_unwind_call(g, p->caller)) {
        if (p->taken)
            go_back_to(g, p->taken);
        p->place = tt_graft_find(g, &n) ? place_of_node(p->h, n, 0, 0) : make_place(p->h);
    }
    tt_graft_release(g);
}

struct tt_lock_place *tt_lock_place(struct tt_lock_thread *h, const struct tt_caller *c,
                                    uintptr_t taken)
{
    struct placing p = {.h = h, .caller = c, .taken = taken};
    const struct tt_grafting *g = &h->hanging;
    const struct tt_frame *at = tt_graft_activation(g, c->sp);
    struct tt_recalled on = {.low = (uintptr_t)g->stack_low,
                             .high = (uintptr_t)g->stack_end,
                             .end = TT_CFA_OF(at),
                             .most = TT_STEPS_MAX - 2,
                             .generation = h->generation,
                             .guessed = &g->cache,
                             .of = key_of(&p, h->forgotten, at)};
    const int is_known = tt_stack_cache(h->recall, c, &on);
    uint64_t forgotten = h->forgotten;

    if (TT_UNLIKELY(tt_interpreters_first() != NULL))
        p.functions = tt_graft_functions(&h->hanging, c->sp);
    if (is_known && *on.number && !p.functions)
        return &h->place[*on.number];
    if (is_known) {
        p.key = key_of(&p, on.key, at);
        p.place = tt_keys_find(&h->keys, p.key);
    }
    if (!p.place) {
        tt_graft_call(&h->hanging, h->stack + sizeof h->stack, place, &p);
        if (p.place && p.key)
            tt_keys_add(&h->keys, p.key, p.place);
    }
    if (is_known && forgotten == h->forgotten && !p.functions)
        *on.number = p.place;
    return &h->place[p.place];
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

uint32_t tt_lock_place_path(struct tt_lock_thread *h, struct tt_lock_place *p)
{
    struct tt_tree *tree = &h->thread->tree;
    tt_block *block = h->block;
    struct tt_node *n;
    uint32_t count = 0, path = 0;
    int below;

    if (p->is_pathed)
        return p->path;
    n = p->context ? tt_context_find(h->thread, p->context, &below) : NULL;
    for (; n && n != tree->root && count < TT_LOCK_PATH_DEPTH; n = tt_parent(tree, n))
        block[count++] = n->key;
    while (count && (path = tt_lock_path(path, block[count - 1])))
        count--;
    p->path = count ? 0 : path;
    p->is_pathed = 1;
    return p->path;
}

/* ── The block of a lock ──────────────────────────────────────────────────────────── */

/* In the C library since 2.35: finds the module that an address is in, its data too,
 * without a lock.  If it is missing, locks are named by the place of their first use. */
struct found_object {
    unsigned long long flags;
    void *start, *end;
    void *rest[10];
};
extern int _dl_find_object(void *, void *) __attribute__((weak));

/* The code of the module whose data contains the address. */
static const struct tt_mapping *mapping_of_data(const struct tt_modules *modules,
                                                uintptr_t address)
{
    struct found_object found;

    if (!modules || !_dl_find_object ||
        _dl_find_object((void *)address, &found) != 0) /* NOLINT: an address */
        return NULL;
    for (uint32_t i = 0; i < modules->count; i++)
        if (modules->mapping[i].start >= (uintptr_t)found.start &&
            modules->mapping[i].end <= (uintptr_t)found.end)
            return &modules->mapping[i];
    return NULL;
}

tt_block tt_lock_block(struct tt_recording *r, uintptr_t address, int *is_symbol)
{
    struct tt_native n = {.pc = address, .flags = TT_NATIVE_EXACT};
    struct tt_hold hold;
    tt_block block;

    tt_modules_hold(&hold);
    n.mapping = hold.modules ? tt_modules_find(hold.modules, address) : NULL;
    if (is_symbol) {
        n.mapping = mapping_of_data(hold.modules, address);
        *is_symbol = n.mapping != NULL;
    }
    block = is_symbol && !n.mapping ? 0 : tt_place_whole(r, &n);
    tt_modules_release(&hold);
    return block;
}
