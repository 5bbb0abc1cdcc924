/* SPDX-License-Identifier: MIT */
/* push-queue.c - a folder of profiles that wait to be sent.
 *
 *      BASE/otlp-HASH/        the hash of the address
 *          lock               held by the process that sends
 *          sent               the names of the last ones that were sent, a line each, and zeros
 *                             where the last one was added again
 *          NAME               waits; the name is the hash of its content
 *          .NAME.XXXXXX       is being written
 *
 * A file has its name only when it is whole and on the disk.  When one is sent, its name
 * is written to `sent` before it is removed: if a process is killed between, the next one removes
 * the file with the name in the last line, and sends nothing twice.  One that is killed between
 * the server's answer and that line sends it again, with the same ids. */
#include "push-queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "sorted.h"
#include "tallytree.h"

/* Names that are remembered: at least half of these. */
enum { LINE = TT_CONTENT_HASH_DIGITS + 1, MOST_SENT = 1 << 15 };

static int fails(const char *path)
{
    tt_complain("push: %s: %s", path, strerror(errno));
    return -TT_ERR_FILE;
}

static int is_name(const char *name)
{
    return strlen(name) == TT_CONTENT_HASH_DIGITS &&
           strspn(name, "0123456789abcdef") == TT_CONTENT_HASH_DIGITS;
}

static int path_of(const struct tt_queue *q, const char *name, char path[PATH_MAX])
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", q->folder, name) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return fails(q->folder);
}

/* ── What was sent ────────────────────────────────────────────────────────────────── */

/* Returns the text of the file, to be freed; NULL: there is none. */
static char *read_sent(const struct tt_queue *q, size_t *size)
{
    enum { MOST = 2 * MOST_SENT * LINE };
    char path[PATH_MAX], *text = NULL;
    FILE *f = path_of(q, "sent", path) == 0 ? fopen(path, "re") : NULL;

    *size = 0;
    if (f && (text = malloc(MOST + 1)))
        *size = fread(text, 1, MOST, f);
    if (text)
        text[*size] = '\0';
    if (f)
        (void)fclose(f);
    return text;
}

int tt_queue_was_sent(const struct tt_queue *q, const char *name)
{
    size_t size;
    char *text = read_sent(q, &size);
    int found = text && strstr(text, name);

    free(text);
    return found;
}

/* Keeps the later half, so that the file does not grow. */
static void shorten_sent(const struct tt_queue *q)
{
    char path[PATH_MAX], part[PATH_MAX], *text;
    struct stat s;
    size_t size;
    FILE *f;

    if (path_of(q, "sent", path) != 0 || path_of(q, "sent.part", part) != 0 ||
        stat(path, &s) != 0 || s.st_size < MOST_SENT * LINE ||
        !(text = read_sent(q, &size)))
        return;
    f = fopen(part, "we");
    if (f) {
        size_t from = size / 2 - size / 2 % LINE;
        int failed = fwrite(text + from, 1, size - from, f) != size - from;
        if (fclose(f) != 0 || failed || rename(part, path) != 0)
            (void)unlink(part);
    }
    free(text);
}

static void note_sent(const struct tt_queue *q, const char *name)
{
    char path[PATH_MAX], line[LINE + 1];
    int fd = path_of(q, "sent", path) == 0
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                        0600)
                 : -1,
        failed;

    (void)snprintf(line, sizeof line, "%s\n", name);
    failed = fd < 0 || write(fd, line, LINE) != LINE || fdatasync(fd) != 0;
    if (failed)
        (void)fails(path);
    if (fd >= 0)
        (void)close(fd);
}

/* The name in the last line; empty: there is none. */
static void last_sent(const struct tt_queue *q, char name[LINE])
{
    char path[PATH_MAX];
    struct stat s;
    int fd = path_of(q, "sent", path) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0 || fstat(fd, &s) != 0 || pread(fd, name, LINE, s.st_size - LINE) != LINE ||
        name[LINE - 1] != '\n')
        name[0] = '\0';
    name[LINE - 1] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

/* One whose process was killed between the two steps of tt_queue_sent() is not sent again. */
static void finish_sent(const struct tt_queue *q)
{
    char name[LINE], path[PATH_MAX];

    last_sent(q, name);
    if (is_name(name) && path_of(q, name, path) == 0)
        (void)unlink(path);
}

/* ── What waits ───────────────────────────────────────────────────────────────────── */

static int write_all(int fd, const char *bytes, size_t size)
{
    for (ssize_t n; size; bytes += n, size -= (size_t)n)
        if ((n = write(fd, bytes, size)) < 0)
            return -1;
    return fsync(fd);
}

/* The file's own time has the resolution of a tick, in which several are added. */
static int set_age(int fd)
{
    struct timespec t[2];

    (void)clock_gettime(CLOCK_REALTIME, &t[0]);
    t[1] = t[0];
    return futimens(fd, t);
}

int tt_queue_sync(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        failed = fd < 0 || fsync(fd) != 0;

    if (failed)
        (void)fails(folder);
    if (fd >= 0)
        (void)close(fd);
    return failed ? -TT_ERR_FILE : 0;
}

int tt_queue_waits(const struct tt_queue *q, const char *name)
{
    char path[PATH_MAX];

    return path_of(q, name, path) == 0 && access(path, F_OK) == 0;
}

