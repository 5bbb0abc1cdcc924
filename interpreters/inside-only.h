/* SPDX-License-Identifier: MIT */
/* inside-only.h - interpreters whose functions are not shown in a recording from outside. */
#ifndef TT_INSIDE_ONLY_H
#define TT_INSIDE_ONLY_H

#include "interpreters.h"
#include "regions.h"

struct tt_modules;

/* The interpreter that this code of a process belongs to, with the reason; NULL: none.
 * For one thread. */
const struct tt_interpreter *tt_inside_only(pid_t, const struct tt_modules *,
                                            const struct tt_region *);

#endif
