/* SPDX-License-Identifier: MIT */
/* writers.c - code that all writers share. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "writers.h"

uint32_t tt_export_metric(struct tt_export *e)
{
    uint32_t metric = e->metric != TT_NONE ? e->metric : tt_metric_find(e->profile, NULL);

    if (metric == TT_NONE)
        (void)snprintf(e->error, sizeof e->error, "there is no figure in it to write");
    return metric;
}

void tt_put_figure(struct tt_writer *w, const struct tt_metric_columns *m, uint64_t n)
{
    const int has_fraction = strcmp(m->unit, TT_UNIT_MILLIONTHS) == 0;

    tt_put_number(w, has_fraction ? n / TT_MILLION : n);
    if (has_fraction && n % TT_MILLION)
        tt_putf(w, ".%06u", (unsigned)(n % TT_MILLION));
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
