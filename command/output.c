/* SPDX-License-Identifier: MIT */
/* output.c - a file that is there whole, or not at all. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
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

/* The temporary file, with the permissions that a new file has. */
static int make_file(struct tt_output *o)
{
    mode_t mask = umask(0);

    umask(mask);
    if (asprintf(&o->name, "%s.XXXXXX", o->path) < 0) {
        o->name = NULL;
        errno = ENOMEM;
        return -1;
    }
    o->fd = mkostemp(o->name, O_CLOEXEC);
    if (o->fd >= 0 && fchmod(o->fd, 0666 & ~mask) == 0)
        return 0;
    if (o->fd >= 0) {
        (void)unlink(o->name);
        close(o->fd);
    }
    free(o->name);
    return -1;
}

int tt_output_open(struct tt_output *o, const char *path)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct stat s;
    int failed = 0;

    *o = (struct tt_output){.path = path, .fd = STDOUT_FILENO};
    if (!path || strcmp(path, "-") == 0) {
        o->path = "standard output";
        sigaction(SIGPIPE, &ignore, &o->before);
        return 0;
    }
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        failed = (o->fd = open(path, O_WRONLY | O_CLOEXEC)) < 0;
    else
        failed = make_file(o) != 0;
    return failed ? cannot_write(path) : 0;
}

int tt_output_put(void *output, const void *bytes, size_t size)
{
    struct tt_output *o = output;

    if (o->is_gone || write_all(o->fd, bytes, size) == 0)
        return 0;
    if (o->fd == STDOUT_FILENO && errno == EPIPE) {
        o->is_gone = 1;
        return 0;
    }
    return cannot_write(o->path);
}

int tt_output_close(struct tt_output *o, int keep)
{
    int failed;

    if (o->fd == STDOUT_FILENO) {
        sigaction(SIGPIPE, &o->before, NULL);
        return 0;
    }
    failed = close(o->fd) != 0 && keep;
    if (o->name && keep && !failed)
        failed = rename(o->name, o->path) != 0;
    if (failed)
        (void)cannot_write(o->path);
    if (o->name && (failed || !keep))
        (void)unlink(o->name);
    free(o->name);
    return failed ? -TT_ERR_FILE : 0;
}

int tt_output_write(const char *path, const void *bytes, size_t size)
{
    struct tt_output o;
    int error = tt_output_open(&o, path), closing;

    if (error)
        return error;
    error = tt_output_put(&o, bytes, size);
    closing = tt_output_close(&o, !error);
    return error ? error : closing;
}
