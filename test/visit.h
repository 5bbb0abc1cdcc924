/* SPDX-License-Identifier: MIT */
/* visit.h - the results of tt_visit, found by block and by path. */
#ifndef TEST_VISIT_H
#define TEST_VISIT_H

#include <stdlib.h>
#include <string.h>

#include "tallytree.h"

struct visit_sum {
    const char *wanted; /* a block's name, or a path with ';' between its names */
    int is_path;
    int contexts; /* how many there are of it; -1: tt_visit failed */
    unsigned long long calls, self, total, samples, activations, min, max, sum;
};

static int visit_is_wanted(const struct tt_visited *v, const struct visit_sum *s)
{
    const char *at = s->wanted;

    if (!s->is_path)
        return v->depth > 0 && strcmp(v->block.name, at) == 0;
    for (size_t i = 0; i < v->depth; i++) {
        size_t length = strlen(v->path[i]);
        if (strncmp(at, v->path[i], length) != 0 || (at[length] && at[length] != ';'))
            return 0;
        at += length + (at[length] == ';');
    }
    return *at == '\0';
}

static int visit_add(const struct tt_visited *v, void *arg)
{
    struct visit_sum *s = (struct visit_sum *)arg;

    if (!visit_is_wanted(v, s))
        return 0;
    s->contexts++;
    s->calls += v->calls;
    s->self += v->self;
    s->total += v->total;
    s->samples += v->samples;
    s->activations += v->activations;
    s->min = v->min;
    s->max = v->max;
    s->sum += v->sum;
    return 0;
}

static inline struct visit_sum visit(const char *wanted, int is_path)
{
    struct visit_sum s;

    memset(&s, 0, sizeof s);
    s.wanted = wanted;
    s.is_path = is_path;
    if (tt_visit(visit_add, &s) != 0)
        s.contexts = -1;
    return s;
}

/* Over all contexts of a block, and over the strands that have a path; "" is the root. */
static inline struct visit_sum visit_block(const char *name) { return visit(name, 0); }
static inline struct visit_sum visit_path(const char *path) { return visit(path, 1); }

#endif
