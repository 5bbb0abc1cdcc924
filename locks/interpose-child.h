/* SPDX-License-Identifier: MIT */
/* interpose-child.h - the beginnings and ends of processes. */
#ifndef TT_INTERPOSE_CHILD_H
#define TT_INTERPOSE_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct tt_caller;

/* The call that returns to `at` has started this child. */
void tt_locks_spawned(pid_t child, uintptr_t at);

/* The process ends: by this call, or NULL, as main has returned. */
void tt_locks_exits(const struct tt_caller *);

#endif
