/* SPDX-License-Identifier: MIT */
/* hooks-quick.h - what is known of the places that hooks are called from. */
#ifndef TT_HOOKS_QUICK_H
#define TT_HOOKS_QUICK_H

#include "append-table.h"
#include "hooks-machine.h"
#include "tallytree.h"

enum { TT_HOOK_INLINED = 4 }; /* below the CFA of whom it is in */

struct tt_hook_site { /* of a growing table */
    /* Where the hook returns to; where a function that is counted returns to; or where a
     * function starts. */
    uint64_t pc;
    tt_block block;     /* of the function that this is in; 0: it has no hook */
    uint32_t epoch;     /* what is loaded is as it was then; else it is made again */
    ptrdiff_t distance; /* from the stack pointer, or the frame pointer, to the CFA */
    uint8_t by_frame, inlined;
};

struct tt_hook_sites {
    struct tt_append_table *table;
    uint32_t epoch;
};
extern struct tt_hook_sites tt_hook_sites __attribute__((visibility("hidden")));

/* NULL: not known, or what is there now is something else. */
TT_INLINE const struct tt_hook_site *tt_hook_find(uintptr_t pc)
{
    struct tt_append_table *t = __atomic_load_n(&tt_hook_sites.table, __ATOMIC_ACQUIRE);
    const struct tt_hook_site *s;

    if (TT_UNLIKELY(!t))
        return NULL;
    s = tt_append_table_slot(t, pc, sizeof *s);
    return TT_UNLIKELY(s->pc != pc ||
                       __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE) !=
                           __atomic_load_n(&tt_hook_sites.epoch, __ATOMIC_RELAXED))
               ? NULL
               : s;
}

/* Where the caller's part of the stack ends that belongs to the function. */
TT_INLINE uintptr_t tt_hook_cfa(const struct tt_hook_site *s, uintptr_t sp, uintptr_t fp)
{
    return (s->by_frame ? fp : sp) + (uintptr_t)s->distance;
}

/* Two inlined ones of one frame are identified by where they are entered. */
TT_INLINE void *tt_hook_slot(const struct tt_hook_site *s, uintptr_t cfa)
{
    return (void *)(s->inlined ? (uintptr_t)s->pc : cfa - sizeof(void *));
}

/* Of a function that says when it returns nobody needs to know who called it. */
TT_INLINE uintptr_t tt_hook_back(const struct tt_hook_call *c, uintptr_t cfa)
{
    if (c->function)
        return 0;
    return c->back ? c->back : ((const uintptr_t *)cfa)[-1];
}

/* Enters on top of what is alive.  0: more is to be done. */
int tt_hook_enter(const struct tt_hook_site *, const struct tt_hook_call *, uintptr_t cfa,
                  tt_block caller);

/* hooks.c: leaves a function that is not simply the top. */
void tt_hook_leave_slowly(const struct tt_hook_call *);

#endif
