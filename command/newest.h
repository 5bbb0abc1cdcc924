/* SPDX-License-Identifier: MIT */
/* newest.h - finds the default profile. */
#ifndef TT_NEWEST_H
#define TT_NEWEST_H

#include <limits.h>

/* Writes the name of the newest file *.tt in the current folder to `name`, and prints it
 * to standard error; or complains in the name of `command` that there is none, and
 * returns a negative error. */
int tt_newest_profile(const char *command, char name[NAME_MAX + 1]);

#endif
