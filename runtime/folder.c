/* SPDX-License-Identifier: MIT */
/* folder.c - where each of several processes puts its recording.
 *
 * By its program's name and its number; a process that became another program has one for
 * each. */
#include "folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int tt_folder_output(struct tt_options *o, const char *folder)
{
    char program[64] = "program";
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC), n;
    ssize_t length = fd < 0 ? 0 : read(fd, program, sizeof program - 1);

    if (fd >= 0)
        close(fd);
    if (length > 0)
        program[length - 1] = '\0';
    for (char *p = program; *p; p++)
        *p = *p == '/' ? '_' : *p;
    for (int i = 0; i < 10000; i++) {
        n = snprintf(o->output, sizeof o->output, "%s/%s.%d", folder, program,
                     (int)getpid());
        if (n > 0 && i > 0 && n < (int)sizeof o->output)
            n += snprintf(o->output + n, sizeof o->output - (size_t)n, ".%d", i + 1);
        if (n < 0 || n >= (int)sizeof o->output)
            return -TT_ERR_OPTION;
        if (access(o->output, F_OK) != 0)
            return 0;
    }
    return -TT_ERR_FILE;
}
