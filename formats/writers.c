/* SPDX-License-Identifier: MIT */
/* writers.c - code that all writers share. */
#include <stdio.h>

#include "formats.h"

uint32_t tt_export_metric(struct tt_export *e)
{
    uint32_t metric = e->metric != TT_NONE ? e->metric : tt_metric_find(e->profile, NULL);

    if (metric == TT_NONE)
        (void)snprintf(e->error, sizeof e->error, "there is no figure in it to write");
    return metric;
}
