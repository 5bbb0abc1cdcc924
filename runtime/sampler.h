/* SPDX-License-Identifier: MIT */
/* sampler.h - who looks at where the strands stand, and when. */
#ifndef TT_SAMPLER_H
#define TT_SAMPLER_H

#include "strand.h"

/* Begins and ends sampling for a recording that has a sampled kind; nothing otherwise. */
int tt_sampler_start(struct tt_recording *);
void tt_sampler_stop(struct tt_recording *);

/* The calling thread's own timer, or its place in the sampler thread's round. */
void tt_sampler_arm(struct tt_thread *);
void tt_sampler_disarm(struct tt_thread *);

/* After a pause: what went by is nobody's. */
void tt_sampler_skip(struct tt_thread *);

/* In the child of a fork: the timers and the sampler thread are the parent's. */
void tt_sampler_forked(struct tt_recording *);

#endif
