/* SPDX-License-Identifier: MIT */
/* stack-path.h - the recursion policy, applied to a whole stack.
 *
 *      main ─ f ─ g ─ f ─ g ─ h      steps, outermost first, as the stack has them
 *      main ─ f ─ g ─ h              the result of `edge`; the second f was cut, and f is
 *                                    on the path, so that nothing is hidden
 *
 * Functions are compared, and not the places in them: a call from another line of the
 * same function is the same recursion.  A step that goes back replaces the one it goes
 * back to, so that the innermost step is the true innermost place. */
#ifndef TT_STACK_PATH_H
#define TT_STACK_PATH_H

#include "layout.h"

enum { TT_STEPS_MAX = 4096, TT_SEEN_SIZE = 2 * TT_STEPS_MAX };

struct tt_step {
    uint64_t function; /* its identity; not 0 */
    tt_block block;    /* the place in it */
};

struct tt_seen { /* a set of functions, emptied by incrementing `serial` */
    struct {
        uint64_t function;
        uint32_t stamp;
    } at[TT_SEEN_SIZE];
    uint32_t serial;
    uint32_t mask; /* only as large as the stack needs, for the cache */
};

struct tt_path {
    struct tt_step step[TT_STEPS_MAX];
    uint32_t count;
    struct tt_step cut[TT_STEPS_MAX]; /* steps that were cut */
    uint32_t cuts;
    struct tt_seen seen;
};

/* Begins again, for so many steps, without touching unused memory. */
void tt_path_begin(struct tt_path *, uint32_t steps);

/* Goes one step inwards; at most as many as tt_path_begin was given, and TT_STEPS_MAX. */
void tt_path_step(struct tt_path *, uint32_t recursion, uint32_t length,
                  uint64_t function, tt_block block);

/* Leaves in `cut` one step of each function that is on the stack but not on the path. */
void tt_path_end(struct tt_path *);

/* The same after the first `count` steps of the path, which become all of it. */
void tt_path_shorten(struct tt_path *, uint32_t count);

#endif