int tt_queue_add(struct tt_queue *q, const char *name, const void *bytes, size_t size)
{
    char path[PATH_MAX], part[PATH_MAX], last[LINE];
    int fd, failed;

    if (path_of(q, name, path) != 0)
        return -TT_ERR_FILE;
    last_sent(q, last);
    if (strcmp(last, name) == 0)
        note_sent(q, "00000000000000000000000000000000");
    (void)snprintf(part, sizeof part, "%.4000s/.%s.XXXXXX", q->folder, name);
    fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return fails(part);
    failed = write_all(fd, bytes, size) != 0 || set_age(fd) != 0;
    failed |= close(fd) != 0;
    if (!failed && rename(part, path) == 0) {
        q->size += size;
        return tt_queue_sync(q->folder);
    }
    (void)fails(path);
    (void)unlink(part);
    return -TT_ERR_FILE;
}

static int oldest_first(const void *a, const void *b)
{
    const struct tt_queued *x = a, *y = b;

    return TT_ORDER(x->time, y->time) ?: strcmp(x->name, y->name);
}

int tt_queue_list(struct tt_queue *q, struct tt_vector *list)
{
    DIR *d = opendir(q->folder);
    const struct dirent *e;
    struct tt_queued *to;
    struct stat s;

    if (!d)
        return fails(q->folder);
    list->count = 0;
    q->size = 0;
    while ((e = readdir(d))) {
        if (!is_name(e->d_name) || fstatat(dirfd(d), e->d_name, &s, 0) != 0)
            continue;
        if (!(to = tt_vector_add(list, 1))) {
            (void)closedir(d);
            tt_complain("no memory");
            return -TT_ERR_MEMORY;
        }
        (void)snprintf(to->name, sizeof to->name, "%s", e->d_name);
        to->size = (uint64_t)s.st_size;
        q->size += to->size;
        to->time = (uint64_t)s.st_mtim.tv_sec * 1000000000u + (uint64_t)s.st_mtim.tv_nsec;
    }
    (void)closedir(d);
    tt_vector_sort(list, oldest_first);
    return 0;
}

int tt_queue_read(const struct tt_queue *q, const struct tt_queued *one, char **bytes,
                  size_t *size)
{
    char path[PATH_MAX];
    FILE *f = path_of(q, one->name, path) == 0 ? fopen(path, "re") : NULL;

    *bytes = NULL;
    if (!f)
        return fails(path);
    *bytes = malloc((size_t)one->size + 1);
    *size = *bytes ? fread(*bytes, 1, (size_t)one->size, f) : 0;
    if (*bytes && *size == one->size) {
        (void)fclose(f);
        return 0;
    }
    if (*bytes && !ferror(f))
        errno = ENODATA; /* it became shorter */
    free(*bytes);
    *bytes = NULL;
    (void)fails(path);
    (void)fclose(f);
    return -TT_ERR_FILE;
}

void tt_queue_drop(struct tt_queue *q, const struct tt_queued *one)
{
    char path[PATH_MAX];

    if (path_of(q, one->name, path) == 0 && unlink(path) != 0)
        (void)fails(path);
    else
        q->size -= one->size < q->size ? one->size : q->size;
}

void tt_queue_sent(struct tt_queue *q, const struct tt_queued *one)
{
    note_sent(q, one->name);
    tt_queue_drop(q, one);
    shorten_sent(q);
}

/* ── Opening ─────────────────────────────────────────────────────────────────────── */

/* Makes all folders of the path, for their owner alone. */
static int make_folders(char *path)
{
    for (char *at = path + 1;; at++) {
        const char end = *at;
        if (end != '/' && end)
            continue;
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return fails(path);
        *at = end;
        if (!end)
            return 0;
    }
}

/* Removes what killed processes were writing. */
static void tidy(const struct tt_queue *q)
{
    DIR *d = opendir(q->folder);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] == '.' && strlen(e->d_name) > TT_CONTENT_HASH_DIGITS)
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        (void)closedir(d);
}

/* This process has the folder again: what others left there. */
static void look_around(struct tt_queue *q)
{
    struct tt_vector list;

    finish_sent(q);
    tt_vector_init(&list, NULL, sizeof(struct tt_queued));
    (void)tt_queue_list(q, &list);
    tt_vector_fini(&list);
}

int tt_queue_open(struct tt_queue *q, const char *base, const char *way, const char *url,
                  uint64_t most)
{
    const struct tt_content_hash h = tt_content_hash_add(TT_CONTENT_HASH_OF_NOTHING, url,
                                                         strlen(url));
    char path[PATH_MAX];
    int error;

    *q = (struct tt_queue){.lock = -1, .most = most};
    if ((size_t)snprintf(q->folder, sizeof q->folder, "%s/%s-%016llx", base, way,
                         (unsigned long long)(h.high ^ h.low)) >= sizeof q->folder - 64) {
        errno = ENAMETOOLONG;
        return fails(base);
    }
    if ((error = make_folders(q->folder)) || (error = path_of(q, "lock", path)))
        return error;
    q->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (q->lock < 0 || flock(q->lock, LOCK_EX) != 0)
        return fails(path);
    tidy(q);
    look_around(q);
    return 0;
}

void tt_queue_leave(const struct tt_queue *q) { (void)flock(q->lock, LOCK_UN); }

int tt_queue_return(struct tt_queue *q)
{
    if (flock(q->lock, LOCK_EX | LOCK_NB) != 0)
        return 0;
    look_around(q);
    return 1;
}

void tt_queue_close(struct tt_queue *q)
{
    if (q->lock >= 0)
        (void)close(q->lock);
    q->lock = -1;
}
