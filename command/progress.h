/* SPDX-License-Identifier: MIT */
/* progress.h - how far long work has come: on a terminal, and nowhere else. */
#ifndef TT_PROGRESS_H
#define TT_PROGRESS_H

#include <stdint.h>

/* Draws a bar on standard error when it is a terminal and the work has taken half a second;
 * at most ten times a second.  done = total takes it away. */
void tt_progress(uint64_t done, uint64_t total);

/* How far the step is that follows those that are done, of its own size. */
void tt_progress_within(uint64_t done, uint64_t size);

/* Takes it away: something else is to be said, or the work has failed. */
void tt_progress_clear(void);

/* Shows nothing from now on: the terminal shows something else. */
void tt_progress_stop(void);

#endif
