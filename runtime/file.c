/* SPDX-License-Identifier: MIT */
/* file.c - the file behind a recording.
 *
 * It is mapped, so nobody may shorten it: a page that lost its room on disk kills whoever
 * touches it.  Hence a file that is there already is not written over but replaced, and a
 * recording that is under way, which holds a lock, not even that.  And it is open in a
 * program that did not open it: the descriptor may be closed at any time, and its number
 * be another file's, so each use asks first whether it is still ours. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors are the program's to number: ours stands where none of its own will come. */
static int put_aside(int fd)
{
    static const int high[] = {1000, 500, 200};
    int moved = -1;

    for (size_t i = 0; fd >= 0 && moved < 0 && i < sizeof high / sizeof *high; i++)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, high[i]);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

/* ── Is it ours? ──────────────────────────────────────────────────────────────────── */

static int has_identity(const struct tt_file *f, int fd)
{
    struct stat s;

    return fstat(fd, &s) == 0 && s.st_dev == f->device && s.st_ino == f->inode;
}

int tt_file_descriptor(struct tt_file *f, const char *path)
{
    int fd;

    if (f->fd < 0 || has_identity(f, f->fd))
        return f->fd;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && !has_identity(f, fd)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        fd = f->fd = put_aside(fd);
    return fd;
}

/* ── Room on disk ─────────────────────────────────────────────────────────────────── */

/* Past this limit the kernel sends a signal that ends the program. */
static int is_allowed(uint64_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

static int allocate(int fd, uint64_t start, uint64_t end)
{
    static const char zeros[4096];
    int result;

    do
        result = fallocate(fd, 0, (off_t)start, (off_t)(end - start));
    while (result != 0 && errno == EINTR);
    if (result == 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return result;
    while (start < end) {
        size_t size = end - start < sizeof zeros ? (size_t)(end - start) : sizeof zeros;
        ssize_t n = pwrite(fd, zeros, size, (off_t)start);
        if (n > 0)
            start += (uint64_t)n;
        else if (n == 0 || errno != EINTR)
            return -1;
    }
    return 0;
}

int tt_file_reserve(struct tt_file *f, const char *path, uint64_t start, uint64_t end)
{
    int saved = errno, fd = is_allowed(end) ? tt_file_descriptor(f, path) : -1;
    int error = fd < 0 || allocate(fd, start, end) != 0 ? -TT_ERR_FILE : 0;

    errno = saved;
    return error;
}

/* ── Making one ───────────────────────────────────────────────────────────────────── */

/* The program may change its folder before the file is needed by name again. */
static int make_absolute(char path[TT_PATH_SIZE])
{
    char folder[TT_PATH_SIZE];
    size_t length = strlen(path), before;

    if (*path == '/')
        return 0;
    if (!getcwd(folder, sizeof folder))
        return -TT_ERR_FILE;
    before = strlen(folder);
    if (before + 1 + length >= TT_PATH_SIZE)
        return -TT_ERR_FILE;
    memmove(path + before + 1, path, length + 1);
    memcpy(path, folder, before);
    path[before] = '/';
    return 0;
}

static int is_in_use(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), used;

    if (fd < 0)
        return 0;
    used = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return used;
}

/* Makes the path one where a file may be made, and no file is. */
static int clear_path(char path[TT_PATH_SIZE])
{
    struct stat s;

    while (lstat(path, &s) == 0) {
        size_t length = strlen(path), room = TT_PATH_SIZE - length;
        if (!S_ISREG(s.st_mode))
            return -TT_ERR_FILE;
        if (!is_in_use(path))
            return unlink(path) == 0 ? 0 : -TT_ERR_FILE;
        if ((size_t)snprintf(path + length, room, ".%d", (int)getpid()) >= room)
            return -TT_ERR_FILE;
    }
    return 0;
}

static int create(const char *path)
{
    int fd = put_aside(
        open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));

    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB); /* some file systems have no locks */
    return fd;
}

int tt_file_make(struct tt_file *f, char path[TT_PATH_SIZE], uint64_t size)
{
    struct stat s;

    f->fd = -1;
    if (make_absolute(path) != 0 || clear_path(path) != 0)
        return -TT_ERR_FILE;
    f->fd = create(path);
    if (f->fd < 0)
        return -TT_ERR_FILE;
    if (fstat(f->fd, &s) != 0)
        goto fail_file;
    f->device = s.st_dev;
    f->inode = s.st_ino;
    if (tt_file_reserve(f, path, 0, size) == 0)
        return 0;

fail_file:
    close(f->fd);
    f->fd = -1;
    unlink(path);
    return -TT_ERR_FILE;
}

/* ── Ending one ───────────────────────────────────────────────────────────────────── */

void tt_file_close(struct tt_file *f)
{
    if (f->fd >= 0 && has_identity(f, f->fd))
        close(f->fd);
    f->fd = -1;
}

void tt_file_end(struct tt_file *f, const char *path, uint64_t size)
{
    int fd = tt_file_descriptor(f, path), cut = fd < 0 ? -1 : ftruncate(fd, (off_t)size);

    (void)cut; /* or it stays a little longer than it needs to be */
    if (fd >= 0)
        (void)flock(fd, LOCK_UN); /* the mapping would keep it */
    tt_file_close(f);
}

void tt_file_remove(struct tt_file *f, const char *path)
{
    if (f->fd >= 0)
        unlink(path);
    tt_file_close(f);
}

/* ── Writing a whole one ──────────────────────────────────────────────────────────── */

int tt_file_put(int fd, const void *bytes, size_t size)
{
    const char *p = bytes;

    while (size) {
        ssize_t n = write(fd, p, size < 1u << 30 ? size : 1u << 30);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -TT_ERR_FILE;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

int tt_file_write(const char *path, const void *bytes, size_t size)
{
    char temporary[TT_PATH_SIZE];
    int fd, n = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path), error;

    if (n < 0 || (size_t)n >= sizeof temporary || !is_allowed(size))
        return -TT_ERR_FILE;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -TT_ERR_FILE;
    error = tt_file_put(fd, bytes, size);
    if (close(fd) != 0)
        error = -TT_ERR_FILE;
    if (!error && rename(temporary, path) != 0)
        error = -TT_ERR_FILE;
    if (error)
        unlink(temporary);
    return error;
}
