/* SPDX-License-Identifier: MIT */
/* newest.h - which profile is meant where none is named. */
#ifndef TT_NEWEST_H
#define TT_NEWEST_H

#include <limits.h>

/* The name of the newest file *.tt in the current folder, into `name`, which is said on
 * standard error; or complains in the name of `command` that there is none, and returns a
 * negative error. */
int tt_newest_profile(const char *command, char name[NAME_MAX + 1]);

#endif
