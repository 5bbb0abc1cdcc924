/* SPDX-License-Identifier: MIT */
/* folder.h - a recording in a separate folder, and the children that record beside it. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stdio.h>
#include <sys/wait.h>

#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

static char folder[64], path[128]; /* path: of the recording in it */

static inline void make_folder(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/tallytree-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/recording", folder);
}

static inline void leave_folder(void)
{
    char command[160];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_INT(system(command), 0);
}

/* Options for a recording there. */
static inline const char *output(const char *words)
{
    static char options[256];

    (void)snprintf(options, sizeof options, "output=%s,%s", path, words);
    return options;
}

/* Returns the path of a child's recording. */
static inline const char *path_of(pid_t child)
{
    static char child_path[160];

    (void)snprintf(child_path, sizeof child_path, "%s.%d", path, (int)child);
    return child_path;
}

/* 256 and more: it did not end by itself. */
static inline int exit_status(pid_t child)
{
    int status = -1;

    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status;
}

static inline void work(const char *name, int count)
{
    tt_block block = tt_block_get(name, "", 0, 0);

    for (int i = 0; i < count; i++)
        tt_pop(tt_push(block));
}

static inline void check_file(const char *file, const char *name, uint64_t calls)
{
    struct recorded r = recorded_file(file, 0);

    if (!CHECK_INT(r.error, 0) || !CHECK_INT(recorded_calls(&r, name), calls))
        fprintf(stderr, "# of %s in %s\n", name, file);
    recorded_free(&r);
}

#endif
