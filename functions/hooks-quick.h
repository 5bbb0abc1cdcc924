/* SPDX-License-Identifier: MIT */
/* hooks-quick.h - data of the places that hooks are called from. */
#ifndef TT_HOOKS_QUICK_H
#define TT_HOOKS_QUICK_H

#include "append-table.h"
#include "hooks-machine.h"
#include "tallytree.h"

enum { TT_HOOK_INLINED = 4 }; /* below the CFA of the function it is in */

struct tt_hook_site { /* in an append table */
    /* The return address of the hook; or of a function that is counted; or where a
     * function starts. */
    uint64_t pc;
    tt_block block;     /* of the function that this is in; 0: it has no hook */
    uint32_t epoch;     /* if other code was loaded since, it is made again */
    ptrdiff_t distance; /* from the stack pointer, or the frame pointer, to the CFA */
    uint8_t by_frame, inlined;
};

struct tt_hook_sites {
    struct tt_append_table *table;
    uint32_t epoch;
};
extern struct tt_hook_sites tt_hook_sites __attribute__((visibility("hidden")));

/* NULL: not known, or other code is there now. */
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

/* The CFA of the function: the end of its caller's part of the stack. */
TT_INLINE uintptr_t tt_hook_cfa(const struct tt_hook_site *s, uintptr_t sp, uintptr_t fp)
{
    return (s->by_frame ? fp : sp) + (uintptr_t)s->distance;
}

/* Two inlined functions of one frame are distinguished by where they are entered. */
TT_INLINE void *tt_hook_slot(const struct tt_hook_site *s, uintptr_t cfa)
{
    return (void *)(s->inlined ? (uintptr_t)s->pc : cfa - sizeof(void *));
}

/* The function's return address; not needed if its exit is reported, too. */
TT_INLINE uintptr_t tt_hook_back(const struct tt_hook_call *c, uintptr_t cfa)
{
    if (c->function)
        return 0;
    return c->back ? c->back : ((const uintptr_t *)cfa)[-1];
}

/* Enters above a live top.  0: not in the simple case. */
int tt_hook_enter(const struct tt_hook_site *, const struct tt_hook_call *, uintptr_t cfa,
                  tt_block caller);

/* 1: counted, or there is nothing to count.  Uses no registers but the general ones. */
int tt_hook_quickly(const struct tt_hook_call *);

#endif
