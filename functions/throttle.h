/* SPDX-License-Identifier: MIT */
/* throttle.h - which functions cost more than they tell. */
#ifndef TT_THROTTLE_H
#define TT_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "strand.h"

struct tt_throttle { /* all zero at first, but for the first two */
    double share;    /* of the process's time that calls may cost */
    double cost;     /* of a call, ns */
    uint64_t ns;     /* what the process had spent at the last look */
    uint64_t most;   /* so many calls since the one before are as much as they may be */
    size_t room;
    struct tt_throttle_function {
        uint64_t before, now; /* calls at the last two looks */
    } * function;             /* by block */
};

/* Adds up the calls of each function, in the recording that is under way. */
void tt_throttle_look(struct tt_throttle *);
uint64_t tt_throttle_calls(const struct tt_throttle *, tt_block);
uint64_t tt_throttle_rate(const struct tt_throttle *,
                          tt_block);         /* between the last two looks */
void tt_throttle_fini(struct tt_throttle *); /* share and cost stay */

#endif
