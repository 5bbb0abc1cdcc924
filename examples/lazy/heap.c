/* SPDX-License-Identifier: MIT */
/* heap.c - objects, and a copying collector of five generations.
 *
 * A new object is of generation 0.  What survives a collection of its generation is copied
 * into the next one; the last is copied into itself.  A generation is collected with all
 * younger ones, when it has become large enough.  An older object that refers to a younger
 * one is remembered: it is as good as a root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy.h"

enum { CHUNK = 64 << 10 };

struct chunk {
    struct chunk *next;
    size_t used;
    _Alignas(16) char memory[CHUNK];
};

static struct generation {
    struct chunk *first;
    size_t bytes, limit, fields; /* fields: bytes of them alone */
    unsigned long collections;
} heap[GENERATIONS];

static struct list remembered, to_scan;
static unsigned collected; /* generations up to this one, while a collection goes on */
static size_t most;
static size_t alive, peak; /* without headers, and with what is garbage by now */

int profiled, space_profiled, use_profiled;
struct object nil = {.type = CELL, .generation = STATIC};
static tt_type type_of[TYPES];

static void *allocate(size_t size)
{
    void *p = malloc(size);

    if (!p) {
        fputs("lazy: no memory\n", stderr);
        exit(2);
    }
    return p;
}

void list_add(struct list *l, struct object *o)
{
    struct object **grown;

    if (l->count == l->room) {
        l->room = l->room * 2 + 256;
        grown = allocate(l->room * sizeof *grown);
        if (l->count)
            memcpy(grown, l->at, l->count * sizeof *grown);
        free(l->at);
        l->at = grown;
    }
    l->at[l->count++] = o;
}

static size_t size_of(const struct object *o)
{
    return sizeof *o + o->fields * sizeof *o->at;
}

static struct object *take(unsigned generation, size_t size)
{
    struct generation *g = &heap[generation];
    struct chunk *c = g->first;

    if (!c || c->used + size > CHUNK) {
        c = allocate(sizeof *c);
        c->next = g->first;
        c->used = 0;
        g->first = c;
    }
    c->used += size;
    g->bytes += size;
    g->fields += size - sizeof(struct object);
    return (struct object *)(void *)(c->memory + c->used - size);
}

/* ── Collecting ───────────────────────────────────────────────────────────────────── */

static void evacuate(struct object **reference)
{
    struct object *o = *reference, *copy;
    unsigned to = o->generation + 1u;

    while (o->type == INDIRECTION && o->generation <= collected && !o->is_moved)
        o = *reference = o->at[0].reference;
    if (o->generation == STATIC || o->generation > collected)
        return;
    if (o->is_moved) {
        *reference = o->at[0].reference;
        return;
    }
    if (to == GENERATIONS)
        to = GENERATIONS - 1;
    copy = take(to, size_of(o));
    memcpy(copy, o, size_of(o));
    copy->generation = (uint8_t)to;
    copy->is_remembered = 0;
    copy->retained = 0;
    if (use_profiled)
        tt_object_survive((uintptr_t)o, (uintptr_t)copy, to);
    else if (space_profiled)
        tt_survive(o->origin, type_of[o->type], o->fields * sizeof *o->at, sizeof *o,
                   o->generation, to);
    o->is_moved = 1;
    o->at[0].reference = copy;
    *reference = copy;
    list_add(&to_scan, copy);
}

static void scan(struct object *o)
{
    int knows_younger = 0;

    for (unsigned i = 0; i < o->references; i++) {
        evacuate(&o->at[i].reference);
        knows_younger |= o->at[i].reference->generation < o->generation;
    }
    if (knows_younger && !o->is_remembered)
        list_add(&remembered, o);
    o->is_remembered = (uint8_t)knows_younger;
}

static void scan_remembered(void)
{
    struct list old = remembered;

    remembered = (struct list){NULL, 0, 0};
    for (size_t i = 0; i < old.count; i++) {
        struct object *o = old.at[i];
        o->is_remembered = 0;
        if (o->generation > collected)
            scan(o);
    }
    free(old.at);
}

