/* SPDX-License-Identifier: MIT */
/* chain.c - a folder of profiles, one after the other in time.
 *
 *      chain.20260301T115900.012Z+60.003s.tt    begins then, and has so much time
 *      chain.20260301T120000.015Z+59.998s.tt
 *       ⋮                                        the files of an hour become one, later
 *      chain.20260301T100000.020Z+3600.001s.tt
 *
 * The name of a file is all that is known of it.  So a profile that lies within the time of a
 * coarser one has been merged into that: readers leave it out, and it is removed a while later,
 * when a reader that began before has read it.  Being killed at any moment leaves no time twice.
 *
 * Files with other names, and those with such a name that are no profiles, are not touched. */
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "index.h"
#include "input.h"
#include "memory.h"
#include "output.h"
#include "sorted.h"

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    DAY = 24 * HOUR,
    GRACE = 10,   /* seconds that a merged profile stays */
    COARSEST = 10 /* a profile has at most such a part of the time that is kept */
};

struct member {
    struct tt_dates span;
    uint64_t size;
    time_t written;
    int is_replaced; /* a coarser one has its time */
    char path[PATH_MAX];
};

/* ── Names ────────────────────────────────────────────────────────────────────────── */

void tt_chain_name(char *out, size_t size, const char *folder, struct tt_dates s)
{
    const time_t seconds = (time_t)(s.from / SECOND);
    const uint64_t length = s.to - s.from;
    struct tm t;
    char date[32];

    (void)gmtime_r(&seconds, &t);
    (void)strftime(date, sizeof date, "%Y%m%dT%H%M%S", &t);
    (void)snprintf(out, size, "%s/chain.%s.%03uZ+%llu.%03us.tt", folder, date,
                   (unsigned)(s.from % SECOND), (unsigned long long)(length / SECOND),
                   (unsigned)(length % SECOND));
}

int tt_chain_span(const char *name, struct tt_dates *s)
{
    struct tm t = {0};
    unsigned long long seconds;
    unsigned ms, part;
    char again[PATH_MAX];
    time_t from;

    if (sscanf(name, "chain.%4d%2d%2dT%2d%2d%2d.%3uZ+%15llu.%3us.tt", &t.tm_year,
               &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &ms, &seconds,
               &part) != 9)
        return 0;
    t.tm_year -= 1900;
    t.tm_mon--;
    from = timegm(&t);
    if (from < 0)
        return 0;
    s->from = (uint64_t)from * SECOND + ms;
    s->to = s->from + seconds * SECOND + part;
    tt_chain_name(again, sizeof again, "", *s);
    return strcmp(again + 1, name) == 0; /* no other one means the same */
}

static int by_time(const void *a, const void *b)
{
    const struct tt_dates *x = a, *y = b;

    /* What has more comes first. */
    return TT_ORDER(x->from, y->from) ?: TT_ORDER(y->to, x->to);
}

/* ── What a coarser one has ───────────────────────────────────────────────────────── */

struct entry {
    struct tt_dates span;
    int index;
};

static int is_profile(const char *path)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int is = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
             memcmp(magic, TT_PROFILE_MAGIC, sizeof magic) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

/* Of a name in a folder: its path and its span. */
static int is_member(const char *folder, const char *name, char path[PATH_MAX],
                     struct tt_dates *s)
{
    return tt_chain_span(name, s) &&
           snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && is_profile(path);
}

char *tt_chain_replaced(const char *folder, struct dirent *const *entry, int count)
{
    struct entry *e = calloc((size_t)count + 1, sizeof *e);
    char *replaced = calloc((size_t)count + 1, 1), path[PATH_MAX];
    uint64_t end = 0;
    size_t n = 0;

    for (int i = 0; e && replaced && i < count; i++)
        if (is_member(folder, entry[i]->d_name, path, &e[n].span))
            e[n++].index = i;
    tt_sort(e, n, sizeof *e, by_time);
    for (size_t i = 0; i < n; i++) {
        replaced[e[i].index] = e[i].span.to <= end;
        end = e[i].span.to > end ? e[i].span.to : end;
    }
    free(e);
    return replaced;
}

/* ── The folder ───────────────────────────────────────────────────────────────────── */

static void add_member(struct tt_vector *v, const char *folder, const char *name)
{
    struct member new = {.is_replaced = 0};
    struct stat s;

    if (!is_member(folder, name, new.path, &new.span) || lstat(new.path, &s) != 0)
        return;
    new.size = (uint64_t)s.st_size;
    new.written = s.st_mtime;
    (void)tt_vector_push(v, &new);
}

/* In the order of time. */
static size_t read_folder(struct tt_vector *v, const char *folder)
{
    struct member *m;
    const struct dirent *e;
    DIR *d = opendir(folder);
    uint64_t end = 0;

    tt_vector_init(v, NULL, sizeof *m);
    while (d && (e = readdir(d)))
        add_member(v, folder, e->d_name);
    if (d)
        closedir(d);
    m = v->item;
    tt_vector_sort(v, by_time);
    for (size_t i = 0; i < v->count; i++) {
        m[i].is_replaced = m[i].span.to <= end;
        end = m[i].span.to > end ? m[i].span.to : end;
    }
    return v->count;
}

