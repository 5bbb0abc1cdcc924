/* SPDX-License-Identifier: MIT */
/* output.c - an output file that appears complete, or not at all. */
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "file.h"
#include "replacing.h"
#include "scratch.h"
#include "text.h"

static int cannot_write(const char *path)
{
    tt_complain("%s: cannot be written: %s", path, strerror(errno));
    return -TT_ERR_FILE;
}

/* Any user may put a link into a folder such as /tmp.  A link is followed only if it
 * belongs to this user or to the folder's owner, like the kernel does with
 * protected_symlinks. */
static int is_trusted_link(const char *path, const struct stat *link)
{
    char *copy = strdup(path);
    struct stat folder;
    int known = copy && stat(dirname(copy), &folder) == 0;

    free(copy);
    return known && (!(folder.st_mode & S_ISVTX) || !(folder.st_mode & S_IWOTH) ||
                     link->st_uid == geteuid() || link->st_uid == folder.st_uid);
}

/* Returns the path that a link leads to; owned.  NULL with errno. */
static char *follow(const char *path)
{
    char to[PATH_MAX], *copy, *next = NULL;
    ssize_t length = readlink(path, to, sizeof to - 1);

    if (length < 0)
        return NULL;
    to[length] = '\0';
    if (to[0] == '/')
        return strdup(to);
    copy = strdup(path);
    if (copy && asprintf(&next, "%s/%s", dirname(copy), to) < 0)
        next = NULL;
    free(copy);
    return next;
}

/* Returns a path with links resolved, owned; parts that do not exist yet are kept.  NULL
 * with errno. */
static char *without_links(const char *path)
{
    enum { MOST = 40 };
    char *at = strdup(path), *next;
    struct stat s;

    for (int i = 0; at && lstat(at, &s) == 0 && S_ISLNK(s.st_mode); i++) {
        errno = i == MOST ? ELOOP : EACCES;
        next = i < MOST && is_trusted_link(at, &s) ? follow(at) : NULL;
        free(at);
        at = next;
    }
    return at;
}

static int is_reachable_by_number(int fd, char *path, size_t size)
{
    (void)snprintf(path, size, "/proc/self/fd/%d", fd);
    return access(path, F_OK) == 0;
}

/* Opens a file without a name: it disappears however we end.  -1: not supported here. */
static int make_nameless(const char *target)
{
    char *copy = strdup(target), path[64];
    int fd = copy ? open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;

    free(copy);
    if (fd < 0 || is_reachable_by_number(fd, path, sizeof path))
        return fd;
    close(fd);
    return -1;
}

/* Opens the temporary file, with the permissions of a new file. */
static int make_named(struct tt_output *o, const char *target)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (asprintf(&o->name, "%s.XXXXXX", target) < 0) {
        o->name = NULL;
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(o->name, O_CLOEXEC);
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) == 0)
        return fd;
    if (fd >= 0) {
        (void)unlink(o->name);
        close(fd);
    }
    free(o->name);
    o->name = NULL;
    return -1;
}

static int make_file(struct tt_output *o)
{
    char *target = without_links(o->path);

    if (!target)
        return -1;
    o->fd = make_nameless(target);
    if (o->fd < 0)
        o->fd = make_named(o, target);
    if (o->fd >= 0)
        o->target = target;
    else
        free(target);
    return o->fd < 0 ? -1 : 0;
}

/* A file without a name gets the target's name, or a temporary one that is then
 * renamed. */
