/* SPDX-License-Identifier: MIT */
/* replacing.h - an output does not take the place of a file that Tallytree did not write. */
#ifndef TT_REPLACING_H
#define TT_REPLACING_H

/* In the tables of flags of commands that write with -o. */
enum { TT_REPLACING_FORCE = 6000 };
#define TT_REPLACING_FLAG                                                                \
    {                                                                                    \
        "force", 0, TT_REPLACING_FORCE, NULL, NULL, "replace any file at OUT"            \
    }

/* --force: from here on whatever is there is replaced. */
void tt_replacing_force(void);

/* May a profile or a recording be written to `path`?  It may where nothing is, an empty file,
 * a profile, a recording, a device or a pipe.  0, or complains and returns -TT_ERR_FILE. */
int tt_replacing_check(const char *path);

/* May the file that is open as `with` be renamed to `path`?  It may in the same cases, and
 * where both are in one format, or begin alike as reports do. */
int tt_replacing_check_with(const char *path, int with);

#endif
