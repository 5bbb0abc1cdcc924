/* SPDX-License-Identifier: MIT */
/* runs.h - assigns the frames of an interpreter to its loops, by their number.
 *
 *      native   strlen   loop   call   loop   main
 *      runs              1             2              each of some frames */
#ifndef TT_RUNS_H
#define TT_RUNS_H

#include "interpreters.h"

/* The anchors of the frames from `begin` on are the numbers of their runs, from 1 on; they
 * become addresses in the runs' loops: native frames of the function at `loop`.
 *
 * One loop more than runs: the innermost loop begins or ends.  One run more than loops, if
 * frames are made before their loop begins: the innermost loop has not begun, and its frames
 * are removed.  Otherwise the stack is cut, and the outer runs are shown at the last loop. */
void tt_runs_anchor(struct tt_interpreted_stack *, uint32_t begin, uint64_t loop,
                    int are_made_before);

/* Is a loop, or another function, among the native frames? */
int tt_runs_has_loop(const struct tt_interpreted_stack *, uint64_t loop);

/* Does the innermost native frame belong to the loop? */
static inline int tt_runs_innermost(const struct tt_interpreted_stack *s, uint64_t loop)
{
    return s->natives && s->native[0].function == loop;
}

#endif
