/* SPDX-License-Identifier: MIT */
/* retain.h - sets of retainers; see retain.c. */
#ifndef TT_RETAIN_H
#define TT_RETAIN_H

/* Around fork: no other thread may hold it. */
void tt_retainers_lock(void);
void tt_retainers_unlock(void);

/* In the child of a fork amid the profiler's work. */
void tt_retainers_forget(void);

#endif
