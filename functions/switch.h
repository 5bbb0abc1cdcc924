/* SPDX-License-Identifier: MIT */
/* switch.h - functions that are on and off. */
#ifndef TT_SWITCH_H
#define TT_SWITCH_H

#include "tallytree-switch.h"

/* Switches modules loaded since as the others.  Cheap if nothing has changed. */
void tt_switch_refresh(void);

/* Checks whether calls cost more of the process's time than they may, and switches the
 * hottest functions off until they do not. tt_switch_thinned has them, since the last
 * 'on': "NAME CALLS" a line. */
struct tt_throttle;
void tt_switch_thin(struct tt_throttle *);
const char *tt_switch_thinned(void);

#endif
