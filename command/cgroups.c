/* SPDX-License-Identifier: MIT */
/* cgroups.c - finds the hierarchy of cgroups that processes are labelled by.
 *
 * A system may have several hierarchies, and mount some that none of its processes is in.
 * So the entry of this process in /proc decides which one counts, as the entries of
 * processes do during a recording. */
#include "cgroups.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum kind { NONE, SYSTEMD, UNIFIED };

/* Lines are "ID:CONTROLLERS:PATH". */
static enum kind own_kind(void)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    enum kind found = NONE;
    char line[PATH_MAX + 64];

    while (f && fgets(line, sizeof line, f)) {
        const char *controllers = strchr(line, ':');
        if (controllers && controllers[1] == ':')
            found = UNIFIED;
        else if (controllers && !found && strncmp(controllers, ":name=systemd:", 14) == 0)
            found = SYSTEMD;
    }
    if (f)
        (void)fclose(f);
    return found;
}

int tt_cgroups_mount(char mount[PATH_MAX])
{
    const enum kind kind = own_kind();
    FILE *f = kind ? setmntent("/proc/self/mounts", "re") : NULL;
    const struct mntent *m;
    int found = 0;

    while (f && !found && (m = getmntent(f)) != NULL) {
        found = kind == UNIFIED ? strcmp(m->mnt_type, "cgroup2") == 0
                                : strcmp(m->mnt_type, "cgroup") == 0 &&
                                      hasmntopt(m, "name=systemd") != NULL;
        if (found)
            (void)snprintf(mount, PATH_MAX, "%s", m->mnt_dir);
    }
    if (f)
        (void)endmntent(f);
    return found;
}

/* Returns the rest of a path below a folder; NULL: it is elsewhere. */
static const char *below(const char *path, const char *folder)
{
    const size_t length = strlen(folder);

    if (strncmp(path, folder, length) != 0 || (path[length] && path[length] != '/'))
        return NULL;
    return path[length] ? path + length : "/";
}

const char *tt_cgroups_find(const char *value, char name[PATH_MAX], char *reason,
                            unsigned size)
{
    char mount[PATH_MAX], path[2 * PATH_MAX];
    const char *given, *found = NULL;
    struct stat s;

    if (!tt_cgroups_mount(mount)) {
        (void)snprintf(reason, size,
                       "cgroups of version 2 are not mounted here: select processes with "
                       "-p or --user");
        return NULL;
    }
    given = below(value, mount);
    (void)snprintf(path, sizeof path, "%s%s", mount, given ? given : value);
    if (value[0] == '/' && realpath(path, name) && stat(name, &s) == 0 &&
        S_ISDIR(s.st_mode))
        found = below(name, mount);
    if (!found)
        (void)snprintf(reason, size,
                       "there is no cgroup '%s' in %s: /proc/PID/cgroup has the name of "
                       "a process's cgroup",
                       value, mount);
    return found;
}
