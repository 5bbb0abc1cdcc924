/* SPDX-License-Identifier: MIT */
/* python-outside.h - the Python of another process. */
#ifndef TT_PYTHON_OUTSIDE_H
#define TT_PYTHON_OUTSIDE_H

#include "frame-copy.h"
#include "interpreters.h"
#include "modules.h"
#include "regions.h"

struct tt_python;

/* The Python that these regions of the process contain, to be freed; its `off` may be set.
 * NULL: there is none, it is not loaded completely, or no memory.  `peek` reads the memory
 * of the process. */
struct tt_python *tt_python_of(pid_t, const struct tt_modules *,
                               const struct tt_regions *, struct tt_peek *peek);

/* The same in a child; NULL without memory. */
struct tt_python *tt_python_copy(const struct tt_python *);
struct tt_interpreter *tt_python_interpreter(struct tt_python *);

/* The address of the function that runs its code; 0: not known. */
uint64_t tt_python_loop(const struct tt_python *);

/* How its frames are copied; 0 if the process has ended. */
int tt_python_chain(const struct tt_python *, pid_t, struct tt_frame_chain *);

#endif
