/* SPDX-License-Identifier: MIT */
/* statistics.h - the least that exact figures cost, each kind of them added in turn:
 *
 *      MARK_STATISTICS  1   self time
 *                       2   number, sum, least and greatest of inclusive time
 *                       3   its sum of squares, in 128 bits
 *                       4   the same two sums of the time in callees
 *
 * There is no tree: the figures go to one static record a mark. */
#ifndef STATISTICS_H
#define STATISTICS_H

#include "clock.h"

#ifndef MARK_STATISTICS
#define MARK_STATISTICS 0
#endif

struct statistics {
    uint64_t self, count, sum, min, max, children;
    unsigned __int128 square, children_square;
};

struct activation {
    struct statistics *of;
    uint64_t entered, children;
};

extern struct activation *statistics_top; /* for one thread */

static inline __attribute__((always_inline)) struct activation *statistics_enter(
    struct statistics *of)
{
    struct activation *a = ++statistics_top;

    a->of = of;
    a->children = 0;
    a->entered = clock_read();
    return a;
}

static inline __attribute__((always_inline)) void statistics_leave(
    struct activation **mark)
{
    struct activation *a = *mark;
    struct statistics *s = a->of;
    uint64_t time = clock_read() - a->entered;

    s->self += time - a->children;
    a[-1].children += time;
    if (MARK_STATISTICS >= 2) {
        s->count++;
        s->sum += time;
        s->min = s->count == 1 || time < s->min ? time : s->min;
        s->max = time > s->max ? time : s->max;
    }
    if (MARK_STATISTICS >= 3)
        s->square += (unsigned __int128)time * time;
    if (MARK_STATISTICS >= 4) {
        s->children += a->children;
        s->children_square += (unsigned __int128)a->children * a->children;
    }
    statistics_top = a - 1;
}

#endif