static int give_name(struct tt_output *o)
{
    enum { TRIES = 100 };
    char path[64];
    uint32_t number;

    if (o->name)
        return 0;
    if (!is_reachable_by_number(o->fd, path, sizeof path))
        return -1;
    if (linkat(AT_FDCWD, path, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    for (int i = 0; errno == EEXIST && i < TRIES; i++) {
        free(o->name);
        if (getrandom(&number, sizeof number, 0) != sizeof number ||
            asprintf(&o->name, "%s.%08x", o->target, number) < 0) {
            o->name = NULL;
            return -1;
        }
        if (linkat(AT_FDCWD, path, AT_FDCWD, o->name, AT_SYMLINK_FOLLOW) == 0)
            return 0;
    }
    free(o->name);
    o->name = NULL;
    return -1;
}

static int is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static int open_standard(struct tt_output *o)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    o->path = "standard output";
    if (tt_replacing_is_forced()) {
        tt_complain("--force replaces the file that -o names; add -o FILE");
        return -TT_ERR_OPTION;
    }
    o->is_terminal = isatty(STDOUT_FILENO);
    sigaction(SIGPIPE, &ignore, &o->before);
    return 0;
}

int tt_output_open(struct tt_output *o, const char *path)
{
    struct stat s = {.st_mode = S_IFREG};
    int failed = 0;

    *o = (struct tt_output){.path = path, .fd = STDOUT_FILENO};
    o->is_standard = is_standard(path);
    if (o->is_standard)
        return open_standard(o);
    (void)stat(path, &s);
    if (!*path || S_ISDIR(s.st_mode)) {
        tt_complain("-o wants a file, and '%s' is %s", path,
                    *path ? "a folder" : "no name");
        return -TT_ERR_OPTION;
    }
    if (!S_ISREG(s.st_mode))
        failed = (o->fd = open(path, O_WRONLY | O_CLOEXEC)) < 0;
    else
        failed = make_file(o) != 0;
    return failed ? cannot_write(path) : 0;
}

/* Returns the length of a sequence that sets colours: "\033[1;31m"; 0: it is another. */
static size_t color_length(const char *s)
{
    size_t length = s[0] == '\033' && s[1] == '[' ? 2 + strspn(s + 2, "0123456789;") : 0;

    return length && s[length] == 'm' ? length + 1 : 0;
}

/* Writes a piece that ends with a NUL, up to where the rest may be incomplete. */
static size_t put_plainly(struct tt_text *t, const char *s, size_t size, int has_colors)
{
    char plain[TT_TEXT_PLAIN + 1];
    size_t at = 0;

    while (at < size) {
        size_t length = has_colors ? color_length(s + at) : 0;
        if (!length &&
            (s[at] == '\n' || s[at] == '\t' || (s[at] == '\r' && s[at + 1] == '\n')))
            length = 1;
        if (length) {
            tt_text_bytes(t, s + at, length);
        } else if (s[at]) {
            length = tt_text_plain(s + at, plain);
            tt_text_put(t, plain);
        } else {
            length = 1;
            tt_text_put(t, "\\x00");
        }
        at += length;
    }
    return at;
}

/* A character or a colour may be split between two pieces: the last bytes are kept for
 * the next. */
static int put_to_terminal(struct tt_output *o, const char *bytes, size_t size,
                           int is_last)
{
    struct tt_text whole, plain;
    size_t count, done;
    int error = -TT_ERR_MEMORY;

    tt_text_init(&whole, &tt_scratch);
    tt_text_init(&plain, &tt_scratch);
    tt_text_bytes(&whole, o->hold, o->held);
    tt_text_bytes(&whole, bytes, size);
    count = whole.bytes.count;
    if (!is_last)
        count = count > TT_OUTPUT_HOLD / 2 ? count - TT_OUTPUT_HOLD / 2 : 0;
    done = whole.failed
               ? 0
               : put_plainly(&plain, tt_text_string(&whole), count, o->has_colors);
    if (!whole.failed && !plain.failed) {
        o->held = whole.bytes.count - done;
        memcpy(o->hold, (char *)whole.bytes.item + done, o->held);
        error = tt_file_put(o->fd, plain.bytes.item, plain.bytes.count);
    }
    tt_text_fini(&whole);
    tt_text_fini(&plain);
    return error;
}

int tt_output_put(void *output, const void *bytes, size_t size)
{
    struct tt_output *o = output;

    if (o->is_terminal && !o->is_gone && put_to_terminal(o, bytes, size, 0) == 0)
        return 0;
    if (o->is_terminal)
        return cannot_write(o->path);

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
    int failed, refused;

    if (o->is_standard) {
        failed = o->is_terminal && put_to_terminal(o, "", 0, 1) != 0;
        sigaction(SIGPIPE, &o->before, NULL);
        return failed ? cannot_write(o->path) : 0;
    }
    refused = o->target && keep && tt_replacing_check_with(o->target, o->fd) != 0;
    failed = o->target && keep && !refused && give_name(o) != 0;
    failed |= close(o->fd) != 0 && keep;
    if (o->name && keep && !failed && !refused)
        failed = rename(o->name, o->target) != 0;
    if (failed)
        (void)cannot_write(o->path);
    if (o->name && (failed || refused || !keep))
        (void)unlink(o->name);
    free(o->name);
    free(o->target);
    return failed || refused ? -TT_ERR_FILE : 0;
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
    return error ?: closing;
}
