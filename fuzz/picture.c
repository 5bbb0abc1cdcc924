/* SPDX-License-Identifier: MIT */
/* picture.c - whatever bytes a recording consists of, reading it ends in a picture or in an
 * error, and walking the picture stays within it. */
#include <stdlib.h>
#include <string.h>

#include "picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t total;

static void add_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                       uint64_t n)
{
    (void)arg;
    total += n + (uint64_t)elsewhere + (uint64_t)(unsigned char)m->name[0];
}

static void walk(const struct tt_picture *p)
{
    for (uint32_t i = 0; i < p->contexts; i++) {
        const struct tt_picture_context *c = &p->context[i];
        const struct tt_slowest *s = tt_picture_extension(p, c->cell, TT_SLOWEST);
        total += c->total + (s ? s->count : 0);
        if (c->block != UINT32_MAX)
            total += strlen(p->block[c->block].info.name);
        if (c->parent != UINT32_MAX)
            total += p->context[c->parent].size;
        tt_picture_metrics(p, c->cell, add_metric, NULL);
    }
    for (uint32_t i = 0; i < p->arcs; i++)
        total += p->context[p->arc[i].from].calls + p->block[p->arc[i].block].calls;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_picture p;
    void *image = malloc(size ? size : 1);

    for (int live = 0; image && live < 2; live++) {
        memcpy(image, data, size);
        if (tt_picture_read(&p, image, size, live) == 0)
            walk(&p);
        tt_picture_fini(&p);
    }
    free(image);
    return 0;
}
