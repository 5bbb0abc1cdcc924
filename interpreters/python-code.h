/* SPDX-License-Identifier: MIT */
/* python-code.h - Python's code objects.  All functions are async-signal-safe. */
#ifndef TT_PYTHON_CODE_H
#define TT_PYTHON_CODE_H

#include "python.h"

enum { TT_PYTHON_HEAD = 144 }; /* bytes of a code object that are read at once */

/* Reads the head of a code object; 0: there is none. */
int tt_python_head(const struct tt_python *, const struct tt_peek *, uint64_t code,
                   char head[TT_PYTHON_HEAD]);
uint64_t tt_python_print(const struct tt_python *, const struct tt_peek *,
                         const char head[TT_PYTHON_HEAD]);
int tt_python_describe(const struct tt_interpreter *, const struct tt_interpreted *,
                       struct tt_peek *, struct tt_interpreted_text *);
/* Is this still the same code object?  Always, in this process. */
int tt_python_is_alive(const struct tt_python *, const struct tt_peek *,
                       const struct tt_interpreted *);

#endif
