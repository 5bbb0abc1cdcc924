/* SPDX-License-Identifier: MIT */
/* locks-start.h - when waits are recorded. */
#ifndef TT_LOCKS_START_H
#define TT_LOCKS_START_H

#include <stdint.h>

/* Before the recording begins.  Waits count between these times, by the system's clock;
 * end 0: no end. */
void tt_locks_start(uint64_t begin, uint64_t end);
void tt_locks_stop(void);
void tt_locks_forked(void); /* in the child */

/* The calling thread begins with this function. */
void tt_locks_thread_began(uintptr_t function);

#endif
