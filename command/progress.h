/* SPDX-License-Identifier: MIT */
/* progress.h - progress of long work: on a terminal, and nowhere else. */
#ifndef TT_PROGRESS_H
#define TT_PROGRESS_H

#include <stdint.h>

/* Draws a bar on standard error if it is a terminal and the work has taken half a second;
 * at most ten times a second.  done = total removes it. */
void tt_progress(uint64_t done, uint64_t total);

/* The progress within the step that follows the completed ones. */
void tt_progress_within(uint64_t done, uint64_t size);

/* Removes the bar, before other output, or if the work has failed. */
void tt_progress_clear(void);

/* Shows nothing from now on: the terminal shows something else. */
void tt_progress_stop(void);

#endif
