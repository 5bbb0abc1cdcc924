/* SPDX-License-Identifier: MIT */
/* calibrate.c - what the exact mode itself costs.
 *
 * An activation adds to what is measured twice: a little inside its own time, and more in
 * its caller's.  Both depend on what the processor can do meanwhile, so they are measured
 * on loops of several kinds, each as the least of many blocks, and kept as a bracket: a
 * constant alone would over-correct. */
#include "calibrate.h"

#include <string.h>

#include "block.h"
#include "clock.h"
#include "stack.h"

enum { CALLS = 200, BLOCKS = 24, KINDS = 3 };

static __attribute__((noinline)) uint64_t work(int kind, uint64_t x)
{
    switch (kind) {
    case 1: /* a chain of dependent steps */
        for (int i = 0; i < 8; i++)
            x = x * 0x9e3779b97f4a7c15u + 1;
        break;
    case 2: /* independent steps */
        for (int i = 0; i < 8; i++)
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

static uint64_t run_measured(struct tt_thread *t, tt_block leaf, int kind,
                             uint64_t *inside)
{
    uint64_t start = tt_clock_now(), x = 1;
    struct tt_frame *f;

    for (int i = 0; i < CALLS; i++) {
        f = tt_exact_enter(t, leaf, NULL, 0);
        x = work(kind, x);
        tt_exact_leave(t, TT_FRAME_OF(f));
    }
    __asm__ volatile("" : : "r"(x));
    *inside = tt_cell(t->tree.base, tt_tree_step(&t->tree, t->self->top->node, leaf))
                  ->self;
    return tt_clock_now() - start;
}

static void widen(struct tt_bracket *b, uint64_t ticks)
{
    uint64_t each = ticks * 1024 / CALLS;

    if (b->high == 0 && b->low == 0)
        b->low = b->high = each;
    if (each < b->low)
        b->low = each;
    if (each > b->high)
        b->high = each;
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static void measure_kind(struct tt_thread *t, tt_block leaf, int kind,
                         struct tt_header *h)
{
    uint64_t bare = UINT64_MAX, inside = UINT64_MAX, whole = UINT64_MAX, before = 0;

    for (int i = 0; i < BLOCKS; i++) {
        uint64_t ticks = run_bare(kind), self, all;
        if (ticks < bare)
            bare = ticks;
        all = run_measured(t, leaf, kind, &self);
        if (all < whole)
            whole = all;
        if (self - before < inside)
            inside = self - before;
        before = self;
        t->record->last = tt_time_now(t);
    }
    widen(&h->inside, less(inside, bare));
    widen(&h->outside, less(less(whole, bare), less(inside, bare)));
}

/* On a thread and a recording of their own, which nobody else sees. */
static int measure_all(struct tt_thread *t, struct tt_recording *r)
{
    struct tt_strand_record record;
    tt_block leaf = tt_block_get("[calibration]", NULL, 0, 0);

    memset(&record, 0, sizeof record);
    if (tt_tree_init(&t->tree, r, &record) != 0)
        return -TT_ERR_MEMORY;
    t->recording = r;
    t->record = &record;
    t->exact = 1;
    t->self->base = r->base;
    tt_stack_resolve(t, 1);
    record.last = tt_time_now(t);
    tt_stack_leave(t, TT_FRAME_OF(tt_stack_enter(t, leaf, TT_KIND_BLOCK, NULL, 0)), 0);
    t->plain = 1;
    for (int i = 0; i < KINDS; i++)
        measure_kind(t, leaf, i, r->header);
    tt_tree_forget(&t->tree);
    return 0;
}

void tt_calibrate(struct tt_header *h)
{
    struct tt_options o;
    struct tt_recording *r;
    struct tt_strand self;
    struct tt_thread *t;

    if (tt_options_read(&o, "budget=256K", NULL) != 0 || tt_recording_open(&r, &o) != 0)
        return;
    r->epoch = UINT32_MAX >> 1; /* no other recording's */
    memset(&self, 0, sizeof self);
    t = tt_thread_new(&self);
    if (t && measure_all(t, r) == 0) {
        h->inside = r->header->inside;
        h->outside = r->header->outside;
    }
    tt_thread_free(t);
    tt_recording_drop(r);
}
