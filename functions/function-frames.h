/* SPDX-License-Identifier: MIT */
/* function-frames.h - how unwinders find their way through thunks. */
#ifndef TT_FUNCTION_FRAMES_H
#define TT_FUNCTION_FRAMES_H

#include "function.h"

/* Tells those that ask for it: libgcc's, which C++ exceptions are thrown by, backtrace() and
 * pthread_exit; and debuggers.  The offsets are an area's and a thunk's. */
struct tt_function_places {
    size_t left;         /* on the way back: the return address is on the stack again */
    size_t thunks, size; /* where they begin, and of each, a power of two */
    size_t call, after;  /* in a thunk: the function's call, and what follows it */
};
void tt_function_frames(const struct tt_function_area *,
                        const struct tt_function_places *);

#endif
