/* SPDX-License-Identifier: MIT */
/* cgroups.h - the hierarchy of cgroups that processes are labelled by. */
#ifndef TT_CGROUPS_H
#define TT_CGROUPS_H

#include <linux/limits.h>

/* Where it is mounted: the unified hierarchy or, on systems whose processes have none, that
 * of systemd.  0: there is none. */
int tt_cgroups_mount(char mount[PATH_MAX]);

/* The name that /proc/PID/cgroup has for a cgroup, from that or from its folder.  NULL with
 * the reason where no process can be in it. */
const char *tt_cgroups_find(const char *value, char name[PATH_MAX], char *reason,
                            unsigned size);

#endif
