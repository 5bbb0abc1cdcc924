/* SPDX-License-Identifier: MIT */
/* writers.c - code that all writers share. */
#include <stdio.h>

#include "formats.h"
#include "writers.h"

uint32_t tt_export_metric(struct tt_export *e)
{
    uint32_t metric = e->metric != TT_NONE ? e->metric : tt_metric_find(e->profile, NULL);

    if (metric == TT_NONE)
        (void)snprintf(e->error, sizeof e->error, "there is no figure in it to write");
    return metric;
}

uint32_t *tt_parents_of(const struct tt_profile *p)
{
    uint32_t *parent = tt_memory_get(p->memory, (size_t)p->contexts * sizeof *parent);
    struct tt_walk w;
    int error = parent ? tt_walk_init(&w, p, 0) : 0;

    if (!parent)
        return NULL;
    while (!error && tt_walk_next(&w))
        parent[w.context] = w.depth ? w.path[w.depth - 1] : 0;
    tt_walk_fini(&w);
    if (!error)
        return parent;
    tt_memory_put(p->memory, parent);
    return NULL;
}
