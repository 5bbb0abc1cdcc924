/* SPDX-License-Identifier: MIT */
/* replacing.h - protects files that Tallytree did not write from being replaced. */
#ifndef TT_REPLACING_H
#define TT_REPLACING_H

/* For the tables of flags of commands that write with -o. */
enum { TT_REPLACING_FORCE = 6000 };
#define TT_REPLACING_FLAG                                                                \
    {                                                                                    \
        "force", 0, TT_REPLACING_FORCE, NULL, NULL, "replace any file at OUT"            \
    }

/* --force: from here on any file is replaced. */
void tt_replacing_force(void);
int tt_replacing_is_forced(void);

/* May a profile or a recording be written to `path`?  Yes if there is nothing, an empty
 * file, a profile, a recording, a device or a pipe.  0, or complains and returns
 * -TT_ERR_FILE. */
int tt_replacing_check(const char *path);

/* May the file that is open as `with` be renamed to `path`?  Yes in the same cases, and
 * if both are in one format, or begin alike as reports do. */
int tt_replacing_check_with(const char *path, int with);

#endif
