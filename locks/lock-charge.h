/* SPDX-License-Identifier: MIT */
/* lock-charge.h - adds finished waits to the tree. */
#ifndef TT_LOCK_CHARGE_H
#define TT_LOCK_CHARGE_H

#include "lock-place.h"
#include "lock-queue.h"

/* Before the recording begins: the metrics. */
void tt_lock_charge_start(void);

/* Finds the block that names the lock: once for each queue and recording. */
void tt_lock_name(struct tt_lock_thread *, struct tt_lock_queue *);

/* Charges all waits of the thread, which is busy. */
void tt_lock_charge_all(struct tt_lock_thread *);

#endif
