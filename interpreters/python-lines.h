/* SPDX-License-Identifier: MIT */
/* python-lines.h - the current line of a frame of Python. */
#ifndef TT_PYTHON_LINES_H
#define TT_PYTHON_LINES_H

#include "python.h"

/* The line; 0: the frame has none.  Async-signal-safe. */
uint32_t tt_python_line(const struct tt_interpreter *, const struct tt_interpreted *,
                        struct tt_peek *);

#endif
