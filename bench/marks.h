/* SPDX-License-Identifier: MIT */
/* marks.h - what MARK("name") puts into a function of a workload.
 *
 *      (nothing)             bare, and builds that the compiler instruments
 *      -DMARK_TALLYTREE      TT_SCOPE
 *      -DMARK_PUSH           tt_push and tt_pop, as a runtime's interpreter has them
 *      -DMARK_CLOCKS         two clock reads, their values thrown away
 *      -DMARK_STATISTICS=N   two clock reads and their books: see statistics.h
 *
 * The last two are what no exact profiler can do without, and have no tree. */
#ifndef MARKS_H
#define MARKS_H

/* A function that stays one. */
#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

#if defined(MARK_TALLYTREE)

#include "tallytree.h"
#define MARK(name) TT_SCOPE(name)

#elif defined(MARK_PUSH)

#include "tallytree.h"
static inline void mark_leave(const tt_mark *mark) { tt_pop(*mark); }
#define MARK(name)                                                                       \
    static tt_block mark_block_;                                                         \
    if (!mark_block_)                                                                    \
        mark_block_ = tt_block_get(name, "", 0, 0);                                      \
    tt_mark mark_ __attribute__((cleanup(mark_leave))) = tt_push(mark_block_)

#elif defined(MARK_CLOCKS)

#include "clock.h"
static inline void mark_leave(const char *unused)
{
    (void)unused;
    (void)clock_read();
}
#define MARK(name)                                                                       \
    char mark_ __attribute__((cleanup(mark_leave), unused));                             \
    (void)clock_read()

#elif defined(MARK_STATISTICS)

#include "statistics.h"
#define MARK(name)                                                                       \
    static struct statistics mark_here_;                                                 \
    struct activation *mark_                                                             \
        __attribute__((cleanup(statistics_leave))) = statistics_enter(&mark_here_)

#else
#define MARK(name) ((void)0)
#endif

#endif
