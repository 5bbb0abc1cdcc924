/* SPDX-License-Identifier: MIT */
/* rules.c - looking up how to leave a place of a module. */
#include "rules.h"

#include <sys/mman.h>

/* The last function that starts at or before `at`. */
static const struct tt_function *find_function(const struct tt_rules *r, uint32_t at)
{
    const struct tt_function *f = r->function;
    uint32_t n = r->functions;

    while (n > 1) {
        uint32_t half = n / 2;
        f += f[half].start <= at ? half : 0;
        n -= half;
    }
    return n && at >= f->start && at < f->end ? f : NULL;
}

const struct tt_rule *tt_rules_find(const struct tt_rules *r, uint64_t at,
                                    const struct tt_function **function)
{
    const struct tt_function *f = at > UINT32_MAX ? NULL : find_function(r, (uint32_t)at);
    const struct tt_unwind_row *row;
    uint32_t n, within;

    *function = f;
    if (!f)
        return NULL;
    within = (uint32_t)at - f->start;
    row = r->row + f->row;
    for (n = f[1].row - f->row; n > 1; n -= n / 2)
        row += row[n / 2].at <= within ? n / 2 : 0;
    return (const struct tt_rule *)(const void *)(r->word + row->rule);
}

void tt_rules_free(struct tt_rules *r)
{
    if (r)
        munmap(r, r->size);
}
