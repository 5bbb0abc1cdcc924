/* SPDX-License-Identifier: MIT */
/* spans.h - finds the innermost of many nested ranges of addresses around one.
 *
 *      ├─────── f ────────┤├──── g ────┤
 *        ├─ inlined ─┤                         outer: f
 *
 * Sorted once; then a look-up is a binary search and a few steps outwards. */
#ifndef TT_SPANS_H
#define TT_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct tt_span {
    uint64_t low, high; /* [low, high) */
    uint32_t item;      /* the caller's; of equal spans the greatest is innermost */
    uint32_t outer;     /* the next span around it + 1; 0: none */
};

struct tt_spans {
    struct tt_span *span; /* owned */
    size_t count, room;
};

/* 0 or -TT_ERR_MEMORY; an empty span is ignored. */
int tt_spans_add(struct tt_spans *, uint64_t low, uint64_t high, uint32_t item);
void tt_spans_sort(struct tt_spans *);
const struct tt_span *tt_spans_find(const struct tt_spans *, uint64_t address);
void tt_spans_fini(struct tt_spans *);

#endif
