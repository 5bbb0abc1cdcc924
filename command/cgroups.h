/* SPDX-License-Identifier: MIT */
/* cgroups.h - finds the hierarchy of cgroups that processes are labelled by. */
#ifndef TT_CGROUPS_H
#define TT_CGROUPS_H

#include <linux/limits.h>

/* Finds its mount point: the unified hierarchy or, if the system's processes have none,
 * that of systemd.  0: there is none. */
int tt_cgroups_mount(char mount[PATH_MAX]);

/* Returns the name that /proc/PID/cgroup has for a cgroup, given that name or its folder.
 * NULL with the reason if no process can be in it. */
const char *tt_cgroups_find(const char *value, char name[PATH_MAX], char *reason,
                            unsigned size);

#endif
