/* SPDX-License-Identifier: MIT */
/* heap-figures.h - what heap profiles have in common: their metrics, and frames as
 * Valgrind writes them.
 *
 * The metrics of a context are: allocated, alive at the peak of the heap, and alive at
 * the end.  If a file has the first and the last, the space rows have allocated and
 * freed. */
#ifndef TT_HEAP_FIGURES_H
#define TT_HEAP_FIGURES_H

#include "formats.h"
#include "frames.h"

enum tt_heap_figure {
    TT_HEAP_BYTES,
    TT_HEAP_ALLOCATIONS,
    TT_HEAP_PEAK_BYTES,
    TT_HEAP_PEAK_NUMBER,
    TT_HEAP_LIVE_BYTES,
    TT_HEAP_LIVE_NUMBER,
    TT_HEAP_FIGURES
};

struct tt_heap_profile {
    struct tt_source *s; /* borrowed */
    struct tt_builder *b;
    struct tt_frames figure[TT_HEAP_FIGURES], names;
};

void tt_heap_init(struct tt_heap_profile *, struct tt_source *, struct tt_builder *);
/* 0, or an error, noted: the sum is too large, or there is no memory. */
int tt_heap_add(struct tt_heap_profile *, enum tt_heap_figure, uint32_t context,
                uint64_t amount);
/* Adds the figures to the builder; `type`: space rows get allocated and freed, as objects
 * of this type; or NULL. */
void tt_heap_finish(struct tt_heap_profile *, const char *type);

/* For a reader whose strands each have few of the contexts: the metric of a figure, and
 * the space rows of one context of the current strand. */
uint32_t tt_heap_metric(struct tt_builder *, enum tt_heap_figure);
void tt_heap_add_space(struct tt_builder *, uint32_t context, const char *type,
                       const uint64_t amount[TT_HEAP_FIGURES]);

/* The block of "0x109166: make (leak.c:4)" or "0x48417B4: malloc (in /lib/x.so)"; TT_NONE:
 * no memory.  Lines and addresses within a function are one block. */
uint32_t tt_heap_frame(struct tt_heap_profile *, const char *text, size_t length);
/* Returns the name of that block, `length` bytes. */
const char *tt_heap_frame_name(const char *text, size_t *length);

/* A figure over time, of bounded size: it keeps the largest figure of each interval.
 * When it is full, intervals become twice as long. */
enum { TT_HEAP_LINE = 2048 };
struct tt_heap_line {
    struct {
        uint64_t time, amount;
    } point[TT_HEAP_LINE];
    size_t count;
    uint64_t interval; /* 0: every point is kept */
};
void tt_heap_line_point(struct tt_heap_line *, uint64_t time, uint64_t amount);
void tt_heap_line_finish(const struct tt_heap_line *, struct tt_builder *,
                         const char *name, const char *unit);

/* The times of the series are in this unit instead of ns. */
void tt_heap_clock(struct tt_builder *, const char *unit);

#endif
