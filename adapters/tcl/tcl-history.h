/* SPDX-License-Identifier: MIT */
/* tcl-history.h - the last times of each statement, one by one. */
#ifndef TT_TCL_HISTORY_H
#define TT_TCL_HISTORY_H

#include <stdint.h>
#include <tallytree.h>

/* Keeps `length` of each from now on; 0: none.  What was kept is forgotten. */
void tt_tcl_history_begin(uint32_t length);
uint32_t tt_tcl_history_length(void);

/* Thread-safe, as are the next. */
void tt_tcl_history_add(tt_block, uint64_t ticks);
void tt_tcl_history_drop(tt_block);

/* Copies the last of them, the oldest first, into `out`, which has room for all; returns how
 * many. */
uint32_t tt_tcl_history_get(tt_block, uint64_t *out);

#endif
