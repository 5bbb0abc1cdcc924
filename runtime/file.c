/* SPDX-License-Identifier: MIT */
/* file.c - the file of a recording.
 *
 * It is mapped, so it must never be shortened: touching a page that lost its room on disk
 * kills the process.  Hence an existing file is replaced, not overwritten.  A recording
 * that is under way, which holds a lock, is not even replaced, nor is a file that is
 * neither a recording nor a profile.  The program did not open this file itself: it may
 * close the descriptor at any time, and reuse its number for another file.  So each use
 * first checks that it is still our file. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"

/* Stands for a descriptor that is open only while it is used. */
enum { CLOSED = INT_MAX };

/* A handler makes the file grow.  There the C library's functions end a thread that another one has
 * cancelled; so does the end of TT_NOT_CANCELLED(), if it may be cancelled anywhere. */
static int open_file(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static void close_file(int fd) { (void)syscall(SYS_close, fd); }

/* Moves our descriptor to a number that the program itself will hardly use. */
static int put_aside(int fd)
{
    static const int high[] = {1000, 500, 200};
    int moved = -1;

    for (size_t i = 0; fd >= 0 && moved < 0 && i < sizeof high / sizeof *high; i++)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, high[i]);
    if (moved < 0)
        return fd;
    close_file(fd);
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
    fd = open_file(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && !has_identity(f, fd)) {
        close_file(fd);
        fd = -1;
    }
    if (fd >= 0)
        fd = f->fd = put_aside(fd);
    return fd;
}

void tt_file_rest(struct tt_file *f)
{
    enum { ASIDE = 200 };
    int saved = errno;

    if (f->fd >= 0 && f->fd < ASIDE && has_identity(f, f->fd)) {
        close_file(f->fd);
        f->fd = CLOSED;
    }
    errno = saved;
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
        result = (int)syscall(SYS_fallocate, fd, 0, (off_t)start, (off_t)(end - start));
    while (result != 0 && errno == EINTR);
    if (result == 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return result;
    while (start < end) {
        size_t size = end - start < sizeof zeros ? (size_t)(end - start) : sizeof zeros;
        ssize_t n = syscall(SYS_pwrite64, fd, zeros, size, (off_t)start);
        if (n > 0)
            start += (uint64_t)n;
        else if (n == 0 || errno != EINTR)
            return -1;
    }
    return 0;
}

/* -1 with errno: there is no room. */
static int grow_file(struct tt_file *f, const char *path, uint64_t start, uint64_t end)
{
    int fd;

    errno = EFBIG;
    fd = is_allowed(end) ? tt_file_descriptor(f, path) : -1;
    return fd < 0 ? -1 : allocate(fd, start, end);
}

int tt_file_reserve(struct tt_file *f, const char *path, uint64_t start, uint64_t end)
{
    int saved = errno, failed = grow_file(f, path, start, end);

    errno = saved;
    return failed ? -TT_ERR_FILE : 0;
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

static int is_in_use(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* An empty file, one that was begun and never had anything in it, an old recording or a
 * profile. */
static int looks_like_ours(int fd)
{
    enum { ALIKE = 7 }; /* bytes with which recordings and profiles begin */
    static const char none[8];
    char magic[8] = {0};
    ssize_t n = pread(fd, magic, sizeof magic, 0);

    return n >= 0 && (memcmp(magic, none, sizeof magic) == 0 ||
                      memcmp(magic, TT_MAGIC, ALIKE) == 0);
}

/* 0; or an error, *used being whether a recording is under way there. */
static int clear_path(const char *path, int *used)
{
    int fd, ours = 0;
    struct stat s;

    *used = 0;
    if (lstat(path, &s) != 0)
        return 0;
    if (!S_ISREG(s.st_mode))
        return -TT_ERR_FILE;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -TT_ERR_FILE;
    *used = is_in_use(fd);
    ours = !*used && looks_like_ours(fd);
    close(fd);
    return ours && unlink(path) == 0 ? 0 : -TT_ERR_FILE;
}

static int create(const char *path)
{
    int fd = put_aside(
        open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));

    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB); /* some file systems have no locks */
    return fd;
}

/* Appends the first "-2", "-3" and so on of which there is no file. */
static int create_beside(char path[TT_PATH_SIZE])
{
    enum { MOST = 100000 };
    size_t length = strlen(path), room = TT_PATH_SIZE - length;
    int fd = create(path);

    for (int i = 2; fd < 0 && errno == EEXIST && i < MOST; i++) {
        if ((size_t)snprintf(path + length, room, "-%d", i) >= room)
            return -1;
        fd = create(path);
    }
    return fd;
}

static int create_in_place(char path[TT_PATH_SIZE])
{
    size_t length = strlen(path), room = TT_PATH_SIZE - length;
    int used, error = clear_path(path, &used);

    if (!used)
        return error ? -1 : create(path);
    if ((size_t)snprintf(path + length, room, ".%d", (int)getpid()) >= room)
        return -1;
    return create_beside(path);
}

int tt_file_make(struct tt_file *f, char path[TT_PATH_SIZE], uint64_t size, int replaces)
{
    TT_NOT_CANCELLED();
    struct stat s;
    int reason;

    f->fd = -1;
    if (make_absolute(path) != 0)
        return -TT_ERR_FILE;
    f->fd = replaces ? create_in_place(path) : create_beside(path);
    if (f->fd < 0)
        return -TT_ERR_FILE;
    if (fstat(f->fd, &s) != 0)
        goto fail_file;
    f->device = s.st_dev;
    f->inode = s.st_ino;
    if (grow_file(f, path, 0, size) == 0)
        return 0;

fail_file:
    reason = errno;
    close(f->fd);
    f->fd = -1;
    unlink(path);
    errno = reason;
    return -TT_ERR_FILE;
}

/* ── Ending one ───────────────────────────────────────────────────────────────────── */

void tt_file_close(struct tt_file *f)
{
    TT_NOT_CANCELLED();

    if (f->fd >= 0 && has_identity(f, f->fd))
        close(f->fd);
    f->fd = -1;
}

/* The file keeps what was allocated and not used, 32 KB, or 256 KB of a larger one: to cut it off takes a
 * millisecond, while other threads of a program that ends still run. */
void tt_file_end(struct tt_file *f, const char *path)
{
    TT_NOT_CANCELLED();
    int fd = tt_file_descriptor(f, path);

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
    TT_NOT_CANCELLED();
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
