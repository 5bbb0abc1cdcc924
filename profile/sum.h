/* SPDX-License-Identifier: MIT */
/* sum.h - adds up a log of figures. */
#ifndef TT_SUM_H
#define TT_SUM_H

#include "memory.h"

/* Sorts the entries from number `first` on by strand, row, metric, and adds up equal ones.  0 or
 * an error. */
int tt_entries_sum(struct tt_vector *, size_t first);

#endif
