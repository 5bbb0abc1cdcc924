/* SPDX-License-Identifier: MIT */
/* java-outside.h - the Java of another process. */
#ifndef TT_JAVA_OUTSIDE_H
#define TT_JAVA_OUTSIDE_H

#include <sys/types.h>

#include "interpreters.h"
#include "modules.h"
#include "regions.h"

struct tt_java;

/* The virtual machine that these regions of the process contain, to be freed; its `off` may
 * be set.  NULL: there is none, it has not begun, or no memory.  `peek` reads the memory of the
 * process. */
struct tt_java *tt_java_of(pid_t, const struct tt_modules *, const struct tt_regions *,
                           struct tt_peek *peek);

/* The same in a child; NULL without memory. */
struct tt_java *tt_java_copy(const struct tt_java *);
struct tt_interpreter *tt_java_interpreter(struct tt_java *);

#endif
