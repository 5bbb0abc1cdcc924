/* SPDX-License-Identifier: MIT */
/* read-recording.h - from the recording that a process writes to a profile. */
#ifndef TT_READ_RECORDING_H
#define TT_READ_RECORDING_H

#include "builder.h"
#include "picture.h"

/* Adds what a recording holds.  Time of clocks that count something else is converted to
 * nanoseconds, in running sums, so that what is rounded does not add up.
 * -TT_ERR_MEMORY. */
int tt_builder_recording(struct tt_builder *, const struct tt_picture *);

/* The same of what this process recorded of somebody's trace: its clock counts ns, its
 * strands are called by their numbers in `strand`, and it knows nothing of the program. */
struct tt_trace_strand {
    const char *process, *name; /* borrowed */
    uint64_t pid, thread;
};
struct tt_trace {
    const struct tt_trace_strand *strand; /* borrowed */
    size_t strands;
    /* The name of a block where that is longer than a recording keeps it, or NULL. */
    const char *(*long_name)(void *arg, uint32_t block);
    void *arg;
};
int tt_builder_trace(struct tt_builder *, const struct tt_picture *,
                     const struct tt_trace *);

#endif
