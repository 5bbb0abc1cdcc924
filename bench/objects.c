/* SPDX-License-Identifier: MIT */
/* objects.c PAIRS LIVE bare|header|table - W4, reported by the program itself, which
 * keeps a tree.
 *
 * Objects of mixed sizes from fifty contexts some twenty-five deep, as in churn.c.  Their
 * origin is in a word before them (header), or in the runtime's table (table); bare: they
 * are not reported.  Prints the cost of a pair on stderr, in ns of the thread's CPU
 * time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tallytree.h"

enum { BATCH = 32, DEPTH = 24, CONTEXTS = 50 };
enum way { BARE, HEADER, TABLE };

struct object {
    tt_context origin;
    size_t size;
};

static struct object **ring;
static unsigned long places, place;
static unsigned state = 1;
static tt_type type;

static unsigned next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static size_t size_of_next(void)
{
    unsigned class = next() % 16, n = next();

    return class < 10 ? 16 + n % 113 : class < 15 ? 128 + n % 897 : 1024 + n % 7169;
}

static void gone(struct object *o, enum way way)
{
    if (o && way == HEADER)
        tt_free(o->origin, type, o->size, 0, 0);
    else if (o && way == TABLE)
        tt_object_free((uintptr_t)o);
    free(o);
}

static struct object *made(size_t size, enum way way)
{
    struct object *o = malloc(size);

    if (!o)
        abort();
    o->size = size;
    if (way == HEADER)
        o->origin = tt_alloc(type, size, 0);
    else if (way == TABLE)
        (void)tt_object_new((uintptr_t)o, type, size, 0);
    return o;
}

static void fill(enum way way)
{
    for (int i = 0; i < BATCH; i++) {
        struct object **at = &ring[place++ % places];
        gone(*at, way);
        *at = made(size_of_next(), way);
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The context's path goes to one of two blocks at each step, as its bits say. */
static void enter(const tt_block *block, unsigned path)
{
    for (int i = 0; i < DEPTH; i++)
        (void)tt_push(block[path >> i % 16 & 1]);
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 1000000;
    const char *name = argc > 3 ? argv[3] : "bare";
    enum way way = strcmp(name, "header") == 0  ? HEADER
                   : strcmp(name, "table") == 0 ? TABLE
                                                : BARE;
    tt_block block[2];
    double begin;

    places = argc > 2 ? strtoul(argv[2], NULL, 10) : 4096;
    ring = calloc(places, sizeof *ring);
    block[0] = tt_block_get("even", NULL, 0, 0);
    block[1] = tt_block_get("odd", NULL, 0, 0);
    type = tt_type_get("object");
    if (!ring || tt_start("calls,recursion=none") != 0)
        return 2;
    begin = now();
    for (long i = 0; i < pairs; i += BATCH) {
        tt_mark mark = tt_mark_get();
        enter(block, next() % CONTEXTS * 2654435761u >> 12);
        fill(way);
        tt_pop(mark);
    }
    fprintf(stderr, "pair %.2f\n", (now() - begin) / (double)pairs);
    return tt_stop() != 0;
}
