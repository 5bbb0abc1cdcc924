/* SPDX-License-Identifier: MIT */
/* spans.c - which of many nested ranges of addresses is the innermost around one. */
#include "spans.h"

#include <stdlib.h>

#include "sorted.h"
#include "tallytree.h"

int tt_spans_add(struct tt_spans *s, uint64_t low, uint64_t high, uint32_t item)
{
    struct tt_span *more;

    if (low >= high)
        return 0;
    more = s->count < INT32_MAX /* `outer` is a count */
               ? tt_array_grow(s->span, s->count, &s->room, sizeof *more)
               : NULL;
    if (!more)
        return -TT_ERR_MEMORY;
    s->span = more;
    s->span[s->count++] = (struct tt_span){.low = low, .high = high, .item = item};
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct tt_span *x = a, *y = b;

    return TT_ORDER(x->low, y->low) ?: TT_ORDER(y->high, x->high)
           ?: TT_ORDER(x->item, y->item);
}

/* Symbols are. */
static int is_sorted(const struct tt_spans *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (compare(&s->span[i - 1], &s->span[i]) > 0)
            return 0;
    return 1;
}

/* A span that overlaps and is not nested is in no other: its outer one is the nearest
 * before it that reaches to its begin. */
void tt_spans_sort(struct tt_spans *s)
{
    if (!is_sorted(s))
        qsort(s->span, s->count, sizeof *s->span, compare);
    for (size_t i = 1; i < s->count; i++) {
        uint32_t outer = (uint32_t)i;
        while (outer && s->span[outer - 1].high <= s->span[i].low)
            outer = s->span[outer - 1].outer;
        s->span[i].outer = outer;
    }
}

const struct tt_span *tt_spans_find(const struct tt_spans *s, uint64_t address)
{
    size_t low = tt_count_up_to(s->span, sizeof *s->span, s->count, address);

    while (low && s->span[low - 1].high <= address)
        low = s->span[low - 1].outer;
    return low ? &s->span[low - 1] : NULL;
}

void tt_spans_fini(struct tt_spans *s)
{
    free(s->span);
    *s = (struct tt_spans){0};
}
