/* SPDX-License-Identifier: MIT */
/* calibrate.c - measures the overhead of the exact mode.
 *
 * Each activation adds to the measured time twice: a little inside its own time, and more
 * in its caller's.  Both depend on what the processor can do meanwhile.  So they are
 * measured on loops of several kinds, each as the minimum of many blocks, and kept as a
 * bracket: a single constant would over-correct. */
#include "calibrate.h"

#include <string.h>

#include "activation.h"
#include "block.h"
#include "clock.h"
#include "extension.h"
#include "stack.h"

enum { CALLS = 200, BLOCKS = 24, KINDS = 3 };

static __attribute__((noinline)) uint64_t work(int kind, uint64_t x)
{
    switch (kind) {
    case 1: /* a chain of dependent steps */
        for (int i = 0; i < 8; i++)
            x = x * 0x9e3779b97f4a7c15u + 1;
        break;
    case 2: /* independent steps, which a reading of the clock cuts short */
#pragma GCC unroll 128
        for (int i = 1; i <= 128; i++)
            __asm__ volatile("" : : "r"(x + (uint64_t)i));
        break;
    default:
        break;
    }
    __asm__ volatile("" : "+r"(x));
    return x;
}

static uint64_t run_bare(int kind)
{
    uint64_t start = tt_clock_now(), x = 1;

    for (int i = 0; i < CALLS; i++)
        x = work(kind, x);
    __asm__ volatile("" : : "r"(x));
    return tt_clock_now() - start;
}

/* As a scope does it, from the slow path on. */
static uint64_t run_measured(struct tt_thread *t, struct tt_site *site, int kind,
                             uint64_t *inside)
{
    uint64_t start = tt_clock_now(), x = 1;
    char slot;

    for (int i = 0; i < CALLS; i++) {
        struct tt_frame *f = tt_enter_slowly(site, &slot, 17);
        x = work(kind, x);
        tt_scope_leave(f);
    }
    __asm__ volatile("" : : "r"(x));
    *inside = tt_cell(t->tree.base, tt_tree_step(&t->tree, t->tree.root, site->block))
                  ->self;
    return tt_clock_now() - start;
}

/* The low end is the least that any loop showed, the high end the most that was usual in
 * any, and an eighth more: no loop is a program. */
static void widen(struct tt_bracket *b, uint64_t least, uint64_t usual)
{
    uint64_t low = least * 1024 / CALLS, high = usual * (1024 + 128) / CALLS;

    if (b->high == 0 || low < b->low)
        b->low = low;
    if (high > b->high)
        b->high = high;
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static void sort_ticks(uint64_t ticks[BLOCKS])
{
    for (int i = 1; i < BLOCKS; i++)
        for (int j = i; j > 0 && ticks[j] < ticks[j - 1]; j--) {
            uint64_t swap = ticks[j];
            ticks[j] = ticks[j - 1];
            ticks[j - 1] = swap;
        }
}

static void measure_kind(struct tt_thread *t, struct tt_site *site, int kind,
                         struct tt_header *h)
{
    uint64_t bare[BLOCKS], inside[BLOCKS], around[BLOCKS], before = 0, self;

    for (int i = 0; i < BLOCKS; i++) {
        bare[i] = run_bare(kind);
        around[i] = run_measured(t, site, kind, &self);
        inside[i] = self - before;
        around[i] = less(around[i], inside[i]);
        before = self;
        t->record->last = tt_time_now(t);
    }
    sort_ticks(bare);
    sort_ticks(inside);
    sort_ticks(around);
    widen(&h->inside, less(inside[0], bare[0]), less(inside[BLOCKS / 2], bare[0]));
    widen(&h->outside, around[0], around[BLOCKS / 2]);
}

/* Measures on a separate, invisible recording: its epoch is 0, in which every block
 * counts as published. */
static int measure_all(struct tt_thread *t, struct tt_recording *r,
                       struct tt_strand_record *record)
{
    struct tt_site site = {.name = "[calibration]", .file = ""};
    struct tt_block_info info = {.name = site.name, .kind = TT_KIND_SCOPE};
    uint32_t edge;

    if (tt_tree_init(&t->tree, r, record) != 0)
        return -TT_ERR_MEMORY;
    t->recording = r;
    t->record = record;
    t->modes.exact = 1;
    t->modes.plain = tt_clock_in_use() == TT_CLOCK_CYCLES ? TT_PLAIN_CYCLES : 0;
    t->self->base = r->base;
    tt_stack_resolve(t, 1);
    site.block = tt_block_make(&info);
    edge = tt_tree_step(&t->tree, t->tree.root, site.block);
    (void)tt_tree_times(&t->tree, tt_cell(r->base, edge));
    record->last = tt_time_now(t);
    for (int i = 0; i < KINDS; i++)
        measure_kind(t, &site, i, r->header);
    tt_tree_forget(&t->tree);
    return 0;
}

static struct {
    int is_known;
    struct tt_bracket inside, outside;
} known; /* under the lock of tt_start */

void tt_calibration_know(const struct tt_bracket *inside,
                         const struct tt_bracket *outside)
{
    known.inside = *inside;
    known.outside = *outside;
    known.is_known = 1;
}

/* The calling thread lends its thread-local part for the time being. */
void tt_calibrate(struct tt_header *h)
{
    struct tt_options o;
    struct tt_strand_record record = {0};
    struct tt_recording *r;
    struct tt_strand own = tt_self;
    struct tt_thread *t;

    if (known.is_known && h->clock == TT_CLOCK_CYCLES) {
        h->inside = known.inside;
        h->outside = known.outside;
        return;
    }
    if (tt_options_read(&o, "budget=256K", NULL) != 0 || tt_recording_open(&r, &o) != 0)
        return;
    t = tt_thread_new(&tt_self);
    if (t && measure_all(t, r, &record) == 0) {
        h->inside = r->header->inside;
        h->outside = r->header->outside;
    }
    tt_thread_free(t);
    tt_self = own;
    tt_recording_drop(r);
}
