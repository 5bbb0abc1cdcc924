/* SPDX-License-Identifier: MIT */
/* tallytree-switch.h - functions of this very process, switched on and off while it runs.
 *
 * For what was compiled with -fpatchable-function-entry=5, or -pg -mfentry -mnop-mcount
 * -mrecord-mcount, and is linked with libtallytree-switch.  Each function is a block of kind
 * TT_KIND_FUNCTION, in the mode that tt_start has for hooks.  Functions are switched by
 * themselves: whether anything is recorded is up to tt_start and tt_stop. */
#ifndef TALLYTREE_SWITCH_H
#define TALLYTREE_SWITCH_H

#include "tallytree.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tt_switched {
    size_t sites;       /* functions that can be switched */
    size_t on;          /* that are on now */
    size_t refused;     /* that cannot be, by themselves */
    const char *reason; /* why no more are on, or none is; NULL: nothing failed */
};

/* Switches on the functions whose names match a glob, as "lua_*" (NULL: all), and those of
 * libraries that are loaded from now on; the others go off.  Threads may be running in
 * them.  0; -TT_ERR_STATE when it cannot be, and *out says why.  Thread-safe; not for
 * signal handlers. */
TT_API int tt_functions_on(const char *only, struct tt_switched *out);

/* Switches all of them off.  Those that are running return as ever. */
TT_API int tt_functions_off(struct tt_switched *out);

#ifdef __cplusplus
}
#endif
#endif
