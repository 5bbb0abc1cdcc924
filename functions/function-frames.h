/* SPDX-License-Identifier: MIT */
/* function-frames.h - how unwinders find their way through thunks. */
#ifndef TT_FUNCTION_FRAMES_H
#define TT_FUNCTION_FRAMES_H

#include "function.h"

/* Registers frames with unwinders: libgcc's, which C++ exceptions, backtrace() and
 * pthread_exit use; and with debuggers.  The offsets are an area's and a thunk's. */
struct tt_function_places {
    size_t left;         /* on return: the return address is on the stack again */
    size_t thunks, size; /* offset of the first one, and size of each, a power of two */
    size_t call, after;  /* in a thunk: the function's call, and what follows it */
};
void tt_function_frames(const struct tt_function_area *,
                        const struct tt_function_places *);

#endif