static void give_back(struct chunk *c)
{
    struct chunk *next;

    for (; c; c = next) {
        next = c->next;
        free(c);
    }
}

static void collect(unsigned generation)
{
    struct chunk *old[GENERATIONS];
    size_t kept = 0;

    if (space_profiled)
        tt_gc_begin(generation);
    collected = generation;
    for (unsigned i = 0; i <= generation; i++) {
        old[i] = heap[i].first;
        heap[i].first = NULL;
        heap[i].bytes = heap[i].fields = 0;
        heap[i].collections++;
    }
    machine_roots(evacuate);
    scan_remembered();
    while (to_scan.count)
        scan(to_scan.at[--to_scan.count]);
    for (unsigned i = 0; i <= generation; i++)
        give_back(old[i]);
    alive = 0;
    for (unsigned i = 0; i < GENERATIONS; i++) {
        kept += heap[i].bytes;
        alive += heap[i].fields;
    }
    most = kept > most ? kept : most;
    if (retainers_profiled && generation + 1 == GENERATIONS)
        retainers_tell();
    if (space_profiled)
        tt_gc_end();
}

static void collect_what_is_full(void)
{
    unsigned g = 0;

    while (g + 1 < GENERATIONS && heap[g + 1].bytes > heap[g + 1].limit)
        g++;
    if (retainers_profiled && g > 0) /* they are known of everything, or not at all */
        g = GENERATIONS - 1;
    collect(g);
    if (g + 1 == GENERATIONS) /* half of it may be garbage again */
        heap[g].limit = 2 * heap[g].bytes + heap[g].limit / 2;
}

void heap_each(void (*see)(struct object *))
{
    for (int g = 0; g < GENERATIONS; g++)
        for (struct chunk *c = heap[g].first; c; c = c->next)
            for (size_t at = 0; at < c->used;) {
                struct object *o = (struct object *)(void *)(c->memory + at);
                see(o);
                at += size_of(o);
            }
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

static void clear(struct object *o, enum type type, unsigned references, unsigned others)
{
    *o = (struct object){.type = (uint8_t)type,
                         .references = (uint16_t)references,
                         .fields = (uint16_t)(references + others)};
    for (unsigned i = 0; i < references; i++)
        o->at[i].reference = &nil;
}

struct object *object_new(enum type type, unsigned references, unsigned others)
{
    size_t size = sizeof(struct object) + (references + others) * sizeof(union field);
    struct object *o;

    if (heap[0].bytes + size > heap[0].limit)
        collect_what_is_full();
    o = take(0, size);
    clear(o, type, references, others);
    alive += size - sizeof *o;
    peak = alive > peak ? alive : peak;
    if (use_profiled)
        (void)tt_object_new((uintptr_t)o, type_of[type], size - sizeof *o, sizeof *o);
    else if (space_profiled)
        o->origin = tt_alloc(type_of[type], size - sizeof *o, sizeof *o);
    return o;
}

struct object *object_static(enum type type, unsigned references, unsigned others)
{
    struct object *o = allocate(sizeof *o + (references + others) * sizeof *o->at);

    clear(o, type, references, others);
    o->generation = STATIC;
    return o;
}

void object_set(struct object *o, unsigned field, struct object *value)
{
    o->at[field].reference = value;
    if (value->generation < o->generation && !o->is_remembered) {
        o->is_remembered = 1;
        list_add(&remembered, o);
    }
}

void heap_start(size_t young)
{
    static const char *const names[TYPES] = {
        "number", "cell", "closure", "partial", "thunk", "indirection", "frame"};

    for (int i = 0; i < TYPES; i++)
        type_of[i] = tt_type_get(names[i]);
    for (unsigned i = 0; i < GENERATIONS; i++)
        heap[i].limit = young << i;
}

struct heap_figures heap_figures(void)
{
    struct heap_figures f = {.most = most, .alive = alive, .peak = peak};

    for (unsigned i = 0; i < GENERATIONS; i++)
        f.collections[i] = heap[i].collections;
    return f;
}
