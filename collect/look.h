/* SPDX-License-Identifier: MIT */
/* look.h - native stacks, sampled into the tree of the thread that they are of. */
#ifndef TT_LOOK_H
#define TT_LOOK_H

#include "sampler.h"

/* What tt_looker is set to. */
extern struct tt_looker tt_native_looker;

struct tt_look_options {
    uint64_t begin, end; /* when samples count, by the system's clock; 0: always */
    uint32_t metric;     /* that has the CPU time below activations that a clock times */
};

/* Before tt_start. */
void tt_look_init(const struct tt_look_options *);

/* Has a sample been in code that no module known so far has? */
int tt_look_is_lost(void);

#endif
