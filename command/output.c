/* SPDX-License-Identifier: MIT */
/* output.c - a file that is there whole, or not at all. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size < 1u << 30 ? size : 1u << 30);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

static int cannot_write(const char *path)
{
    tt_complain("%s: cannot be written: %s", path, strerror(errno));
    return -TT_ERR_FILE;
}

static int write_standard_output(const void *bytes, size_t size)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int failed;

    sigaction(SIGPIPE, &ignore, &before);
    failed = write_all(STDOUT_FILENO, bytes, size) != 0 && errno != EPIPE;
    sigaction(SIGPIPE, &before, NULL);
    return failed ? cannot_write("standard output") : 0;
}

/* A device or a pipe is written to as it is. */
static int write_in_place(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), failed;

    if (fd < 0)
        return cannot_write(path);
    failed = write_all(fd, bytes, size);
    if (failed)
        (void)cannot_write(path);
    close(fd);
    return failed ? -TT_ERR_FILE : 0;
}

static int write_and_rename(const char *path, char *name, const void *bytes, size_t size)
{
    mode_t mask = umask(0);
    int fd = mkstemp(name), failed;

    umask(mask);
    if (fd < 0)
        return cannot_write(path);
    failed = write_all(fd, bytes, size) != 0 || fchmod(fd, 0666 & ~mask) != 0;
    failed |= close(fd) != 0;
    if (!failed && rename(name, path) == 0)
        return 0;
    (void)cannot_write(path);
    (void)unlink(name);
    return -TT_ERR_FILE;
}

int tt_output_write(const char *path, const void *bytes, size_t size)
{
    struct stat s;
    char *name;
    int error;

    if (!path || strcmp(path, "-") == 0)
        return write_standard_output(bytes, size);
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        return write_in_place(path, bytes, size);
    if (asprintf(&name, "%s.XXXXXX", path) < 0) {
        errno = ENOMEM;
        return cannot_write(path);
    }
    error = write_and_rename(path, name, bytes, size);
    free(name);
    return error;
}
