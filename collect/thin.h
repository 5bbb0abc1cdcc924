/* SPDX-License-Identifier: MIT */
/* thin.h - which functions cost more than they tell. */
#ifndef TT_THIN_H
#define TT_THIN_H

#include <stddef.h>
#include <stdint.h>

#include "strand.h"

struct tt_thin {   /* all zero at first, but for the first two */
    double share;  /* of the process's time that calls may cost */
    double cost;   /* of a call, ns */
    uint64_t ns;   /* what the process had spent at the last look */
    uint64_t most; /* so many calls since the one before are as much as they may be */
    size_t room;
    struct tt_thin_function {
        uint64_t before, now; /* calls at the last two looks */
    } * function;             /* by block */
};

/* Adds up the calls of each function, in the recording that is under way. */
void tt_thin_look(struct tt_thin *);
uint64_t tt_thin_calls(const struct tt_thin *, tt_block);
uint64_t tt_thin_rate(const struct tt_thin *, tt_block); /* between the last two looks */
void tt_thin_fini(struct tt_thin *);                     /* share and cost stay */

#endif
