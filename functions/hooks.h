/* SPDX-License-Identifier: MIT */
/* hooks.h - functions that a compiler has call our hooks.
 *
 *      -finstrument-functions      enter and exit: __cyg_profile_func_enter, _exit
 *      -pg                         enter alone: mcount, __fentry__, which we interpose
 *
 * Each is an activation of a block that is named afterwards, as native code is. */
#ifndef TT_HOOKS_H
#define TT_HOOKS_H

#include "hooks-machine.h"
#include "options.h"

/* Before the recording.  If the program is built with -pg its functions are counted, and
 * not timed: their returns are not reported. */
void tt_hooks_start(struct tt_options *);

/* Modules are about to change: other code may then be at the same addresses. */
void tt_hooks_forget(void);

/* In the child of a fork. */
void tt_hooks_forked(void);

/* Is the program built with -pg? */
int tt_hooks_count_only(void);

/* The same in all cases. */
void tt_hook_slowly(const struct tt_hook_call *);

/* Leaves a function that is not simply the top. */
void tt_hook_leave_slowly(const struct tt_hook_call *);

#endif
