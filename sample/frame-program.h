/* SPDX-License-Identifier: MIT */
/* frame-program.h - the program that the system runs at each sample of a process: it copies
 * an interpreter's frames. */
#ifndef TT_FRAME_PROGRAM_H
#define TT_FRAME_PROGRAM_H

#include <sys/types.h>

#include "frame-copy.h"

struct tt_frame_program { /* descriptors; -1: there is none */
    int program;          /* to be attached to events */
    int chains;           /* of processes */
    int room, output;     /* output: events of each processor that get the copies */
    const char *refused;  /* why there is none: a constant */
};

#define TT_FRAME_PROGRAM_NONE ((struct tt_frame_program){-1, -1, -1, -1, NULL})

/* Loads it into the system.  Without the right to do so, or without support for it, all
 * descriptors are -1, and `refused` is set. */
void tt_frame_program_load(struct tt_frame_program *);
void tt_frame_program_unload(struct tt_frame_program *);

/* On this processor, copies go to this event.  0 or a negative error. */
int tt_frame_program_send(const struct tt_frame_program *, uint32_t processor, int event);

/* From here on the frames of the process are copied; NULL: no longer.  0 or a negative
 * error. */
int tt_frame_program_follow(const struct tt_frame_program *, pid_t,
                            const struct tt_frame_chain *);

#endif
