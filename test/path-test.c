/* SPDX-License-Identifier: MIT */
/* path-test.c - the recursion policy on whole stacks, against the words that define it.
 *
 * The oracle reads the definitions literally and knows no shortcut. */
#include "stack-path.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { DEEP = 60 };

struct oracle {
    uint64_t function[DEEP];
    tt_block block[DEEP];
    int count;
};

/* Do the last `n` functions up to and with place `at` read as those of the path's end and
 * then `function`? */
static int ends_alike(const struct oracle *o, int at, uint64_t function, int n)
{
    if (o->function[at] != function)
        return 0;
    for (int i = 1; i < n; i++)
        if (at - i < 0 || o->count - i < 0 ||
            o->function[at - i] != o->function[o->count - i])
            return 0;
    return 1;
}

/* The functions between `at` and the end occur once more right before `at`. */
static int is_cycle(const struct oracle *o, int at, uint64_t function)
{
    int between = o->count - at - 1;

    if (o->function[at] != function || at - between < 0)
        return 0;
    for (int i = 0; i < between; i++)
        if (o->function[at - between + i] != o->function[at + 1 + i])
            return 0;
    return 1;
}

static int goes_back_to(const struct oracle *o, uint32_t recursion, int length, int at,
                        uint64_t function)
{
    switch (recursion) {
    case TT_RECURSION_EDGE:
        return ends_alike(o, at, function, 2);
    case TT_RECURSION_REPEAT:
        return ends_alike(o, at, function, length);
    case TT_RECURSION_BLOCK:
        return ends_alike(o, at, function, 1);
    case TT_RECURSION_CYCLE:
        return is_cycle(o, at, function);
    case TT_RECURSION_RECENT:
        return o->count - 1 - at <= length && o->function[at] == function;
    default:
        return 0;
    }
}

static void oracle_step(struct oracle *o, uint32_t recursion, int length,
                        uint64_t function, tt_block block)
{
    for (int at = o->count - 1; at >= 0; at--) {
        if (recursion == TT_RECURSION_DROP && o->function[at] == function)
            return;
        if (goes_back_to(o, recursion, length, at, function)) {
            o->count = at;
            break;
        }
    }
    o->function[o->count] = function;
    o->block[o->count++] = block;
}

static int has(const uint64_t *functions, int count, uint64_t function)
{
    while (count-- > 0)
        if (functions[count] == function)
            return 1;
    return 0;
}

static struct tt_path path;

static int is_right(const uint64_t *stack, int depth, uint32_t recursion, int length)
{
    struct oracle o = {.count = 0};
    uint64_t hidden[DEEP];
    int hides = 0, found = 0;

    tt_path_begin(&path, (uint32_t)depth);
    for (int i = 0; i < depth; i++) {
        tt_path_step(&path, recursion, (uint32_t)length, stack[i], (tt_block)i + 1);
        oracle_step(&o, recursion, length, stack[i], (tt_block)i + 1);
    }
    tt_path_end(&path);
    if ((int)path.count != o.count)
        return 0;
    for (int i = 0; i < o.count; i++)
        if (path.step[i].function != o.function[i] || path.step[i].block != o.block[i])
            return 0;
    for (int i = 0; i < depth; i++)
        if (!has(o.function, o.count, stack[i]) && !has(hidden, hides, stack[i]))
            hidden[hides++] = stack[i];
    for (uint32_t i = 0; i < path.cuts; i++)
        found += has(hidden, hides, path.cut[i].function);
    return found == hides && (int)path.cuts == hides;
}

static void check_policy(uint32_t recursion, int length)
{
    uint64_t stack[DEEP];
    int wrong = 0;

    srand(1);
    for (int i = 0; i < 20000; i++) {
        int depth = rand() % DEEP, functions = 1 + rand() % 8;
        for (int j = 0; j < depth; j++)
            stack[j] = 1 + (uint64_t)(rand() % functions) * 0x100000001u;
        wrong += !is_right(stack, depth, recursion, length);
    }
    CHECK_INT(wrong, 0);
}

TEST(edge_goes_back_to_where_the_same_call_led) { check_policy(TT_RECURSION_EDGE, 0); }
TEST(block_cuts_back_to_the_function) { check_policy(TT_RECURSION_BLOCK, 0); }
TEST(repeat_compares_so_many_functions)
{
    for (int k = 1; k < 6; k++)
        check_policy(TT_RECURSION_REPEAT, k);
}
TEST(cycle_goes_back_where_a_stretch_repeats) { check_policy(TT_RECURSION_CYCLE, 0); }
TEST(drop_stays_where_it_is) { check_policy(TT_RECURSION_DROP, 0); }
TEST(recent_looks_so_far_up)
{
    for (int k = 0; k < 8; k++)
        check_policy(TT_RECURSION_RECENT, k);
}
TEST(none_keeps_everything) { check_policy(TT_RECURSION_NONE, 0); }

TEST(the_innermost_step_is_where_the_stack_stands)
{
    tt_path_begin(&path, 4);
    tt_path_step(&path, TT_RECURSION_EDGE, 0, 1, 10);
    tt_path_step(&path, TT_RECURSION_EDGE, 0, 2, 20);
    tt_path_step(&path, TT_RECURSION_EDGE, 0, 2, 21);
    tt_path_step(&path, TT_RECURSION_EDGE, 0, 2, 22);
    tt_path_end(&path);
    CHECK_INT(path.count, 3);
    CHECK_INT(path.step[2].block, 22);
    CHECK_INT(path.cuts, 0);
}

TEST(the_deepest_stack_has_room)
{
    tt_path_begin(&path, TT_STEPS_MAX);
    for (uint32_t i = 0; i < TT_STEPS_MAX; i++)
        tt_path_step(&path, TT_RECURSION_EDGE, 0, i + 1, i + 1);
    tt_path_end(&path);
    CHECK_INT(path.count, TT_STEPS_MAX);
}
