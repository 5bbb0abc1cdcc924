/* SPDX-License-Identifier: MIT */
/* failing.h - memory that ends after so many pieces, and knows how many are out. */
#ifndef FAILING_H
#define FAILING_H

#include <stdlib.h>

#include "memory.h"

static long failing_after;  /* pieces that are left */
static long failing_pieces; /* pieces that are out */

static void *failing_get(void *arg, size_t size)
{
    size_t *p;

    (void)arg;
    if (failing_after-- <= 0)
        return NULL;
    p = calloc(1, size + 16);
    if (!p)
        return NULL;
    failing_pieces++;
    *p = size; /* it must be passed again when the piece is freed */
    return p + 16 / sizeof *p;
}

static void failing_put(void *arg, void *piece, size_t size)
{
    size_t *p = (size_t *)piece - 16 / sizeof *p;

    (void)arg;
    if (*p != size)
        abort();
    failing_pieces--;
    free(p);
}

static const struct tt_memory failing = {.get = failing_get, .put = failing_put};

#endif
