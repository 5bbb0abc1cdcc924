/* SPDX-License-Identifier: MIT */
/* interpose-fault.h - loads that survive faults. */
#ifndef TT_INTERPOSE_FAULT_H
#define TT_INTERPOSE_FAULT_H

/* Lets the loads of tt_safe_copy survive faults, if possible. */
void tt_preload_resume_loads(void);

/* The system's call rt_sigaction with these arguments, as the program makes it. */
long tt_preload_set_action(const long a[6]);

void tt_preload_faults_forked(void); /* in the child: frees the lock */
void tt_preload_find_actions(
    void); /* looks up the C library's calls that change actions */

#endif
