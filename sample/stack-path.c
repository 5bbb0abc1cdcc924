/* SPDX-License-Identifier: MIT */
/* stack-path.c - the recursion policy, applied to a whole stack.
 *
 * The tree's own policies work push by push and keep the results as transitions.  A
 * sample has its whole stack at once and no pushes to count: its path is computed here,
 * and the tree gets a path without recursion. async-signal-safe */
#include "stack-path.h"

#include "assertion.h"

enum { FEWEST_SEEN = 64 };

/* Adds a function to the set; 1 if it was not in it.  A new serial number empties the
 * set, which no table of base/ can do in a handler. */
static int see(struct tt_seen *s, uint64_t function)
{
    uint32_t i = (uint32_t)(function * 0x9e3779b97f4a7c15u >> 40) & s->mask;

    while (s->at[i].stamp == s->serial) {
        if (s->at[i].function == function)
            return 0;
        i = (i + 1) & s->mask;
    }
    s->at[i].stamp = s->serial;
    s->at[i].function = function;
    return 1;
}

void tt_path_begin(struct tt_path *p, uint32_t steps)
{
    p->count = p->cuts = 0;
    p->seen.serial++;
    p->seen.mask = FEWEST_SEEN - 1;
    while (p->seen.mask < 2 * steps && p->seen.mask < TT_SEEN_SIZE - 1)
        p->seen.mask = 2 * p->seen.mask + 1;
}

/* ── The target of a step on the path; UINT32_MAX: the step is added ──────────────── */

/* The nearest place on the path that ends in the same `length` functions. */
static uint32_t nearest_repeat(const struct tt_path *p, uint64_t function,
                               uint32_t length)
{
    for (uint32_t n = p->count; n-- > 0;) {
        uint32_t same = p->step[n].function == function;

        while (same && same < length && same <= n &&
               p->step[n - same].function == p->step[p->count - same].function)
            same++;
        if (same == length)
            return n;
    }
    return UINT32_MAX;
}

/* The nearest place of the function such that the path from it to here repeats the path
 * right before it. */
static uint32_t nearest_cycle(const struct tt_path *p, uint64_t function)
{
    for (uint32_t n = p->count; n-- > 0;) {
        uint32_t between = p->count - 1 - n, i = 0;

        if (p->step[n].function != function || between > n)
            continue;
        while (i < between &&
               p->step[n + 1 + i].function == p->step[n - between + i].function)
            i++;
        if (i == between)
            return n;
    }
    return UINT32_MAX;
}

static uint32_t nearest_recent(const struct tt_path *p, uint64_t function,
                               uint32_t length)
{
    for (uint32_t i = 0; i <= length && i < p->count; i++)
        if (p->step[p->count - 1 - i].function == function)
            return p->count - 1 - i;
    return UINT32_MAX;
}

static uint32_t target_of(const struct tt_path *p, uint32_t recursion, uint32_t length,
                          uint64_t function)
{
    switch ((enum tt_recursion)recursion) {
    case TT_RECURSION_EDGE:
        return nearest_repeat(p, function, 2);
    case TT_RECURSION_REPEAT:
        return nearest_repeat(p, function, length);
    case TT_RECURSION_BLOCK:
        return nearest_repeat(p, function, 1);
    case TT_RECURSION_CYCLE:
        return nearest_cycle(p, function);
    case TT_RECURSION_RECENT:
        return nearest_recent(p, function, length);
    case TT_RECURSION_DROP:
    case TT_RECURSION_NONE:
        break;
    }
    return UINT32_MAX;
}

/* ── Steps ────────────────────────────────────────────────────────────────────────── */

/* A function that was cut from the path is still in the set: then the path is searched in
 * vain, which only costs time. */
void tt_path_step(struct tt_path *p, uint32_t recursion, uint32_t length,
                  uint64_t function, tt_block block)
{
    int is_new = see(&p->seen, function);
    uint32_t to = is_new ? UINT32_MAX : target_of(p, recursion, length, function);

    if (!is_new && recursion == TT_RECURSION_DROP)
        return;
    for (uint32_t i = to; to != UINT32_MAX && i < p->count; i++)
        p->cut[p->cuts++] = p->step[i];
    if (to != UINT32_MAX)
        p->count = to;
    p->step[p->count++] = (struct tt_step){function, block};
}

void tt_path_end(struct tt_path *p)
{
    uint32_t kept = 0;

    if (!p->cuts)
        return;
    p->seen.serial++;
    for (uint32_t i = 0; i < p->count; i++)
        (void)see(&p->seen, p->step[i].function);
    for (uint32_t i = 0; i < p->cuts; i++)
        if (see(&p->seen, p->cut[i].function))
            p->cut[kept++] = p->cut[i];
    p->cuts = kept;
}

void tt_path_shorten(struct tt_path *p, uint32_t count)
{
    TT_ASSERT(count <= p->count && p->cuts + p->count - count <= TT_STEPS_MAX);
    while (p->count > count)
        p->cut[p->cuts++] = p->step[--p->count];
    tt_path_end(p);
}
