/* SPDX-License-Identifier: MIT */
/* continuous.h - recording for days, as a chain of profiles in a folder. */
#ifndef TT_CONTINUOUS_H
#define TT_CONTINUOUS_H

#include "chain.h"
#include "outside.h"

struct tt_continuous {
    struct tt_running *run; /* run->out: the folder */
    struct tt_outside_options *options;
    pid_t *pid; /* those that are recorded; none of a machine */
    size_t pids;
    struct tt_chain_limits limits;
    const char *push; /* the address that each profile is sent to, or NULL */
};

/* Can profiles be sent to this address, of --push?  0, or complains and returns a negative error. */
int tt_continuous_can_push(const char *address);

/* Until the processes have ended, options->duration is over, or a signal ends us; the status to
 * exit with. */
int tt_continuous_go(struct tt_continuous *);

#endif
