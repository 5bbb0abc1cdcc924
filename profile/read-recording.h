/* SPDX-License-Identifier: MIT */
/* read-recording.h - from the recording that a process writes to a profile. */
#ifndef TT_READ_RECORDING_H
#define TT_READ_RECORDING_H

#include "builder.h"
#include "picture.h"

/* Adds the content of a recording.  Times of clocks with other units are converted to
 * nanoseconds, in running sums, so that rounding errors do not add up.
 * -TT_ERR_MEMORY. */
int tt_builder_recording(struct tt_builder *, const struct tt_picture *);

/* The same for a foreign trace that this process recorded: its clock counts ns, `strand`
 * has the names of its strands, and facts of the program are left out. */
struct tt_trace_strand {
    const char *process, *name; /* borrowed */
    uint64_t pid, thread;
};
struct tt_trace {
    const struct tt_trace_strand *strand; /* borrowed */
    size_t strands;
    /* Returns the name of a block if it is longer than a recording keeps it, or NULL. */
    const char *(*long_name)(void *arg, uint32_t block);
    void *arg;
};
int tt_builder_trace(struct tt_builder *, const struct tt_picture *,
                     const struct tt_trace *);

#endif
