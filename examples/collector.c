/* SPDX-License-Identifier: MIT */
/* collector.c - a toy runtime with three generations that tells of its objects.
 *
 *      collector [OPTIONS]                  tallytree report space collector.tallytree
 *
 * A header word of each object keeps what tt_alloc returned; the collector says of each
 * object that survives where it was made.  It makes a long list that stays, and short ones
 * that do not. */
#include <stdio.h>
#include <stdlib.h>
#include <tallytree.h>

enum { GENERATIONS = 3, NURSERY = 100 };

struct pair {
    tt_context origin; /* the header word */
    unsigned generation;
    int reached;
    struct pair *tail;
    struct pair *other; /* of the same generation */
};

static struct pair *heap[GENERATIONS];
static struct pair *kept; /* the root */
static int young, collections;
static tt_type pair_type;

/* ── The collector ────────────────────────────────────────────────────────────────── */

static void sweep(unsigned generation)
{
    struct pair *p = heap[generation], *other;

    heap[generation] = NULL;
    for (; p; p = other) {
        unsigned to = p->reached && generation + 1 < GENERATIONS ? generation + 1
                                                                 : generation;
        other = p->other;
        if (!p->reached) {
            free(p);
            continue;
        }
        tt_survive(p->origin, pair_type, 2 * sizeof(void *), sizeof(void *), generation,
                   to);
        p->other = heap[to];
        p->generation = to;
        p->reached = 0;
        heap[to] = p;
    }
}

/* Every tenth collection is one of all generations, from the oldest on. */
static void collect(void)
{
    unsigned generation = ++collections % 10 ? 0 : GENERATIONS - 1;

    tt_gc_begin(generation);
    for (struct pair *p = kept; p; p = p->tail)
        p->reached = p->generation <= generation;
    for (unsigned g = generation + 1; g-- > 0;)
        sweep(g);
    tt_gc_end();
    young = 0;
}

static struct pair *cons(struct pair *tail)
{
    struct pair *p;

    if (young++ == NURSERY)
        collect();
    p = calloc(1, sizeof *p);
    if (!p)
        exit(1);
    p->origin = tt_alloc(pair_type, 2 * sizeof(void *), sizeof(void *));
    p->tail = tail;
    p->other = heap[0];
    heap[0] = p;
    return p;
}

/* ── The program ──────────────────────────────────────────────────────────────────── */

static void make_short_lists(tt_block here)
{
    tt_mark m = tt_push(here);
    struct pair *list = NULL;

    for (int i = 0; i < 9; i++)
        list = cons(list);
    (void)list;
    tt_pop(m);
}

static void make_long_list(tt_block here, tt_block below)
{
    tt_mark m = tt_push(here);

    for (int i = 0; i < 1000; i++) {
        make_short_lists(below);
        kept = cons(kept);
    }
    tt_pop(m);
}

int main(int argc, char **argv)
{
    tt_block long_list = tt_block_get("long_list", "collector.c", 0, 0),
             short_lists = tt_block_get("short_lists", "collector.c", 0, 0);
    int error = tt_start(argc > 1 ? argv[1] : "output=collector.tallytree");

    if (error)
        fprintf(stderr, "collector: %s\n", tt_error_text(error));
    pair_type = tt_type_get("pair");
    make_long_list(long_list, short_lists);
    tt_stop();
    for (unsigned g = 0; g < GENERATIONS; g++)
        for (struct pair *p = heap[g], *other; p; p = other) {
            other = p->other;
            free(p);
        }
    printf("%d collections\n", collections);
    return 0;
}
