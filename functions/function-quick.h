/* SPDX-License-Identifier: MIT */
/* function-quick.h - entering and leaving functions in nearly simple cases. */
#ifndef TT_FUNCTION_QUICK_H
#define TT_FUNCTION_QUICK_H

#include "function.h"

/* Enter and leave a function, with only the general registers saved.  TT_FUNCTION_SLOWLY
 * and 0: the case is not simple, and the slow path has to be taken. */
enum { TT_FUNCTION_SLOWLY = -1 };
int tt_function_enter_quickly(uintptr_t slot, tt_block block);
uintptr_t tt_function_leave_quickly(uintptr_t cfa);

struct tt_kept *tt_function_kept_at(struct tt_kept *slot, size_t size, uintptr_t cfa);

/* Is there room for `count` more return addresses?  The caller holds the lock. */
int tt_function_has_room(size_t count);
void tt_function_keep(uintptr_t cfa, uintptr_t back);

#endif
