/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* handle-test.c - a handle of a context that was evicted never names another context, however
 * often its cell is in use again, and what it resumes is its block's. */
#include <stdio.h>
#include <stdlib.h>

#include "recorded.h"
#include "share.h"
#include "stack.h"
#include "tallytree.h"
#include "tap.h"

enum { CLOSURES = 40, OTHERS = 50, STEPS = 40000 };

static tt_block maker[CLOSURES], leaf[CLOSURES], other[OTHERS];
static uint64_t self[CLOSURES];
static tt_context made[CLOSURES];
static unsigned state;

static unsigned dice(unsigned sides)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % sides;
}

static tt_block numbered(const char *word, int number)
{
    char name[20];

    (void)snprintf(name, sizeof name, "%s%d", word, number);
    return tt_block_get(name, "", 0, 0);
}

static void flood(int steps)
{
    for (int i = 0; i < steps; i++) {
        tt_mark mark = tt_push(other[dice(OTHERS)]);
        (void)tt_push(other[dice(OTHERS)]);
        (void)tt_push(other[dice(OTHERS)]);
        tt_tick(1);
        tt_pop(mark);
    }
}

static void make(int i)
{
    tt_mark mark = tt_push(maker[i]);

    (void)tt_push(leaf[i]);
    made[i] = tt_context_capture();
    tt_pop(mark);
}

/* As if each free cell had been in use so often, if not more often. */
static void age_cells(uint16_t generation)
{
    struct tt_recording *r = tt_recording_now();

    for (uint32_t page = 1; page <= r->header->used; page++)
        for (uint32_t i = 0;
             (r->map[page - 1] & 0xff) == TT_PAGE_CELL && i < TT_PAGE_CELLS; i++) {
            struct tt_node *n = tt_cell(r->base, tt_page_cell(r, page) + i);
            if (n->kind == TT_CELL_FREE && n->generation < generation)
                n->generation = generation;
        }
}

/* Is it a handle of that block, whose parent is known to be the maker, or is not known? */
static int is_right(int i)
{
    tt_block parent = tt_context_block(tt_context_parent(made[i]));

    return tt_context_block(made[i]) == leaf[i] && (!parent || parent == maker[i]);
}

static void resume(int i, uint64_t ticks)
{
    tt_mark mark = tt_context_enter(made[i]);

    tt_tick(ticks);
    tt_pop(mark);
    self[i] += ticks;
}

static int wrong, known;

/* Closures of all ages, each made again at times. */
static void live(void)
{
    for (int step = 0; step < STEPS; step++) {
        int i = (int)dice(CLOSURES);
        flood(1);
        wrong += !is_right(i);
        known += tt_context_parent(made[i]) != 0;
        if (!dice(4))
            resume(i, 1 + dice(9));
        if (!dice(200))
            make(i);
    }
}

static void check_self(const struct recorded *r)
{
    for (int i = 0; i < CLOSURES; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "leaf%d", i);
        CHECK_INT(recorded_self(r, name), self[i]);
    }
}

static void age(const char *options, uint16_t generation)
{
    struct recorded r;

    for (int i = 0; i < CLOSURES; i++) {
        maker[i] = numbered("maker", i);
        leaf[i] = numbered("leaf", i);
    }
    for (int i = 0; i < OTHERS; i++)
        other[i] = numbered("other", i);
    memset(self, 0, sizeof self);
    wrong = known = 0;
    state = generation;
    CHECK_INT(tt_start(options), 0);
    flood(3000);
    for (int i = 0; i < CLOSURES; i++)
        make(i);
    age_cells(generation);
    live();
    CHECK_INT(wrong, 0);
    r = recorded_here();
    CHECK_INT(r.error, 0);
    check_self(&r);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(a_handle_never_names_another_context)
{
    age("clock=caller,recursion=none,budget=600nodes", 0);
    CHECK(known > 0);
}

TEST(nor_when_the_generations_of_its_cell_are_spent)
{
    age("clock=caller,recursion=none,budget=600nodes", TT_GENERATION_SPENT - 40);
    age("clock=caller,recursion=edge,budget=600nodes", TT_GENERATION_SPENT - 1);
}

TEST(nor_when_they_go_round)
{
    age("clock=caller,recursion=block,budget=400nodes", UINT16_MAX - 40);
}
