/* SPDX-License-Identifier: MIT */
/* heap-stack.c - the site of a stack.
 *
 *      cached: its number ──────────────────────────────── site        mostly
 *      cached: its key ─────────────────────────────────── site
 *      unwound, on a separate stack ─ path ─ context ─── site        if it is new */
#include "heap-stack.h"

#include <sched.h>
#include <string.h>

enum { TRIES = 1000 };

struct placing {
    struct tt_thread_heap *h;
    const struct tt_caller *caller;
    uint32_t type;
    uint64_t key; /* 0: not known yet */
    const struct tt_frame *at;
    struct tt_heap_site *site;
};

/* The key of the stack above the activation's context. */
static uint64_t key_of(const struct tt_thread_heap *h, uint64_t stack,
                       const struct tt_frame *at, uint32_t type)
{
    uint64_t cell = tt_cell_of(&h->thread->tree, at->node);

    return tt_heap_mix(stack + h->scripts + (cell << 8 | type) * 0x9e3779b97f4a7c15u);
}

static uint64_t key_of_frames(const struct tt_thread_heap *h, uint32_t type)
{
    const struct tt_grafting *g = &h->hanging;
    uint64_t key = 0, power = 1;

    for (uint32_t i = 0; i < g->stack.count; i++)
        tt_stack_cache_frame(&key, &power, g->frame[i].pc);
    /* Generated code may run other functions from the same addresses. */
    for (uint32_t i = 0; i < g->script.stack.count; i++)
        if (g->script.frame[i].code && g->script.frame[i].by->generated)
            tt_stack_cache_frame(&key, &power,
                                 g->script.frame[i].code ^ g->script.frame[i].print ^
                                     (tt_interpreted_lines ? g->script.frame[i].at : 0));
    return key_of(h, key + g->stack.end, g->at, type);
}

/* Makes a new block or context.  Others hold the locks only briefly; if a lock was left
 * locked, all stacks above the activation share its context. */
static void make_place(struct placing *p)
{
    struct tt_grafting *g = &p->h->hanging;
    struct tt_node *n = NULL;
    uint32_t made = 0;
    tt_block block;

    for (int i = 0; i < TRIES && !tt_graft_make(g, &n, &made); i++)
        if (i == TRIES - 1)
            n = NULL;
        else
            sched_yield();
    if (!n) {
        p->site = tt_heap_site_of_node(p->h, g->at->node, 0, 0, p->type);
        return;
    }
    tt_graft_done(g);
    block = g->path.count ? g->path.step[g->path.count - 1].block : n->key;
    if (p->h->evictions != *p->h->evicted)
        tt_heap_forget_keys(p->h);
    p->site = tt_heap_site_of_node(p->h, n, made < g->path.count, block, p->type);
}

/* Runs on our own stack. */
static void place(void *arg)
{
    struct placing *p = arg;
    struct tt_grafting *g = &p->h->hanging;
    struct tt_node *n;
    uint32_t index = 0;

    if (!tt_graft_unwind_call(g, p->caller)) {
        p->site = tt_heap_site_of_node(p->h, p->h->thread->tree.root, 0, 0, p->type);
        tt_graft_release(g);
        return;
    }
    if (!p->key) {
        p->key = key_of_frames(p->h, p->type);
        index = tt_keys_find(&p->h->keys, p->key);
    }
    if (index)
        p->site = tt_site_at(index);
    else if (tt_graft_find(g, &n))
        p->site = tt_heap_site_of_node(p->h, n, 0, 0, p->type);
    else
        make_place(p);
    tt_graft_release(g);
    if (!index && p->site)
        tt_keys_add(&p->h->keys, p->key, p->site->index);
}

/* `on`: the result of the cache; NULL: the stack was not found. */
struct tt_heap_site *tt_heap_look(struct tt_thread_heap *h, uint32_t type,
                                  const struct tt_caller *c, const struct tt_frame *at,
                                  struct tt_recalled *on)
{
    struct placing p = {.h = h, .caller = c, .type = type, .at = at};

    if (on) {
        p.key = key_of(h, on->key, at, type);
        uint32_t number = tt_keys_find(&h->keys, p.key);
        if (!h->scripts)
            *on->number = number;
        if (number)
            return tt_site_at(number);
    }
    tt_graft_call(&h->hanging, h->stack + sizeof h->stack, place, &p);
    return p.site;
}
