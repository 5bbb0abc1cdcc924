/* SPDX-License-Identifier: MIT */
/* fiber.h - frames, the segments they are in, and the stacks of a thread.
 *
 *      thread ── fiber ── segment ── segment ── …      the one above begins with a copy
 *                           frames     frames          of the last frame below
 */
#ifndef TT_FIBER_H
#define TT_FIBER_H

#include "layout.h"

enum tt_frame_flags {                      /* above the cell in tt_frame.edge */
                      TT_FRAME_TIMED = 1,  /* exact: its time is measured */
                      TT_FRAME_PICKED = 2, /* every:N: this one is measured */
                      TT_FRAME_HIDER = 4,  /* entered through an arc that hides blocks */
                      TT_FRAME_SEAM =
                          8, /* a copy of the last frame of the segment below */
                      TT_FRAME_LIMBO = 16,     /* found no room; its block is kept here */
                      TT_FRAME_CONTEXT = 32,   /* entered by tt_context_enter */
                      TT_FRAME_RECURSIVE = 64, /* its block was active already */
                      TT_FRAME_CALL = 128 /* its leaving is counted, as its kind was */
};
/* Entered by tt_context_call under the rule of GHC: frames below it stay active. */
enum { TT_FRAME_JOINED = TT_FRAME_CONTEXT | TT_FRAME_RECURSIVE };
#define TT_FRAME_FLAG(flag) ((uint64_t)(flag) << 32)
#define TT_FRAME_BLOCK_SHIFT 40

struct tt_segment {
    struct tt_segment *below, *above;
    struct tt_frame *end;
    size_t size; /* of the mapping; 0: part of another */
    struct tt_frame frame[];
};

struct tt_fiber {
    struct tt_thread *thread; /* in whose tree its frames are; NULL: none yet; cleared
                               * when that thread ends */
    uint32_t epoch;           /* of the recording they are in */
    uint32_t running;
    uint32_t switches; /* tt_sites_switches when its frames were looked at */
    struct tt_segment *segment;
    struct tt_frame *top, *hider, *timed; /* while it does not run */
    uintptr_t high; /* the farthest up that the slow path was called on its stack */
    uint64_t away;  /* ticks while it did not run: its clock was stopped */
    uint64_t local; /* its time when it last ran */
    struct tt_fiber *next,
        **link; /* suspended fibers of `thread`, under its tree's lock */
};

/* The stacks of a thread, and of the one that runs what its fiber does not have. */
struct tt_thread_stack {
    struct tt_fiber own, *fiber, *suspended; /* fiber: the one that runs */
    struct tt_frame *end;                    /* of its segment */
    struct tt_frame *hider, *timed;          /* the nearest below the top */
};

#endif
