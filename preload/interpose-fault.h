/* SPDX-License-Identifier: MIT */
/* interpose-fault.h - loads that survive faults. */
#ifndef TT_INTERPOSE_FAULT_H
#define TT_INTERPOSE_FAULT_H

/* Lets the loads of tt_safe_copy survive faults, if possible; frees
 * the lock after a fork; and looks up the C library's calls that change actions. */
void tt_preload_resume_loads(void);
void tt_preload_faults_forked(void);
void tt_preload_find_actions(void);

#endif
