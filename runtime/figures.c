/* SPDX-License-Identifier: MIT */
/* figures.c - what a picture's cells have beside their tallies. */
#include "picture.h"

static const void *cell_at(const struct tt_picture *p, uint32_t cell)
{
    return p->image + (size_t)cell * TT_CELL_SIZE;
}

const void *tt_picture_extension(const struct tt_picture *p, uint32_t cell, uint32_t kind)
{
    const struct tt_loss *e;

    for (uint32_t at = ((const struct tt_node *)cell_at(p, cell))->extension; at;
         at = e->next) {
        e = cell_at(p, at);
        if (e->kind == kind)
            return e;
    }
    return NULL;
}

void tt_picture_metrics(const struct tt_picture *p, uint32_t cell,
                        void (*each)(void *arg, const struct tt_metric_record *,
                                     int elsewhere, uint64_t amount),
                        void *arg)
{
    const struct tt_metrics *m;

    for (uint32_t at = ((const struct tt_node *)cell_at(p, cell))->extension; at;
         at = m->next) {
        m = cell_at(p, at);
        for (int i = 0; m->kind == TT_CELL_METRICS && i < 4 && m->metric[i]; i++)
            each(arg, &p->header->metric[m->metric[i] & TT_METRICS_MAX],
                 (m->metric[i] & TT_METRIC_ELSEWHERE) != 0, m->amount[i]);
    }
}

double tt_square_value(const struct tt_square *s)
{
    return (double)s->high * 18446744073709551616.0 + (double)s->low;
}

/* By Newton's steps: the runtime does without the library of mathematics. */
static double square_root(double x)
{
    double root = x > 1 ? x : 1;

    for (int i = 0; i < 600; i++) {
        double next = (root + x / root) / 2;
        if (next >= root)
            break;
        root = next;
    }
    return root;
}

double tt_times_deviation(const struct tt_times *t)
{
    double n = (double)t->count, variance;

    if (!t->count)
        return 0;
    variance = (tt_square_value(&t->square) - (double)t->sum * (double)t->sum / n) / n;
    return variance > 0 ? square_root(variance) : 0;
}
