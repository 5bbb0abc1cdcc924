/* SPDX-License-Identifier: MIT */
/* switch.h - functions that are on and off. */
#ifndef TT_SWITCH_H
#define TT_SWITCH_H

#include "tallytree-switch.h"

/* What is loaded by now is switched as the rest is.  Cheap when nothing has changed. */
void tt_switch_refresh(void);

/* Looks whether calls cost more of the process's time than they may, and switches the hottest
 * functions off until they do not.  What is said of that, since the last 'on', is in
 * tt_switch_thinned: "NAME CALLS" a line. */
struct tt_throttle;
void tt_switch_thin(struct tt_throttle *);
const char *tt_switch_thinned(void);

/* In the child of a fork. */
void tt_switch_forked(void);

#endif
