/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* clear-test.c - what tt_clear forgets, and what it leaves, over random walks. */
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

enum { NAMES = 4, DEPTH = 5, PATHS = 2000, EVENTS = 3000 };

/* What should be there, by path: digits, from 1. */
static struct wanted {
    unsigned long long calls, self, sum, least, most, activations;
    int seen; /* by the last visit */
} want[PATHS];
static const char *const names[NAMES] = {"a", "b", "c", "d"};
static int cleared;  /* the block that is to be */
static int open_now; /* is any? */

static int is_it(const struct tt_block_info *b, void *arg)
{
    return strcmp(b->name, names[*(const int *)arg]) == 0;
}

static int last_of(int path) { return path % (NAMES + 1) - 1; }

static void clear(int name)
{
    cleared = name;
    tt_clear(is_it, &cleared);
    for (int i = 1; i < PATHS; i++)
        if (last_of(i) == name)
            want[i] = (struct wanted){0};
}

static void end(struct wanted *w, unsigned long long duration)
{
    w->least = w->activations && w->least < duration ? w->least : duration;
    w->most = w->most > duration ? w->most : duration;
    w->sum += duration;
    w->activations++;
}

/* Times are those of what has ended. */
static int has_other_times(const struct tt_visited *v, const struct wanted *w)
{
    return v->sum != w->sum || v->activations != w->activations || v->max != w->most ||
           (w->activations && v->min != w->least);
}

static int compare(const struct tt_visited *v, void *arg)
{
    struct wanted *w;
    int path = 0;

    for (size_t i = 0; i < v->depth; i++)
        path = path * (NAMES + 1) + v->path[i][0] - 'a' + 1;
    w = &want[path];
    w->seen = 1;
    if (v->depth && (v->calls != w->calls || v->self != w->self ||
                     (!open_now && has_other_times(v, w))))
        ++*(int *)arg;
    return 0;
}

/* What is there is what should be; and what should be is there. */
static int count_wrong(void)
{
    int wrong = 0;

    for (int i = 0; i < PATHS; i++)
        want[i].seen = 0;
    CHECK_INT(tt_visit(compare, &wrong), 0);
    for (int i = 1; i < PATHS; i++)
        wrong += want[i].calls && !want[i].seen;
    return wrong;
}

static void walk(unsigned seed)
{
    tt_block block[NAMES];
    tt_mark mark[DEPTH + 1];
    int path[DEPTH + 1] = {0}, depth = 0, wrong = 0;
    unsigned long long now = 0, began[DEPTH + 1] = {0};

    memset(want, 0, sizeof want);
    CHECK_INT(tt_start("exact,clock=caller,recursion=none"), 0);
    for (int i = 0; i < NAMES; i++)
        block[i] = tt_block_get(names[i], "clear-test.c", 1, 0);
    srand(seed);
    for (int i = 0; i < EVENTS; i++) {
        int what = rand() % 100, name = rand() % NAMES, ticks = rand() % 9;
        if (what < 40 && depth < DEPTH - 1) {
            mark[++depth] = tt_push(block[name]);
            path[depth] = path[depth - 1] * (NAMES + 1) + name + 1;
            began[depth] = now;
            want[path[depth]].calls++;
        } else if (what < 80 && depth) {
            tt_pop(mark[depth]);
            end(&want[path[depth]], now - began[depth]);
            depth--;
        } else if (what == 80) {
            clear(name);
        } else if (what == 81) {
            open_now = depth;
            (void)tt_pause(); /* the top is charged */
            (void)tt_resume();
            wrong += count_wrong();
        } else {
            tt_tick((uint64_t)ticks);
            now += (unsigned)ticks;
            want[path[depth]].self += (unsigned)ticks;
        }
    }
    for (; depth; depth--) {
        tt_pop(mark[depth]);
        end(&want[path[depth]], now - began[depth]);
    }
    open_now = 0;
    wrong += count_wrong();
    CHECK_INT(wrong, 0);
    CHECK_INT(tt_stop(), 0);
}

static int is_any(const struct tt_block_info *b, void *arg)
{
    (void)b;
    (void)arg;
    return 1;
}

TEST(what_is_cleared_is_gone_and_all_else_is_not)
{
    for (unsigned seed = 1; seed <= 20; seed++)
        walk(seed);
}

static unsigned long long calls_again(const char *name, int times)
{
    struct recorded r;
    unsigned long long calls;

    for (int i = 0; i < times; i++)
        tt_pop(tt_push(tt_block_get(name, "clear-test.c", 2, 0)));
    r = recorded_here();
    calls = recorded_calls(&r, name);
    recorded_free(&r);
    return calls;
}

TEST(evicted_ones_too)
{
    char name[16];

    tt_clear(is_any, NULL); /* off */
    CHECK_INT(tt_start("calls,budget=300nodes,recursion=none"), 0);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "e%d", i % 1000);
        tt_pop(tt_push(tt_block_get(name, "clear-test.c", 2, 0)));
    }
    CHECK_INT(calls_again("e7", 0), 5);
    tt_clear(is_any, NULL);
    CHECK_INT(calls_again("e7", 0), 0);
    CHECK_INT(calls_again("e999", 3), 3);
    CHECK_INT(tt_stop(), 0);
}

static void add_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                       uint64_t amount)
{
    if (strcmp(m->name, "rows") == 0 && !elsewhere)
        *(unsigned long long *)arg += amount;
}

static unsigned long long rows(void)
{
    struct recorded r = recorded_here();
    unsigned long long sum = 0;

    for (uint32_t i = 0; i < r.picture.contexts; i++)
        tt_picture_metrics(&r.picture, r.picture.context[i].cell, add_metric, &sum);
    recorded_free(&r);
    return sum;
}

TEST(metrics_too)
{
    tt_mark mark;
    int name = 0;

    CHECK_INT(tt_start("exact"), 0);
    for (int i = 0; i < 2; i++) {
        mark = tt_push(tt_block_get(names[i], "clear-test.c", 3, 0));
        tt_add(tt_metric_get("rows", ""), 10 + (uint64_t)i);
        tt_pop(mark);
    }
    CHECK_INT(rows(), 21);
    tt_clear(is_it, &name);
    CHECK_INT(rows(), 11);
    mark = tt_push(tt_block_get(names[0], "clear-test.c", 3, 0));
    tt_add(tt_metric_get("rows", ""), 5);
    tt_pop(mark);
    CHECK_INT(rows(), 16);
    CHECK_INT(tt_stop(), 0);
}

TEST(metrics_without_room_are_counted)
{
    char name[16];
    tt_metric last = 1;
    struct recorded r;

    CHECK_INT(tt_start("exact,clock=caller"), 0);
    for (int i = 0; last && i < 100; i++) {
        (void)snprintf(name, sizeof name, "metric %d", i);
        last = tt_metric_get(name, "");
    }
    CHECK_INT(last, 0);
    CHECK_INT(tt_stop(), 0);
    r = recorded_here();
    CHECK_INT(r.picture.header->lost_figures, 1);
    recorded_free(&r);
}
