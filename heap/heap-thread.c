/* SPDX-License-Identifier: MIT */
/* heap-thread.c - a thread's part of the collector: sites, by context and by maker.
 *
 * Sites without live objects are freed when keys are forgotten.  When a thread ends, a
 * site with live objects stays until the last one is freed, by any thread. */
#include "heap-thread.h"

#include <string.h>
#include <sys/mman.h>

#include "block.h"
#include "context.h"
#include "heap-alive.h"
#include "rows.h"
#include "series.h"

__thread struct tt_thread_heap *tt_heap_here;
tt_type tt_heap_type[TT_HEAP_TYPES];
static struct tt_space_record none;

/* ── A thread's part ──────────────────────────────────────────────────────────────── */

static uint64_t key_of_node(const struct tt_thread_heap *h, const struct tt_node *n,
                            int below, uint32_t type)
{
    return tt_heap_mix((uint64_t)tt_cell_of(&h->thread->tree, n) << 8 | type << 1 |
                       (unsigned)below) ^
           0x5555555555555554u;
}

/* Frees sites without live objects, and forgets the keys of the others.  If only modules have
 * changed, sites are still those of their nodes: a new one would take a new holding. */
void tt_heap_forget_keys(struct tt_thread_heap *h)
{
    struct tt_heap_site *s, **link = &h->sites;
    const int has_nodes = h->evictions == *h->evicted &&
                          h->keys.count <= TT_HEAP_KEYS_MAX / 2;

    tt_keys_clear(&h->keys);
    while ((s = *link)) {
        s->has_key &= has_nodes;
        if (s->has_key)
            tt_keys_add(&h->keys, key_of_node(h, s->node, s->below, s->type), s->index);
        if (s->has_key || __atomic_load_n(&s->objects, __ATOMIC_ACQUIRE) ||
            __atomic_load_n(&s->is_changed, __ATOMIC_ACQUIRE)) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        tt_site_give(s);
    }
    h->forgotten++;
    h->evictions = *h->evicted;
    h->generation = tt_modules_generation();
}

/* Sites with live objects stay; the thread that frees the last object frees the site. */
static void leave_sites(struct tt_thread_heap *h)
{
    struct tt_heap_site *s, *next;

    for (s = h->sites; s; s = next) {
        next = s->next;
        if (tt_alive_leave(h->space, s))
            tt_site_give(s);
    }
    h->sites = NULL;
}

void tt_heap_end_thread(struct tt_thread *t)
{
    struct tt_thread_heap *h = t->collector;

    t->collector = NULL;
    if (!h)
        return;
    if (tt_heap_here == h)
        tt_heap_here = NULL;
    leave_sites(h);
    tt_alive_part(h->space);
    tt_keys_fini(&h->keys);
    tt_stack_cache_free(h->recall);
    munmap(h, sizeof *h);
}

struct tt_space_record *tt_heap_space(struct tt_recording *r)
{
    struct tt_space_record *space = tt_space_record(r);

    return space ? space : &none;
}

static struct tt_thread_heap *begin_thread(struct tt_thread *t)
{
    struct tt_thread_heap *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE,
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
    h->error = &errno;
    h->recording = t->recording;
    h->space = tt_heap_space(t->recording);
    h->shard = tt_alive_join(h->space);
    tt_graft_find_stack(&h->hanging);
    h->hanging.script.wanted = 1;
    t->collector = tt_heap_here = h;
    tt_heap_forget_keys(h);
    return h;
}

struct tt_thread_heap *tt_heap_of(struct tt_thread *t)
{
    struct tt_thread_heap *h = t->collector;

    if (!h)
        h = begin_thread(t);
    if (h && tt_heap_is_stale(h))
        tt_heap_forget_keys(h);
    return h;
}

/* ── Sites ────────────────────────────────────────────────────────────────────────── */

void tt_heap_find_place(struct tt_thread_heap *h, struct tt_heap_site *s)
{
    s->seen = *h->evicted;
    s->made = NULL;
    s->temporary = NULL;
    memset(s->freed, 0, sizeof s->freed);
    s->node = tt_context_find(h->thread, s->context, &s->below);
    if (!s->node)
        s->node = h->thread->tree.root;
    TT_ASSERT(s->node->kind == TT_CELL_CONTEXT);
}

static struct tt_heap_site *take_site(struct tt_thread_heap *h, tt_context c,
                                      uint32_t type)
{
    struct tt_heap_site *s = tt_site_take(h, c, type);

    if (s) {
        s->next = h->sites;
        h->sites = s;
    }
    return s;
}

/* The site of a context of this thread; `below`: of contexts without room below it. */
struct tt_heap_site *tt_heap_site_of_node(struct tt_thread_heap *h, struct tt_node *n,
                                          int below, tt_block block, uint32_t type)
{
    const uint64_t key = key_of_node(h, n, below, type);
    uint32_t index = tt_keys_find(&h->keys, key);
    struct tt_alive_place at = {tt_heap_type, TT_HEAP_TYPES, h->shard,
                                below ? block : n->key, TT_BLOCK_ROOT};
    struct tt_heap_site *s;

    TT_ASSERT(n->kind == TT_CELL_CONTEXT);
    if (index)
        return tt_site_at(index);
    s = take_site(h, tt_context_at(h->thread, n, below ? block : n->key), type);
    if (!s)
        return NULL;
    s->seen = *h->evicted;
    s->node = n;
    s->below = below;
    s->has_key = 1;
    if (h->recording->options.series & 1u << TT_BAND_CENTRE)
        at.centre = tt_bands_centre(&h->thread->tree, n);
    tt_alive_begin(s, h->recording, &at);
    tt_keys_add(&h->keys, key, s->index);
    return s;
}

/* The site for objects that another thread has made. */
struct tt_heap_site *tt_heap_site_for(struct tt_thread_heap *h,
                                      const struct tt_heap_site *other)
{
    uint64_t key = tt_heap_mix((uint64_t)other->index << 32 | other->serial) ^
                   0xaaaaaaaaaaaaaaaau;
    uint32_t index = tt_keys_find(&h->keys, key);
    struct tt_heap_site *s;

    if (index)
        return tt_site_at(index);
    s = take_site(h, other->context, other->type);
    if (s)
        tt_keys_add(&h->keys, key, s->index);
    return s;
}
