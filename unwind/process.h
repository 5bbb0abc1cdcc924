/* SPDX-License-Identifier: MIT */
/* process.h - the modules of another process. */
#ifndef TT_PROCESS_H
#define TT_PROCESS_H

#include "modules.h"

/* A separate snapshot, owned by the caller, read from /proc/PID/maps and the files named
 * there.  0, -TT_ERR_FILE: the process or its maps cannot be read, -TT_ERR_MEMORY. */
int tt_modules_new(struct tt_modules **, pid_t);

/* The same from known mappings of the process; omits files that cannot be opened any
 * more.  Returns 0 or -TT_ERR_MEMORY. */
struct tt_regions;
int tt_modules_of(struct tt_modules **, pid_t, const struct tt_regions *);
void tt_modules_free(struct tt_modules *);

#endif
