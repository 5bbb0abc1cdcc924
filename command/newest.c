/* SPDX-License-Identifier: MIT */
/* newest.c - finds the default profile: the one that was written last. */
#include "newest.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "complain.h"

static int is_profile_name(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 3 && strcmp(name + length - 3, ".tt") == 0;
}

static int is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

int tt_newest_profile(const char *command, char name[NAME_MAX + 1])
{
    struct timespec newest = {0, 0};
    DIR *d = opendir(".");
    const struct dirent *e;
    struct stat s;

    *name = '\0';
    while (d && (e = readdir(d)))
        if (is_profile_name(e->d_name) && stat(e->d_name, &s) == 0 &&
            S_ISREG(s.st_mode) && is_newer(&s.st_mtim, &newest)) {
            newest = s.st_mtim;
            (void)snprintf(name, NAME_MAX + 1, "%s", e->d_name);
        }
    if (d)
        closedir(d);
    if (*name) {
        tt_complain("%s: the newest profile here is %s", command, name);
        return 0;
    }
    tt_complain(
        "%s wants a recording or a profile: there is no file *.tt in this folder; "
        "'tallytree record PROGRAM' makes one",
        command);
    return -TT_ERR_FILE;
}