uint64_t tt_chain_end(const char *folder)
{
    struct tt_vector v;
    uint64_t end = 0;
    size_t count = read_folder(&v, folder);
    const struct member *m = v.item;

    for (size_t i = 0; i < count; i++)
        end = m[i].span.to > end ? m[i].span.to : end;
    tt_vector_fini(&v);
    return end;
}

int tt_chain_is_recorded(const char *folder)
{
    char path[PATH_MAX];
    int fd, is;

    (void)snprintf(path, sizeof path, "%s/.chain.lock", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is;
}

uint64_t tt_chain_state(const char *folder)
{
    struct tt_vector v;
    const size_t count = read_folder(&v, folder);
    const struct member *m = v.item;
    uint64_t state = count;

    for (size_t i = 0; i < count; i++)
        state += tt_mix(tt_mix(m[i].span.from, m[i].span.to), m[i].size);
    tt_vector_fini(&v);
    return state;
}

/* ── Merging ──────────────────────────────────────────────────────────────────────── */

/* Those that are not replaced become one; 0: it could not be done, and all stay. */
static int merge(const char *folder, const struct member *m, size_t count)
{
    char **path = calloc(count, sizeof *path), out[PATH_MAX];
    struct tt_dates all = {UINT64_MAX, 0};
    struct tt_input in;
    int used = 0, error;

    if (!path)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (m[i].is_replaced)
            continue;
        path[used++] = (char *)(uintptr_t)m[i].path;
        all.from = m[i].span.from < all.from ? m[i].span.from : all.from;
        all.to = m[i].span.to > all.to ? m[i].span.to : all.to;
    }
    error = used < 2 || tt_input_open(&in, path, used, TT_INPUT_ANEW | TT_INPUT_UNNAMED);
    free(path);
    if (error)
        return 0;
    tt_chain_name(out, sizeof out, folder, all);
    error = tt_output_write(out, in.image, in.size);
    tt_input_close(&in);
    return !error;
}

/* The end of the files that begin in the same part of time as the first. */
static size_t part_end(const struct member *m, size_t first, size_t count,
                       uint64_t length)
{
    size_t i = first;

    while (i < count && m[i].span.from / length == m[first].span.from / length)
        i++;
    return i;
}

static size_t count_parts(const struct member *m, size_t count, uint64_t length)
{
    size_t parts = 0;

    for (size_t i = 0; i < count; i++) {
        if (m[i].span.to - m[i].span.from > length + length / 2)
            return 0; /* it has been merged into a coarser one */
        parts += !m[i].is_replaced;
    }
    return parts;
}

/* What ended a whole part of time ago becomes one profile a part. */
static void coarsen(const char *folder, uint64_t length, uint64_t before)
{
    struct tt_vector v;
    size_t count = read_folder(&v, folder), end;
    const struct member *m = v.item;

    for (size_t i = 0; i < count; i = end) {
        end = part_end(m, i, count, length);
        if ((m[i].span.from / length + 2) * length <= before &&
            count_parts(m + i, end - i, length) > 1)
            (void)merge(folder, m + i, end - i);
    }
    tt_vector_fini(&v);
}

/* ── Removing ─────────────────────────────────────────────────────────────────────── */

/* Before what was merged goes, the result is on the disk. */
static int is_safe(const struct member *m)
{
    int fd = open(m->path, O_RDONLY | O_CLOEXEC), safe = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return safe;
}

static void remove_member(struct member *m)
{
    if (unlink(m->path) != 0 && errno != ENOENT)
        tt_complain("%s: %s", m->path, strerror(errno));
    else
        m->size = 0;
}

static uint64_t size_of_all(const struct member *m, size_t count)
{
    uint64_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += m[i].size;
    return size;
}

/* Where room is short, readers have no time. */
static void remove_replaced(struct member *m, size_t count, int at_once)
{
    const struct member *coarse = NULL; /* it has the time of the next ones, too */
    const time_t now = time(NULL);
    int safe = 0;

    for (size_t i = 0; i < count; i++) {
        if (!m[i].is_replaced) {
            coarse = &m[i];
            safe = -1;
        } else if (coarse && (at_once || now - coarse->written >= GRACE)) {
            safe = safe < 0 ? is_safe(coarse) : safe;
            if (safe)
                remove_member(&m[i]);
        }
    }
}

/* The last one stays in any case. */
static void remove_old(struct member *m, size_t count, uint64_t before, uint64_t most)
{
    uint64_t size = size_of_all(m, count);

    for (size_t i = 0; i + 1 < count; i++) {
        if (!m[i].size || (m[i].span.to > before && (!most || size <= most)))
            continue;
        size -= m[i].size;
        remove_member(&m[i]);
    }
}

void tt_chain_tend(const char *folder, const struct tt_chain_limits *l, uint64_t now,
                   uint64_t pending)
{
    static const uint64_t lengths[] = {MINUTE, HOUR, DAY};
    const uint64_t before = pending < now ? pending : now;
    struct tt_vector v;
    size_t count;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (lengths[i] >= 2 * l->interval && l->keep / lengths[i] >= COARSEST)
            coarsen(folder, lengths[i], before);
    count = read_folder(&v, folder);
    remove_replaced(v.item, count, l->size && size_of_all(v.item, count) > l->size);
    remove_old(v.item, count, now > l->keep ? now - l->keep : 0, l->size);
    tt_vector_fini(&v);
}
