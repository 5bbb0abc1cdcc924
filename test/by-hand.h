/* SPDX-License-Identifier: MIT */
/* by-hand.h - a profile of a few contexts, by their paths: "a;b;c" is c, called by b, called by
 * a; "" is the root. */
#ifndef TEST_BY_HAND_H
#define TEST_BY_HAND_H

#include "finish.h"
#include "random-profile.h"
#include "tap.h"

struct made {
    struct tt_builder *b;
    uint32_t metric[2]; /* calls, time */
    struct tt_profile p;
};

static inline void begin(struct made *m)
{
    memset(m, 0, sizeof *m);
    m->b = tt_builder_new(NULL);
    m->metric[0] = tt_builder_metric(m->b, "calls", "", TT_METRIC_CALLS);
    m->metric[1] = tt_builder_metric(m->b, "time", "ns", TT_METRIC_TIME);
}

static inline uint32_t context(struct made *m, const char *path)
{
    uint32_t at = TT_BUILDER_ROOT;
    char name[64];

    while (*path) {
        size_t length = strcspn(path, ";");
        struct tt_block_info info = {.name = name};
        (void)snprintf(name, sizeof name, "%.*s", (int)length, path);
        at = tt_builder_context(m->b, at, tt_builder_block(m->b, &info));
        path += length + (path[length] == ';');
    }
    return at;
}

static inline void add(struct made *m, const char *path, uint64_t calls, uint64_t time)
{
    tt_builder_add(m->b, TT_ROLE_SELF, context(m, path), m->metric[0], calls);
    tt_builder_add(m->b, TT_ROLE_SELF, context(m, path), m->metric[1], time);
}

static inline void add_arc(struct made *m, const char *from, const char *to,
                           const char *block, uint64_t calls)
{
    struct tt_block_info info = {.name = block};
    uint32_t arc = tt_builder_arc(m->b, context(m, from), context(m, to),
                                  tt_builder_block(m->b, &info));

    tt_builder_add(m->b, TT_ROLE_ARC, arc, 0, calls);
}

/* 1: it can be looked at, until end(). */
static inline int finish(struct made *m)
{
    void *image = NULL;
    size_t size = 0;
    int error = tt_builder_finish(m->b, &image, &size);

    tt_builder_free(m->b);
    if (!error)
        error = tt_profile_open(&m->p, image, size, NULL);
    return CHECK_INT(error, 0);
}

static inline void end(struct made *m) { model_close(&m->p); }

#endif
