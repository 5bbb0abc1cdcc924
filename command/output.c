/* SPDX-License-Identifier: MIT */
/* output.c - a file that is there whole, or not at all. */
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "file.h"

static int cannot_write(const char *path)
{
    tt_complain("%s: cannot be written: %s", path, strerror(errno));
    return -TT_ERR_FILE;
}

/* Owned; what is not there yet is as it was said.  NULL without memory. */
static char *without_links(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : strdup(path);
}

/* The temporary file, with the permissions that a new file has. */
static int make_file(struct tt_output *o)
{
    mode_t mask = umask(0);
    char *target;

    umask(mask);
    target = without_links(o->path);
    if (!target || asprintf(&o->name, "%s.XXXXXX", target) < 0) {
        free(target);
        errno = ENOMEM;
        return -1;
    }
    o->fd = mkostemp(o->name, O_CLOEXEC);
    if (o->fd >= 0 && fchmod(o->fd, 0666 & ~mask) == 0) {
        o->target = target;
        return 0;
    }
    if (o->fd >= 0) {
        (void)unlink(o->name);
        close(o->fd);
    }
    free(o->name);
    free(target);
    return -1;
}

static int is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

int tt_output_open(struct tt_output *o, const char *path)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct stat s;
    int failed = 0;

    *o = (struct tt_output){.path = path, .fd = STDOUT_FILENO};
    o->is_standard = is_standard(path);
    if (o->is_standard) {
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

    if (o->is_gone || tt_file_put(o->fd, bytes, size) == 0)
        return 0;
    if (o->is_standard && errno == EPIPE) {
        o->is_gone = 1;
        return 0;
    }
    return cannot_write(o->path);
}

int tt_output_close(struct tt_output *o, int keep)
{
    int failed;

    if (o->is_standard) {
        sigaction(SIGPIPE, &o->before, NULL);
        return 0;
    }
    failed = close(o->fd) != 0 && keep;
    if (o->name && keep && !failed)
        failed = rename(o->name, o->target) != 0;
    if (failed)
        (void)cannot_write(o->path);
    if (o->name && (failed || !keep))
        (void)unlink(o->name);
    free(o->name);
    free(o->target);
    return failed ? -TT_ERR_FILE : 0;
}

int tt_folder_open(struct tt_folder *f, const char *path)
{
    mode_t mask = umask(0);

    umask(mask);
    *f = (struct tt_folder){.path = path};
    if (asprintf(&f->name, "%s.XXXXXX", path) < 0) {
        f->name = NULL;
        errno = ENOMEM;
    } else if (mkdtemp(f->name) && chmod(f->name, 0777 & ~mask) == 0) {
        return 0;
    }
    free(f->name);
    f->name = NULL;
    return cannot_write(path);
}

char *tt_folder_path(const struct tt_folder *f, const char *file)
{
    char *path;

    return asprintf(&path, "%s/%s", f->name, file) < 0 ? NULL : path;
}

static void remove_folder(const char *name)
{
    DIR *d = opendir(name);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    (void)rmdir(name);
}

int tt_folder_close(struct tt_folder *f, int keep)
{
    int failed = f->name && keep && rename(f->name, f->path) != 0;

    if (failed)
        (void)cannot_write(f->path);
    if (f->name && (failed || !keep))
        remove_folder(f->name);
    free(f->name);
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
