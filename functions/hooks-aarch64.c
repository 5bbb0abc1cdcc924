/* SPDX-License-Identifier: MIT */
/* hooks-aarch64.c - _mcount, which is called as any function is. */
#include <stdint.h>

#include "hooks-machine.h"
#include "hooks-quick.h"
#include "hooks.h"
#include "next-function.h"

static void (*next)(void *);

void _mcount(void *caller);

TT_INTERPOSE void _mcount(void *caller)
{
    const struct tt_hook_call c = {
        (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),
        *(const uintptr_t *)__builtin_frame_address(0), 0, (uintptr_t)caller};

    if (!tt_hook_quickly(&c))
        tt_hook_slowly(&c);
    if (next)
        next(caller);
}

void tt_hooks_machine(void) { *(void **)&next = tt_next_function("_mcount"); }
