/* SPDX-License-Identifier: MIT */
/* throttle.h - which functions cost more than they tell. */
#ifndef TT_THROTTLE_H
#define TT_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "strand.h"

struct tt_throttle { /* all zero at first, except the first two */
    double share;    /* of the process's time that calls may cost */
    double cost;     /* of a call, ns */
    uint64_t ns;     /* CPU time of the process at the last check */
    uint64_t most;   /* the limit of calls since the check before */
    size_t room;
    struct tt_throttle_function {
        uint64_t before, now; /* calls at the last two checks */
    } * function;             /* by block */
};

/* Adds up the calls of each function, in the current recording. */
void tt_throttle_look(struct tt_throttle *);
uint64_t tt_throttle_calls(const struct tt_throttle *, tt_block);
uint64_t tt_throttle_rate(const struct tt_throttle *,
                          tt_block);         /* between the last two checks */
void tt_throttle_fini(struct tt_throttle *); /* share and cost stay */

#endif
